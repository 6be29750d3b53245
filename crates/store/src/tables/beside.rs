//! Rows beside the record of a table, which come and go with it: its id, and its settings.

use liteio_kv::{Transaction, Write as _};

use super::namespace::has_keys;
use super::{CatalogError, TableName};
use crate::error::StoreError;
use crate::meta::{TableSettings, space};
use crate::name::BucketId;

/// The key of the settings of a table.
pub(super) fn place_of(bucket: BucketId, name: &TableName) -> Vec<u8> {
    space::table_settings(bucket, name.namespace().path(), name.name())
}

/// Checks that no table has the id of a new one.
///
/// # Errors
/// [`CatalogError::IdTaken`].
pub(super) fn require_free(
    write: &Transaction<'_>,
    bucket: BucketId,
    name: &TableName,
    id: &[u8; 16],
) -> Result<(), StoreError> {
    match has_keys(write, &space::tables_with_id(bucket, id))? {
        true => Err(CatalogError::IdTaken { name: name.to_string() }.into()),
        false => Ok(()),
    }
}

/// Adds what belongs to a new table beside its record.
pub(super) fn begin(
    write: &mut Transaction<'_>,
    bucket: BucketId,
    name: &TableName,
    id: &[u8; 16],
) -> Result<(), StoreError> {
    Ok(write.put(&place_of_id(bucket, name, id), &[])?)
}

/// Removes what belongs to a table beside its record.
pub(super) fn end(
    write: &mut Transaction<'_>,
    bucket: BucketId,
    name: &TableName,
    id: &[u8; 16],
) -> Result<(), StoreError> {
    write.delete(&place_of_id(bucket, name, id))?;
    Ok(write.delete(&place_of(bucket, name))?)
}

/// Moves what belongs to a table to its new name.
pub(super) fn rename(
    write: &mut Transaction<'_>,
    bucket: BucketId,
    (from, to): (&TableName, &TableName),
    id: &[u8; 16],
) -> Result<(), StoreError> {
    let settings = TableSettings::read(write, &place_of(bucket, from))?;
    end(write, bucket, from, id)?;
    begin(write, bucket, to, id)?;
    settings.write(write, &place_of(bucket, to))
}

fn place_of_id(bucket: BucketId, name: &TableName, id: &[u8; 16]) -> Vec<u8> {
    space::table_id(bucket, id, name.namespace().path(), name.name())
}
