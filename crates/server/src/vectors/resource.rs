//! The vector bucket or index that a request names, and permission to work on it.

use liteio_store::vectors::{Index, VectorBucket, VectorName};

use super::Call;
use super::arn::{self, ArnNames};
use super::error::{ApiError, ApiResult};
use super::fields::Fields;
use crate::access::{self, Granted, GrantedAccount, Refusal};
use crate::policy::NoContext;

impl Call {
    /// Permission for the operation on the account.
    pub(super) fn account(&self) -> ApiResult<GrantedAccount> {
        access::vector_account(&self.principal, self.action, None, &NoContext).map_err(refused)
    }

    /// Permission for the operation on the vector bucket of that name.
    pub(super) fn named_bucket(&self, name: &VectorName) -> ApiResult<Granted<VectorBucket>> {
        let granted = access::vector_bucket(&self.app.store, &self.principal, self.action, name);
        granted.map_err(refused)
    }

    /// Permission for the operation on the index of that name in that vector bucket.
    pub(super) fn named_index(
        &self,
        bucket: &VectorName,
        name: &VectorName,
    ) -> ApiResult<Granted<Index>> {
        let granted = access::index(&self.app.store, &self.principal, self.action, bucket, name);
        granted.map_err(refused)
    }

    /// The vector bucket of `vectorBucketName` or `vectorBucketArn`.
    pub(super) fn bucket(&self, fields: &mut Fields) -> ApiResult<Granted<VectorBucket>> {
        let name = fields.string("vectorBucketName")?;
        let arn = fields.string("vectorBucketArn")?;
        let name = match (name, arn) {
            (Some(name), None) => VectorName::bucket(name)?,
            (None, Some(arn)) => {
                let names = arn::parse(&arn, "vectorBucketArn")?;
                if names.index.is_some() {
                    return Err(ApiError::field("vectorBucketArn", "it is the ARN of an index"));
                }
                names.bucket
            }
            _ => {
                return Err(ApiError::invalid(
                    "Specify the vector bucket by either vectorBucketName or vectorBucketArn.",
                ));
            }
        };
        self.named_bucket(&name)
    }

    /// The index of `vectorBucketName` and `indexName`, or of `indexArn`.
    pub(super) fn index(&self, fields: &mut Fields) -> ApiResult<Granted<Index>> {
        let bucket = fields.string("vectorBucketName")?;
        let name = fields.string("indexName")?;
        let arn = fields.string("indexArn")?;
        let (bucket, name) = match (bucket, name, arn) {
            (Some(bucket), Some(name), None) => {
                (VectorName::bucket(bucket)?, VectorName::index(name)?)
            }
            (None, None, Some(arn)) => match arn::parse(&arn, "indexArn")? {
                ArnNames { bucket, index: Some(index) } => (bucket, index),
                ArnNames { .. } => {
                    return Err(ApiError::field("indexArn", "it is the ARN of a vector bucket"));
                }
            },
            _ => {
                return Err(ApiError::invalid(
                    "Specify the index by either vectorBucketName and indexName, or indexArn.",
                ));
            }
        };
        self.named_index(&bucket, &name)
    }
}

/// The answer to a request that is not granted.
fn refused(refusal: Refusal) -> ApiError {
    match refusal {
        Refusal::Denied(_) | Refusal::AnonymousOverride => ApiError::access_denied(),
        Refusal::Store(error) => error.into(),
    }
}
