//! The metadata location of a table: reading it, and moving it to a file that the client has written.

use liteio_access::{Action, Granted};
use liteio_iceberg::TableMetadata;
use liteio_store::tables::{Expected, Table, TableChange, TableKind, TableName};
use serde_json::json;

use super::error::stale;
use super::resource::{granted, table_arn, text};
use super::table::locations;
use super::token::version_of;
use crate::commit::named;
use crate::error::{ApiResult, Exception};
use crate::metadata::{is_unwritten, read};
use crate::warehouse::{key_of, object_of};
use crate::{Answer, Call, Output};

pub(super) fn get(call: &Call<'_>) -> Answer {
    let granted = granted(call)?;
    let name = named(call.identifier()?)?;
    let table = call.store.table(granted.bucket(), TableKind::Table, &name)?;
    let (metadata_location, warehouse_location) = locations(call, &granted, &table)?;
    let mut answer = json!({
        "versionToken": version_of(&table.location),
        "warehouseLocation": warehouse_location,
    });
    if let Some(location) = metadata_location {
        answer["metadataLocation"] = location.into();
    }
    Output::json(&answer)
}

pub(super) fn update(call: &Call<'_>) -> Answer {
    let document = call.document()?;
    let version = text(&document, "versionToken")?;
    let location = text(&document, "metadataLocation")?;
    if !location.ends_with(".metadata.json") {
        return Err(Exception::bad_request(
            "metadataLocation must name a file that ends with .metadata.json and is not compressed.",
        ));
    }
    let granted = granted(call)?;
    let name = named(call.identifier()?)?;
    let table = call.store.table(granted.bucket(), TableKind::Table, &name)?;
    if version != version_of(&table.location) {
        return Err(stale());
    }
    check(call, &granted, &table, location)?;
    // The transaction compares the location with the one of the token.
    let expected = Expected::Location(table.location);
    let (kind, id) = (TableKind::Table, table.uuid);
    let change = TableChange::new(kind, name.clone(), expected, id, location.to_owned());
    call.store.commit_tables(granted.bucket(), vec![change]).wait()?;
    Output::json(&json!({
        "name": name.name(),
        "tableARN": table_arn(call, &granted, &id),
        "namespace": name.namespace().levels().collect::<Vec<_>>(),
        "versionToken": version_of(location),
        "metadataLocation": location,
    }))
}

/// Checks that metadata of the same table are at a location.
fn check(call: &Call<'_>, granted: &Granted, table: &Table, location: &str) -> ApiResult<()> {
    let bucket = granted.bucket();
    // A load of the table shows the object.
    let key = object_of(bucket, location)?;
    call.allows_object(granted, Action::GetObject, &key)?;
    let is_of_other = |kind: TableKind, other: &TableName, at: &str| {
        (kind, other) != (TableKind::Table, &table.name)
            && key_of(bucket, at).is_ok_and(|at| at == key.as_str())
    };
    if let Some(other) = call.store.find_table(bucket, &is_of_other)? {
        return Err(Exception::bad_request(format!(
            "The metadata at {location:?} belong to {other}."
        )));
    }
    let (metadata, _) = read::<TableMetadata>(call.store, bucket, location)?;
    key_of(bucket, metadata.location())?;
    if is_unwritten(&table.location) {
        return Ok(());
    }
    let current = call.shared.files.table(call.store, bucket, &table.location)?;
    match current.uuid() == metadata.uuid() {
        true => Ok(()),
        false => Err(Exception::bad_request(format!(
            "The metadata at {location:?} belong to another table: their table-uuid is {}, not {}.",
            metadata.uuid(),
            current.uuid()
        ))),
    }
}
