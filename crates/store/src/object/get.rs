//! GetObject, HeadObject, GetObjectAttributes.

use std::ops::Range;

use super::{ObjectReader, ObjectVersion, PartInfo};
use crate::error::StoreError;
use crate::name::{BucketName, ObjectKey, PartNumber, VersionId};
use crate::store::Store;

/// What to read of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadSelection {
    /// All of it.
    Whole,
    /// These bytes, which it must have.
    Range(Range<u64>),
    /// One part; of an object that was not uploaded in parts, part 1 is all of it.
    Part(PartNumber),
    /// Nothing.
    Nothing,
}

impl Store {
    /// An object without its bytes.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`], [`StoreError::NoSuchKey`], [`StoreError::NoSuchVersion`],
    /// [`StoreError::MethodNotAllowed`].
    pub fn head_object(
        &self,
        bucket: &BucketName,
        key: &ObjectKey,
        version: Option<&VersionId>,
    ) -> Result<ObjectVersion, StoreError> {
        todo!("{bucket} {key} {version:?}")
    }

    /// An object with a reader of what `select` chooses after seeing it.
    ///
    /// # Errors
    /// As [`Store::head_object`], what `select` says, and [`StoreError::InvalidRange`] or
    /// [`StoreError::InvalidPartNumber`] when the object has no such bytes or part.
    pub fn get_object(
        &self,
        bucket: &BucketName,
        key: &ObjectKey,
        version: Option<&VersionId>,
        select: &dyn Fn(&ObjectVersion) -> Result<ReadSelection, StoreError>,
    ) -> Result<(ObjectVersion, ReadSelection, ObjectReader), StoreError> {
        let _ = select;
        todo!("{bucket} {key} {version:?}")
    }

    /// The object and the part of it that `number` names, for a HEAD with a part number.
    ///
    /// # Errors
    /// As [`Store::head_object`]; [`StoreError::InvalidPartNumber`] when it has no such part.
    pub fn object_part(
        &self,
        bucket: &BucketName,
        key: &ObjectKey,
        version: Option<&VersionId>,
        number: PartNumber,
    ) -> Result<(ObjectVersion, PartInfo), StoreError> {
        todo!("{bucket} {key} {version:?} {number}")
    }

    /// The parts behind `after` of an object that was uploaded in parts, at most `max`; none of any
    /// other object.
    ///
    /// # Errors
    /// As [`Store::head_object`].
    pub fn list_object_parts(
        &self,
        bucket: &BucketName,
        key: &ObjectKey,
        version: Option<&VersionId>,
        after: Option<PartNumber>,
        max: usize,
    ) -> Result<Vec<PartInfo>, StoreError> {
        todo!("{bucket} {key} {version:?} {after:?} {max}")
    }
}
