//! Annotations: named texts that belong to one version of an object.
//!
//! ```text
//! ObjectRecord ── set id ──► head: owner, number ──► records by name ──► payloads by name
//! ```
//! The record of a version names its set; the head of the set names the version, so that verification
//! finds a set whose version does not exist. Sizes and tags are in records, so that a list reads no
//! payload. All rows of a set are removed some time after its version: see [`SetDeletion`].

use std::fmt;

use bytes::Bytes;
use liteio_checksum::ChecksumValue;
use liteio_kv::{Read, Write};
use serde::{Deserialize, Serialize};

use super::record::{self, Sealed};
use super::space;
use crate::error::StoreError;
use crate::etag::ETag;
use crate::limits::ANNOTATION_NAME_BYTES_MAX;
use crate::name::BucketId;

/// Id of the set of annotations of one version. Random, since a version may move to another key.
pub(crate) type SetId = [u8; 16];

/// The name of an annotation: 1 to 512 bytes of letters and digits of any script, `_`, `.` and `-`, which do not
/// begin with `aws` or `s3`.
///
/// Source: "Annotation naming guidelines" in the Amazon S3 User Guide.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AnnotationName(String);

/// The reason why a name is not one of an annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnnotationNameError {
    /// It has no byte, a character that is not allowed, or a reserved prefix.
    Invalid,
    /// It has more than [`ANNOTATION_NAME_BYTES_MAX`] bytes.
    TooLong,
}

impl AnnotationName {
    /// Checks `name`.
    ///
    /// # Errors
    /// [`AnnotationNameError`].
    pub fn new(name: impl Into<String>) -> Result<Self, AnnotationNameError> {
        let name = name.into();
        if name.len() > ANNOTATION_NAME_BYTES_MAX {
            return Err(AnnotationNameError::TooLong);
        }
        let is_allowed = |it: char| it.is_alphanumeric() || matches!(it, '_' | '.' | '-');
        let is_reserved = ["aws", "s3"].into_iter().any(|prefix| {
            name.get(..prefix.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(prefix))
        });
        match !name.is_empty() && name.chars().all(is_allowed) && !is_reserved {
            true => Ok(Self(name)),
            false => Err(AnnotationNameError::Invalid),
        }
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for AnnotationName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The head of a set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SetHead {
    /// The version that the set belongs to. Of a set that is being copied, its future place.
    pub(crate) bucket: BucketId,
    pub(crate) key: String,
    pub(crate) stamp: [u8; 16],
    /// Number of annotations.
    pub(crate) count: u32,
    /// Number of tombstones.
    pub(crate) tombstones: u32,
    /// Grows with every change, so that a copy notices it.
    pub(crate) revision: u64,
}

impl SetHead {
    const WHAT: &str = "the head of a set of annotations";

    pub(crate) fn read(from: &impl Read, set: &SetId) -> Result<Option<Self>, StoreError> {
        let place = space::annotations(set);
        from.get(&place)?.map(|value| Self::decode(&place, &value)).transpose()
    }

    pub(crate) fn write(&self, to: &mut impl Write, set: &SetId) -> Result<(), StoreError> {
        let place = space::annotations(set);
        Ok(to.put(&place, &record::seal(1, &place, self, &[]))?)
    }

    pub(crate) fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        record::split_version(bytes, 1)?;
        Sealed::open(place, bytes, Self::WHAT)?.decode(Self::WHAT)
    }
}

/// An annotation without its payload, or the tombstone of one, which has no payload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AnnotationRecord {
    /// Size of the payload; 0 in a tombstone.
    pub(crate) bytes: u32,
    pub(crate) etag: ETag,
    pub(crate) modified_ms: u64,
    pub(crate) checksum: Option<ChecksumValue>,
    /// Salt of the key of its payload, if its object is encrypted.
    pub(crate) salt: Option<[u8; 16]>,
}

impl AnnotationRecord {
    const WHAT: &str = "an annotation";
    const PAYLOAD: &str = "the payload of an annotation";

    pub(crate) fn read(
        from: &impl Read,
        set: &SetId,
        name: &str,
    ) -> Result<Option<Self>, StoreError> {
        let place = space::annotation(set, name);
        from.get(&place)?.map(|value| Self::decode(&place, &value)).transpose()
    }

    pub(crate) fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        record::split_version(bytes, 1)?;
        Sealed::open(place, bytes, Self::WHAT)?.decode(Self::WHAT)
    }

    /// A tombstone of a version that is replicated: the other servers have to delete the annotation, too.
    pub(crate) fn tombstone(deleted_ms: u64) -> Self {
        let etag = ETag::Md5([0; 16]);
        Self { bytes: 0, etag, modified_ms: deleted_ms, checksum: None, salt: None }
    }

    /// `true` for a tombstone.
    pub(crate) fn is_deleted(&self) -> bool {
        self.bytes == 0
    }

    pub(crate) fn encode(&self, place: &[u8]) -> Vec<u8> {
        record::seal(1, place, self, &[])
    }

    /// Writes the record and its payload as it is stored.
    pub(crate) fn write(
        &self,
        to: &mut impl Write,
        (set, name): (&SetId, &str),
        stored: &[u8],
    ) -> Result<(), StoreError> {
        let (place, of_payload) = (space::annotation(set, name), space::payload(set, name));
        to.put(&place, &self.encode(&place))?;
        Ok(to.put(&of_payload, &record::seal(1, &of_payload, &(), stored))?)
    }

    /// The payload as it is stored, verified.
    pub(crate) fn stored(from: &impl Read, set: &SetId, name: &str) -> Result<Bytes, StoreError> {
        let place = space::payload(set, name);
        let row = from.get(&place)?;
        let row =
            row.ok_or_else(|| StoreError::corrupt(format!("{} is missing", Self::PAYLOAD)))?;
        Ok(Bytes::copy_from_slice(Self::decode_payload(&place, &row)?))
    }

    /// The bytes in the row of a payload, verified.
    pub(crate) fn decode_payload<'a>(place: &[u8], row: &'a [u8]) -> Result<&'a [u8], StoreError> {
        record::split_version(row, 1)?;
        let sealed = Sealed::open(place, row, Self::PAYLOAD)?;
        record::take_all::<()>(sealed.fields, Self::PAYLOAD)?;
        sealed.body.verified(Self::PAYLOAD)
    }
}

/// A set that is to be removed: that of a removed version, or one that a copy makes. The copy takes the row
/// away when its version has the set, so that nothing is left of one that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SetDeletion {
    /// Time before which nothing is removed, in milliseconds since 1970; 0 once the removal has begun.
    pub(crate) after_ms: u64,
}

impl SetDeletion {
    const WHAT: &str = "a set of annotations to remove";

    pub(crate) fn read(from: &impl Read, set: &SetId) -> Result<Option<Self>, StoreError> {
        let place = space::annotation_deletion(set);
        from.get(&place)?.map(|value| Self::decode(&place, &value)).transpose()
    }

    pub(crate) fn write(self, to: &mut impl Write, set: &SetId) -> Result<(), StoreError> {
        let place = space::annotation_deletion(set);
        Ok(to.put(&place, &record::seal(1, &place, &self, &[]))?)
    }

    pub(crate) fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        record::split_version(bytes, 1)?;
        Sealed::open(place, bytes, Self::WHAT)?.decode(Self::WHAT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_letters_digits_and_few_signs() {
        use AnnotationNameError::{Invalid, TooLong};
        for (name, refused) in [
            ("a", None),
            ("ml.sentiment_2-x", None),
            ("größe", None),
            ("標籤", None),
            ("as3", None),
            ("a".repeat(512).as_str(), None),
            ("a".repeat(513).as_str(), Some(TooLong)),
            ("ü".repeat(257).as_str(), Some(TooLong)),
            ("", Some(Invalid)),
            ("a b", Some(Invalid)),
            ("a/b", Some(Invalid)),
            ("a\0", Some(Invalid)),
            ("aws.x", Some(Invalid)),
            ("AwSome", Some(Invalid)),
            ("S3", Some(Invalid)),
            ("s3x", Some(Invalid)),
        ] {
            assert_eq!(AnnotationName::new(name).err(), refused, "{name:.20}");
        }
    }

    #[test]
    fn rows_survive_encoding_and_damage_is_refused() {
        let set = [7; 16];
        let place = space::annotation(&set, "a");
        let record = AnnotationRecord {
            bytes: 5,
            etag: ETag::Md5([1; 16]),
            modified_ms: 9,
            checksum: None,
            salt: Some([3; 16]),
        };
        let encoded = record.encode(&place);
        assert_eq!(AnnotationRecord::decode(&place, &encoded).expect("own bytes"), record);
        let of_payload = space::payload(&set, "a");
        let payload = record::seal(1, &of_payload, &(), b"bytes");
        let decoded = AnnotationRecord::decode_payload(&of_payload, &payload);
        assert_eq!(decoded.expect("own bytes"), b"bytes");
        for (place, row, is_payload) in [(&place, &encoded, false), (&of_payload, &payload, true)] {
            let decode = |place: &[u8], row: &[u8]| match is_payload {
                true => AnnotationRecord::decode_payload(place, row).map(drop),
                false => AnnotationRecord::decode(place, row).map(drop),
            };
            for bit in 0..row.len() * 8 {
                let mut damaged = row.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                decode(place, &damaged).expect_err("damaged");
            }
            decode(&space::annotation(&[8; 16], "a"), row).expect_err("of another set");
            decode(place, &row[..row.len() - 1]).expect_err("cut");
        }
    }
}
