//! The permission of the server to write into a bucket on behalf of the owner of another one: access logs and
//! inventories.
//!
//! As on AWS, the writer is a service, which owns nothing and has no policies. The policy of the target bucket must
//! allow it `s3:PutObject`, also where both buckets have one owner. Otherwise a user who may configure a
//! bucket could write into every bucket of the account.

use std::borrow::Cow;
use std::sync::Arc;

use liteio_store::{Bucket, Store};

use super::decision::{LOG_DELIVERY, Resource, decide_delivery};
use super::documents::BucketDocuments;
use super::granted::{Refusal, bucket_for_rules};
use liteio_policy::{Caller, Context, ContextKey, Value};
use liteio_wire::origin::timestamp;

/// The service that delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryService {
    /// `logging.s3.amazonaws.com`
    AccessLogs,
    /// `s3.amazonaws.com`
    Inventories,
}

/// One object to be delivered.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'d> {
    /// The service.
    pub service: DeliveryService,
    /// The bucket that the object is about.
    pub source: &'d Bucket,
    /// The 12 digits of the account that owns it.
    pub source_account: &'d str,
    /// The name of the target bucket.
    pub target: &'d str,
    /// The key of the object.
    pub key: &'d str,
    /// The encryption that the configuration asks for, as in `x-amz-server-side-encryption`.
    pub encryption: Option<&'static str>,
}

/// Resolves the target bucket, and decides whether the object may be delivered.
///
/// # Errors
/// [`Refusal::Denied`]; [`Refusal::Store`] if the bucket does not exist or cannot be read.
pub fn delivery(store: &Store, delivery: &Delivery<'_>) -> Result<Arc<Bucket>, Refusal> {
    let target = bucket_for_rules(store, delivery.target)?;
    let documents = BucketDocuments::of(&target)?;
    let resource = Resource::Object { bucket: target.name.as_str(), key: delivery.key };
    let facts = Facts {
        source_arn: format!("arn:aws:s3:::{}", delivery.source.name.as_str()),
        account: delivery.source_account,
        encryption: delivery.encryption,
        now_ms: store.now_ms(),
    };
    let documents = documents.for_decision(&target.owner.id, None, None);
    let service = Caller::service(delivery.service.name());
    decide_delivery(&documents, &service, resource, &facts)?;
    Ok(target)
}

impl DeliveryService {
    fn name(self) -> &'static str {
        match self {
            DeliveryService::AccessLogs => LOG_DELIVERY,
            DeliveryService::Inventories => "s3.amazonaws.com",
        }
    }
}

/// The facts about a delivery that policies can read.
struct Facts<'d> {
    source_arn: String,
    account: &'d str,
    encryption: Option<&'static str>,
    now_ms: u64,
}

impl Context for Facts<'_> {
    fn value(&self, key: &ContextKey) -> Value<'_> {
        let now = || timestamp(self.now_ms);
        match key {
            ContextKey::SourceArn => Value::text(&self.source_arn),
            ContextKey::SourceAccount => Value::text(self.account),
            // The examples of AWS require it. The owner of the bucket owns what is delivered.
            ContextKey::S3Acl => Value::text("bucket-owner-full-control"),
            ContextKey::S3ServerSideEncryption => Value::of(self.encryption),
            // Nothing leaves the machine.
            ContextKey::SecureTransport => Value::bool(true),
            ContextKey::CurrentTime => Value::One(Cow::Owned(now().to_string())),
            ContextKey::EpochTime => Value::One(Cow::Owned(now().as_second().to_string())),
            _ => Value::None,
        }
    }
}
