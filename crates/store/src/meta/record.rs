//! How a record becomes bytes: one byte of version, then its fields in postcard's encoding.
//!
//! A record that changes gets a new version; the old one keeps its decoder, so that nothing on a disk
//! must be rewritten. Bytes of a newer version are refused, whatever bytes come are never trusted.

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
    let (value, rest) = take(fields, what)?;
    if rest.is_empty() {
        Ok(value)
    } else {
        Err(StoreError::corrupt(format!("{what} is too long")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
