//! Documents that are read, and documents that are refused.

use serde_json::{Value, json};

use crate::TableMetadata;

use super::{FIRST, SECOND, THEN, UUID, parsed, table, with};

#[test]
fn fields_are_read() {
    let metadata = parsed(&table());
    assert_eq!(metadata.format_version(), 2);
    assert_eq!(metadata.uuid(), UUID);
    assert_eq!(metadata.location(), "s3://bucket/test/location");
    assert_eq!(metadata.last_sequence_number(), 34);
    assert_eq!(metadata.last_updated_ms(), THEN);
    assert_eq!((metadata.last_column_id(), metadata.last_partition_id()), (3, 1000));
    assert_eq!(metadata.current_schema()["fields"][1]["name"], "y");
    assert_eq!(metadata.default_spec()["fields"][0]["field-id"], 1000);
    assert_eq!(metadata.default_sort_order()["order-id"], 3);
    assert_eq!(
        metadata.properties().collect::<Vec<_>>(),
        [("read.split.target.size", "134217728")]
    );
    assert_eq!(metadata.current_snapshot().map(|it| it.id), Some(SECOND));
    let snapshot = metadata.snapshot(SECOND).expect("it is there");
    assert_eq!((snapshot.parent_id, snapshot.sequence_number), (Some(FIRST), 1));
    assert_eq!(snapshot.manifest_list, Some("s3://bucket/test/location/2.avro"));
    assert_eq!(snapshot.summary("operation"), Some("append"));
    let refs: Vec<_> = metadata.refs().map(|(name, it)| (name, it.snapshot_id)).collect();
    assert_eq!(refs, [("main", SECOND), ("test", FIRST)]);
    assert_eq!(
        metadata.metadata_log().collect::<Vec<_>>(),
        [(1_515_100, "s3://bucket/test/location/0.json")]
    );
    assert_eq!(metadata.snapshot_log().map(|(_, id)| id).collect::<Vec<_>>(), [FIRST, SECOND]);
}

#[test]
fn unknown_fields_and_digits_stay() {
    let mut document = table();
    document["future"] = json!({"a": [1, null, 0.1, 1e300, u64::MAX, i64::MIN, "\u{1f600}"]});
    document["schemas"][0]["future"] = json!(1.10);
    document["schemas"][0]["fields"][0]["future"] = json!("x");
    document["partition-specs"][0]["fields"][0]["future"] = json!(true);
    document["snapshots"][0]["future"] = json!({"b": 2});
    document["refs"]["test"]["future"] = json!("tag");
    let bytes = document.to_string();
    let metadata = TableMetadata::parse(bytes.as_bytes()).expect("unknown fields are legal");
    assert_eq!(metadata.to_value(), document);
    let updates = json!([{"action": "set-properties", "updates": {"a": "b"}}]);
    let changed = super::applied_to(&document, &updates).expect("a property is legal");
    for pointer in ["/future", "/schemas", "/partition-specs", "/snapshots", "/refs"] {
        assert_eq!(changed.to_value().pointer(pointer), document.pointer(pointer), "{pointer}");
    }
    assert_eq!(TableMetadata::parse(&changed.to_bytes()), Ok(changed));
}

#[test]
fn numbers_that_would_be_rounded_are_refused() {
    for (number, is_legal) in [
        ("18446744073709551615", true),
        ("18446744073709551616", false),
        ("-9223372036854775808", true),
        ("-9223372036854775809", false),
        ("123456789012345678901234567890", false),
        ("1234567890123456789.5", true),
        ("\"123456789012345678901234567890\"", true),
        ("\"\\\"12345678901234567890123\"", true),
    ] {
        let text = format!("{{\"a\": [{number}]}}");
        assert_eq!(crate::json::parse(text.as_bytes()).is_ok(), is_legal, "{number}");
    }
}

#[test]
fn repeated_names_and_broken_json_are_refused() {
    for text in [
        "",
        "{",
        "[1,]",
        "{\"a\": 1, \"a\": 2}",
        "{\"b\": {\"a\": 1, \"a\": 1}}",
        "\"",
        "\"\\",
        "1 2",
        "{\"a\": \u{7f}}",
    ] {
        assert!(crate::json::parse(text.as_bytes()).is_err(), "{text:?}");
    }
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(crate::json::parse(deep.as_bytes()).is_err());
    assert!(crate::json::parse(b"\xff").is_err());
    assert!(TableMetadata::parse(b"[]").is_err());
}

/// The fields of format version 1 before it had lists.
fn old_v1() -> Value {
    json!({
        "format-version": 1,
        "table-uuid": UUID,
        "location": "s3://bucket/old/",
        "last-updated-ms": THEN,
        "last-column-id": 3,
        "schema": {"type": "struct", "fields": [
            {"id": 1, "name": "x", "required": true, "type": "long"},
            {"id": 2, "name": "at", "required": false, "type": "timestamp"}]},
        "partition-spec": [
            {"name": "x", "transform": "identity", "source-id": 1},
            {"name": "at_day", "transform": "day", "source-id": 2}],
        "current-snapshot-id": 7,
        "snapshots": [{"snapshot-id": 7, "timestamp-ms": 1, "manifests": ["s3://bucket/old/m.avro"]}],
    })
}

#[test]
fn version_1_gets_its_lists() {
    let metadata = parsed(&old_v1());
    assert_eq!(metadata.location(), "s3://bucket/old");
    assert_eq!((metadata.current_schema_id(), metadata.default_spec_id()), (0, 0));
    assert_eq!(metadata.last_partition_id(), 1001);
    assert_eq!(
        metadata.default_sort_order(),
        json!({"order-id": 0, "fields": []}).as_object().unwrap()
    );
    assert_eq!(metadata.reference("main").map(|it| it.snapshot_id), Some(7));
    let snapshot = metadata.current_snapshot().expect("it is there");
    assert_eq!(snapshot.manifests().collect::<Vec<_>>(), ["s3://bucket/old/m.avro"]);
    let document = metadata.to_value();
    assert_eq!(document["schema"], document["schemas"][0]);
    assert_eq!(document["partition-spec"], document["partition-specs"][0]["fields"]);
    assert_eq!(document["partition-spec"][1]["field-id"], 1001);
    // Read again it is the same.
    assert_eq!(TableMetadata::parse(&metadata.to_bytes()), Ok(metadata));
}

#[test]
fn an_upgrade_of_version_1_drops_its_fields() {
    let updates = json!([{"action": "upgrade-format-version", "format-version": 3}]);
    let metadata = super::applied_to(&old_v1(), &updates).expect("1 can become 3").to_value();
    assert_eq!(
        (&metadata["format-version"], &metadata["last-sequence-number"]),
        (&json!(3), &json!(0))
    );
    assert_eq!((metadata.get("schema"), metadata.get("partition-spec")), (None, None));
    assert_eq!(metadata["next-row-id"], 0);
}

#[test]
fn the_absence_of_a_snapshot_is_spelled_by_version() {
    let empty = with(with(table(), "/refs", Value::Null), "/snapshot-log", Value::Null);
    for (version, absent) in [(2, json!(-1)), (3, Value::Null)] {
        for given in [json!(-1), Value::Null] {
            let mut document = with(empty.clone(), "/current-snapshot-id", given);
            document["format-version"] = json!(version);
            document["next-row-id"] = json!(0);
            let metadata = parsed(&document);
            assert_eq!(metadata.document()["current-snapshot-id"], absent, "{version}");
            assert_eq!(metadata.current_snapshot_id(), None);
        }
    }
}

#[test]
fn contradictions_are_refused_by_field() {
    let null = || Value::Null;
    let column = |id: i32, name: &str, kind: Value| json!({"id": id, "name": name, "required": true, "type": kind});
    let cases: Vec<(&str, Value, &str)> = vec![
        ("/format-version", null(), "format-version is missing"),
        ("/format-version", json!(0), "unsupported format-version 0"),
        ("/format-version", json!(4), "unsupported format-version 4"),
        ("/format-version", json!("2"), "format-version must be an integer"),
        ("/format-version", json!(2.0), "format-version must be an integer"),
        ("/format-version", json!(3), "next-row-id"),
        ("/format-version", json!(1), "last-sequence-number must be 0"),
        ("/table-uuid", null(), "table-uuid is missing"),
        ("/table-uuid", json!("x"), "table-uuid must be a UUID"),
        ("/table-uuid", json!(format!("{UUID}-0")), "table-uuid must be a UUID"),
        ("/location", null(), "location is missing"),
        ("/location", json!("///"), "location must be"),
        ("/location", json!("s3://b/\n"), "location must be"),
        ("/last-sequence-number", null(), "last-sequence-number is missing"),
        (
            "/last-sequence-number",
            json!(0),
            "has the sequence-number 1, but last-sequence-number is 0",
        ),
        ("/last-updated-ms", null(), "last-updated-ms is missing"),
        ("/last-updated-ms", json!(1_555_100_895_769_i64), "last-updated-ms"),
        ("/last-column-id", json!(2), "last-column-id is 2"),
        ("/last-column-id", json!(-1), "last-column-id must be"),
        ("/last-column-id", json!(2_147_483_647), "last-column-id must be"),
        (
            "/last-column-id",
            json!(4_294_967_296_i64),
            "last-column-id must be an integer of 32 bits",
        ),
        ("/current-schema-id", json!(2), "current-schema-id 2 is not among the schemas"),
        ("/schemas", null(), "schemas is missing"),
        ("/schemas", json!([]), "current-schema-id 1"),
        ("/schemas", json!([3]), "schemas must be an array of objects"),
        ("/schemas/0/schema-id", json!(1), "schema-id 1 is used more than once"),
        ("/schemas/0/type", json!("list"), "type must be struct"),
        ("/schemas/0/fields/0/id", json!(-1), "columns -1 to -1"),
        ("/schemas/0/fields/0/type", json!("number"), "unknown type: \"number\""),
        ("/schemas/0/fields/0/type", json!("variant"), "not supported until v3"),
        (
            "/schemas/0/fields/0/initial-default",
            json!(1),
            "default of \"x\" is not supported until v3",
        ),
        ("/schemas/0/fields/0/required", null(), "required is missing"),
        ("/schemas/1/fields/1/id", json!(1), "both have the id 1"),
        ("/schemas/1/fields/1/name", json!("x"), "both have the name \"x\""),
        ("/schemas/1/identifier-field-ids", json!([9]), "identifier field 9 does not exist"),
        ("/schemas/1/fields/0/required", json!(false), "identifier field \"x\" must be required"),
        ("/schemas/1/fields/0/type", json!("float"), "must not be a float"),
        (
            "/schemas/1/fields/0",
            column(1, "x", json!({"type": "struct", "fields": []})),
            "identifier field \"x\" must have a primitive type",
        ),
        ("/default-spec-id", json!(5), "default-spec-id 5"),
        ("/partition-specs", null(), "partition-specs is missing"),
        ("/partition-specs", json!([]), "default-spec-id 0"),
        ("/partition-specs/0/spec-id", null(), "spec-id is missing"),
        ("/partition-specs/0/fields/0/source-id", json!(9), "the schema has no column 9"),
        ("/partition-specs/0/fields/0/name", json!("y"), "another column of that name"),
        ("/partition-specs/0/fields/0/name", json!(""), "must not be empty"),
        (
            "/partition-specs/0/fields/0/transform",
            json!("day"),
            "transform day does not accept the type long",
        ),
        ("/partition-specs/0/fields/0/transform", json!("bucket[0]"), "must be positive"),
        ("/last-partition-id", null(), "last-partition-id is missing"),
        ("/last-partition-id", json!(999), "last-partition-id is 999"),
        ("/default-sort-order-id", json!(0), "default-sort-order-id 0"),
        ("/sort-orders", json!([]), "default-sort-order-id 3"),
        ("/sort-orders/0/order-id", json!(0), "order-id 0 is reserved for the unsorted order"),
        ("/sort-orders/0/fields", json!([]), "order-id of an unsorted order must be 0"),
        ("/sort-orders/0/fields/0/direction", json!("up"), "direction must be asc or desc"),
        ("/sort-orders/0/fields/0/source-id", json!(9), "the schema has no column 9"),
        ("/properties", json!({"a": 1}), "properties must be an object of strings"),
        ("/current-snapshot-id", json!(1), "current-snapshot-id 1 is not among the snapshots"),
        ("/current-snapshot-id", json!(FIRST), "but the branch main is at"),
        ("/current-snapshot-id", json!(-1), "current-snapshot-id is missing"),
        ("/snapshots", json!({}), "snapshots must be an array"),
        ("/snapshots/0/snapshot-id", json!(SECOND), "is used more than once"),
        ("/snapshots/0/timestamp-ms", null(), "timestamp-ms is missing"),
        ("/snapshots/0/manifest-list", null(), "manifest-list is missing"),
        ("/snapshots/0/summary", json!({"operation": 1}), "summary must be"),
        ("/snapshots/0/sequence-number", json!(35), "sequence-number 35"),
        ("/snapshots/0/sequence-number", json!(-1), "must not be negative"),
        ("/refs/main/type", json!("tag"), "must be a branch"),
        ("/refs/main/snapshot-id", json!(FIRST), "but the branch main is at"),
        ("/refs/test/snapshot-id", json!(8), "snapshot-id 8 is not among the snapshots"),
        ("/refs/test/type", json!("label"), "branch or tag"),
        ("/refs/test/max-ref-age-ms", json!(0), "must be positive"),
        ("/refs/test/min-snapshots-to-keep", json!(1), "a tag must not have min-snapshots-to-keep"),
        (
            "/snapshot-log/0/timestamp-ms",
            json!(1_555_101_015_771_i64),
            "snapshot-log: timestamp-ms",
        ),
        ("/snapshot-log/0/snapshot-id", null(), "snapshot-id is missing"),
        ("/metadata-log/0/metadata-file", null(), "metadata-file is missing"),
        (
            "/metadata-log/0/timestamp-ms",
            json!(THEN + 60_001),
            "before the last entry of metadata-log",
        ),
        ("/statistics", json!([{"snapshot-id": 1}]), "statistics-path is missing"),
        (
            "/partition-statistics",
            json!([{"statistics-path": "a", "file-size-in-bytes": 1}]),
            "snapshot-id is missing",
        ),
        ("/encryption-keys", json!([{"key-id": "a"}]), "encrypted-key-metadata is missing"),
    ];
    for (pointer, value, words) in cases {
        let name = format!("{pointer} = {value}");
        let document = with(table(), pointer, value);
        match TableMetadata::from_value(document) {
            Ok(_) => panic!("{name}: not refused"),
            Err(error) => assert!(error.to_string().contains(words), "{name}: {error}"),
        }
    }
}

#[test]
fn what_looks_odd_but_is_legal_is_read() {
    for (pointer, value) in [
        // Clocks differ by up to a minute.
        ("/snapshot-log/0/timestamp-ms", json!(1_555_101_015_770_i64)),
        ("/metadata-log/0/timestamp-ms", json!(THEN + 60_000)),
        ("/refs", Value::Null),
        ("/refs/main", Value::Null),
        ("/properties", Value::Null),
        ("/metadata-log", Value::Null),
        // An unknown transform is ignored by readers.
        ("/partition-specs/0/fields/0/transform", json!("zorder[3]")),
        // Specs that are not the default one outlive their columns.
        (
            "/partition-specs/0/fields/0",
            json!({"name": "gone", "transform": "void", "source-id": 9, "field-id": 1000}),
        ),
    ] {
        let document = with(table(), pointer, value);
        let metadata = parsed(&document);
        assert_eq!(metadata.reference("main").map(|it| it.snapshot_id), Some(SECOND), "{pointer}");
        assert_eq!(TableMetadata::parse(&metadata.to_bytes()), Ok(metadata), "{pointer}");
    }
}

#[test]
fn snapshots_of_refs_are_those_that_a_reference_names() {
    let document = with(table(), "/refs/test", Value::Null);
    let metadata = parsed(&document).with_snapshots_of_refs();
    assert_eq!(metadata.snapshots().map(|it| it.id).collect::<Vec<_>>(), [SECOND]);
    assert_eq!(parsed(&table()).with_snapshots_of_refs(), parsed(&table()));
    // Clients can read it.
    assert_eq!(TableMetadata::parse(&metadata.to_bytes()), Ok(metadata));
}
