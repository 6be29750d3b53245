//! PutObject.

use std::sync::Arc;

use liteio_checksum::ObjectChecksum;

use super::body::NewBody;
use super::publish::{NewVersion, Slot};
use super::{ObjectVersion, Replica, StagedBody};
use crate::error::StoreError;
use crate::etag::ETag;
use crate::meta::event::{Cause, EventKind};
use crate::meta::object::Extensions;
use crate::meta::{ObjectLock, ObjectMetadata, Owner};
use crate::name::ObjectKey;
use crate::pending::{Committed, Pending};
use crate::precondition::WriteConditions;
use crate::process::Bucket;
use crate::store::Store;

/// Options of a put.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PutOptions {
    /// The metadata of the object.
    pub metadata: ObjectMetadata,
    /// The checksum of the object, which the caller has verified.
    pub checksum: Option<ObjectChecksum>,
    /// Conditions on the current object of the key.
    pub conditions: WriteConditions,
    /// The owner of the object.
    pub owner: Owner,
    /// The lock. Without a retention it gets the bucket's default.
    pub lock: ObjectLock,
    /// The access control list; `None` for the default. The store does not interpret it.
    pub acl: Option<Vec<u8>>,
    /// `true` if the body came as a browser form, for its event.
    pub is_form: bool,
    /// The reason for the put, for its event.
    pub cause: Cause,
    /// The version of another store that this is a copy of. Then the conditions and the default
    /// retention do not apply.
    pub replica: Option<Replica>,
}

impl Store {
    /// Makes `body` the current object of `key`.
    ///
    /// Fails with [`NoSuchBucket`](crate::StoreError::NoSuchBucket),
    /// [`PreconditionFailed`](crate::StoreError::PreconditionFailed),
    /// [`NoSuchKey`](crate::StoreError::NoSuchKey) (`If-Match` without an object) or
    /// [`InvalidRequest`](crate::StoreError::InvalidRequest) (a lock in a bucket without object
    /// lock).
    pub fn put_object(
        &self,
        bucket: &Arc<Bucket>,
        key: ObjectKey,
        body: StagedBody,
        options: PutOptions,
    ) -> Pending<ObjectVersion> {
        let (body, blob) = body.into_parts();
        let bucket = Arc::clone(bucket);
        self.update_with_blob(blob, move |write, shared| {
            let slot = Slot::open(write, shared, &bucket, &key)?;
            let new = NewVersion::of_body(&body, &options)?;
            let (object, wakes) = match &options.replica {
                Some(replica) => slot.publish_replica(write, new, replica)?,
                None => {
                    slot.check(&options.conditions)?;
                    slot.publish(write, new)?
                }
            };
            Ok(Committed::with_guard(object, wakes))
        })
    }
}

impl NewVersion {
    /// The version that a put makes of a body.
    ///
    /// # Errors
    /// [`StoreError::Internal`] for the body of a part.
    pub(crate) fn of_body(body: &NewBody, options: &PutOptions) -> Result<Self, StoreError> {
        Ok(Self {
            bytes: body.digests.bytes,
            etag: ETag::Md5(body.tag),
            modified_ms: None,
            owner: options.owner.clone(),
            checksum: options.checksum,
            metadata: options.metadata.clone(),
            lock: options.lock,
            extensions: Extensions::default().with_acl(options.acl.as_ref()),
            sealing: body.object_sealing()?.cloned(),
            content: body.content.clone(),
            event: if options.is_form { EventKind::CreatedPost } else { EventKind::CreatedPut },
            cause: options.cause.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use liteio_disk::SimulatedDisk;

    use crate::pending::Committed;
    use crate::{BodyOptions, Store, StoreConfig, StoreError};

    #[test]
    fn a_blob_that_only_an_earlier_run_handed_over_is_discarded() {
        let config = StoreConfig {
            inline_bytes_max: 10,
            reserve_bytes: 0,
            runs_twice: true,
            ..StoreConfig::memory()
        };
        let store = Store::open_on(Arc::new(SimulatedDisk::new(1)), config).expect("opens");
        let mut body = store.begin_body(BodyOptions::default()).expect("body");
        body.write(&[1; 100]).expect("write");
        let (_, blob) = body.finish().expect("staged").into_parts();
        let id = blob.as_ref().expect("a blob").id();
        let has_run = AtomicBool::new(false);
        let refused = store.update_with_blob::<(), _>(blob, move |_, _| {
            match has_run.swap(true, Ordering::Relaxed) {
                false => Ok(Committed::new(())),
                true => Err(StoreError::NotModified),
            }
        });
        assert!(matches!(refused.wait(), Err(StoreError::NotModified)));
        assert_eq!(store.shared().staging.take_discarded(), [id]);
        assert!(store.shared().staging.is_settled(), "no blob is in doubt");
    }
}
