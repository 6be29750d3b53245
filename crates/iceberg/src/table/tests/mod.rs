//! Tests of metadata of tables.

mod apply;
mod create;
mod parse;
mod requirements;
mod snapshots;

use serde_json::{Value, json};

use crate::{Invalid, TableMetadata, Update};

pub(crate) const UUID: &str = "9c12d441-03fe-4693-9a96-a0705ddf69c1";
pub(crate) const OTHER_UUID: &str = "9c12d441-03fe-4693-9a96-a0705ddf69c2";

/// The time of the last change of [`table`], milliseconds.
pub(crate) const THEN: i64 = 1_602_638_573_590;
/// The time of tests, one second later.
pub(crate) const NOW: i64 = THEN + 1000;

/// A table of format version 2 with two schemas, specs, orders and snapshots, a branch and a tag: after the example of the
/// specification, "Table Metadata and Snapshots".
pub(crate) fn table() -> Value {
    json!({
        "format-version": 2,
        "table-uuid": UUID,
        "location": "s3://bucket/test/location",
        "last-sequence-number": 34,
        "last-updated-ms": THEN,
        "last-column-id": 3,
        "current-schema-id": 1,
        "schemas": [
            {"type": "struct", "schema-id": 0, "fields": [
                {"id": 1, "name": "x", "required": true, "type": "long"}]},
            {"type": "struct", "schema-id": 1, "identifier-field-ids": [1, 2], "fields": [
                {"id": 1, "name": "x", "required": true, "type": "long"},
                {"id": 2, "name": "y", "required": true, "type": "long", "doc": "comment"},
                {"id": 3, "name": "z", "required": true, "type": "long"}]}],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": [
            {"name": "x", "transform": "identity", "source-id": 1, "field-id": 1000}]}],
        "last-partition-id": 1000,
        "default-sort-order-id": 3,
        "sort-orders": [{"order-id": 3, "fields": [
            {"transform": "identity", "source-id": 2, "direction": "asc", "null-order": "nulls-first"},
            {"transform": "bucket[4]", "source-id": 3, "direction": "desc", "null-order": "nulls-last"}]}],
        "properties": {"read.split.target.size": "134217728"},
        "current-snapshot-id": 3_055_729_675_574_597_004_i64,
        "snapshots": [
            {"snapshot-id": 3_051_729_675_574_597_004_i64, "timestamp-ms": 1_515_100_955_770_i64,
                "sequence-number": 0, "summary": {"operation": "append"},
                "manifest-list": "s3://bucket/test/location/1.avro"},
            {"snapshot-id": 3_055_729_675_574_597_004_i64, "timestamp-ms": 1_555_100_955_770_i64,
                "parent-snapshot-id": 3_051_729_675_574_597_004_i64, "sequence-number": 1,
                "summary": {"operation": "append"}, "schema-id": 1,
                "manifest-list": "s3://bucket/test/location/2.avro"}],
        "snapshot-log": [
            {"snapshot-id": 3_051_729_675_574_597_004_i64, "timestamp-ms": 1_515_100_955_770_i64},
            {"snapshot-id": 3_055_729_675_574_597_004_i64, "timestamp-ms": 1_555_100_955_770_i64}],
        "metadata-log": [{"metadata-file": "s3://bucket/test/location/0.json", "timestamp-ms": 1_515_100}],
        "refs": {
            "main": {"snapshot-id": 3_055_729_675_574_597_004_i64, "type": "branch"},
            "test": {"snapshot-id": 3_051_729_675_574_597_004_i64, "type": "tag", "max-ref-age-ms": 10_000_000}},
    })
}

pub(crate) const FIRST: i64 = 3_051_729_675_574_597_004;
pub(crate) const SECOND: i64 = 3_055_729_675_574_597_004;

pub(crate) fn parsed(document: &Value) -> TableMetadata {
    TableMetadata::parse(document.to_string().as_bytes()).expect("the document is valid")
}

/// Applies updates to the table of [`table`] at [`NOW`].
pub(crate) fn applied(updates: &Value) -> Result<TableMetadata, Invalid> {
    applied_to(&table(), updates)
}

pub(crate) fn applied_to(document: &Value, updates: &Value) -> Result<TableMetadata, Invalid> {
    parsed(document).apply(&read(updates)?, NOW, Some("s3://bucket/test/location/9.json"))
}

pub(crate) fn read(updates: &Value) -> Result<Vec<Update>, Invalid> {
    updates.as_array().expect("updates are an array").iter().map(Update::from_value).collect()
}

/// Applies updates and checks fields of the result, by their JSON pointers.
#[track_caller]
pub(crate) fn check(name: &str, document: &Value, updates: &Value, expected: &[(&str, Value)]) {
    let metadata = match applied_to(document, updates) {
        Ok(metadata) => metadata.to_value(),
        Err(error) => panic!("{name}: {error}"),
    };
    for (pointer, value) in expected {
        let found = metadata.pointer(pointer).unwrap_or(&Value::Null);
        assert_eq!(found, value, "{name}: {pointer}");
    }
}

/// Checks that updates are refused with a message that has these words.
#[track_caller]
pub(crate) fn check_refused(name: &str, document: &Value, updates: &Value, words: &str) {
    match applied_to(document, updates) {
        Ok(_) => panic!("{name}: not refused"),
        Err(error) => assert!(error.to_string().contains(words), "{name}: {error}"),
    }
}

/// A document with one value replaced. `null` removes it.
pub(crate) fn with(mut document: Value, pointer: &str, value: Value) -> Value {
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer begins with a slash");
    let parent = document.pointer_mut(parent).expect("the parent is there");
    match (parent, value) {
        (Value::Object(map), Value::Null) => {
            map.remove(name);
        }
        (Value::Object(map), value) => {
            map.insert(name.to_owned(), value);
        }
        (parent, value) => parent[name.parse::<usize>().expect("an index")] = value,
    }
    document
}

/// The columns of a schema without an id.
pub(crate) fn schema(fields: Value) -> Value {
    json!({"type": "struct", "fields": fields})
}
