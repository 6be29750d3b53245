//! Records of every kind.

use std::fmt::Debug;

use crate::error::StoreError;
use crate::meta::annotation::{AnnotationRecord, SetDeletion, SetHead};
use crate::meta::bucket::{BucketRecord, StoreRecord};
use crate::meta::content::{Content, Extent, slice_extents};
use crate::meta::event::Event;
use crate::meta::object::{Listed, ObjectRecord};
use crate::meta::replication::VersionReplication;
use crate::meta::upload::{PartFacts, PartRecord, UploadRecord};
use crate::meta::vector::{IndexRecord, TagsRecord, VectorBucketRecord, VectorRecord};
use crate::meta::{Notifications, Replication, ReplicationRow, Resync};
use crate::meta::{body, record, space};

/// A record of the kind selected by the first byte: refused, or decoded to a value that can be
/// encoded and used.
pub fn record(data: &[u8]) {
    let Some((kind, bytes)) = data.split_first() else { return };
    match kind % 20 {
        0 => object(bytes),
        1 => part(bytes),
        2 => drop(stable(
            &resealed(bytes),
            |bytes| UploadRecord::decode(PLACE, bytes),
            |upload| upload.encode(PLACE),
        )),
        3 => drop(stable(
            &resealed(bytes),
            // It is encoded as version 2, whatever its version was.
            |bytes| Ok(BucketRecord { is_version_1: false, ..BucketRecord::decode(PLACE, bytes)? }),
            |bucket| bucket.encode(PLACE),
        )),
        4 => drop(stable::<StoreRecord>(bytes, plain, encode_plain)),
        5 => drop(stable::<u64>(bytes, plain, encode_plain)),
        6 => drop(stable(bytes, VectorBucketRecord::decode, encode_plain)),
        7 => drop(stable(bytes, IndexRecord::decode, encode_plain)),
        8 => drop(stable::<TagsRecord>(bytes, plain, encode_plain)),
        10 => drop(stable(
            &resealed(bytes),
            |bytes| Event::decode(PLACE, bytes),
            |event| event.encode(PLACE),
        )),
        11 => drop(stable::<Notifications>(bytes, plain, encode_plain)),
        12 => body(bytes),
        13 => drop(stable::<Replication>(bytes, plain, encode_plain)),
        14 => drop(stable(
            &resealed(bytes),
            |bytes| ReplicationRow::decode(PLACE, bytes),
            |row| row.encode(PLACE),
        )),
        15 => drop(stable(
            &resealed(bytes),
            |bytes| Resync::decode(PLACE, bytes),
            |resync| resync.encode(PLACE),
        )),
        16 => drop(stable::<VersionReplication>(bytes, plain, encode_plain)),
        17 => drop(stable(
            &resealed(bytes),
            |bytes| AnnotationRecord::decode(PLACE, bytes),
            |annotation| annotation.encode(PLACE),
        )),
        18 => drop(sound(SetHead::decode(PLACE, &resealed(bytes)))),
        19 => {
            let bytes = resealed(bytes);
            let _ = sound(AnnotationRecord::decode_payload(PLACE, &bytes));
            let _ = sound(SetDeletion::decode(PLACE, &bytes));
        }
        _ => vector(bytes),
    }
}

/// The key of every record in these tests.
const PLACE: &[u8] = b"place";
/// The stamp of the version of every row.
const STAMP: [u8; 16] = [1; 16];

/// The record with valid checksums, if it is sealed. Otherwise nearly every mutation would end at
/// the checksum.
fn resealed(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    record::reseal(PLACE, &mut bytes);
    bytes
}

fn plain<T: for<'a> serde::Deserialize<'a>>(bytes: &[u8]) -> Result<T, StoreError> {
    record::decode(bytes, "a record")
}

fn encode_plain(fields: &impl serde::Serialize) -> Vec<u8> {
    record::encode(1, fields)
}

/// The decoded record, if it decodes, with its encoding.
fn stable<T: PartialEq + Debug>(
    bytes: &[u8],
    decode: impl Fn(&[u8]) -> Result<T, StoreError>,
    encode: impl Fn(&T) -> Vec<u8>,
) -> Option<(T, Vec<u8>)> {
    let value = sound(decode(bytes))?;
    let encoded = encode(&value);
    let again = decode(&encoded).expect("what was decoded and encoded is decoded again");
    assert_eq!(again, value);
    assert_eq!(encode(&again), encoded, "encoding is stable");
    Some((value, encoded))
}

/// The decoded value; panics on any error except damage and newer formats.
fn sound<T>(decoded: Result<T, StoreError>) -> Option<T> {
    match decoded {
        Ok(value) => Some(value),
        Err(error) => {
            let is_expected =
                matches!(error, StoreError::Corrupt { .. } | StoreError::FormatTooNew { .. });
            assert!(is_expected, "{error}");
            None
        }
    }
}

/// Metadata may contain values that are not equal to themselves (NaN), so only encodings are
/// compared.
fn vector(bytes: &[u8]) {
    let slot = VectorRecord::slot_of(bytes);
    let Some(vector) = sound(VectorRecord::decode(bytes)) else { return };
    assert_eq!(slot.expect("the front of a sound record is sound"), vector.slot);
    let encoded = encode_plain(&vector);
    let again = VectorRecord::decode(&encoded).expect("what was decoded and encoded is decoded");
    assert_eq!(encode_plain(&again), encoded, "encoding is stable");
    assert_eq!((again.slot, again.crc), (vector.slot, vector.crc));
    assert_eq!(again.metadata.bytes(), vector.metadata.bytes());
    for (key, value) in &vector.metadata.0 {
        assert!(vector.metadata.get(key).is_some());
        for scalar in value.scalars() {
            // Compared with anything without a panic.
            let _ = value.scalars().iter().all(|other| scalar.equals(other));
        }
    }
}

fn object(bytes: &[u8]) {
    let bytes = &resealed(bytes);
    let listed = Listed::decode(PLACE, bytes);
    let manifest = ObjectRecord::decode_manifest(PLACE, bytes);
    let decode = |bytes: &[u8]| ObjectRecord::decode(PLACE, bytes);
    let Some((object, encoded)) = stable(bytes, decode, |object| object.encode(PLACE)) else {
        return;
    };
    assert!(manifest.is_ok(), "the manifest of a sound record is sound");
    // A listing must not fail at, or disagree with, what a GET would read.
    let seen = listed.expect("the front of a sound record is sound");
    assert_eq!((seen.bytes, seen.etag), (object.bytes, object.etag));
    assert_eq!(seen.version_id(), object.version_id());
    assert_eq!((&seen.owner, &seen.checksum), (&object.owner, &object.checksum));
    assert_eq!(seen.storage_class, object.metadata.storage_class);
    assert_eq!(Listed::decode(PLACE, &encoded).expect("as sound as before"), seen);
    content(&object.content, object.bytes);
}

fn part(bytes: &[u8]) {
    let bytes = &resealed(bytes);
    let facts = PartFacts::decode(PLACE, bytes);
    let decode = |bytes: &[u8]| PartRecord::decode(PLACE, bytes);
    let Some((part, _)) = stable(bytes, decode, |part| part.encode(PLACE)) else { return };
    assert_eq!(facts.expect("the front of a sound record is sound"), part.facts);
    assert!(part.facts.start.checked_add(part.facts.bytes).is_some());
    // The bytes of a part in a tier are those of its object.
    if sound(part.extensions.remote_offset()).flatten().is_none() {
        content(&part.content, part.facts.bytes);
    }
}

/// A row that tells its owner has bytes, or damaged ones.
fn body(bytes: &[u8]) {
    let place = space::body(&STAMP);
    let mut bytes = bytes.to_vec();
    record::reseal(&place, &mut bytes);
    let Some((_, length)) = sound(body::owner(&place, &bytes)) else { return };
    let length = u32::try_from(length).expect("rows are short");
    if let Some(body) = sound(body::decode(&STAMP, length, Some(&bytes))) {
        assert_eq!(body.len(), length as usize);
    }
}

/// Every range of a content can be sliced out of it.
fn content(content: &Content, bytes: u64) {
    if let Some(known) = content.bytes() {
        assert_eq!(known, bytes, "the size of the record matches its content");
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
