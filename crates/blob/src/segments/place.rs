//! The place of a blob in a segment, which is its id.

use super::super::BlobId;
use super::BLOCK;

/// The name of a segment. The nonce is new with every life of a segment's file, so that nothing of
/// an earlier life, or of another store, is taken for its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SegmentName {
    pub(crate) number: u32,
    pub(crate) nonce: u64,
}

/// A range of blocks within a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) segment: SegmentName,
    pub(crate) start: u16,
    pub(crate) blocks: u16,
}

/// The directory of segments.
pub(crate) const DIRECTORY: &str = "blobs/segments";

impl SegmentName {
    /// The path of the file.
    pub(crate) fn path(&self) -> String {
        format!("{DIRECTORY}/{:08x}-{:016x}", self.number, self.nonce)
    }

    /// The inverse of the last part of [`SegmentName::path`].
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let (number, nonce) = name.split_once('-')?;
        let found = Self {
            number: u32::from_str_radix(number, 16).ok()?,
            nonce: u64::from_str_radix(nonce, 16).ok()?,
        };
        found.path().ends_with(&format!("/{name}")).then_some(found)
    }
}

impl Place {
    /// The id of the blob.
    ///
    /// ```text
    /// 0..4  number of the segment    12..14  first block
    /// 4..12 nonce of the segment     14..16  number of blocks      (big-endian)
    /// ```
    pub(crate) fn id(&self) -> BlobId {
        let mut id = [0; 16];
        id[..4].copy_from_slice(&self.segment.number.to_be_bytes());
        id[4..12].copy_from_slice(&self.segment.nonce.to_be_bytes());
        id[12..14].copy_from_slice(&self.start.to_be_bytes());
        id[14..].copy_from_slice(&self.blocks.to_be_bytes());
        BlobId(id)
    }

    /// The place that an id names, if it is one of a segment.
    pub(crate) fn of(id: &BlobId) -> Self {
        let [a, b, c, d, nonce @ .., e, f, g, h] = id.0;
        Self {
            segment: SegmentName {
                number: u32::from_be_bytes([a, b, c, d]),
                nonce: u64::from_be_bytes(nonce),
            },
            start: u16::from_be_bytes([e, f]),
            blocks: u16::from_be_bytes([g, h]),
        }
    }

    /// Offset of the first byte.
    pub(crate) fn offset(&self) -> u64 {
        u64::from(self.start) * BLOCK as u64
    }

    /// Length in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        u64::from(self.blocks) * BLOCK as u64
    }

    /// Number of the block behind it.
    pub(crate) fn end(&self) -> u32 {
        u32::from(self.start) + u32::from(self.blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_leads_back_to_its_place_and_a_name_to_its_segment() {
        let segment = SegmentName { number: 0x0102_0304, nonce: 0x1112_1314_1516_1718 };
        let place = Place { segment, start: 0x2122, blocks: 0x3132 };
        let hex = "01020304111213141516171821223132";
        assert_eq!(place.id().to_string(), hex);
        assert_eq!(Place::of(&place.id()), place);
        assert_eq!(segment.path(), "blobs/segments/01020304-1112131415161718");
        assert_eq!(SegmentName::parse("01020304-1112131415161718"), Some(segment));
        for name in ["", "1-2", "01020304", "01020304-111213141516171", "0102030G-1112131415161718"]
        {
            assert_eq!(SegmentName::parse(name), None, "{name:?}");
        }
    }
}
