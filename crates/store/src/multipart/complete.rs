//! CompleteMultipartUpload.

use crate::checksum::{ChecksumValue, ObjectChecksum};
use crate::name::{BucketName, ObjectKey, PartNumber, UploadId};
use crate::object::ObjectVersion;
use crate::pending::Pending;
use crate::precondition::WriteConditions;
use crate::store::Store;

/// A part as the client names it in a Complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompletePart {
    /// Its number.
    pub number: PartNumber,
    /// Its entity tag, which must match.
    pub etag: Option<String>,
    /// Its checksum, which must match.
    pub checksum: Option<ChecksumValue>,
}

/// How to complete an upload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompleteOptions {
    /// What must hold for the current object of the key.
    pub conditions: WriteConditions,
    /// The checksum that the client expects of the whole object.
    pub checksum: Option<ObjectChecksum>,
    /// The size that the client expects.
    pub object_bytes: Option<u64>,
}

impl Store {
    /// Makes the parts an object, in one transaction and without copying a byte. Repeated while that
    /// object is current, it answers as the first time.
    pub fn complete_upload(
        &self,
        bucket: &BucketName,
        key: &ObjectKey,
        id: &UploadId,
        parts: Vec<CompletePart>,
        options: CompleteOptions,
    ) -> Pending<ObjectVersion> {
        todo!("{bucket} {key} {id} {parts:?} {options:?}")
    }
}
