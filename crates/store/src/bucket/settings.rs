//! Settings of buckets: versioning, and documents that the store keeps and does not read.

use std::sync::Arc;

use crate::encryption::DefaultEncryption;
use crate::error::StoreError;
use crate::kv::{Transaction, Write};
use crate::limits::DOCUMENT_BYTES_MAX;
use crate::meta::bucket::BucketRecord;
use crate::meta::{DefaultRetention, DocumentKind, Lifecycle, Versioning, document, space};
use crate::object::history;
use crate::pending::{Committed, Pending};
use crate::process::{Bucket, ForgetBucket};
use crate::store::{Shared, Store};

impl Store {
    /// Enables or suspends versioning.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], with [`StoreError::InvalidRequest`] for
    /// [`Versioning::Never`], to which no bucket returns, and with [`StoreError::InvalidBucketState`] for
    /// suspending while versions may be locked.
    pub fn set_versioning(&self, bucket: &Arc<Bucket>, versioning: Versioning) -> Pending<()> {
        let bucket = Arc::clone(bucket);
        self.update(move |write, shared| {
            let forget = change(write, shared, &bucket, |record| {
                match versioning {
                    Versioning::Never => {
                        let message = "versioning can be suspended, and not be undone".to_owned();
                        return Err(StoreError::InvalidRequest { message });
                    }
                    Versioning::Suspended if record.object_lock => {
                        let message = "An Object Lock configuration is present on this bucket, so the \
                             versioning state cannot be changed.";
                        return Err(invalid_state(message));
                    }
                    Versioning::Enabled | Versioning::Suspended => record.versioning = versioning,
                }
                Ok(())
            })?;
            Ok(Committed::with_guard((), forget))
        })
    }

    /// Lets versions be locked from now on, and sets the retention of those that come without one.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], and with [`StoreError::InvalidBucketState`] unless
    /// versioning is enabled.
    pub fn set_object_lock(
        &self,
        bucket: &Arc<Bucket>,
        default_retention: Option<DefaultRetention>,
    ) -> Pending<()> {
        let bucket = Arc::clone(bucket);
        self.update(move |write, shared| {
            let forget = change(write, shared, &bucket, |record| {
                if record.versioning != Versioning::Enabled {
                    let message = "Versioning must be 'Enabled' on the bucket to apply a Object Lock \
                         configuration";
                    return Err(invalid_state(message));
                }
                record.object_lock = true;
                Ok(())
            })?;
            match &default_retention {
                Some(retention) => {
                    let document = document::encode_setting(retention);
                    document::write(write, bucket.id, document::OBJECT_LOCK, &document)?;
                }
                None => write.delete(&space::document(bucket.id, document::OBJECT_LOCK))?,
            }
            Ok(Committed::with_guard((), forget))
        })
    }

    /// Sets the lifecycle rules of a bucket, which the caller has checked, or takes them away.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], and with [`StoreError::InvalidRequest`] for more than
    /// [`DOCUMENT_BYTES_MAX`] bytes.
    pub fn set_lifecycle(&self, bucket: &Arc<Bucket>, lifecycle: Option<Lifecycle>) -> Pending<()> {
        let document = lifecycle.map(|lifecycle| document::encode_setting(&lifecycle));
        if document.as_ref().is_some_and(|document| document.len() > DOCUMENT_BYTES_MAX) {
            return Pending::ready(Err(too_long()));
        }
        let bucket = Arc::clone(bucket);
        self.update(move |write, shared| {
            let forget = change(write, shared, &bucket, |_| Ok(()))?;
            match &document {
                Some(document) => {
                    document::write(write, bucket.id, document::LIFECYCLE, document)?;
                }
                None => write.delete(&space::document(bucket.id, document::LIFECYCLE))?,
            }
            Ok(Committed::with_guard((), forget))
        })
    }

    /// Sets the encryption of new objects that name none; `None` for no encryption.
    ///
    /// Fails with [`StoreError::NoSuchBucket`].
    pub fn set_default_encryption(
        &self,
        bucket: &Arc<Bucket>,
        encryption: Option<DefaultEncryption>,
    ) -> Pending<()> {
        let bucket = Arc::clone(bucket);
        self.update(move |write, shared| {
            let forget = change(write, shared, &bucket, |_| Ok(()))?;
            match &encryption {
                Some(encryption) => {
                    let document = document::encode_setting(encryption);
                    document::write(write, bucket.id, document::ENCRYPTION, &document)?;
                }
                None => write.delete(&space::document(bucket.id, document::ENCRYPTION))?,
            }
            Ok(Committed::with_guard((), forget))
        })
    }

    /// Puts a document of a bucket, which the caller has checked, in place of the last of its kind.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], and with [`StoreError::InvalidRequest`] for more than
    /// [`DOCUMENT_BYTES_MAX`] bytes.
    pub fn put_document(
        &self,
        bucket: &Arc<Bucket>,
        kind: DocumentKind,
        document: Vec<u8>,
    ) -> Pending<()> {
        if document.len() > DOCUMENT_BYTES_MAX {
            return Pending::ready(Err(too_long()));
        }
        let bucket = Arc::clone(bucket);
        self.update(move |write, shared| {
            let forget = change(write, shared, &bucket, |_| Ok(()))?;
            document::write(write, bucket.id, kind as u8, &document)?;
            Ok(Committed::with_guard((), forget))
        })
    }

    /// Changes the document of that kind: `change` makes the new one of the old, or nothing of it. It may
    /// run several times.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], the errors of `change`, and as [`Store::put_document`].
    pub fn change_document<F>(
        &self,
        bucket: &Arc<Bucket>,
        kind: DocumentKind,
        change_one: F,
    ) -> Pending<()>
    where
        F: Fn(Option<&[u8]>) -> Result<Option<Vec<u8>>, StoreError> + Send + 'static,
    {
        let bucket = Arc::clone(bucket);
        self.update(move |write, shared| {
            let forget = change(write, shared, &bucket, |_| Ok(()))?;
            match change_one(document::read(write, bucket.id, kind)?.as_deref())? {
                Some(document) if document.len() > DOCUMENT_BYTES_MAX => return Err(too_long()),
                Some(document) => document::write(write, bucket.id, kind as u8, &document)?,
                None => write.delete(&space::document(bucket.id, kind as u8))?,
            }
            Ok(Committed::with_guard((), forget))
        })
    }

    /// The document of that kind, if the bucket has one.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if metadata cannot be read.
    pub fn get_document(
        &self,
        bucket: &Bucket,
        kind: DocumentKind,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        document::read(&self.snapshot()?, bucket.id, kind)
    }

    /// Deletes the document of that kind; a bucket without one is fine.
    ///
    /// Fails with [`StoreError::NoSuchBucket`].
    pub fn delete_document(&self, bucket: &Arc<Bucket>, kind: DocumentKind) -> Pending<()> {
        let bucket = Arc::clone(bucket);
        self.update_freeing(move |write, shared| {
            let forget = change(write, shared, &bucket, |_| Ok(()))?;
            write.delete(&space::document(bucket.id, kind as u8))?;
            Ok(Committed::with_guard((), forget))
        })
    }
}

fn too_long() -> StoreError {
    let message = format!("the document has more than {DOCUMENT_BYTES_MAX} bytes");
    StoreError::InvalidRequest { message }
}

fn invalid_state(message: &str) -> StoreError {
    StoreError::InvalidBucketState { message: message.to_owned() }
}

/// Changes the record of a bucket and its stamp. The guard must live until the commit.
fn change(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    bucket: &Bucket,
    change: impl FnOnce(&mut BucketRecord) -> Result<(), StoreError>,
) -> Result<ForgetBucket, StoreError> {
    let record = BucketRecord::read(write, &bucket.name)?.filter(|record| record.id == bucket.id);
    let missing = || StoreError::NoSuchBucket { bucket: bucket.name.clone() };
    let mut record = record.ok_or_else(missing)?;
    if record.is_version_1 && history::index(write, record.id)? {
        record.versioning = Versioning::Suspended;
    }
    change(&mut record)?;
    record.settings_stamp += 1;
    record.write(write, &bucket.name)?;
    Ok(ForgetBucket::new(shared, &bucket.name))
}
