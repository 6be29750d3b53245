//! ListObjectVersions.

use super::ListedObject;
use crate::error::StoreError;
use crate::meta::Owner;
use crate::name::{BucketName, VersionId};
use crate::store::Store;

/// Which versions to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListVersionsQuery {
    /// Keys that begin so.
    pub prefix: String,
    /// As for [`ListQuery`](super::ListQuery).
    pub delimiter: Option<String>,
    /// Behind this key, or within it behind `version_marker`.
    pub key_marker: Option<String>,
    /// Behind this version of the key `key_marker`.
    pub version_marker: Option<VersionId>,
    /// At most so many versions, delete markers and common prefixes.
    pub max: usize,
}

/// A page of versions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionPage {
    /// In one order: by key, newest first within a key.
    pub entries: Vec<VersionEntry>,
    /// The markers of the next page; none when nothing follows.
    pub next: Option<(String, Option<VersionId>)>,
}

/// A line of a listing of versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionEntry {
    /// A version with bytes.
    Version(ListedVersion),
    /// A delete marker.
    DeleteMarker(ListedDeleteMarker),
    /// A common prefix.
    Prefix(String),
}

/// What a listing shows of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedVersion {
    /// As in a listing of objects.
    pub object: ListedObject,
    /// Which version.
    pub version_id: VersionId,
    /// Whether it is the current one.
    pub is_latest: bool,
}

/// What a listing shows of a delete marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedDeleteMarker {
    /// Its key.
    pub key: String,
    /// Which version.
    pub version_id: VersionId,
    /// Whether it is the newest.
    pub is_latest: bool,
    /// When it was made, in milliseconds since 1970.
    pub modified_ms: u64,
    /// Whose it is.
    pub owner: Owner,
}

impl Store {
    /// A page of the versions of a bucket.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`].
    pub fn list_versions(
        &self,
        bucket: &BucketName,
        query: &ListVersionsQuery,
    ) -> Result<VersionPage, StoreError> {
        todo!("{bucket} {query:?}")
    }
}
