//! Bodies beside the records of their versions: bytes that are too few for a blob, and too many for
//! a record, which every list reads.
//!
//! ```text
//! bytes  0 ────────── record ────────── RECORD_BODY_BYTES_MAX ── row ── INLINE_BYTES_MAX ── blob
//! ```
//! The row of a body has the stamp of its version as the key. So it stays where it is when the
//! version moves into the history, and when the record is changed. It is written and deleted in the
//! transactions that write and delete its version, which alone has it: a copy gets a row of its own.
//! It names its object, so that verification finds a row whose version does not exist.

use std::borrow::Cow;

use bytes::Bytes;
use liteio_kv::{Read, Write};
use serde::{Deserialize, Serialize};

use super::content::Content;
use super::record::{self, Sealed};
use super::space;
use crate::error::StoreError;
use crate::name::{BucketId, ObjectKey};

const VERSION: u8 = 1;
const WHAT: &str = "the body of an object";

/// The object that a body belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BodyOwner {
    pub(crate) bucket: BucketId,
    pub(crate) key: String,
}

/// The content for the record of a new version: bytes beyond `record_bytes_max` are written to a
/// row.
pub(crate) fn put(
    to: &mut impl Write,
    content: Content,
    record_bytes_max: usize,
    (bucket, key, stamp): (BucketId, &ObjectKey, &[u8; 16]),
) -> Result<Content, StoreError> {
    match content {
        Content::Inline(body) if body.len() > record_bytes_max => {
            let bytes = u32::try_from(body.len()).expect("inline bytes are few");
            let owner = BodyOwner { bucket, key: key.as_str().to_owned() };
            let place = space::body(stamp);
            to.put(&place, &record::seal(VERSION, &place, &owner, &body))?;
            Ok(Content::Apart { stamp: *stamp, bytes })
        }
        // The row has another version's stamp, or will be gone with that version.
        Content::Apart { .. } => {
            Err(StoreError::Internal { what: "a version has the body of another one".to_owned() })
        }
        content => Ok(content),
    }
}

/// The content with the bytes of its row, if they have one.
pub(crate) fn whole<'a>(
    from: &impl Read,
    content: &'a Content,
) -> Result<Cow<'a, Content>, StoreError> {
    let Content::Apart { stamp, bytes } = content else { return Ok(Cow::Borrowed(content)) };
    let row = from.get(&space::body(stamp))?;
    let body = decode(stamp, *bytes, row.as_deref())?;
    Ok(Cow::Owned(Content::Inline(body)))
}

/// [`whole`] for a version that is withdrawn: its row is deleted.
pub(crate) fn take(write: &mut impl Write, content: Content) -> Result<Content, StoreError> {
    let whole = whole(write, &content)?.into_owned();
    delete(write, &content)?;
    Ok(whole)
}

/// Deletes the row of a removed version, if it has one.
pub(crate) fn delete(write: &mut impl Write, content: &Content) -> Result<(), StoreError> {
    match content {
        Content::Apart { stamp, .. } => Ok(write.delete(&space::body(stamp))?),
        _ => Ok(()),
    }
}

/// The bytes in the row of the version `stamp`, verified.
pub(crate) fn decode(
    stamp: &[u8; 16],
    bytes: u32,
    row: Option<&[u8]>,
) -> Result<Bytes, StoreError> {
    let row = row.ok_or_else(|| StoreError::corrupt(format!("{WHAT} is missing")))?;
    let place = space::body(stamp);
    record::split_version(row, VERSION)?;
    let body = Sealed::open(&place, row, WHAT)?.body.verified(WHAT)?;
    match body.len() == bytes as usize {
        true => Ok(Bytes::copy_from_slice(body)),
        false => Err(StoreError::corrupt(format!("{WHAT} has another length"))),
    }
}

/// The owner and the length of the body in the row at `place`. The bytes are not verified.
pub(crate) fn owner(place: &[u8], row: &[u8]) -> Result<(BodyOwner, usize), StoreError> {
    record::split_version(row, VERSION)?;
    let sealed = Sealed::open(place, row, WHAT)?;
    Ok((record::take_all(sealed.fields, WHAT)?, sealed.body.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAMP: [u8; 16] = [7; 16];

    fn row() -> Vec<u8> {
        let owner = BodyOwner { bucket: BucketId(3), key: "key".to_owned() };
        record::seal(VERSION, &space::body(&STAMP), &owner, b"some bytes")
    }

    #[test]
    fn a_row_names_its_object_and_no_damaged_or_foreign_one_is_read() {
        let (place, row) = (space::body(&STAMP), row());
        assert_eq!(decode(&STAMP, 10, Some(&row)).expect("own bytes"), "some bytes");
        let (named, bytes) = owner(&place, &row).expect("own bytes");
        assert_eq!((named.bucket, named.key.as_str(), bytes), (BucketId(3), "key", 10));
        for bit in 0..row.len() * 8 {
            let mut damaged = row.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            decode(&STAMP, 10, Some(&damaged)).expect_err("damaged");
        }
        for length in 0..row.len() {
            decode(&STAMP, 10, Some(&row[..length])).expect_err("cut");
        }
        decode(&STAMP, 9, Some(&row)).expect_err("of another length");
        decode(&[8; 16], 10, Some(&row)).expect_err("of another version");
        decode(&STAMP, 10, None).expect_err("missing");
    }

    #[test]
    fn rows_are_in_the_order_of_time() {
        let stamp = |time: u64| -> [u8; 16] {
            [(!time).to_be_bytes(), [5; 8]].concat().try_into().expect("16 bytes")
        };
        let (older, newer) = (stamp(1), stamp(2));
        assert!(older > newer, "the newest version comes first in a history");
        assert!(space::body(&older) < space::body(&newer));
        assert_eq!(space::split_body(&space::body(&older)), Some(older));
        assert_eq!(space::split_body(&[0x12; 17]), None);
    }
}
