//! The content of an object or of a part: inline bytes, a row with bytes, extents of blobs, a list
//! of parts, or a body in a tier.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::remote::RemoteBody;
use crate::error::StoreError;
use crate::name::{BucketId, UploadId};

/// The unit in which content is counted and deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ContentId {
    /// A blob.
    Blob([u8; 16]),
    /// The parts of an upload that was completed or ended.
    Parts(UploadId),
    /// The uploads in progress of a deleted bucket. Only in the queue of deletions.
    Uploads(BucketId),
}

/// A run of bytes within a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Extent {
    pub(crate) blob: [u8; 16],
    /// Length of the whole blob.
    pub(crate) blob_bytes: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// The manifest of an object, or of a part (which never is [`Content::Parts`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Inline bytes.
    Inline(Bytes),
    /// Pieces of blobs, one after another.
    Extents(Vec<Extent>),
    /// The part records 1 to `count` of an upload.
    Parts {
        list: UploadId,
        count: u32,
        /// `true` for the object that the upload made, `false` for its copies.
        is_original: bool,
    },
    /// Bytes in the [row](super::body) of the version with this stamp, which is the version of the
    /// record.
    Apart { stamp: [u8; 16], bytes: u32 },
    /// A body in a tier. It is an extension of the record, which no part has.
    Remote(Box<RemoteBody>),
}

impl Default for Content {
    /// No bytes.
    fn default() -> Self {
        Self::Inline(Bytes::new())
    }
}

/// The manifest as it is stored behind the fields of a record. Inline bytes are the body of the
/// record.
#[derive(Serialize, Deserialize)]
pub(super) enum StoredContent<'a> {
    Inline { bytes: u32 },
    Extents(Cow<'a, [Extent]>),
    Parts { list: UploadId, count: u32, is_original: bool },
    Apart { bytes: u32 },
}

impl Content {
    /// The manifest and the body of a record.
    pub(super) fn to_stored(&self) -> (StoredContent<'_>, &[u8]) {
        match self {
            Self::Inline(bytes) => {
                let length = u32::try_from(bytes.len()).expect("inline bytes are few");
                (StoredContent::Inline { bytes: length }, bytes)
            }
            Self::Extents(extents) => (StoredContent::Extents(Cow::Borrowed(extents)), &[]),
            Self::Parts { list, count, is_original } => {
                let (list, count, is_original) = (*list, *count, *is_original);
                (StoredContent::Parts { list, count, is_original }, &[])
            }
            Self::Apart { bytes, .. } => (StoredContent::Apart { bytes: *bytes }, &[]),
            // It is an extension of the record.
            Self::Remote(_) => (StoredContent::Inline { bytes: 0 }, &[]),
        }
    }

    /// The inverse of [`Content::to_stored`], for the version with the stamp `stamp`; `None` for a
    /// part, whose bytes have no row.
    pub(super) fn from_stored(
        stored: StoredContent<'_>,
        body: &[u8],
        stamp: Option<&[u8; 16]>,
    ) -> Result<Self, StoreError> {
        let (content, inline_bytes) = match stored {
            StoredContent::Inline { bytes } => (None, bytes as usize),
            StoredContent::Extents(extents) => {
                for extent in &*extents {
                    let end = extent.offset.checked_add(extent.bytes);
                    if end.is_none_or(|end| end > extent.blob_bytes) {
                        return Err(StoreError::corrupt("an extent is not within its blob"));
                    }
                }
                let content = Self::Extents(extents.into_owned());
                // Their lengths are added up when a range is cut out, so the sum must not overflow.
                if content.bytes().is_none() {
                    return Err(StoreError::corrupt("a manifest's size overflows"));
                }
                (Some(content), 0)
            }
            StoredContent::Parts { list, count, is_original } => {
                (Some(Self::Parts { list, count, is_original }), 0)
            }
            StoredContent::Apart { bytes } => {
                let no_version = || StoreError::corrupt("a part's bytes are not in its record");
                let stamp = *stamp.ok_or_else(no_version)?;
                (Some(Self::Apart { stamp, bytes }), 0)
            }
        };
        if body.len() != inline_bytes {
            return Err(StoreError::corrupt("a manifest of the wrong length"));
        }
        Ok(content.unwrap_or_else(|| Self::Inline(Bytes::copy_from_slice(body))))
    }

    /// Length of the content; `None` for parts, whose sizes are in their records.
    pub(crate) fn bytes(&self) -> Option<u64> {
        match self {
            Self::Inline(bytes) => Some(bytes.len() as u64),
            Self::Apart { bytes, .. } => Some(u64::from(*bytes)),
            Self::Extents(extents) => {
                extents.iter().try_fold(0_u64, |total, extent| total.checked_add(extent.bytes))
            }
            Self::Remote(remote) => remote.parts.is_none().then_some(remote.bytes),
            Self::Parts { .. } => None,
        }
    }

    /// The list with the facts of the parts, and their number, if it was uploaded in parts.
    pub(crate) fn part_list(&self) -> Option<(UploadId, u32)> {
        match self {
            Self::Parts { list, count, .. } => Some((*list, *count)),
            Self::Remote(remote) => {
                remote.parts.as_ref().map(|parts| (remote.part_list(), parts.count))
            }
            Self::Inline(_) | Self::Extents(_) | Self::Apart { .. } => None,
        }
    }

    /// `true` for a body in a tier.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(self, Self::Remote(_))
    }
}

/// The extents of `range` within the content of `extents`.
pub(crate) fn slice_extents(extents: &[Extent], range: &Range<u64>) -> Vec<Extent> {
    let mut start = 0;
    let mut sliced = Vec::new();
    for extent in extents {
        let end = start + extent.bytes;
        let (first, last) = (range.start.max(start), range.end.min(end));
        if first < last {
            let offset = extent.offset + (first - start);
            sliced.push(Extent { offset, bytes: last - first, ..*extent });
        }
        start = end;
    }
    sliced
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::record;

    const STAMP: [u8; 16] = [4; 16];

    fn extent(blob: u8, offset: u64, bytes: u64) -> Extent {
        Extent { blob: [blob; 16], blob_bytes: 100, offset, bytes }
    }

    #[test]
    fn a_slice_has_exactly_the_bytes_of_the_range() {
        let extents = [extent(1, 10, 5), extent(2, 0, 1), extent(3, 90, 10)];
        let cases: [(Range<u64>, &[Extent]); 5] = [
            (0..16, &extents),
            (0..0, &[]),
            (2..4, &[extent(1, 12, 2)]),
            (4..7, &[extent(1, 14, 1), extent(2, 0, 1), extent(3, 90, 1)]),
            (15..16, &[extent(3, 99, 1)]),
        ];
        for (range, expected) in cases {
            assert_eq!(slice_extents(&extents, &range), expected, "{range:?}");
        }
    }

    #[test]
    fn contents_survive_encoding_and_damage_is_refused() {
        let contents = [
            Content::Inline(Bytes::from_static(b"bytes")),
            Content::Extents(vec![extent(1, 10, 5), extent(2, 0, 100)]),
            Content::Parts { list: UploadId([3; 16]), count: 10_000, is_original: true },
            Content::Apart { stamp: STAMP, bytes: 16_384 },
        ];
        for content in contents {
            let (fields, body) = encode(&content);
            assert_eq!(decode(&fields, &body).expect("own bytes"), content);
            for length in 0..fields.len() {
                decode(&fields[..length], &body).expect_err("cut");
            }
            decode(&fields, &[&body[..], &[0]].concat()).expect_err("too long");
        }
        for damaged in [
            Content::Extents(vec![extent(1, 99, 2)]),
            Content::Extents(vec![
                Extent {
                    blob_bytes: u64::MAX,
                    offset: 0,
                    bytes: u64::MAX,
                    ..extent(1, 0, 0)
                };
                2
            ]),
        ] {
            let (fields, body) = encode(&damaged);
            decode(&fields, &body).expect_err("outside of its blob, or too many bytes");
        }
    }

    fn encode(content: &Content) -> (Vec<u8>, Vec<u8>) {
        let (stored, body) = content.to_stored();
        (record::append(&stored, Vec::new()), body.to_vec())
    }

    fn decode(fields: &[u8], body: &[u8]) -> Result<Content, StoreError> {
        Content::from_stored(record::take(fields, "a manifest")?.0, body, Some(&STAMP))
    }
}
