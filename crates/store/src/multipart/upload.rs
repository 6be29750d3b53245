//! CreateMultipartUpload and AbortMultipartUpload.

use crate::checksum::{ChecksumAlgorithm, ChecksumType};
use crate::error::StoreError;
use crate::meta::{ObjectMetadata, Owner};
use crate::name::{BucketName, ObjectKey, UploadId};
use crate::pending::Pending;
use crate::store::Store;

/// An upload in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    /// Its id.
    pub id: UploadId,
    /// The key of the object it makes.
    pub key: ObjectKey,
    /// When it began, in milliseconds since 1970.
    pub initiated_ms: u64,
    /// Whose it is.
    pub owner: Owner,
    /// The metadata of the object it makes.
    pub metadata: ObjectMetadata,
    /// The checksum of the object it makes, if the client wants one.
    pub checksum: Option<(ChecksumAlgorithm, ChecksumType)>,
}

/// How to begin an upload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UploadOptions {
    /// The metadata of the object.
    pub metadata: ObjectMetadata,
    /// The checksum of the object.
    pub checksum: Option<(ChecksumAlgorithm, ChecksumType)>,
    /// Whose it becomes.
    pub owner: Owner,
}

impl Store {
    /// Begins an upload.
    pub fn create_upload(
        &self,
        bucket: &BucketName,
        key: ObjectKey,
        options: UploadOptions,
    ) -> Pending<Upload> {
        todo!("{bucket} {key} {options:?}")
    }

    /// An upload in progress.
    ///
    /// # Errors
    /// [`StoreError::NoSuchUpload`], also when it is for another key; [`StoreError::NoSuchBucket`].
    pub fn upload(
        &self,
        bucket: &BucketName,
        key: &ObjectKey,
        id: &UploadId,
    ) -> Result<Upload, StoreError> {
        todo!("{bucket} {key} {id}")
    }

    /// Ends an upload and drops its parts.
    pub fn abort_upload(&self, bucket: &BucketName, key: &ObjectKey, id: &UploadId) -> Pending<()> {
        todo!("{bucket} {key} {id}")
    }
}
