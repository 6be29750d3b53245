//! Apache's crate `iceberg` beside `liteio-iceberg`: both apply the same updates to the same metadata.

use iceberg::TableUpdate;
use iceberg::spec::{
    FormatVersion, TableMetadata as Theirs, TableMetadataBuilder, UnboundPartitionSpec,
};
use liteio_iceberg::{TableMetadata as Ours, Update};
use serde_json::{Value, json};

/// The metadata after updates by `liteio-iceberg`, or its refusal.
pub fn by_ours(
    metadata: &Value,
    updates: &[Value],
    now_ms: i64,
    file: &str,
) -> Result<Value, String> {
    let read = |value: &Value| Update::from_value(value).map_err(|error| error.to_string());
    let updates = updates.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let metadata = Ours::from_value(metadata.clone()).map_err(|error| error.to_string())?;
    let applied = metadata.apply(&updates, now_ms, Some(file));
    applied.map(|applied| applied.to_value()).map_err(|error| error.to_string())
}

/// The metadata after updates by Apache's crate, or its refusal. It takes the time from the system's clock.
pub fn by_theirs(metadata: &Value, updates: &[Value], file: &str) -> Result<Value, String> {
    let metadata: Theirs =
        serde_json::from_value(metadata.clone()).map_err(|error| error.to_string())?;
    let mut builder = metadata.into_builder(Some(file.to_owned()));
    for update in updates {
        let update: TableUpdate =
            serde_json::from_value(update.clone()).map_err(|error| error.to_string())?;
        builder = update.apply(builder).map_err(|error| error.to_string())?;
    }
    let built = builder.build().map_err(|error| error.to_string())?;
    serde_json::to_value(built.metadata).map_err(|error| error.to_string())
}

/// Metadata of a new table of format version 2 by Apache's crate.
pub fn created_by_theirs(request: &Value, location: &str) -> Result<Value, String> {
    let failed = |error: serde_json::Error| error.to_string();
    let builder = TableMetadataBuilder::new(
        serde_json::from_value(request["schema"].clone()).map_err(failed)?,
        serde_json::from_value::<UnboundPartitionSpec>(request["partition-spec"].clone())
            .map_err(failed)?,
        serde_json::from_value(request["write-order"].clone()).map_err(failed)?,
        location.to_owned(),
        FormatVersion::V2,
        serde_json::from_value(request["properties"].clone()).map_err(failed)?,
    );
    let built = builder.and_then(TableMetadataBuilder::build).map_err(|error| error.to_string())?;
    serde_json::to_value(built.metadata).map_err(failed)
}

/// Metadata without what may differ: the order of lists with ids, fields that are absent or empty, times that come from the
/// clock.
pub fn comparable(metadata: &Value) -> Value {
    let mut metadata = metadata.clone();
    for (list, id) in [
        ("schemas", "schema-id"),
        ("partition-specs", "spec-id"),
        ("sort-orders", "order-id"),
        ("snapshots", "snapshot-id"),
        ("statistics", "snapshot-id"),
        ("partition-statistics", "snapshot-id"),
        ("encryption-keys", "key-id"),
    ] {
        if let Some(Value::Array(list)) = metadata.get_mut(list) {
            list.sort_by_key(|it| (it[id].as_i64(), it[id].as_str().map(str::to_owned)));
        }
    }
    // Apache's crate leaves files of removed snapshots, the reference implementation removes them.
    let snapshots = metadata["snapshots"].as_array().cloned().unwrap_or_default();
    for list in ["statistics", "partition-statistics"] {
        if let Some(Value::Array(list)) = metadata.get_mut(list) {
            list.retain(|file| snapshots.iter().any(|it| it["snapshot-id"] == file["snapshot-id"]));
        }
    }
    let ids = |log: &Value, name: &str| -> Value {
        log.as_array().into_iter().flatten().map(|entry| entry[name].clone()).collect()
    };
    metadata["snapshot-log"] = ids(&metadata["snapshot-log"], "snapshot-id");
    metadata["metadata-log"] = ids(&metadata["metadata-log"], "metadata-file");
    let map = metadata.as_object_mut().expect("metadata are an object");
    map.remove("last-updated-ms");
    // Apache's crate writes no branches and tags for format version 1, the reference implementation does.
    if map.get("format-version") == Some(&json!(1)) {
        map.remove("refs");
    }
    // It keeps keys from format version 3 on only; the reference implementation keeps them always.
    if map.get("format-version").and_then(Value::as_i64) < Some(3) {
        map.remove("encryption-keys");
    }
    if map.get("current-snapshot-id") == Some(&json!(-1)) {
        map.remove("current-snapshot-id");
    }
    without_empty(&mut metadata);
    metadata
}

fn without_empty(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(without_empty),
        Value::Object(map) => {
            map.values_mut().for_each(without_empty);
            map.retain(|name, value| match value {
                Value::Null => false,
                Value::Array(values) => !values.is_empty() || name == "fields",
                Value::Object(map) => !map.is_empty(),
                Value::Number(number) => {
                    number.as_i64() != Some(0)
                        || !["sequence-number", "last-sequence-number", "next-row-id"]
                            .contains(&name.as_str())
                }
                _ => true,
            });
        }
        _ => {}
    }
}
