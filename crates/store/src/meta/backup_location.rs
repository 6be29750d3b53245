//! The locations of backups that a store was backed up to, with the identities of these.

use liteio_kv::{Read, Write};

use super::{record, space};
use crate::error::StoreError;

const WHAT: &str = "the location of a backup";

/// The identity of the backup at a location; `None` if the store was not backed up there.
pub(crate) fn read(from: &impl Read, location: &str) -> Result<Option<[u8; 16]>, StoreError> {
    match from.get(&space::backup_location(location))? {
        Some(bytes) => record::decode(&bytes, WHAT).map(Some),
        None => Ok(None),
    }
}

pub(crate) fn write(
    to: &mut impl Write,
    location: &str,
    backup: &[u8; 16],
) -> Result<(), StoreError> {
    Ok(to.put(&space::backup_location(location), &record::encode(1, backup))?)
}
