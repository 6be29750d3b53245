//! The delivery of one object into the bucket of a report, on the path of a PUT: versions, default retention, default
//! encryption and events apply as they do there.

use std::sync::Arc;

use liteio_access::state::App;
use liteio_access::{Delivery, DeliveryService, Refusal, delivery};
use liteio_store::{
    BodyOptions, BodyWriter, Bucket, ChecksumAlgorithm, ContentHeaders, Encryption, NameError,
    ObjectChecksum, ObjectKey, ObjectMetadata, ObjectVersion, PutOptions, Store, StoreError,
};

/// The checksum of an object without another one, as of a PUT.
const CHECKSUM: ChecksumAlgorithm = ChecksumAlgorithm::Crc64Nvme;

/// The reason why an object was not delivered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DeliveryError {
    /// The target bucket does not take it. A later attempt fails for the same reason until somebody changes it.
    #[error("{0}")]
    Refused(String),
    /// The store failed. A later attempt may succeed.
    #[error("{0}")]
    Failed(#[from] StoreError),
}

impl From<Refusal> for DeliveryError {
    fn from(refusal: Refusal) -> DeliveryError {
        match refusal {
            Refusal::Denied(denial) => DeliveryError::Refused(denial.to_string()),
            Refusal::Store(error) => error_of_target(error),
            Refusal::AnonymousOverride => DeliveryError::Refused("refused".to_owned()),
        }
    }
}

impl From<NameError> for DeliveryError {
    fn from(error: NameError) -> DeliveryError {
        DeliveryError::Refused(error.to_string())
    }
}

fn error_of_target(error: StoreError) -> DeliveryError {
    match error {
        StoreError::NoSuchBucket { .. }
        | StoreError::NoMasterKey
        | StoreError::NoSuchNamedKey { .. } => DeliveryError::Refused(error.to_string()),
        error => DeliveryError::Failed(error),
    }
}

/// The target of deliveries about one bucket.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'t> {
    pub(crate) service: DeliveryService,
    /// The bucket that the object is about.
    pub(crate) source: &'t Bucket,
    /// The name of the target bucket.
    pub(crate) bucket: &'t str,
    /// The encryption that the configuration asks for, as in `x-amz-server-side-encryption`.
    pub(crate) encryption: Option<&'static str>,
}

/// One object to be delivered.
#[derive(Debug)]
pub(crate) struct Parcel<'p> {
    pub(crate) key: &'p str,
    pub(crate) content_type: &'static str,
    /// The encryption; `None` for the default of the bucket.
    pub(crate) encryption: Option<Encryption>,
}

/// An object whose body is being written. Dropping it before [`Writing::finish`] leaves no trace.
pub(crate) struct Writing {
    bucket: Arc<Bucket>,
    key: ObjectKey,
    content_type: &'static str,
    body: BodyWriter,
}

impl Target<'_> {
    /// The target bucket, if it takes an object with this key.
    pub(crate) fn open(&self, app: &App, key: &str) -> Result<Arc<Bucket>, DeliveryError> {
        let source_account = app.account_id(&self.source.owner.id);
        let asked = Delivery {
            service: self.service,
            source: self.source,
            source_account: &source_account,
            target: self.bucket,
            key,
            encryption: self.encryption,
        };
        Ok(delivery(&app.store, &asked)?)
    }

    /// Begins an object in a bucket that [`Target::open`] has returned for its key. It may wait for the disk.
    pub(crate) fn begin(
        app: &App,
        bucket: &Arc<Bucket>,
        parcel: Parcel<'_>,
    ) -> Result<Writing, DeliveryError> {
        let Parcel { key, content_type, encryption } = parcel;
        let encryption = match encryption {
            None => default_encryption(app, bucket)?,
            encryption => encryption,
        };
        let sealing = encryption.map(|encryption| app.store.seal_object(&encryption));
        let sealing = sealing.transpose().map_err(error_of_target)?;
        let algorithms = vec![CHECKSUM];
        let options = BodyOptions { expected_bytes: None, algorithms, sealing };
        let body = app.store.begin_body(options)?;
        let key = ObjectKey::new(key)?;
        Ok(Writing { bucket: Arc::clone(bucket), key, content_type, body })
    }
}

/// The encryption of objects whose write names none.
fn default_encryption(app: &App, bucket: &Bucket) -> Result<Option<Encryption>, DeliveryError> {
    let Some(default) = &bucket.settings.default_encryption else {
        return Ok(app.encrypts_by_default.then_some(Encryption::Master));
    };
    let missing = |key| DeliveryError::Refused(format!("the server has no KMS key {key:?}"));
    default.encryption(app.store.keys()).map(Some).map_err(missing)
}

impl Writing {
    /// Adds bytes to the body.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.body.write(bytes)
    }

    /// Makes the object current, with this ACL.
    pub(crate) fn finish(
        self,
        store: &Store,
        acl: Option<Vec<u8>>,
    ) -> Result<(ObjectVersion, [u8; 16]), DeliveryError> {
        let Writing { bucket, key, content_type, body } = self;
        let body = body.finish()?;
        let md5 = body.digests().md5;
        let checksum = body.digests().checksum(CHECKSUM).copied().map(ObjectChecksum::full_object);
        let headers = ContentHeaders {
            content_type: Some(content_type.to_owned()),
            ..ContentHeaders::default()
        };
        let options = PutOptions {
            metadata: ObjectMetadata { headers, ..ObjectMetadata::default() },
            checksum,
            owner: bucket.owner.clone(),
            acl,
            ..PutOptions::default()
        };
        let put = store.put_object(&bucket, key, body, options).wait();
        put.map(|object| (object, md5)).map_err(error_of_target)
    }
}
