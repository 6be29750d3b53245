//! Records of every kind.

use std::fmt::Debug;

use crate::error::StoreError;
use crate::meta::bucket::{BucketRecord, StoreRecord};
use crate::meta::content::{Content, Extent, slice_extents};
use crate::meta::object::{Listed, ObjectRecord};
use crate::meta::record;
use crate::meta::upload::{PartFacts, PartRecord, UploadRecord};

/// A record of the kind that the first byte names: refused, or decoded to something that can be
/// encoded and worked with.
pub fn record(data: &[u8]) {
    let Some((kind, bytes)) = data.split_first() else { return };
    match kind % 6 {
        0 => object(bytes),
        1 => part(bytes),
        2 => drop(stable::<UploadRecord>(bytes, plain, encode_plain)),
        3 => drop(stable(bytes, BucketRecord::decode, encode_plain)),
        4 => drop(stable::<StoreRecord>(bytes, plain, encode_plain)),
        _ => drop(stable::<u64>(bytes, plain, encode_plain)),
    }
}

fn plain<T: for<'a> serde::Deserialize<'a>>(bytes: &[u8]) -> Result<T, StoreError> {
    record::decode(bytes, "a record")
}

fn encode_plain(fields: &impl serde::Serialize) -> Vec<u8> {
    record::encode(1, fields)
}

/// The decoded record, if it is one, and its encoding.
fn stable<T: PartialEq + Debug>(
    bytes: &[u8],
    decode: impl Fn(&[u8]) -> Result<T, StoreError>,
    encode: impl Fn(&T) -> Vec<u8>,
) -> Option<(T, Vec<u8>)> {
    let value = match decode(bytes) {
        Ok(value) => value,
        Err(error) => {
            let is_expected =
                matches!(error, StoreError::Corrupt { .. } | StoreError::FormatTooNew { .. });
            assert!(is_expected, "{error}");
            return None;
        }
    };
    let encoded = encode(&value);
    let again = decode(&encoded).expect("what was decoded and encoded is decoded again");
    assert_eq!(again, value);
    assert_eq!(encode(&again), encoded, "encoding is stable");
    Some((value, encoded))
}

fn object(bytes: &[u8]) {
    let listed = Listed::decode(bytes);
    let Some((object, encoded)) = stable(bytes, ObjectRecord::decode, ObjectRecord::encode) else {
        return;
    };
    // A listing must not fail at, or disagree with, what a GET would read.
    let seen = listed.expect("the front of a sound record is sound");
    assert_eq!((seen.bytes, seen.etag), (object.bytes, object.etag));
    assert_eq!(seen.version_id(), object.version_id());
    assert_eq!(seen.owner(), object.owner);
    let seen = Listed::decode(&encoded).expect("the front of a sound record is sound");
    let checksum = object.checksum.map(|checksum| (checksum.value.algorithm, checksum.kind));
    assert_eq!(seen.checksum, checksum);
    content(&object.content, object.bytes);
}

fn part(bytes: &[u8]) {
    let facts = PartFacts::decode(bytes);
    let Some((part, _)) = stable(bytes, PartRecord::decode, PartRecord::encode) else { return };
    assert_eq!(facts.expect("the front of a sound record is sound"), part.facts);
    assert!(part.facts.start.checked_add(part.facts.bytes).is_some());
    content(&part.content, part.facts.bytes);
}

/// Any range of a content can be cut out of it.
fn content(content: &Content, bytes: u64) {
    if let Some(known) = content.bytes() {
        assert_eq!(known, bytes, "the size of the record is that of its content");
    }
    let Content::Extents(extents) = content else { return };
    for extent in extents {
        let end = extent.offset.checked_add(extent.bytes);
        assert!(end.is_some_and(|end| end <= extent.blob_bytes), "{extent:?}");
    }
    for range in [0..bytes, 0..bytes / 2, bytes / 3..bytes, bytes / 3..bytes / 2] {
        let slices = slice_extents(extents, &range);
        assert!(slices.iter().all(|slice| slice.bytes > 0));
        let within = |slice: &&_| extents.iter().any(|whole| contains(whole, slice));
        assert_eq!(slices.iter().filter(within).count(), slices.len());
        let total: u64 = slices.iter().map(|slice| slice.bytes).sum();
        assert_eq!(total, range.end - range.start, "{range:?}");
    }
}

fn contains(whole: &Extent, slice: &Extent) -> bool {
    let end = |extent: &Extent| extent.offset + extent.bytes;
    whole.blob == slice.blob
        && whole.blob_bytes == slice.blob_bytes
        && whole.offset <= slice.offset
        && end(slice) <= end(whole)
}
