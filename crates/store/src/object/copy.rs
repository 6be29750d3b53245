//! CopyObject.

use super::{ObjectId, ObjectVersion};
use crate::checksum::ChecksumAlgorithm;
use crate::meta::{ObjectMetadata, Owner};
use crate::name::{BucketName, ObjectKey, VersionId};
use crate::pending::Pending;
use crate::precondition::{ReadConditions, WriteConditions};
use crate::store::Store;

/// How to copy an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyOptions {
    /// New metadata; none keeps the source's. Its tags and storage class are not looked at, see the
    /// next two.
    pub metadata: Option<ObjectMetadata>,
    /// New tags; none keeps the source's.
    pub tags: Option<Vec<(String, String)>>,
    /// The storage class of the copy.
    pub storage_class: Option<String>,
    /// What must hold for the source.
    pub source_conditions: ReadConditions,
    /// What must hold for the target.
    pub conditions: WriteConditions,
    /// Whose the copy becomes.
    pub owner: Owner,
    /// The checksum the copy must have. Where it differs from the source's, the bytes are read once,
    /// on the calling thread.
    pub checksum_algorithm: Option<ChecksumAlgorithm>,
}

/// What a copy made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyOutcome {
    /// The copy.
    pub object: ObjectVersion,
    /// Which version of the source it shows.
    pub source_version: VersionId,
}

impl Store {
    /// Copies an object without copying its bytes.
    pub fn copy_object(
        &self,
        source: ObjectId,
        target_bucket: &BucketName,
        target_key: ObjectKey,
        options: CopyOptions,
    ) -> Pending<CopyOutcome> {
        todo!("{source:?} {target_bucket} {target_key} {options:?}")
    }
}
