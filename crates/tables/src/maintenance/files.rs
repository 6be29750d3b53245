//! The files that a table names, read within limits.

use liteio_iceberg::TableMetadata;
use liteio_iceberg::maintenance::{Entries, References};
use liteio_store::{Bucket, GetOptions, Store, StoreError};

use super::walk::Failure;
use crate::warehouse::{body_of, object_of};

/// Largest manifest list or manifest that is read. Writers aim at 8 MB.
const MANIFEST_BYTES_MAX: u64 = 256 << 20;

/// Most files of a table whose names are held in memory, some 200 bytes each.
pub(super) const FILES_MAX: usize = 2_000_000;

/// The files that the snapshots of a table name, and those that the metadata at `location` name themselves.
///
/// # Errors
/// A file that is missing, damaged or too large; then nobody knows what else is named.
pub(super) fn references_of(
    store: &Store,
    bucket: &Bucket,
    (metadata, location): (&TableMetadata, &str),
) -> Result<References, Failure> {
    let mut references = References::of(metadata, Some(location));
    references.add_snapshots(
        metadata,
        (Entries::Live, FILES_MAX),
        |_| true,
        |location| manifest(store, bucket, location),
    )?;
    Ok(references)
}

fn manifest(store: &Store, bucket: &Bucket, location: &str) -> Result<Vec<u8>, Failure> {
    let key = object_of(bucket, location)?;
    let opened = store.get_object(bucket, &key, &GetOptions::default());
    let opened = opened.map_err(|error| match Failure::from(StoreError::from(error)) {
        Failure::OfTable(error) => {
            Failure::OfTable(format!("{location:?} cannot be read: {error}"))
        }
        stop => stop,
    })?;
    let bytes = opened.found.object.bytes;
    if bytes > MANIFEST_BYTES_MAX {
        return Err(Failure::OfTable(format!(
            "{location:?} has {bytes} bytes; {MANIFEST_BYTES_MAX} are read at most."
        )));
    }
    Ok(body_of(opened)?)
}
