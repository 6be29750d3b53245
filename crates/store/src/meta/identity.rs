//! Entries about users, which the store keeps and does not interpret.

use super::record::{self, Sealed};
use crate::error::StoreError;

/// The record of an entry.
pub(crate) fn encode(place: &[u8], value: &[u8]) -> Vec<u8> {
    record::seal(1, place, &(), value)
}

/// The value in a record, verified.
pub(crate) fn decode<'a>(place: &[u8], bytes: &'a [u8]) -> Result<&'a [u8], StoreError> {
    const WHAT: &str = "an entry about users";
    record::split_version(bytes, 1)?;
    let sealed = Sealed::open(place, bytes, WHAT)?;
    match sealed.fields.is_empty() {
        true => sealed.body.verified(WHAT),
        false => Err(StoreError::corrupt("an entry about users is too long")),
    }
}
