//! Records of multipart uploads and of their parts.

use serde::{Deserialize, Serialize};

use super::content::Content;
use super::{ObjectMetadata, Owner, record, space};
use crate::checksum::{ChecksumAlgorithm, ChecksumType, ChecksumValue};
use crate::error::StoreError;
use crate::kv::{Read, Write};
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
}

impl UploadRecord {
    /// The upload `id`, if it is in progress, and for this key.
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

    /// The upload `id`, if it is in progress.
    pub(crate) fn read(from: &impl Read, id: &UploadId) -> Result<Option<Self>, StoreError> {
        match from.get(&space::upload(id))? {
            Some(bytes) => record::decode(&bytes, "an upload's record").map(Some),
            None => Ok(None),
        }
    }

    pub(crate) fn write(&self, to: &mut impl Write, id: &UploadId) -> Result<(), StoreError> {
        to.put(&space::upload(id), &record::encode(1, self))?;
        Ok(to.put(&space::upload_by_key(self.bucket, &self.key, id), &[])?)
    }

    /// Removes it from among the uploads in progress. Its parts stay.
    pub(crate) fn delete(&self, from: &mut impl Write, id: &UploadId) -> Result<(), StoreError> {
        from.delete(&space::upload(id))?;
        Ok(from.delete(&space::upload_by_key(self.bucket, &self.key, id))?)
    }
}

/// What is known of a part beside its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PartFacts {
    /// Where it begins in the completed object; zero before.
    pub(crate) start: u64,
    pub(crate) bytes: u64,
    pub(crate) md5: [u8; 16],
    pub(crate) modified_ms: u64,
    pub(crate) checksum: Option<ChecksumValue>,
}

impl PartFacts {
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        let (_, fields) = record::split_version(bytes, 1)?;
        Ok(record::take(fields, WHAT)?.0)
    }
}

/// A part of an upload in progress, or of a completed one. Completion numbers parts anew, from 1
/// without gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartRecord {
    pub(crate) facts: PartFacts,
    /// Inline or extents.
    pub(crate) content: Content,
}

impl PartRecord {
    pub(crate) fn encode(&self) -> Vec<u8> {
        self.content.append(record::encode(1, &self.facts))
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        let (_, fields) = record::split_version(bytes, 1)?;
        let (facts, fields): (PartFacts, _) = record::take(fields, WHAT)?;
        let content = Content::decode(fields)?;
        // Parts of parts are no more to be believed than a wrong size.
        if content.bytes() != Some(facts.bytes) || facts.start.checked_add(facts.bytes).is_none() {
            return Err(StoreError::corrupt("a part's size is not that of its manifest"));
        }
        Ok(Self { facts, content })
    }

    pub(crate) fn read(
        from: &impl Read,
        id: &UploadId,
        number: u16,
    ) -> Result<Option<Self>, StoreError> {
        match from.get(&space::part(id, number))? {
            Some(bytes) => Self::decode(&bytes).map(Some),
            None => Ok(None),
        }
    }

    pub(crate) fn write(
        &self,
        to: &mut impl Write,
        id: &UploadId,
        number: u16,
    ) -> Result<(), StoreError> {
        Ok(to.put(&space::part(id, number), &self.encode())?)
    }
}

const WHAT: &str = "a part's record";

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn a_part_survives_encoding_and_damage_is_refused() {
        let part = PartRecord {
            facts: PartFacts { start: 9, bytes: 4, md5: [1; 16], modified_ms: 5, checksum: None },
            content: Content::Inline(Bytes::from_static(b"part")),
        };
        let encoded = part.encode();
        assert_eq!(PartRecord::decode(&encoded).expect("own bytes"), part);
        assert_eq!(PartFacts::decode(&encoded).expect("own bytes"), part.facts);
        for length in 0..encoded.len() {
            PartRecord::decode(&encoded[..length]).expect_err("cut");
        }
        let content = Content::Parts { list: UploadId([0; 16]), count: 1, is_original: true };
        let nested = PartRecord { content, ..part }.encode();
        PartRecord::decode(&nested).expect_err("parts of parts");
    }
}
