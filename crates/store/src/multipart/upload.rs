//! CreateMultipartUpload and AbortMultipartUpload.

use std::iter::once_with;
use std::sync::Arc;

use liteio_checksum::{ChecksumAlgorithm, ChecksumType};
use liteio_kv::{Read as _, Write};

use super::since;
use crate::encryption::{Encryption, EncryptionScheme, Identity, ObjectSealing};
use crate::error::StoreError;
use crate::meta::bucket::BucketState;
use crate::meta::claim::Claim;
use crate::meta::content::Content;
use crate::meta::object::Extensions;
use crate::meta::upload::UploadRecord;
use crate::meta::{ObjectLock, ObjectMetadata, Owner, reference, space};
use crate::name::{ObjectKey, UploadId};
use crate::object::publish::{Slot, missing_lock_configuration};
use crate::pending::{Committed, Pending};
use crate::process::{Bucket, WakeReclaimer};
use crate::store::Store;

/// An upload in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    /// The id of the upload.
    pub id: UploadId,
    /// The key of the future object.
    pub key: ObjectKey,
    /// Time of CreateMultipartUpload, in milliseconds since 1970.
    pub initiated_ms: u64,
    /// Its owner.
    pub owner: Owner,
    /// The metadata of the future object.
    pub metadata: ObjectMetadata,
    /// The checksum algorithm and type of the future object.
    pub checksum: Option<(ChecksumAlgorithm, ChecksumType)>,
    /// `true` if the client did not choose them.
    pub has_default_checksum: bool,
    /// The encryption of the future object.
    pub encryption: Option<EncryptionScheme>,
}

/// Options of an upload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UploadOptions {
    /// The metadata of the object.
    pub metadata: ObjectMetadata,
    /// The checksum of the object.
    pub checksum: Option<(ChecksumAlgorithm, ChecksumType)>,
    /// `true` if the client did not choose it.
    pub has_default_checksum: bool,
    /// The owner of the object.
    pub owner: Owner,
    /// The lock of the object. Without a retention it gets the default of the bucket at completion.
    pub lock: ObjectLock,
    /// The access control list of the object; `None` for the default.
    pub acl: Option<Vec<u8>>,
    /// The encryption of the object.
    pub encryption: Option<Encryption>,
}

impl Store {
    /// Creates an upload.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], with [`StoreError::InvalidRequest`] for a checksum
    /// algorithm that does not support the type, and with the errors of [`Store::seal_object`].
    pub fn create_upload(
        &self,
        bucket: &Arc<Bucket>,
        key: ObjectKey,
        options: UploadOptions,
    ) -> Pending<Upload> {
        let UploadOptions { metadata, checksum, has_default_checksum, .. } = options;
        let UploadOptions { owner, lock, acl, encryption, .. } = options;
        if let Some((algorithm, kind)) = checksum
            && !algorithm.supports(kind)
        {
            let message = format!("the checksum {algorithm:?} cannot be of the type {kind:?}");
            return Pending::ready(Err(StoreError::InvalidRequest { message }));
        }
        let bucket = Arc::clone(bucket);
        let random = Arc::clone(&self.shared().config.random);
        let new_key = |it: &Encryption| self.keys().new_key(it, &*random);
        let sealing = match encryption.as_ref().map(new_key).transpose() {
            Ok(sealing) => sealing,
            Err(error) => return Pending::ready(Err(error)),
        };
        self.update(move |write, shared| {
            let slot = Slot::open(write, shared, &bucket, &key)?;
            let BucketState { id: bucket, object_lock, .. } = *slot.state();
            if lock.protects() && !object_lock {
                return Err(missing_lock_configuration());
            }
            let id = shared.ids.upload(&shared.config)?;
            let identity = Identity::Parts { list: &id, bucket, key: key.as_str(), stamp: None };
            let wrap = |it: &ObjectSealing| it.wrap(identity, &*random);
            let encryption = sealing.as_ref().map(wrap).transpose()?;
            let initiated_ms = shared.config.clock.now_ms();
            let name = key.as_str().to_owned();
            let record = UploadRecord {
                bucket,
                key: name,
                initiated_ms,
                owner: owner.clone(),
                checksum,
                metadata: metadata.clone(),
                extensions: Extensions::default()
                    .with_lock(lock)
                    .with_acl(acl.as_ref())
                    .with_encryption(encryption.as_ref())
                    .with_default_checksum(has_default_checksum)
                    .with_key_state(Some(&since::key_state(&slot, write)?)),
            };
            record.write(write, &id)?;
            Ok(Committed::new(Upload::new(id, key.clone(), record)))
        })
    }

    /// An upload in progress.
    ///
    /// # Errors
    /// [`StoreError::NoSuchUpload`], also if the upload is for another key;
    /// [`StoreError::NoSuchBucket`].
    pub fn upload(
        &self,
        bucket: &Bucket,
        key: &ObjectKey,
        id: &UploadId,
    ) -> Result<Upload, StoreError> {
        let snapshot = self.snapshot()?;
        // Records of uploads outlive their bucket until the reclaimer ends them, so the bucket is
        // checked.
        let bucket = bucket.require(&snapshot)?;
        let record = UploadRecord::require(&snapshot, id, bucket, key.as_str())?;
        Ok(Upload::new(*id, key.clone(), record))
    }

    /// Aborts an upload and drops its parts.
    ///
    /// Fails with [`StoreError::NoSuchUpload`] or [`StoreError::NoSuchBucket`].
    pub fn abort_upload(
        &self,
        bucket: &Arc<Bucket>,
        key: &ObjectKey,
        id: &UploadId,
    ) -> Pending<()> {
        let (bucket, key, id) = (Arc::clone(bucket), key.clone(), *id);
        self.update_freeing(move |write, shared| {
            write.claim(Claim::Bucket(bucket.id))?;
            // A delete of the object reads the uploads of its key.
            write.claim(Claim::Key(bucket.id, key.as_str()))?;
            let of_bucket = once_with(|| space::bucket(bucket.name.as_str()));
            write.fetch(of_bucket.chain(once_with(|| space::upload(&id))))?;
            let bucket = bucket.require(write)?;
            let upload = UploadRecord::require(write, &id, bucket, key.as_str())?;
            end(write, &id, &upload)?;
            Ok(Committed::with_guard((), WakeReclaimer::new(shared)))
        })
    }
}

/// Ends the upload `id` and queues its list of parts as one entry of the deletion queue.
pub(crate) fn end(
    write: &mut impl Write,
    id: &UploadId,
    upload: &UploadRecord,
) -> Result<(), StoreError> {
    write.claim(Claim::UploadAlone(id))?;
    upload.delete(write, id)?;
    // The queue names only the list. The reclaimer finds the parts by their keys.
    let parts = Content::Parts { list: *id, count: 0, is_original: true };
    reference::release(&parts, write).map(drop)
}

impl Upload {
    pub(super) fn new(id: UploadId, key: ObjectKey, record: UploadRecord) -> Self {
        let UploadRecord { initiated_ms, owner, checksum, metadata, extensions, .. } = record;
        // Cannot fail: the record was decoded before.
        let encryption = extensions.encryption().ok().flatten().map(|it| it.scheme);
        let has_default_checksum = extensions.has_default_checksum().unwrap_or(false);
        Self { id, key, initiated_ms, owner, metadata, checksum, has_default_checksum, encryption }
    }

    /// The checksum algorithm and type that the client chose.
    #[must_use]
    pub fn chosen_checksum(&self) -> Option<(ChecksumAlgorithm, ChecksumType)> {
        self.checksum.filter(|_| !self.has_default_checksum)
    }
}
