//! Encoding of records: one byte of version, then the fields in postcard's encoding.
//!
//! A record that changes gets a new version. The old version keeps its decoder, so nothing on a
//! disk must be rewritten. Newer versions are refused. Bytes from a disk are never trusted.
//!
//! A sealed record also has a checksum of its key and its fields, which every read verifies. redb
//! verifies its pages only when it repairs a file, so without the checksum a flipped bit would be
//! served, and so would a record under a wrong key. The layout:
//!
//! | Bytes | |
//! |---|---|
//! | 1 | version |
//! | varint | length of the body |
//! | 4 | CRC32C of the body, unless its length is zero |
//! | .. | fields |
//! | 4 | CRC32C of the key and of all bytes before |
//! | .. | body |
//!
//! The body has a checksum of its own, so that a listing, which shows fields only, need not read
//! it.

use crc_fast::{CrcAlgorithm, Digest};
use serde::{Deserialize, Serialize};

use crate::error::StoreError;

/// Encodes `fields` as version `version`.
pub(crate) fn encode(version: u8, fields: &impl Serialize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(128);
    bytes.push(version);
    append(fields, bytes)
}

/// Appends `fields` to a record.
pub(crate) fn append(fields: &impl Serialize, bytes: Vec<u8>) -> Vec<u8> {
    postcard::to_extend(fields, bytes).expect("memory takes every field, and all lengths are known")
}

/// Takes the version off a record whose newest version is `known`.
pub(crate) fn split_version(bytes: &[u8], known: u8) -> Result<(u8, &[u8]), StoreError> {
    match bytes.split_first() {
        Some((&version, rest)) if (1..=known).contains(&version) => Ok((version, rest)),
        Some((&version, _)) if version > known => {
            Err(StoreError::FormatTooNew { found: version.into(), known: known.into() })
        }
        _ => Err(StoreError::corrupt("a record without a version")),
    }
}

/// Takes fields off the front of a record.
pub(crate) fn take<'a, T: Deserialize<'a>>(
    bytes: &'a [u8],
    what: &str,
) -> Result<(T, &'a [u8]), StoreError> {
    postcard::take_from_bytes(bytes)
        .map_err(|error| StoreError::corrupt(format!("{what} cannot be decoded: {error}")))
}

/// Decodes a record that has only one version so far and nothing behind its fields.
pub(crate) fn decode<'a, T: Deserialize<'a>>(bytes: &'a [u8], what: &str) -> Result<T, StoreError> {
    let (_, fields) = split_version(bytes, 1)?;
    take_all(fields, what)
}

/// Takes fields off bytes that hold nothing else.
pub(crate) fn take_all<'a, T: Deserialize<'a>>(
    bytes: &'a [u8],
    what: &str,
) -> Result<T, StoreError> {
    match take(bytes, what)? {
        (value, []) => Ok(value),
        _ => Err(StoreError::corrupt(format!("{what} is too long"))),
    }
}

/// Bytes of a CRC32C.
const CRC_BYTES: usize = 4;

/// Encodes `fields` as version `version` of the record at `place`, with checksums.
pub(crate) fn seal(version: u8, place: &[u8], fields: &impl Serialize, body: &[u8]) -> Vec<u8> {
    let body_bytes = u32::try_from(body.len()).expect("a body is small");
    // Room for the fields of most records in one allocation.
    let mut bytes = Vec::with_capacity(192 + body.len());
    bytes.push(version);
    let mut bytes = append(&body_bytes, bytes);
    if !body.is_empty() {
        bytes.extend_from_slice(&crc_fast::crc32_iscsi(body).to_le_bytes());
    }
    let mut bytes = append(fields, bytes);
    let crc = crc_of(place, &bytes);
    bytes.extend_from_slice(&crc);
    bytes.extend_from_slice(body);
    bytes
}

/// A record whose key and fields have the checksum they were written with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sealed<'a> {
    pub(crate) fields: &'a [u8],
    pub(crate) body: Body<'a>,
}

/// The body of a record, not verified yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<'a> {
    bytes: &'a [u8],
    /// `None` without bytes, and in records that were not sealed.
    crc: Option<[u8; CRC_BYTES]>,
}

impl<'a> Body<'a> {
    /// Bytes behind the fields of a record that has no checksums.
    pub(crate) fn unsealed(bytes: &'a [u8]) -> Self {
        Self { bytes, crc: None }
    }

    /// Number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes, verified.
    pub(crate) fn verified(self, what: &str) -> Result<&'a [u8], StoreError> {
        let is_intact = |crc| crc_fast::crc32_iscsi(self.bytes).to_le_bytes() == crc;
        match self.crc.is_none_or(is_intact) {
            true => Ok(self.bytes),
            false => {
                Err(StoreError::corrupt(format!("the bytes of {what} do not have their checksum")))
            }
        }
    }
}

impl<'a> Sealed<'a> {
    /// Decodes the layout that [`seal`] made for `place`. Verifies key and fields, not the body.
    pub(crate) fn open(place: &[u8], bytes: &'a [u8], what: &str) -> Result<Self, StoreError> {
        let cut = || StoreError::corrupt(format!("{what} is cut off"));
        let (_, rest) = bytes.split_first().ok_or_else(cut)?;
        // Lengths come from the disk and are not verified yet, so every cut is checked.
        let (body_bytes, rest): (u32, _) = take(rest, what)?;
        let (crc, rest) = match body_bytes {
            0 => (None, rest),
            _ => {
                let (crc, rest) = rest.split_first_chunk::<CRC_BYTES>().ok_or_else(cut)?;
                (Some(*crc), rest)
            }
        };
        // The body is at the end, so its length tells where the fields end.
        let covered = rest.len().checked_sub(body_bytes as usize).ok_or_else(cut)?;
        let (covered, body) = rest.split_at(covered);
        let (fields, fields_crc) = covered.split_last_chunk::<CRC_BYTES>().ok_or_else(cut)?;
        let front = bytes.len() - rest.len();
        if crc_of(place, &bytes[..front + fields.len()]) != *fields_crc {
            return Err(StoreError::corrupt(format!("{what} does not have its checksum")));
        }
        Ok(Self { fields, body: Body { bytes: body, crc } })
    }

    /// The fields of a record that has nothing else.
    pub(crate) fn decode<T: Deserialize<'a>>(&self, what: &str) -> Result<T, StoreError> {
        let (value, rest) = take(self.fields, what)?;
        match rest.is_empty() && self.body.bytes.is_empty() {
            true => Ok(value),
            false => Err(StoreError::corrupt(format!("{what} is too long"))),
        }
    }
}

/// Computes the checksums of a sealed record of any content anew, if it is long enough.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn reseal(place: &[u8], bytes: &mut [u8]) {
    let Some((2.., rest)) = bytes.split_first() else { return };
    let Ok((body_bytes, rest)) = take::<u32>(rest, "a record") else { return };
    let mut front = bytes.len() - rest.len();
    let Some(body) = bytes.len().checked_sub(body_bytes as usize) else { return };
    if body_bytes > 0 {
        let crc = crc_fast::crc32_iscsi(&bytes[body..]).to_le_bytes();
        let Some(target) = bytes.get_mut(front..front + CRC_BYTES) else { return };
        target.copy_from_slice(&crc);
        front += CRC_BYTES;
    }
    let Some(end) = body.checked_sub(CRC_BYTES).filter(|end| *end >= front) else { return };
    let crc = crc_of(place, &bytes[..end]);
    bytes[end..body].copy_from_slice(&crc);
}

fn crc_of(place: &[u8], covered: &[u8]) -> [u8; CRC_BYTES] {
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    digest.update(place);
    digest.update(covered);
    (digest.finalize() as u32).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flipped_bit_of_a_sealed_record_and_another_place_are_found() {
        for body in [&b""[..], b"some bytes"] {
            let sealed = seal(2, b"place", &(7_u32, "text"), body);
            let open = |place: &[u8], bytes: &[u8]| -> Result<_, StoreError> {
                let sealed = Sealed::open(place, bytes, "x")?;
                let (fields, rest) = take::<(u32, String)>(sealed.fields, "x")?;
                assert!(rest.is_empty());
                Ok((fields, sealed.body.verified("x")?.to_vec()))
            };
            let expected = ((7, "text".to_owned()), body.to_vec());
            assert_eq!(open(b"place", &sealed).expect("own bytes"), expected);
            let moved = open(b"other", &sealed).expect_err("moved");
            assert!(matches!(moved, StoreError::Corrupt { .. }), "{moved}");
            for bit in 0..sealed.len() * 8 {
                let mut damaged = sealed.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                let error = open(b"place", &damaged).expect_err("damaged");
                assert!(matches!(error, StoreError::Corrupt { .. }), "bit {bit}: {error}");
            }
            for length in 0..sealed.len() {
                open(b"place", &sealed[..length]).expect_err("cut");
            }
            open(b"place", &[&sealed[..], &[0]].concat()).expect_err("too long");
        }
    }

    #[test]
    fn unknown_versions_and_damage_are_told_apart() {
        let bytes = encode(1, &(7_u32, "text"));
        assert_eq!(decode::<(u32, String)>(&bytes, "x").expect("own bytes"), (7, "text".into()));
        let newer = encode(2, &7_u32);
        let error = decode::<u32>(&newer, "x").expect_err("newer");
        assert!(matches!(error, StoreError::FormatTooNew { found: 2, known: 1 }));
        for bytes in [&[][..], &[0, 7], &[1], &[1, 7, 7], &[1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF]]
        {
            let error = decode::<u32>(bytes, "x").expect_err("damaged");
            assert!(matches!(error, StoreError::Corrupt { .. }), "{bytes:?}: {error}");
        }
    }
}
