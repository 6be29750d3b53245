//! Quotas of buckets: `mc quota`.

use std::sync::Arc;

use axum::extract::State;
use liteio_access::Refusal;
use liteio_iam::minio::{invalid_argument, no_such_bucket, of_store};
use liteio_store::{Bucket, Quota, StoreError};
use liteio_wire::reply::ApiError;
use serde::{Deserialize, Serialize};

use super::call::{Call, done, json};
use super::{Admin, Answer};

/// A quota as clients of MinIO send and read it. Sizes are in bytes; 0 is no quota.
#[derive(Default, Deserialize, Serialize)]
struct Document {
    /// The former name of `size`.
    #[serde(default)]
    quota: u64,
    #[serde(default)]
    size: u64,
    /// Bytes per second.
    #[serde(default)]
    rate: u64,
    /// Requests per second.
    #[serde(default)]
    requests: u64,
    #[serde(default, rename = "quotatype", skip_serializing_if = "String::is_empty")]
    kind: String,
}

impl From<Quota> for Document {
    fn from(Quota { bytes }: Quota) -> Document {
        Document { quota: bytes, size: bytes, kind: "hard".to_owned(), ..Document::default() }
    }
}

impl Document {
    /// The quota to set; `None` to remove it.
    fn checked(&self) -> Result<Option<Quota>, ApiError> {
        if !matches!(&*self.kind, "" | "hard") {
            return Err(invalid_argument("Only quotas of the type hard are implemented."));
        }
        if self.rate != 0 || self.requests != 0 {
            return Err(invalid_argument(
                "Quotas of rates and requests are not implemented by LiteIO: give a size only.",
            ));
        }
        match (self.size, self.quota) {
            (0, 0) => Ok(None),
            (0, bytes) | (bytes, 0) => Ok(Some(Quota { bytes })),
            (size, quota) if size == quota => Ok(Some(Quota { bytes: size })),
            _ => Err(invalid_argument("size and quota are two names of one number.")),
        }
    }
}

/// The bucket with this name, of this account. The action on it is the admin API's own, which the caller
/// has decided about.
async fn bucket(admin: &Admin, account_id: &str, name: &str) -> Result<Arc<Bucket>, ApiError> {
    match admin.app.look(|store| liteio_access::bucket_for_rules(store, name)).await {
        Ok(bucket) if bucket.owner.id == account_id => Ok(bucket),
        Ok(_)
        | Err(Refusal::Store(
            StoreError::NoSuchBucket { .. } | StoreError::InvalidBucketName { .. },
        )) => Err(no_such_bucket(name)),
        Err(Refusal::Store(error)) => Err(of_store(&error)),
        Err(_) => Err(invalid_argument("The bucket is not one that may have a quota.")),
    }
}

pub(super) async fn set(State(admin): State<Arc<Admin>>, mut call: Call) -> Answer {
    let name = call.begin("AdminSetBucketQuota", &["bucket"])?.required("bucket")?.to_owned();
    call.may(&["admin:SetBucketQuota"])?;
    let bucket = bucket(&admin, call.account_id(), &name).await?;
    let quota = call.json::<Document>().await?.checked()?;
    admin.app.store.set_quota(&bucket, quota).await.map_err(|error| of_store(&error))?;
    done()
}

pub(super) async fn get(State(admin): State<Arc<Admin>>, call: Call) -> Answer {
    let name = call.begin("AdminGetBucketQuota", &["bucket"])?.required("bucket")?.to_owned();
    call.may(&["admin:GetBucketQuota"])?;
    let bucket = bucket(&admin, call.account_id(), &name).await?;
    json(&bucket.settings.quota.map(Document::from).unwrap_or_default())
}
