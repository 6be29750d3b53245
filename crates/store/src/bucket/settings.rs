//! Settings of buckets: versioning, and documents that the store keeps and does not read.

use std::sync::Arc;

use crate::error::StoreError;
use crate::kv::{Transaction, Write};
use crate::limits::DOCUMENT_BYTES_MAX;
use crate::meta::bucket::BucketRecord;
use crate::meta::{DocumentKind, Versioning, document, space};
use crate::object::history;
use crate::pending::{Committed, Pending};
use crate::process::{Bucket, ForgetBucket};
use crate::store::{Shared, Store};

impl Store {
    /// Enables or suspends versioning.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], and with [`StoreError::InvalidRequest`] for
    /// [`Versioning::Never`], to which no bucket returns, and for suspending while versions may be
    /// locked.
    pub fn set_versioning(&self, bucket: &Arc<Bucket>, versioning: Versioning) -> Pending<()> {
        let bucket = Arc::clone(bucket);
        self.update(move |write, shared| {
            let forget = change(write, shared, &bucket, |record| {
                let is_allowed = match versioning {
                    Versioning::Never => false,
                    Versioning::Enabled => true,
                    Versioning::Suspended => !record.object_lock,
                };
                if !is_allowed {
                    let message = format!("versioning cannot be changed to {versioning:?}");
                    return Err(StoreError::InvalidRequest { message });
                }
                record.versioning = versioning;
                Ok(())
            })?;
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
            let message = format!("the document has more than {DOCUMENT_BYTES_MAX} bytes");
            return Pending::ready(Err(StoreError::InvalidRequest { message }));
        }
        let bucket = Arc::clone(bucket);
        self.update(move |write, shared| {
            let forget = change(write, shared, &bucket, |_| Ok(()))?;
            document::write(write, bucket.id, kind, &document)?;
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
