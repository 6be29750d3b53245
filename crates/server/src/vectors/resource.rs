//! Which vector bucket or index a request is about, and whether it is the sender's.

use liteio_store::vectors::{Index, Tagged, VectorBucket, VectorName};

use super::Call;
use super::arn;
use super::error::{ApiError, ApiResult};
use super::fields::Fields;

impl Call {
    /// The vector bucket, if it belongs to whoever asks.
    pub(super) fn owned_bucket(&self, name: &VectorName) -> ApiResult<VectorBucket> {
        let bucket = self.app.store.vector_bucket(name)?;
        match bucket.owner.id == self.user.id {
            true => Ok(bucket),
            false => Err(ApiError::access_denied()),
        }
    }

    /// The vector bucket of `vectorBucketName` or `vectorBucketArn`.
    pub(super) fn bucket(&self, fields: &mut Fields) -> ApiResult<VectorBucket> {
        let name = fields.string("vectorBucketName")?;
        let arn = fields.string("vectorBucketArn")?;
        let name = match (name, arn) {
            (Some(name), None) => VectorName::bucket(name)?,
            (None, Some(arn)) => {
                let tagged = arn::parse(&arn, "vectorBucketArn")?;
                if tagged.index.is_some() {
                    return Err(ApiError::field("vectorBucketArn", "it is the ARN of an index"));
                }
                tagged.bucket
            }
            _ => {
                return Err(ApiError::invalid(
                    "Specify the vector bucket by either vectorBucketName or vectorBucketArn.",
                ));
            }
        };
        self.owned_bucket(&name)
    }

    /// The index of `vectorBucketName` and `indexName`, or of `indexArn`.
    pub(super) fn index(&self, fields: &mut Fields) -> ApiResult<Index> {
        let bucket = fields.string("vectorBucketName")?;
        let name = fields.string("indexName")?;
        let arn = fields.string("indexArn")?;
        let (bucket, name) = match (bucket, name, arn) {
            (Some(bucket), Some(name), None) => {
                (VectorName::bucket(bucket)?, VectorName::index(name)?)
            }
            (None, None, Some(arn)) => match arn::parse(&arn, "indexArn")? {
                Tagged { bucket, index: Some(index) } => (bucket, index),
                Tagged { .. } => {
                    return Err(ApiError::field("indexArn", "it is the ARN of a vector bucket"));
                }
            },
            _ => {
                return Err(ApiError::invalid(
                    "Specify the index by either vectorBucketName and indexName, or indexArn.",
                ));
            }
        };
        self.owned_bucket(&bucket)?;
        Ok(self.app.store.index(&bucket, &name)?)
    }
}
