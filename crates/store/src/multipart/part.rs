//! UploadPart and UploadPartCopy.

use crate::checksum::ChecksumValue;
use crate::etag::ETag;
use crate::name::{BucketName, ObjectKey, PartNumber, UploadId, VersionId};
use crate::object::{ObjectId, StagedBody};
use crate::pending::Pending;
use crate::precondition::ReadConditions;
use crate::store::Store;

/// An uploaded part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its number.
    pub number: PartNumber,
    /// Size.
    pub bytes: u64,
    /// Entity tag: the MD5 of its bytes.
    pub etag: ETag,
    /// When it was uploaded, in milliseconds since 1970.
    pub modified_ms: u64,
    /// Its checksum, if it has one.
    pub checksum: Option<ChecksumValue>,
}

/// How to copy a part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CopyPartOptions {
    /// First and last byte, both included; none is the whole source.
    pub range: Option<(u64, u64)>,
    /// What must hold for the source.
    pub conditions: ReadConditions,
}

/// What a copy of a part made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyPartOutcome {
    /// The part.
    pub part: Part,
    /// Which version of the source it shows.
    pub source_version: VersionId,
}

impl Store {
    /// Makes `body` a part of an upload, in place of an earlier one of that number. Where the upload
    /// wants a checksum, the part must come with one by the same algorithm; without `checksum`, the one
    /// in the body's digests is taken.
    pub fn put_part(
        &self,
        bucket: &BucketName,
        key: &ObjectKey,
        id: &UploadId,
        number: PartNumber,
        body: StagedBody,
        checksum: Option<ChecksumValue>,
    ) -> Pending<Part> {
        todo!("{bucket} {key} {id} {number} {body:?} {checksum:?}")
    }

    /// Makes bytes of an object a part of an upload. The bytes are read once, on the calling thread,
    /// for their MD5, and not copied.
    pub fn copy_part(
        &self,
        source: ObjectId,
        bucket: &BucketName,
        key: &ObjectKey,
        id: &UploadId,
        number: PartNumber,
        options: CopyPartOptions,
    ) -> Pending<CopyPartOutcome> {
        todo!("{source:?} {bucket} {key} {id} {number} {options:?}")
    }
}
