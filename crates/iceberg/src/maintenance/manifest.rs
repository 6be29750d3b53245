//! Manifest lists and manifests: the files that a snapshot names.
//!
//! Source: "Iceberg Table Spec", sections "Manifests" and "Snapshots". Fields are found by their ids, or by their names where a
//! writer left ids out.

use crate::avro::{Container, Field, Input, Scalar, Schema};
use crate::error::{Invalid, refuse};

/// Content of a manifest or of a file in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Rows.
    Data,
    /// Deleted rows. Of a manifest: of either kind.
    Deletes,
    /// Deleted rows by their values.
    EqualityDeletes,
}

/// An entry of a manifest list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestFile {
    /// The location of the manifest.
    pub path: String,
    /// Its length, bytes.
    pub length: i64,
    /// Data or deletes.
    pub content: Content,
    /// The sequence number of the commit that added it; 0 in format version 1.
    pub sequence_number: i64,
    /// The lowest sequence number of the files in it; 0 in format version 1.
    pub min_sequence_number: i64,
    /// The snapshot that added it. Old writers leave it out.
    pub added_snapshot_id: Option<i64>,
}

/// The state of a file in a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryStatus {
    /// The file was there before.
    Existing,
    /// The snapshot added the file.
    Added,
    /// The snapshot removed the file: it is not part of the table any more.
    Deleted,
}

/// An entry of a manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ManifestEntry<'m> {
    /// The state.
    pub status: EntryStatus,
    /// Kind of the file.
    pub content: Content,
    /// The location of the file.
    pub path: &'m str,
    /// Its length, bytes.
    pub length: i64,
}

/// Reads a manifest list.
///
/// # Errors
/// A file that is no manifest list; a codec other than `null` and `deflate`, by its name.
pub fn read_manifest_list(file: &[u8]) -> Result<Vec<ManifestFile>, Invalid> {
    let mut manifests = Vec::new();
    Container::open(file)?.for_each(|schema, input| {
        let mut manifest = ManifestFile {
            path: String::new(),
            length: 0,
            content: Content::Data,
            sequence_number: 0,
            min_sequence_number: 0,
            added_snapshot_id: None,
        };
        input.record(schema, schema.root, &mut |field, input| {
            let mut long = |schema: &Schema| long(schema, field, input);
            if field.is(500, "manifest_path") {
                manifest.path = text(schema, field, input)?;
            } else if field.is(501, "manifest_length") {
                manifest.length = long(schema)?.unwrap_or_default();
            } else if field.is(517, "content") {
                manifest.content = content(long(schema)?, false)?;
            } else if field.is(515, "sequence_number") {
                manifest.sequence_number = long(schema)?.unwrap_or_default();
            } else if field.is(516, "min_sequence_number") {
                manifest.min_sequence_number = long(schema)?.unwrap_or_default();
            } else if field.is(503, "added_snapshot_id") {
                manifest.added_snapshot_id = long(schema)?;
            } else {
                input.skip(schema, field.node)?;
            }
            Ok(())
        })?;
        if manifest.path.is_empty() {
            refuse!("manifest list: manifest_path is missing");
        }
        manifests.push(manifest);
        Ok(())
    })?;
    Ok(manifests)
}

/// Reads a manifest, and calls `visit` for each entry.
///
/// # Errors
/// As [`read_manifest_list`]; entries before the error were visited.
pub fn read_manifest(file: &[u8], mut visit: impl FnMut(ManifestEntry<'_>)) -> Result<(), Invalid> {
    Container::open(file)?.for_each(|schema, input| {
        let (mut status, mut kind, mut path, mut length) = (None, Content::Data, None, 0);
        input.record(schema, schema.root, &mut |field, input| {
            if field.is(0, "status") {
                status = long(schema, field, input)?;
                return Ok(());
            }
            if !field.is(2, "data_file") {
                return input.skip(schema, field.node);
            }
            input.record(schema, field.node, &mut |field, input| {
                if field.is(134, "content") {
                    kind = content(long(schema, field, input)?, true)?;
                } else if field.is(100, "file_path") {
                    path = input.scalar(schema, field.node)?.text();
                } else if field.is(104, "file_size_in_bytes") {
                    length = long(schema, field, input)?.unwrap_or_default();
                } else {
                    input.skip(schema, field.node)?;
                }
                Ok(())
            })
        })?;
        let status = match status {
            Some(0) => EntryStatus::Existing,
            Some(1) => EntryStatus::Added,
            Some(2) => EntryStatus::Deleted,
            _ => refuse!("manifest: status must be 0, 1 or 2"),
        };
        let Some(path) = path.filter(|path| !path.is_empty()) else {
            refuse!("manifest: file_path is missing");
        };
        visit(ManifestEntry { status, content: kind, path, length });
        Ok(())
    })
}

fn text(schema: &Schema, field: &Field, input: &mut Input<'_>) -> Result<String, Invalid> {
    Ok(input.scalar(schema, field.node)?.text().unwrap_or_default().to_owned())
}

fn long(schema: &Schema, field: &Field, input: &mut Input<'_>) -> Result<Option<i64>, Invalid> {
    match input.scalar(schema, field.node)? {
        Scalar::Null => Ok(None),
        scalar => match scalar.long() {
            Some(long) => Ok(Some(long)),
            None => Err(Invalid::new("manifest: a number has another type")),
        },
    }
}

fn content(number: Option<i64>, is_file: bool) -> Result<Content, Invalid> {
    match number {
        None | Some(0) => Ok(Content::Data),
        Some(1) => Ok(Content::Deletes),
        Some(2) if is_file => Ok(Content::EqualityDeletes),
        Some(other) => refuse!("manifest: unknown content {other}"),
    }
}
