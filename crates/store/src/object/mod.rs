//! Objects.

mod ahead;
mod annotation_copy;
mod annotations;
mod append;
pub(crate) mod body;
mod change;
pub(crate) mod copy;
pub(crate) mod current;
mod delete;
pub(crate) mod get;
pub(crate) mod history;
mod import;
pub(crate) mod list;
mod list_versions;
mod parts;
pub(crate) mod publish;
mod put;
pub(crate) mod quota;
pub(crate) mod reader;
pub(crate) mod release;
pub(crate) mod remote;
mod removal;
mod rename;
mod replicate;
mod replicated;
mod restores;
pub(crate) mod seal;
mod sealed;
mod tell;

use std::sync::Arc;

use liteio_checksum::{ChecksumValue, ObjectChecksum};

use crate::encryption::EncryptionScheme;
use crate::etag::ETag;
use crate::meta::{ObjectLock, ReplicationStatus, Restore, is_archive_class};
use crate::name::{ObjectKey, PartNumber, VersionId};
use crate::process::Bucket;

pub use crate::meta::{ContentHeaders, ObjectMetadata, Owner};
pub use annotation_copy::AnnotationDirective;
pub use annotations::{
    Annotate, Annotation, AnnotationChange, AnnotationPage, AnnotationQuery, FoundAnnotation,
    NewAnnotation,
};
pub use body::{BodyHasher, BodyOptions, BodySink, BodyWriter, StagedBody, StoredBytes};
pub use change::{SeenVersion, VersionChange};
pub use copy::{CopyOptions, CopyOutcome};
pub use delete::{DeleteOutcome, DeleteTarget};
pub use get::{
    ArchiveAccess, FoundObject, GetOptions, ObjectPartPage, OpenedObject, ReadError, Selection,
};
pub use import::{ImportedContent, ImportedObject, ImportedVersion, KnownVersion, PartsSealing};
pub use list::{ListEntry, ListPage, ListQuery, ListStart, ListToken, ListedObject};
pub use list_versions::{ListVersionsQuery, VersionEntry, VersionPage};
pub use put::PutOptions;
pub use reader::ObjectReader;
pub(crate) use reader::{OpenError, body_key};
pub use rename::RenameOptions;
pub use replicate::Replica;
pub use replicated::ReplicatedVersion;
pub(crate) use seal::identity;

/// One version of an object, without its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectVersion {
    /// The key.
    pub key: ObjectKey,
    /// The version id.
    pub version_id: VersionId,
    /// `true` for the current version.
    pub is_latest: bool,
    /// The size.
    pub bytes: u64,
    /// Entity tag.
    pub etag: ETag,
    /// Time of the write, in milliseconds since 1970.
    pub modified_ms: u64,
    /// The checksum, if it has one.
    pub checksum: Option<ObjectChecksum>,
    /// The metadata from the client.
    pub metadata: ObjectMetadata,
    /// Number of parts, if the object was uploaded in parts.
    pub part_count: Option<u32>,
    /// The encryption, if it is encrypted.
    pub encryption: Option<EncryptionScheme>,
    /// Its owner.
    pub owner: Owner,
    /// The lock.
    pub lock: ObjectLock,
    /// The access control list, in the caller's encoding; `None` for the default.
    pub acl: Option<Vec<u8>>,
    /// The status of its replication, if it is copied, or a copy.
    pub replication: Option<ReplicationStatus>,
    /// `true` if it has annotations, or tombstones of some for replication.
    pub has_annotations: bool,
    /// `true` if the body is in a tier.
    pub is_in_tier: bool,
    /// Its last restore, if it was ever restored. It may have expired.
    pub restore: Option<Restore>,
}

impl ObjectVersion {
    /// `true` if its storage class is one that must be restored before it is read.
    #[must_use]
    pub fn is_archived(&self) -> bool {
        is_archive_class(self.metadata.storage_class.as_deref())
    }
}

/// The identity of an object, or of one version of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectId {
    /// The bucket.
    pub bucket: Arc<Bucket>,
    /// The key.
    pub key: ObjectKey,
    /// The version; `None` for the current one.
    pub version: Option<VersionId>,
}

/// A part of an object that was uploaded in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartInfo {
    /// The position in the object, from 1 without gaps.
    pub number: PartNumber,
    /// The size.
    pub bytes: u64,
    /// The offset in the object.
    pub offset: u64,
    /// The checksum, if it has one.
    pub checksum: Option<ChecksumValue>,
}
