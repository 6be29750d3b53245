//! Metadata of a new table.

use serde_json::{Map, Value, json};

use crate::error::{Invalid, refuse};
use crate::limits::PARTITION_FIELD_ID_MIN;
use crate::partition::{PartitionSpec, fields_mut, set_sources};
use crate::request::CreateTable;
use crate::schema::{Fresh, with_fresh_ids};
use crate::sort::{SortOrder, UNSORTED};

use super::TableMetadata;
use super::parse::check_version;

/// The format version of tables that do not choose one.
pub(super) const FORMAT_VERSION: i32 = 2;

/// The property that chooses the format version.
const FORMAT_VERSION_PROPERTY: &str = "format-version";

/// Names that show a part of the metadata where a client lists properties. They are not kept as properties.
const RESERVED: [&str; 9] = [
    FORMAT_VERSION_PROPERTY,
    "uuid",
    "snapshot-count",
    "current-snapshot-id",
    "current-snapshot-summary",
    "current-snapshot-timestamp-ms",
    "current-schema",
    "default-partition-spec",
    "default-sort-order",
];

/// Properties of new tables only: the reference implementation compresses their Parquet files better than those of old ones.
const DEFAULTS: [(&str, &str); 1] = [("write.parquet.compression-codec", "zstd")];

/// Metadata of a new table.
pub(super) fn create(
    request: &CreateTable,
    uuid: &str,
    location: &str,
    now_ms: i64,
) -> Result<TableMetadata, Invalid> {
    let version = match request.properties.get(FORMAT_VERSION_PROPERTY) {
        None => FORMAT_VERSION,
        Some(text) => match text.parse() {
            Ok(version) => version,
            Err(_) => refuse!("the property format-version must be a number"),
        },
    };
    check_version(version)?;
    let fresh = with_fresh_ids(&request.schema)?;
    let (spec, last_partition_id) = fresh_spec(request.partition_spec.as_ref(), &fresh)?;
    let (order, order_id) = fresh_order(request.write_order.as_ref(), &fresh)?;
    let mut properties: Map<String, Value> =
        DEFAULTS.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect();
    let given = request.properties.iter().filter(|(key, _)| !RESERVED.contains(&key.as_str()));
    properties.extend(given.map(|(key, value)| (key.clone(), value.as_str().into())));
    let mut document = json!({
        "format-version": version,
        "table-uuid": uuid,
        "location": location,
        "last-updated-ms": now_ms,
        "last-column-id": fresh.last_id,
        "schemas": [fresh.schema],
        "current-schema-id": 0,
        "partition-specs": [spec],
        "default-spec-id": 0,
        "last-partition-id": last_partition_id,
        "sort-orders": [order],
        "default-sort-order-id": order_id,
        "properties": properties,
    });
    complete(&mut document, version);
    TableMetadata::from_value(document)
}

/// Adds the empty lists and the first numbers of a format version.
pub(super) fn complete(document: &mut Value, version: i32) {
    for list in ["snapshots", "snapshot-log", "metadata-log", "statistics", "partition-statistics"]
    {
        document[list] = json!([]);
    }
    document["refs"] = json!({});
    if version >= 2 {
        document["last-sequence-number"] = 0.into();
    }
    if version >= 3 {
        document["next-row-id"] = 0.into();
    }
}

/// The spec with the new ids of its columns, and fields counted from 1000. Returns the highest id of its fields too.
fn fresh_spec(
    spec: Option<&Map<String, Value>>,
    fresh: &Fresh,
) -> Result<(Map<String, Value>, i32), Invalid> {
    let mut map = spec.cloned().unwrap_or_else(|| object(json!({"fields": []})));
    let spec = PartitionSpec::parse(&map)?;
    let mut last = PARTITION_FIELD_ID_MIN - 1;
    for (field, parsed) in fields_mut(&mut map).zip(&spec.fields) {
        last += 1;
        set_sources(field, &fresh_sources(&parsed.sources, fresh, "partition field")?);
        field.insert("field-id".to_owned(), last.into());
    }
    map.insert("spec-id".to_owned(), 0.into());
    Ok((map, last))
}

/// The sort order with the new ids of its columns, and its id.
fn fresh_order(
    order: Option<&Map<String, Value>>,
    fresh: &Fresh,
) -> Result<(Map<String, Value>, i32), Invalid> {
    let mut map = order.cloned().unwrap_or_else(|| object(json!({"fields": []})));
    let order = SortOrder::parse(&map)?;
    for (field, parsed) in fields_mut(&mut map).zip(&order.fields) {
        set_sources(field, &fresh_sources(&parsed.sources, fresh, "sort field")?);
    }
    let id = if order.fields.is_empty() { UNSORTED } else { 1 };
    map.insert("order-id".to_owned(), id.into());
    Ok((map, id))
}

fn fresh_sources(sources: &[i32], fresh: &Fresh, of: &str) -> Result<Vec<i32>, Invalid> {
    let new = sources.iter().map(|id| match fresh.ids.get(id) {
        Some(new) => Ok(*new),
        None => Err(Invalid::new(format!("{of}: the schema has no column {id}"))),
    });
    new.collect()
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
