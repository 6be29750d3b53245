//! `ObjectRecord`: one version of an object.
//!
//! Version 1: the fields that a listing shows ([`Listed`]), then the rest, then the manifest
//! ([`Content`]), inline bytes last. A listing decodes the first, without a copy.

use serde::{Deserialize, Serialize};

use super::content::Content;
use super::{ContentHeaders, ObjectMetadata, Owner, record};
use crate::checksum::{ChecksumAlgorithm, ChecksumType, ObjectChecksum};
use crate::error::StoreError;
use crate::etag::ETag;
use crate::name::VersionId;

const VERSION: u8 = 1;

/// One version of an object, or a delete marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectRecord {
    /// Unique for every write, and smaller than that of every older version of the key.
    pub(crate) stamp: [u8; 16],
    /// Whether clients know it as `null`.
    pub(crate) is_null: bool,
    pub(crate) is_delete_marker: bool,
    pub(crate) bytes: u64,
    pub(crate) etag: ETag,
    pub(crate) modified_ms: u64,
    pub(crate) owner: Owner,
    pub(crate) checksum: Option<ObjectChecksum>,
    pub(crate) metadata: ObjectMetadata,
    pub(crate) content: Content,
}

/// What a listing shows, borrowed from the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Listed<'a> {
    pub(crate) bytes: u64,
    pub(crate) etag: ETag,
    pub(crate) modified_ms: u64,
    pub(crate) checksum: Option<(ChecksumAlgorithm, ChecksumType)>,
    #[serde(borrow)]
    pub(crate) storage_class: Option<&'a str>,
    pub(crate) owner_id: &'a str,
    pub(crate) owner_display_name: &'a str,
    pub(crate) stamp: [u8; 16],
    pub(crate) is_null: bool,
    pub(crate) is_delete_marker: bool,
}

/// The rest, but for the manifest.
#[derive(Serialize, Deserialize)]
struct Rest {
    checksum: Option<ObjectChecksum>,
    headers: ContentHeaders,
    user: Vec<(String, String)>,
    tags: Vec<(String, String)>,
}

/// The same, borrowed. Its fields are those of [`Rest`], in the same order.
#[derive(Serialize)]
struct RestRef<'a> {
    checksum: &'a Option<ObjectChecksum>,
    headers: &'a ContentHeaders,
    user: &'a [(String, String)],
    tags: &'a [(String, String)],
}

impl<'a> Listed<'a> {
    /// Decodes the front of a record.
    pub(crate) fn decode(bytes: &'a [u8]) -> Result<Self, StoreError> {
        let (_, fields) = record::split_version(bytes, VERSION)?;
        Ok(record::take(fields, WHAT)?.0)
    }

    pub(crate) fn version_id(&self) -> VersionId {
        version_id(self.is_null, self.stamp)
    }

    pub(crate) fn owner(&self) -> Owner {
        Owner { id: self.owner_id.to_owned(), display_name: self.owner_display_name.to_owned() }
    }
}

impl ObjectRecord {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let listed = Listed {
            bytes: self.bytes,
            etag: self.etag,
            modified_ms: self.modified_ms,
            checksum: self.checksum.map(|checksum| (checksum.value.algorithm, checksum.kind)),
            storage_class: self.metadata.storage_class.as_deref(),
            owner_id: &self.owner.id,
            owner_display_name: &self.owner.display_name,
            stamp: self.stamp,
            is_null: self.is_null,
            is_delete_marker: self.is_delete_marker,
        };
        let rest = RestRef {
            checksum: &self.checksum,
            headers: &self.metadata.headers,
            user: &self.metadata.user,
            tags: &self.metadata.tags,
        };
        self.content.append(record::append(&rest, record::encode(VERSION, &listed)))
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        let (_, fields) = record::split_version(bytes, VERSION)?;
        let (listed, fields): (Listed<'_>, _) = record::take(fields, WHAT)?;
        let (rest, fields): (Rest, _) = record::take(fields, WHAT)?;
        let content = Content::decode(fields)?;
        if content.bytes().is_some_and(|bytes| bytes != listed.bytes) {
            return Err(StoreError::corrupt("an object's size is not that of its manifest"));
        }
        Ok(Self {
            stamp: listed.stamp,
            is_null: listed.is_null,
            is_delete_marker: listed.is_delete_marker,
            bytes: listed.bytes,
            etag: listed.etag,
            modified_ms: listed.modified_ms,
            owner: listed.owner(),
            checksum: rest.checksum,
            metadata: ObjectMetadata {
                headers: rest.headers,
                user: rest.user,
                tags: rest.tags,
                storage_class: listed.storage_class.map(str::to_owned),
            },
            content,
        })
    }

    pub(crate) fn version_id(&self) -> VersionId {
        version_id(self.is_null, self.stamp)
    }
}

fn version_id(is_null: bool, stamp: [u8; 16]) -> VersionId {
    if is_null { VersionId::Null } else { VersionId::Id(stamp) }
}

const WHAT: &str = "an object's record";

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::checksum::ChecksumValue;

    fn sample() -> ObjectRecord {
        let value = ChecksumValue::new(ChecksumAlgorithm::Crc32, &[1, 2, 3, 4]).expect("fits");
        ObjectRecord {
            stamp: [5; 16],
            is_null: true,
            is_delete_marker: false,
            bytes: 5,
            etag: ETag::Md5([7; 16]),
            modified_ms: 1_700_000_000_000,
            owner: Owner { id: "id".into(), display_name: "name".into() },
            checksum: Some(ObjectChecksum::full_object(value)),
            metadata: ObjectMetadata {
                headers: ContentHeaders {
                    content_type: Some("text/plain".into()),
                    ..ContentHeaders::default()
                },
                user: vec![("a".into(), "b".into())],
                tags: vec![("k".into(), "v".into())],
                storage_class: Some("STANDARD_IA".into()),
            },
            content: Content::Inline(Bytes::from_static(b"hello")),
        }
    }

    #[test]
    fn a_record_survives_encoding_and_a_listing_sees_its_front() {
        let record = sample();
        let encoded = record.encode();
        assert_eq!(ObjectRecord::decode(&encoded).expect("own bytes"), record);
        let listed = Listed::decode(&encoded).expect("own bytes");
        assert_eq!(
            (listed.bytes, listed.etag, listed.storage_class),
            (5, record.etag, Some("STANDARD_IA"))
        );
        assert_eq!(listed.owner(), record.owner);
        assert_eq!(listed.checksum, Some((ChecksumAlgorithm::Crc32, ChecksumType::FullObject)));
        assert_eq!(listed.version_id(), VersionId::Null);
    }

    #[test]
    fn damage_is_refused() {
        let encoded = sample().encode();
        for length in 0..encoded.len() {
            ObjectRecord::decode(&encoded[..length]).expect_err("cut");
        }
        // Whatever a flipped bit makes of it, decoding ends with a record or an error.
        for bit in 0..encoded.len() * 8 {
            let mut damaged = encoded.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let _ = ObjectRecord::decode(&damaged);
            let _ = Listed::decode(&damaged);
        }
        let mut newer = encoded;
        newer[0] = 2;
        let error = ObjectRecord::decode(&newer).expect_err("newer");
        assert!(matches!(error, StoreError::FormatTooNew { found: 2, known: 1 }));
    }
}
