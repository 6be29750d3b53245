//! Records of multipart uploads and of their parts.

use liteio_checksum::{ChecksumAlgorithm, ChecksumType, ChecksumValue};
use liteio_kv::{Read, Write};
use serde::{Deserialize, Serialize};

use super::claim::Claim;
use super::content::{Content, StoredContent};
use super::object::Extensions;
use super::record::{Body, Sealed};
use super::{ContentHeaders, ObjectMetadata, Owner, record, space};
use crate::encryption::Identity;
use crate::error::StoreError;
use crate::name::{BucketId, UploadId};

/// An upload in progress.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UploadRecord {
    pub(crate) bucket: BucketId,
    pub(crate) key: String,
    pub(crate) initiated_ms: u64,
    pub(crate) owner: Owner,
    pub(crate) checksum: Option<(ChecksumAlgorithm, ChecksumType)>,
    pub(crate) metadata: ObjectMetadata,
    /// Extensions of the object that it makes.
    pub(crate) extensions: Extensions,
}

/// Version 1: bucket, key, time, owner and checksum, then headers, user metadata, tags and storage
/// class.
type UploadFields1 = (
    (BucketId, String, u64, Owner, Option<(ChecksumAlgorithm, ChecksumType)>),
    (ContentHeaders, Vec<(String, String)>, Vec<(String, String)>, Option<String>),
);

impl UploadRecord {
    /// The upload `id`, if it is in progress for this key.
    ///
    /// # Errors
    /// [`StoreError::NoSuchUpload`].
    pub(crate) fn require(
        from: &impl Read,
        id: &UploadId,
        bucket: BucketId,
        key: &str,
    ) -> Result<Self, StoreError> {
        Self::read(from, id)?
            .filter(|upload| upload.bucket == bucket && upload.key == key)
            .ok_or_else(|| StoreError::NoSuchUpload { upload: id.to_string() })
    }

    /// The identity that the wrapped key of the upload `id` is bound to.
    pub(crate) fn identity<'a>(&'a self, id: &'a UploadId) -> Identity<'a> {
        Identity::Parts { list: id, bucket: self.bucket, key: &self.key, stamp: None }
    }

    /// The upload `id`, if it is in progress.
    pub(crate) fn read(from: &impl Read, id: &UploadId) -> Result<Option<Self>, StoreError> {
        let place = space::upload(id);
        match from.get(&place)? {
            Some(bytes) => Self::decode(&place, &bytes).map(Some),
            None => Ok(None),
        }
    }

    pub(crate) fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        const WHAT: &str = "an upload's record";
        if record::split_version(bytes, VERSION)?.0 > 1 {
            let upload: Self = Sealed::open(place, bytes, WHAT)?.decode(WHAT)?;
            upload.extensions.check()?;
            return Ok(upload);
        }
        let (facts, metadata): UploadFields1 = record::decode(bytes, WHAT)?;
        let (bucket, key, initiated_ms, owner, checksum) = facts;
        let (headers, user, tags, storage_class) = metadata;
        let metadata = ObjectMetadata { storage_class, headers, user, tags };
        let extensions = Extensions::default();
        Ok(Self { bucket, key, initiated_ms, owner, checksum, metadata, extensions })
    }

    pub(crate) fn encode(&self, place: &[u8]) -> Vec<u8> {
        record::seal(VERSION, place, self, &[])
    }

    pub(crate) fn write(&self, to: &mut impl Write, id: &UploadId) -> Result<(), StoreError> {
        let place = space::upload(id);
        to.put(&place, &self.encode(&place))?;
        Ok(to.put(&space::upload_by_key(self.bucket, &self.key, id), &[])?)
    }

    /// Removes the upload from the uploads in progress. Its parts stay.
    pub(crate) fn delete(&self, from: &mut impl Write, id: &UploadId) -> Result<(), StoreError> {
        from.delete(&space::upload(id))?;
        Ok(from.delete(&space::upload_by_key(self.bucket, &self.key, id))?)
    }
}

/// Facts of a part, without its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PartFacts {
    /// Offset of the part in the completed object; zero before completion.
    pub(crate) start: u64,
    pub(crate) bytes: u64,
    pub(crate) md5: [u8; 16],
    pub(crate) modified_ms: u64,
    pub(crate) checksum: Option<ChecksumValue>,
}

impl PartFacts {
    pub(crate) fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        match record::split_version(bytes, VERSION)? {
            (1, fields) => Ok(record::take(fields, WHAT)?.0),
            _ => Ok(record::take(Sealed::open(place, bytes, WHAT)?.fields, WHAT)?.0),
        }
    }
}

/// A part of an upload in progress or of a completed upload. Completion renumbers the parts from 1
/// without gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartRecord {
    pub(crate) facts: PartFacts,
    pub(crate) extensions: Extensions,
    /// Inline or extents.
    pub(crate) content: Content,
}

impl PartRecord {
    pub(crate) fn encode(&self, place: &[u8]) -> Vec<u8> {
        let (stored, body) = self.content.to_stored();
        record::seal(VERSION, place, &(self.facts, &self.extensions, stored), body)
    }

    pub(crate) fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        let (facts, extensions, stored, body) = Self::decode_fields(place, bytes)?;
        let content = Content::from_stored(stored, body.verified(WHAT)?, None)?;
        // A part has no parts, so such content is damage, as a wrong size is.
        if !has_size(&facts, &extensions, &content)
            || facts.start.checked_add(facts.bytes).is_none()
        {
            return Err(StoreError::corrupt("a part's size differs from its manifest's"));
        }
        Ok(Self { facts, extensions, content })
    }

    /// The content, without inline bytes: they may be damaged.
    pub(crate) fn decode_manifest(place: &[u8], bytes: &[u8]) -> Result<Content, StoreError> {
        let (facts, extensions, stored, _) = Self::decode_fields(place, bytes)?;
        if matches!(stored, StoredContent::Inline { .. }) {
            return Ok(Content::default());
        }
        let content = Content::from_stored(stored, &[], None)?;
        match has_size(&facts, &extensions, &content) {
            true => Ok(content),
            false => Err(StoreError::corrupt("a part's size differs from its manifest's")),
        }
    }

    fn decode_fields<'a>(
        place: &[u8],
        bytes: &'a [u8],
    ) -> Result<(PartFacts, Extensions, StoredContent<'a>, Body<'a>), StoreError> {
        let (version, fields) = record::split_version(bytes, VERSION)?;
        if version == 1 {
            let ((facts, stored), body) = record::take(fields, WHAT)?;
            return Ok((facts, Extensions::default(), stored, Body::unsealed(body)));
        }
        let sealed = Sealed::open(place, bytes, WHAT)?;
        let ((facts, extensions, stored), rest): ((_, Extensions, _), _) =
            record::take(sealed.fields, WHAT)?;
        extensions.check()?;
        match rest.is_empty() {
            true => Ok((facts, extensions, stored, sealed.body)),
            false => Err(StoreError::corrupt("a part's record is too long")),
        }
    }

    pub(crate) fn read(
        from: &impl Read,
        id: &UploadId,
        number: u16,
    ) -> Result<Option<Self>, StoreError> {
        let place = space::part(id, number);
        match from.get(&place)? {
            Some(bytes) => Self::decode(&place, &bytes).map(Some),
            None => Ok(None),
        }
    }

    pub(crate) fn write(
        &self,
        to: &mut impl Write,
        id: &UploadId,
        number: u16,
    ) -> Result<(), StoreError> {
        // The reclaimer takes lists apart.
        to.claim(Claim::Upload(id))?;
        let place = space::part(id, number);
        Ok(to.put(&place, &self.encode(&place))?)
    }
}

/// `true` if the content has the length of the part.
fn has_size(facts: &PartFacts, extensions: &Extensions, content: &Content) -> bool {
    let bytes = content.bytes();
    // The bytes of a part in a tier are those of its object.
    if let Ok(Some(_)) = extensions.remote_offset() {
        return bytes == Some(0);
    }
    bytes.is_some() && bytes == extensions.content_bytes(facts.bytes)
}

const VERSION: u8 = 2;
const WHAT: &str = "a part's record";

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    const PLACE: &[u8] = b"place";

    #[test]
    fn a_part_survives_encoding_and_damage_is_refused() {
        let part = PartRecord {
            facts: PartFacts { start: 9, bytes: 4, md5: [1; 16], modified_ms: 5, checksum: None },
            extensions: Extensions::default(),
            content: Content::Inline(Bytes::from_static(b"part")),
        };
        let encoded = part.encode(PLACE);
        assert_eq!(PartRecord::decode(PLACE, &encoded).expect("own bytes"), part);
        assert_eq!(PartFacts::decode(PLACE, &encoded).expect("own bytes"), part.facts);
        for length in 0..encoded.len() {
            PartRecord::decode(PLACE, &encoded[..length]).expect_err("cut");
        }
        for bit in 0..encoded.len() * 8 {
            let mut damaged = encoded.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            PartRecord::decode(PLACE, &damaged).expect_err("damaged");
        }
        PartRecord::decode(b"other", &encoded).expect_err("under another key");
        let content = Content::Parts { list: UploadId([0; 16]), count: 1, is_original: true };
        let nested = PartRecord { content, ..part.clone() }.encode(PLACE);
        PartRecord::decode(PLACE, &nested).expect_err("parts of parts");
        PartRecord::decode_manifest(PLACE, &nested).expect_err("parts of parts");

        let (stored, body) = part.content.to_stored();
        let version_1 = [&record::encode(1, &(part.facts, stored))[..], body].concat();
        assert_eq!(PartRecord::decode(PLACE, &version_1).expect("read"), part);
        assert_eq!(PartFacts::decode(PLACE, &version_1).expect("read"), part.facts);
    }

    #[test]
    fn an_upload_survives_encoding_and_damage_is_refused() {
        let upload = UploadRecord {
            bucket: BucketId(7),
            key: "key".to_owned(),
            initiated_ms: 5,
            owner: Owner { id: "id".to_owned(), display_name: "name".to_owned() },
            checksum: Some((ChecksumAlgorithm::Sha1, ChecksumType::Composite)),
            metadata: ObjectMetadata {
                storage_class: Some("STANDARD_IA".to_owned()),
                tags: vec![("k".to_owned(), "v".to_owned())],
                ..ObjectMetadata::default()
            },
            extensions: Extensions::default(),
        };
        let encoded = upload.encode(PLACE);
        assert_eq!(UploadRecord::decode(PLACE, &encoded).expect("own bytes"), upload);
        for bit in 0..encoded.len() * 8 {
            let mut damaged = encoded.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            UploadRecord::decode(PLACE, &damaged).expect_err("damaged");
        }
        let UploadRecord { bucket, key, initiated_ms, owner, checksum, .. } = upload.clone();
        let ObjectMetadata { storage_class, headers, user, tags } = upload.metadata.clone();
        let facts = (bucket, key, initiated_ms, owner, checksum);
        let fields: UploadFields1 = (facts, (headers, user, tags, storage_class));
        let version_1 = record::encode(1, &fields);
        assert_eq!(UploadRecord::decode(PLACE, &version_1).expect("read"), upload);
    }
}
