//! ListParts and ListMultipartUploads.

use super::{Part, Upload};
use crate::error::StoreError;
use crate::name::{BucketName, ObjectKey, PartNumber, UploadId};
use crate::store::Store;

/// A page of parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartPage {
    /// The upload.
    pub upload: Upload,
    /// Its parts, by number.
    pub parts: Vec<Part>,
    /// The last part of the page, if more follow.
    pub next: Option<PartNumber>,
}

/// Which uploads to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListUploadsQuery {
    /// Keys that begin so.
    pub prefix: String,
    /// As for [`ListQuery`](crate::ListQuery).
    pub delimiter: Option<String>,
    /// Behind this key; with `upload_marker`, also later uploads of this key.
    pub key_marker: Option<String>,
    /// Behind this upload of the key `key_marker`.
    pub upload_marker: Option<String>,
    /// At most so many uploads and common prefixes.
    pub max: usize,
}

/// A page of uploads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UploadPage {
    /// In one order: by key, then by id.
    pub entries: Vec<UploadEntry>,
    /// The markers of the next page (of a common prefix, the second is empty).
    pub next: Option<(String, String)>,
}

/// A line of a listing of uploads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UploadEntry {
    /// An upload.
    Upload(Upload),
    /// A common prefix.
    Prefix(String),
}

impl Store {
    /// A page of the parts of an upload, behind the number `after`.
    ///
    /// # Errors
    /// [`StoreError::NoSuchUpload`], [`StoreError::NoSuchBucket`].
    pub fn list_parts(
        &self,
        bucket: &BucketName,
        key: &ObjectKey,
        id: &UploadId,
        after: Option<u16>,
        max: usize,
    ) -> Result<PartPage, StoreError> {
        todo!("{bucket} {key} {id} {after:?} {max}")
    }

    /// A page of the uploads of a bucket.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`].
    pub fn list_uploads(
        &self,
        bucket: &BucketName,
        query: &ListUploadsQuery,
    ) -> Result<UploadPage, StoreError> {
        todo!("{bucket} {query:?}")
    }
}
