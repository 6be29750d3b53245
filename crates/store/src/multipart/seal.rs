//! The keys of parts.

use std::sync::Arc;

use crate::encryption::{EncryptionKey, Sealing};
use crate::error::StoreError;
use crate::meta::upload::UploadRecord;
use crate::name::{ObjectKey, UploadId};
use crate::process::Bucket;
use crate::store::Store;

impl Store {
    /// The encryption of one body that will become a part of an upload, as chosen when the upload
    /// was created; `None` if it is not encrypted. `customer` is the client's key.
    ///
    /// # Errors
    /// [`StoreError::NoSuchUpload`], [`StoreError::NoSuchBucket`];
    /// [`StoreError::CustomerKeyRequired`], [`StoreError::CustomerKeyNotApplicable`],
    /// [`StoreError::WrongCustomerKey`]; [`StoreError::KeyMissing`]; [`StoreError::Io`] if the
    /// random source fails.
    pub fn seal_part(
        &self,
        bucket: &Arc<Bucket>,
        key: &ObjectKey,
        id: &UploadId,
        customer: Option<&EncryptionKey>,
    ) -> Result<Option<Sealing>, StoreError> {
        let snapshot = self.snapshot()?;
        let bucket = bucket.require(&snapshot)?;
        let upload = UploadRecord::require(&snapshot, id, bucket, key.as_str())?;
        let Some(encryption) = upload.extensions.encryption()? else {
            return match customer {
                None => Ok(None),
                Some(_) => Err(StoreError::CustomerKeyNotApplicable),
            };
        };
        let data_key = self.keys().unlock(&encryption, upload.identity(id), customer)?;
        let random = &*self.shared().config.random;
        Sealing::part(*id, &encryption.scheme, &data_key, random).map(Some)
    }
}
