//! Statistics files and encryption keys.

use serde_json::{Map, Value};

use crate::error::Invalid;
use crate::json::Fields;

/// Checks a statistics file. Returns the id of its snapshot.
pub(crate) fn check_statistics(map: &Map<String, Value>) -> Result<i64, Invalid> {
    let fields = Fields::of_map(map, "statistics");
    fields.text("statistics-path")?;
    fields.long("file-size-in-bytes")?;
    fields.long("file-footer-size-in-bytes")?;
    for blob in fields.list("blob-metadata")? {
        let blob = Fields::of(blob, "blob-metadata")?;
        blob.text("type")?;
        blob.long("snapshot-id")?;
        blob.long("sequence-number")?;
        blob.ints("fields")?;
        blob.optional_properties("properties")?;
    }
    fields.long("snapshot-id")
}

/// Checks a file of statistics of partitions. Returns the id of its snapshot.
pub(crate) fn check_partition_statistics(map: &Map<String, Value>) -> Result<i64, Invalid> {
    let fields = Fields::of_map(map, "partition-statistics");
    fields.text("statistics-path")?;
    fields.long("file-size-in-bytes")?;
    fields.long("snapshot-id")
}

/// Checks an encryption key. Returns its id.
pub(crate) fn check_encryption_key(map: &Map<String, Value>) -> Result<&str, Invalid> {
    let fields = Fields::of_map(map, "encryption key");
    fields.text("encrypted-key-metadata")?;
    fields.optional_text("encrypted-by-id")?;
    fields.optional_properties("properties")?;
    fields.text("key-id")
}

/// Checks a UUID: 32 hexadecimal digits in five groups.
pub(crate) fn check_uuid(uuid: &str, of: &str) -> Result<(), Invalid> {
    let mut groups = uuid.split('-');
    let is_uuid = [8, 4, 4, 4, 12].iter().all(|digits| {
        groups.next().is_some_and(|group| {
            group.len() == *digits && group.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    });
    match is_uuid && groups.next().is_none() {
        true => Ok(()),
        false => Err(Invalid::new(format!("{of} must be a UUID"))),
    }
}

/// Checks a location. Returns it without slashes at its end.
pub(crate) fn checked_location<'l>(location: &'l str, of: &str) -> Result<&'l str, Invalid> {
    let mut stripped = location;
    while let Some(shorter) = stripped.strip_suffix('/')
        && !stripped.ends_with("://")
    {
        stripped = shorter;
    }
    match stripped.is_empty() || stripped.chars().any(char::is_control) {
        true => Err(Invalid::new(format!("{of} must be a location"))),
        false => Ok(stripped),
    }
}
