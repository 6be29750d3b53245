//! Keys of a directory as a whole: its own record, background work, backups, users.

use super::{
    BACKUP_LOCATION, BACKUP_PLACE, IDENTITY, LEASE, LIFECYCLE, OUTSTANDING, SCRUB, STANDBY, STORE,
};
use crate::error::StoreError;

/// The key of the store's own record.
pub(crate) const STORE_KEY: &[u8] = &[STORE];
/// The key of the record of the scrub.
pub(crate) const SCRUB_KEY: &[u8] = &[SCRUB];

/// The key of the record of the lifecycle.
pub(crate) const LIFECYCLE_KEY: &[u8] = &[LIFECYCLE];

/// The token of the lease at a backup.
pub(crate) fn lease(backup: &[u8; 16]) -> Vec<u8> {
    [&[LEASE], &backup[..]].concat()
}

/// `true` for rows that are of one directory only, and in no backup.
pub(crate) fn is_of_directory(key: &[u8]) -> bool {
    matches!(key.first(), Some(&(STANDBY | LEASE | BACKUP_PLACE | OUTSTANDING)))
}

/// The key of the position of a standby.
pub(crate) const STANDBY_KEY: &[u8] = &[STANDBY];

/// The prefix of all keys of entries about users.
pub(crate) const ALL_IDENTITIES: &[u8] = &[IDENTITY];

/// The prefix of all keys of places in a backup.
pub(crate) const ALL_BACKUP_PLACES: &[u8] = &[BACKUP_PLACE];
/// The prefix of all keys of blobs that are only in a backup.
pub(crate) const ALL_OUTSTANDING: &[u8] = &[OUTSTANDING];

/// The location of a backup.
pub(crate) fn backup_location(location: &str) -> Vec<u8> {
    [&[BACKUP_LOCATION], location.as_bytes()].concat()
}

/// An entry about users.
pub(crate) fn identity(key: &[u8]) -> Vec<u8> {
    [&[IDENTITY], key].concat()
}

/// `true` for a key made by [`identity`].
pub(crate) fn is_identity(bytes: &[u8]) -> bool {
    bytes.first() == Some(&IDENTITY)
}

/// The inverse of [`identity`].
pub(crate) fn identity_key(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(&[IDENTITY]).unwrap_or_default()
}

/// The place of a blob in a backup.
pub(crate) fn backup_place(blob: &[u8; 16]) -> Vec<u8> {
    [&[BACKUP_PLACE], &blob[..]].concat()
}

/// The blob in a key made by [`backup_place`].
pub(crate) fn split_backup_place(bytes: &[u8]) -> Result<[u8; 16], StoreError> {
    let blob = bytes.strip_prefix(&[BACKUP_PLACE]).and_then(|blob| blob.try_into().ok());
    blob.ok_or_else(|| StoreError::corrupt("the key of a place in a backup"))
}

/// A blob that is only in a backup.
pub(crate) fn outstanding(blob: &[u8; 16]) -> Vec<u8> {
    [&[OUTSTANDING], &blob[..]].concat()
}

/// The blob in a key made by [`outstanding`].
pub(crate) fn split_outstanding(bytes: &[u8]) -> Result<[u8; 16], StoreError> {
    let blob = bytes.strip_prefix(&[OUTSTANDING]).and_then(|blob| blob.try_into().ok());
    blob.ok_or_else(|| StoreError::corrupt("the key of an outstanding blob"))
}
