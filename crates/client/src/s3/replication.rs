//! MinIO's operations on the replication of a bucket. Their answers are JSON.

use std::time::Duration;

use http::Method;
use serde_json::Value;

use super::admin::json_of;
use super::exchange::S3;
use super::request::Request;
use crate::error::Error;

impl S3 {
    /// The figures of the targets of a bucket, in the second version of the document.
    pub(crate) async fn replication_metrics(&self, bucket: &str) -> Result<Value, Error> {
        let request = Request::new(Method::GET, bucket, "").query("replication-metrics", "2");
        json_of(&self.send(&request).await?.bytes().await?)
    }

    /// Begins a walk over the versions of a bucket that sends them to a target again; with an age, those
    /// that are older.
    pub(crate) async fn begin_resync(
        &self,
        bucket: &str,
        arn: &str,
        older_than: Option<Duration>,
    ) -> Result<Value, Error> {
        let age = older_than.map(|age| format!("{}s", age.as_secs()));
        let mut request = Request::new(Method::PUT, bucket, "")
            .query("replication-reset", "")
            .query("arn", arn)
            .query_if("older-than", age.as_deref());
        // A repetition would begin another walk in the place of the first.
        request.repeatable = false;
        json_of(&self.send(&request).await?.bytes().await?)
    }

    /// The walks of a bucket, or the one for a target.
    pub(crate) async fn resyncs(&self, bucket: &str, arn: Option<&str>) -> Result<Value, Error> {
        let request = Request::new(Method::GET, bucket, "")
            .query("replication-reset-status", "")
            .query_if("arn", arn);
        json_of(&self.send(&request).await?.bytes().await?)
    }
}
