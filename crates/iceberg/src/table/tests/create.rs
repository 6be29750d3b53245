//! New tables.

use serde_json::{Value, json};

use super::{NOW, UUID, read, schema};
use crate::{CreateTable, Invalid, TableMetadata};

fn created(body: &Value) -> Result<TableMetadata, Invalid> {
    TableMetadata::create(&CreateTable::from_value(body)?, UUID, "s3://bucket/t/", NOW)
}

/// A schema with ids that a client chose, and columns of each kind of nesting.
fn nested() -> Value {
    json!({"type": "struct", "schema-id": 7, "identifier-field-ids": [10], "fields": [
        {"id": 10, "name": "id", "required": true, "type": "long", "future": 1},
        {"id": 30, "name": "point", "required": true, "type": {"type": "struct", "fields": [
            {"id": 5, "name": "x", "required": true, "type": "double"},
            {"id": 4, "name": "tags", "required": false, "type":
                {"type": "list", "element-id": 3, "element-required": true, "element": "string"}}]}},
        {"id": 20, "name": "map", "required": false, "type": {"type": "map",
            "key-id": 21, "key": {"type": "struct", "fields": [
                {"id": 40, "name": "k", "required": true, "type": "int"}]},
            "value-id": 22, "value-required": false, "value": "int"}},
        {"id": 50, "name": "at", "required": false, "type": "timestamptz"}]})
}

#[test]
fn ids_are_new_ones() {
    let metadata = created(&json!({
        "name": "t",
        "schema": nested(),
        "partition-spec": {"spec-id": 4, "fields": [
            {"source-id": 50, "field-id": 2000, "name": "at_day", "transform": "day"},
            {"source-id": 5, "name": "x_bucket", "transform": "identity"}]},
        "write-order": {"order-id": 9, "fields": [
            {"source-id": 10, "transform": "identity", "direction": "desc", "null-order": "nulls-last"}]},
    }));
    // A mixture of fields with and without an id is refused.
    assert!(metadata.is_err());
    let metadata = created(&json!({
        "name": "t",
        "schema": nested(),
        "partition-spec": {"spec-id": 4, "fields": [
            {"source-id": 50, "field-id": 2000, "name": "at_day", "transform": "day"},
            {"source-id": 5, "field-id": 2001, "name": "point.x", "transform": "identity"}]},
        "write-order": {"order-id": 9, "fields": [
            {"source-id": 10, "transform": "identity", "direction": "desc", "null-order": "nulls-last"}]},
    }));
    let metadata = metadata.expect("the request is valid").to_value();
    // Fields of a struct before what is within them.
    assert_eq!(
        metadata["schemas"],
        json!([
            {"type": "struct", "schema-id": 0, "identifier-field-ids": [1], "fields": [
                {"id": 1, "name": "id", "required": true, "type": "long", "future": 1},
                {"id": 2, "name": "point", "required": true, "type": {"type": "struct", "fields": [
                    {"id": 5, "name": "x", "required": true, "type": "double"},
                    {"id": 6, "name": "tags", "required": false, "type":
                        {"type": "list", "element-id": 7, "element-required": true, "element": "string"}}]}},
                {"id": 3, "name": "map", "required": false, "type": {"type": "map",
                    "key-id": 8, "key": {"type": "struct", "fields": [
                        {"id": 10, "name": "k", "required": true, "type": "int"}]},
                    "value-id": 9, "value-required": false, "value": "int"}},
                {"id": 4, "name": "at", "required": false, "type": "timestamptz"}]}
        ])
    );
    assert_eq!(metadata["last-column-id"], 10);
    assert_eq!(
        metadata["partition-specs"],
        json!([{"spec-id": 0, "fields": [
        {"source-id": 4, "field-id": 1000, "name": "at_day", "transform": "day"},
        {"source-id": 5, "field-id": 1001, "name": "point.x", "transform": "identity"}]}])
    );
    assert_eq!(metadata["last-partition-id"], 1001);
    assert_eq!(
        metadata["sort-orders"],
        json!([{"order-id": 1, "fields": [
        {"source-id": 1, "transform": "identity", "direction": "desc", "null-order": "nulls-last"}]}])
    );
    assert_eq!(metadata["default-sort-order-id"], 1);
    assert_eq!(
        (&metadata["table-uuid"], &metadata["location"]),
        (&json!(UUID), &json!("s3://bucket/t"))
    );
    assert_eq!(metadata["last-updated-ms"], NOW);
}

#[test]
fn a_table_is_unpartitioned_and_unsorted_otherwise() {
    let columns = schema(json!([{"id": 0, "name": "x", "required": false, "type": "INT"}]));
    let body = json!({"name": "t", "schema": columns});
    let metadata = created(&body).expect("the request is valid").to_value();
    for (pointer, value) in [
        ("/format-version", json!(2)),
        ("/partition-specs", json!([{"spec-id": 0, "fields": []}])),
        ("/last-partition-id", json!(999)),
        ("/sort-orders", json!([{"order-id": 0, "fields": []}])),
        ("/default-sort-order-id", json!(0)),
        ("/current-snapshot-id", json!(-1)),
        ("/last-sequence-number", json!(0)),
        ("/properties", json!({"write.parquet.compression-codec": "zstd"})),
        ("/refs", json!({})),
        ("/snapshots", json!([])),
        ("/metadata-log", json!([])),
        ("/schemas/0/fields/0/id", json!(1)),
    ] {
        assert_eq!(metadata.pointer(pointer), Some(&value), "{pointer}");
    }
}

#[test]
fn the_format_version_is_a_property_of_the_request_only() {
    let columns =
        schema(json!([{"id": 1, "name": "x", "required": false, "type": "timestamp_ns"}]));
    for (version, is_legal) in [("1", false), ("2", false), ("3", true), ("4", false), ("x", false)]
    {
        let body = json!({"name": "t", "schema": columns, "properties": {
            "format-version": version, "uuid": "x", "a": "b", "write.parquet.compression-codec": "gzip"}});
        match created(&body) {
            Ok(metadata) => {
                assert!(is_legal, "{version}");
                assert_eq!(metadata.format_version().to_string(), version);
                assert_eq!(metadata.document()["next-row-id"], 0);
                let properties: Vec<_> = metadata.properties().collect();
                assert_eq!(properties, [("a", "b"), ("write.parquet.compression-codec", "gzip")]);
            }
            Err(error) => assert!(!is_legal, "{version}: {error}"),
        }
    }
}

#[test]
fn bad_requests_are_refused() {
    let columns =
        |kind: &str| schema(json!([{"id": 1, "name": "x", "required": false, "type": kind}]));
    let spec = |source: i32, transform: &str, name: &str| json!({"fields": [{"source-id": source, "name": name, "transform": transform}]});
    for (name, body, words) in [
        ("no name", json!({"schema": columns("int")}), "name is missing"),
        ("no schema", json!({"name": "t"}), "schema is missing"),
        (
            "a name with a control character",
            json!({"name": "a\nb", "schema": columns("int")}),
            "control characters",
        ),
        ("an unknown type", json!({"name": "t", "schema": columns("number")}), "unknown type"),
        (
            "a decimal that is too long",
            json!({"name": "t", "schema": columns("decimal(39, 2)")}),
            "38 digits",
        ),
        ("a list", json!({"name": "t", "schema": []}), "schema must be an object"),
        (
            "a column that is not there",
            json!({"name": "t", "schema": columns("int"), "partition-spec": spec(2, "identity", "p")}),
            "no column 2",
        ),
        (
            "a transform of another type",
            json!({"name": "t", "schema": columns("int"), "partition-spec": spec(1, "hour", "p")}),
            "hour does not accept the type int",
        ),
        (
            "a property that is no string",
            json!({"name": "t", "schema": columns("int"), "properties": {"a": 1}}),
            "object of strings",
        ),
        (
            "staged with a text",
            json!({"name": "t", "schema": columns("int"), "stage-create": "yes"}),
            "stage-create must be true or false",
        ),
    ] {
        match created(&body) {
            Ok(_) => panic!("{name}: not refused"),
            Err(error) => assert!(error.to_string().contains(words), "{name}: {error}"),
        }
    }
    assert!(
        TableMetadata::create(
            &CreateTable::from_value(&json!({"name": "t", "schema": columns("int")})).unwrap(),
            "no uuid",
            "s3://b",
            NOW
        )
        .is_err()
    );
}

/// The updates of a commit after a staged creation, as PyIceberg and the reference implementation send them.
fn staged() -> Value {
    json!([
        {"action": "assign-uuid", "uuid": UUID},
        {"action": "upgrade-format-version", "format-version": 2},
        {"action": "add-schema", "last-column-id": 1, "schema": {"type": "struct", "schema-id": 0, "fields": [
            {"id": 1, "name": "x", "required": false, "type": "long"}]}},
        {"action": "set-current-schema", "schema-id": -1},
        {"action": "add-spec", "spec": {"spec-id": 0, "fields": []}},
        {"action": "set-default-spec", "spec-id": -1},
        {"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": []}},
        {"action": "set-default-sort-order", "sort-order-id": -1},
        {"action": "set-location", "location": "s3://bucket/staged"},
        {"action": "set-properties", "updates": {"a": "b"}},
    ])
}

#[test]
fn a_staged_table_is_made_of_its_updates() {
    let other = super::OTHER_UUID;
    let metadata = TableMetadata::from_updates(&read(&staged()).unwrap(), other, NOW).unwrap();
    assert_eq!((metadata.uuid(), metadata.location()), (UUID, "s3://bucket/staged"));
    assert_eq!((metadata.last_column_id(), metadata.last_partition_id()), (1, 999));
    assert_eq!(metadata.last_updated_ms(), NOW);
    assert_eq!(metadata.properties().collect::<Vec<_>>(), [("a", "b")]);
    assert_eq!(metadata.metadata_log().count(), 0);
    // With a snapshot, as CREATE TABLE AS SELECT has it, and without what has a default.
    let mut updates: Vec<Value> = staged().as_array().unwrap().clone();
    updates.retain(|update| update["action"] == "add-schema" || update["action"] == "set-location");
    updates.push(json!({"action": "add-snapshot", "snapshot": {"snapshot-id": 5, "sequence-number": 1,
        "timestamp-ms": NOW, "manifest-list": "s3://bucket/staged/l.avro", "summary": {"operation": "append"}}}));
    updates.push(json!({"action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": 5}));
    let metadata =
        TableMetadata::from_updates(&read(&json!(updates)).unwrap(), other, NOW).unwrap();
    assert_eq!((metadata.uuid(), metadata.format_version()), (other, 2));
    assert_eq!(metadata.current_snapshot_id(), Some(5));
    assert_eq!(metadata.snapshot_log().collect::<Vec<_>>(), [(NOW, 5)]);
    assert_eq!(metadata.default_spec()["fields"], json!([]));
}

#[test]
fn a_staged_table_needs_a_schema_and_a_location() {
    for (left_out, words) in [
        ("add-schema", "no schema has been added"),
        ("set-current-schema", ""),
        ("set-location", "location is missing"),
    ] {
        let mut updates = staged();
        updates.as_array_mut().unwrap().retain(|update| update["action"] != left_out);
        let result = TableMetadata::from_updates(&read(&updates).unwrap(), UUID, NOW);
        match (words, result) {
            // The first schema is the current one.
            ("", result) => assert_eq!(result.unwrap().current_schema_id(), 0),
            (words, result) => {
                let error = result.unwrap_err().to_string();
                assert!(error.contains(words), "{left_out}: {error}");
            }
        }
    }
}
