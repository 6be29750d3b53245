//! Objects.

#[cfg(any(test, feature = "test-util"))]
mod archive;
pub(crate) mod body;
pub(crate) mod copy;
pub(crate) mod current;
mod delete;
pub(crate) mod get;
pub(crate) mod list;
mod list_versions;
mod parts;
mod pins;
mod put;
mod reader;
mod staging;

use std::sync::Arc;

use crate::bucket::Bucket;
use crate::checksum::{ChecksumValue, ObjectChecksum};
use crate::etag::ETag;
use crate::name::{ObjectKey, PartNumber, VersionId};

pub use crate::meta::{ContentHeaders, ObjectMetadata, Owner};
#[cfg(any(test, feature = "test-util"))]
pub use archive::VersionChange;
pub use body::{BodyHasher, BodyOptions, BodySink, BodyWriter, StagedBody, StoredBytes};
pub use copy::{CopyOptions, CopyOutcome};
pub use delete::{DeleteOutcome, DeleteTarget};
pub use get::ReadSelection;
pub use list::{ListEntry, ListPage, ListQuery, ListStart, ListToken, ListedObject};
pub use list_versions::{
    ListVersionsQuery, ListedDeleteMarker, ListedVersion, VersionEntry, VersionPage,
};
pub(crate) use pins::Pins;
pub use put::PutOptions;
pub use reader::ObjectReader;
pub(crate) use reader::OpenError;
pub(crate) use staging::{StagedBlob, Staging};

/// One version of an object, without its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectVersion {
    /// Its key.
    pub key: ObjectKey,
    /// Which version.
    pub version_id: VersionId,
    /// Whether it is the current one.
    pub is_latest: bool,
    /// Size.
    pub bytes: u64,
    /// Entity tag.
    pub etag: ETag,
    /// When it was written, in milliseconds since 1970.
    pub modified_ms: u64,
    /// Its checksum, if it has one.
    pub checksum: Option<ObjectChecksum>,
    /// What the client said about it.
    pub metadata: ObjectMetadata,
    /// Number of parts, of an object that was uploaded in parts.
    pub part_count: Option<u32>,
    /// Whose it is.
    pub owner: Owner,
}

/// Names an object, or one version of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectId {
    /// Its bucket.
    pub bucket: Arc<Bucket>,
    /// Its key.
    pub key: ObjectKey,
    /// Which version; none is the current one.
    pub version: Option<VersionId>,
}

/// A part of an object that was uploaded in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartInfo {
    /// Its position in the object, from 1 without gaps.
    pub number: PartNumber,
    /// Size.
    pub bytes: u64,
    /// Where it begins in the object.
    pub offset: u64,
    /// Its checksum, if it has one.
    pub checksum: Option<ChecksumValue>,
}
