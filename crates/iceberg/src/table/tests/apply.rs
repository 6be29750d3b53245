//! Updates of schemas, specs, orders and properties.

use serde_json::{Value, json};

use crate::{Invalid, Update};

use super::{NOW, OTHER_UUID, THEN, UUID, applied, check, check_refused, parsed, table, with};

fn long(id: i32, name: &str) -> Value {
    json!({"id": id, "name": name, "required": true, "type": "long"})
}

fn add_schema(fields: Value) -> Value {
    json!({"action": "add-schema", "schema": {"type": "struct", "schema-id": 0, "fields": fields}})
}

fn add_spec(fields: Value) -> Value {
    json!({"action": "add-spec", "spec": {"fields": fields}})
}

fn part(source: i32, name: &str, transform: &str) -> Value {
    json!({"source-id": source, "name": name, "transform": transform})
}

#[test]
fn every_commit_has_a_time_and_a_log() {
    let updates = json!([{"action": "set-properties", "updates": {"a": "b"}}]);
    let metadata = applied(&updates).unwrap();
    assert_eq!(metadata.last_updated_ms(), NOW);
    let log: Vec<_> = metadata.metadata_log().collect();
    assert_eq!(
        log,
        [
            (1_515_100, "s3://bucket/test/location/0.json"),
            (THEN, "s3://bucket/test/location/9.json")
        ]
    );
    // A clock that was set back does not set the table back.
    let updates = super::read(&updates).unwrap();
    assert_eq!(parsed(&table()).apply(&updates, 5, None).unwrap().last_updated_ms(), THEN);
    // Without a file there is no entry.
    assert_eq!(parsed(&table()).apply(&updates, NOW, None).unwrap().metadata_log().count(), 1);
}

#[test]
fn updates_that_change_nothing_leave_the_metadata() {
    for updates in [
        json!([]),
        json!([{"action": "set-properties", "updates": {}}]),
        json!([{"action": "set-properties", "updates": {"read.split.target.size": "134217728"}}]),
        json!([{"action": "remove-properties", "removals": ["unknown"]}]),
        json!([{"action": "assign-uuid", "uuid": UUID}]),
        json!([{"action": "upgrade-format-version", "format-version": 2}]),
        json!([{"action": "set-location", "location": "s3://bucket/test/location/"}]),
        json!([{"action": "set-current-schema", "schema-id": 1}]),
        json!([add_schema(json!([long(1, "x")]))]),
        json!([{"action": "set-default-spec", "spec-id": 0}]),
        json!([add_spec(json!([part(1, "x", "identity")]))]),
        json!([{"action": "set-default-sort-order", "sort-order-id": 3}]),
        json!([{"action": "remove-snapshots", "snapshot-ids": [1]}]),
        json!([{"action": "remove-snapshot-ref", "ref-name": "unknown"}]),
        json!([{"action": "remove-statistics", "snapshot-id": 1}]),
        json!([{"action": "remove-schemas", "schema-ids": [8]}]),
        json!([{"action": "remove-encryption-key", "key-id": "unknown"}]),
    ] {
        assert_eq!(applied(&updates), Ok(parsed(&table())), "{updates}");
    }
}

#[test]
fn the_metadata_log_is_short() {
    for (property, kept) in [("3", 3), ("1", 1), ("0", 1), ("x", 100), ("", 100)] {
        let mut document =
            with(table(), "/properties/write.metadata.previous-versions-max", json!(property));
        let entries =
            (0..120).map(|at| json!({"timestamp-ms": at, "metadata-file": format!("{at}.json")}));
        document["metadata-log"] = entries.collect();
        let updates = json!([{"action": "set-properties", "updates": {"a": "b"}}]);
        let metadata = super::applied_to(&document, &updates).unwrap();
        let log: Vec<_> = metadata.metadata_log().map(|(_, file)| file.to_owned()).collect();
        assert_eq!(log.len(), kept, "{property:?}");
        assert_eq!(log.last().unwrap(), "s3://bucket/test/location/9.json");
    }
}

#[test]
fn schemas_are_added_and_reused() {
    let new = json!([long(1, "x"), long(4, "w")]);
    for (name, updates, expected) in [
        (
            "a new one",
            json!([add_schema(new.clone()), {"action": "set-current-schema", "schema-id": -1},
                {"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": []}},
                {"action": "set-default-sort-order", "sort-order-id": -1}]),
            vec![
                ("/current-schema-id", json!(2)),
                ("/last-column-id", json!(4)),
                ("/schemas/2/schema-id", json!(2)),
                ("/schemas/2/fields", new.clone()),
            ],
        ),
        (
            "the same twice",
            json!([add_schema(new.clone()), add_schema(new.clone())]),
            vec![
                ("/schemas/2/fields", new.clone()),
                ("/schemas/3", Value::Null),
                ("/current-schema-id", json!(1)),
            ],
        ),
        (
            "one that was there, in another spelling",
            json!([add_schema(json!([{"id": 1, "name": "x", "required": true, "type": "LONG", "doc": null}])),
                {"action": "set-default-sort-order", "sort-order-id": 3},
                {"action": "add-sort-order", "sort-order": {"fields": []}},
                {"action": "set-default-sort-order", "sort-order-id": 0},
                {"action": "set-current-schema", "schema-id": -1}]),
            vec![("/current-schema-id", json!(0)), ("/schemas/2", Value::Null)],
        ),
        (
            "with a last column id of the client",
            json!([{"action": "add-schema", "last-column-id": 9, "schema": {"type": "struct", "fields": new}}]),
            vec![("/last-column-id", json!(9))],
        ),
        (
            "removed",
            json!([{"action": "remove-schemas", "schema-ids": [0, 77]}]),
            vec![("/schemas/0/schema-id", json!(1)), ("/schemas/1", Value::Null)],
        ),
    ] {
        check(name, &table(), &updates, &expected);
    }
}

#[test]
fn bad_schemas_are_refused() {
    for (name, updates, words) in [
        (
            "an id twice",
            json!([add_schema(json!([long(1, "x"), long(1, "y")]))]),
            "both have the id 1",
        ),
        (
            "a name twice",
            json!([add_schema(json!([long(1, "x"), long(2, "x")]))]),
            "both have the name",
        ),
        (
            "a type of version 3",
            json!([add_schema(
                json!([{"id": 1, "name": "x", "required": false, "type": "geometry(srid:3857)"}])
            )]),
            "until v3",
        ),
        (
            "a default of version 3",
            json!([add_schema(
                json!([{"id": 1, "name": "x", "required": false, "type": "int", "write-default": 3}])
            )]),
            "until v3",
        ),
        (
            "an unknown current one",
            json!([{"action": "set-current-schema", "schema-id": 9}]),
            "schema-id 9 is not among the schemas",
        ),
        (
            "none was added",
            json!([{"action": "set-current-schema", "schema-id": -1}]),
            "no schema has been added",
        ),
        (
            "a last column id that is too low",
            json!([{"action": "add-schema", "last-column-id": 3, "schema": {"type": "struct", "fields": [long(4, "w")]}}]),
            "last-column-id is 3",
        ),
        (
            "without the column of the sort order",
            json!([add_schema(json!([long(1, "x"), long(4, "w")])), {"action": "set-current-schema", "schema-id": -1}]),
            "sort field: the schema has no column",
        ),
        (
            "removed in use",
            json!([{"action": "remove-schemas", "schema-ids": [0, 1]}]),
            "cannot remove schema-id 1",
        ),
        (
            "ids up to the reserved ones",
            json!([add_schema(json!([long(2_147_483_447, "x")]))]),
            "last-column-id must be",
        ),
    ] {
        check_refused(name, &table(), &updates, words);
    }
}

#[test]
fn specs_are_added_and_reused() {
    for (name, updates, expected) in [
        (
            "an equal field keeps its id, a new one gets the next",
            json!([add_spec(json!([part(2, "y_bucket", "bucket[4]"), part(1, "x2", "identity")])),
                {"action": "set-default-spec", "spec-id": -1}]),
            vec![
                ("/default-spec-id", json!(1)),
                ("/last-partition-id", json!(1001)),
                ("/partition-specs/1/fields/0/field-id", json!(1001)),
                ("/partition-specs/1/fields/1/field-id", json!(1000)),
            ],
        ),
        (
            "ids of the client",
            json!([{"action": "add-spec", "spec": {"spec-id": 7, "fields": [
                {"source-id": 3, "field-id": 1005, "name": "z", "transform": "identity"}]}}]),
            vec![
                ("/partition-specs/1/spec-id", json!(1)),
                ("/last-partition-id", json!(1005)),
                ("/default-spec-id", json!(0)),
            ],
        ),
        (
            "one that was there",
            json!([add_spec(json!([])), {"action": "set-default-spec", "spec-id": -1},
                add_spec(json!([part(1, "x", "Identity")])), {"action": "set-default-spec", "spec-id": -1}]),
            vec![
                ("/default-spec-id", json!(0)),
                ("/partition-specs/1/fields", json!([])),
                ("/partition-specs/2", Value::Null),
            ],
        ),
        (
            "removed",
            json!([add_spec(json!([])), {"action": "set-default-spec", "spec-id": -1},
                {"action": "remove-partition-specs", "spec-ids": [0]}]),
            vec![("/partition-specs/0/spec-id", json!(1)), ("/last-partition-id", json!(1000))],
        ),
        (
            "several columns of an unknown transform",
            json!([{"action": "add-spec", "spec": {"fields": [
                {"source-ids": [1, 2], "name": "xy", "transform": "bucketV2[4]"}]}}]),
            vec![("/partition-specs/1/fields/0/source-ids", json!([1, 2]))],
        ),
    ] {
        check(name, &table(), &updates, &expected);
    }
}

#[test]
fn bad_specs_are_refused() {
    for (name, updates, words) in [
        (
            "an unknown column",
            json!([add_spec(json!([part(9, "p", "identity")]))]),
            "the schema has no column 9",
        ),
        (
            "the name of another column",
            json!([add_spec(json!([part(1, "y", "identity")]))]),
            "another column of that name",
        ),
        (
            "a name twice",
            json!([add_spec(json!([part(1, "p", "identity"), part(2, "p", "identity")]))]),
            "more than once",
        ),
        (
            "an id twice",
            json!([{"action": "add-spec", "spec": {"fields": [
            {"source-id": 1, "field-id": 1000, "name": "p", "transform": "void"},
            {"source-id": 2, "field-id": 1000, "name": "q", "transform": "void"}]}}]),
            "field-id 1000 is used more than once",
        ),
        (
            "an unknown default",
            json!([{"action": "set-default-spec", "spec-id": 4}]),
            "spec-id 4 is not among",
        ),
        (
            "none was added",
            json!([{"action": "set-default-spec", "spec-id": -1}]),
            "no partition spec has been added",
        ),
        (
            "removed in use",
            json!([{"action": "remove-partition-specs", "spec-ids": [0]}]),
            "cannot remove spec-id 0",
        ),
    ] {
        check_refused(name, &table(), &updates, words);
    }
    let version_1 = || {
        with(
            with(with(table(), "/format-version", json!(1)), "/last-sequence-number", Value::Null),
            "/snapshots/1/sequence-number",
            Value::Null,
        )
    };
    check_refused(
        "ids out of sequence in version 1",
        &version_1(),
        &json!([add_spec(json!([part(2, "y", "identity")]))]),
        "count from 1000",
    );
    check(
        "in sequence",
        &version_1(),
        &json!([add_spec(json!([part(1, "x", "identity"), part(2, "y", "identity")])), {"action": "set-default-spec", "spec-id": 1}]),
        &[("/partition-spec/1/field-id", json!(1001)), ("/schema/schema-id", json!(1))],
    );
}

#[test]
fn sort_orders_are_added_and_reused() {
    let order = |source: i32, direction: &str| {
        json!({"action": "add-sort-order", "sort-order": {"order-id": 1, "fields": [
        {"source-id": source, "transform": "identity", "direction": direction, "null-order": "nulls-first"}]}})
    };
    let choose = |id: i32| json!({"action": "set-default-sort-order", "sort-order-id": id});
    check(
        "a new one",
        &table(),
        &json!([order(1, "asc"), choose(-1)]),
        &[("/default-sort-order-id", json!(4)), ("/sort-orders/1/order-id", json!(4))],
    );
    check(
        "twice",
        &table(),
        &json!([order(1, "asc"), order(1, "ASC"), choose(-1)]),
        &[("/default-sort-order-id", json!(4)), ("/sort-orders/2", Value::Null)],
    );
    check(
        "unsorted",
        &table(),
        &json!([{"action": "add-sort-order", "sort-order": {"order-id": 0, "fields": []}}, choose(-1)]),
        &[
            ("/default-sort-order-id", json!(0)),
            ("/sort-orders/1", json!({"order-id": 0, "fields": []})),
        ],
    );
    check_refused("an unknown column", &table(), &json!([order(9, "asc")]), "no column 9");
    check_refused("an unknown default", &table(), &json!([choose(1)]), "order-id 1 is not among");
    check_refused("none was added", &table(), &json!([choose(-1)]), "no sort order has been added");
}

#[test]
fn identity_location_and_properties() {
    check(
        "location",
        &table(),
        &json!([{"action": "set-location", "location": "s3://bucket/other//"}]),
        &[("/location", json!("s3://bucket/other"))],
    );
    check(
        "properties",
        &table(),
        &json!([
        {"action": "set-properties", "updates": {"a": "b", "c": "d"}},
        {"action": "remove-properties", "removals": ["read.split.target.size", "c"]}]),
        &[("/properties", json!({"a": "b"}))],
    );
    check(
        "old names",
        &table(),
        &json!([
        {"action": "set-properties", "updated": {"a": "b"}},
        {"action": "remove-properties", "removed": ["read.split.target.size"]}]),
        &[("/properties", json!({"a": "b"}))],
    );
    check(
        "version",
        &table(),
        &json!([{"action": "upgrade-format-version", "format-version": 3}, {"action": "enable-row-lineage"}]),
        &[("/format-version", json!(3)), ("/next-row-id", json!(0))],
    );
    for (name, update, words) in [
        ("another UUID", json!({"action": "assign-uuid", "uuid": OTHER_UUID}), "cannot be changed"),
        ("no UUID", json!({"action": "assign-uuid", "uuid": "x"}), "must be a UUID"),
        (
            "a downgrade",
            json!({"action": "upgrade-format-version", "format-version": 1}),
            "cannot downgrade",
        ),
        (
            "an unknown version",
            json!({"action": "upgrade-format-version", "format-version": 4}),
            "unsupported format-version 4",
        ),
        ("row lineage", json!({"action": "enable-row-lineage"}), "needs format version 3"),
        (
            "an empty location",
            json!({"action": "set-location", "location": ""}),
            "must be a location",
        ),
        (
            "a property that is no string",
            json!({"action": "set-properties", "updates": {"a": null}}),
            "object of strings",
        ),
        (
            "an unknown update",
            json!({"action": "drop-table"}),
            "unknown update of a table: \"drop-table\"",
        ),
        (
            "an update of views",
            json!({"action": "add-view-version", "view-version": {}}),
            "unknown update of a table",
        ),
        ("no action", json!({"uuid": UUID}), "action is missing"),
        ("a missing field", json!({"action": "set-location"}), "set-location: location is missing"),
    ] {
        check_refused(name, &table(), &json!([update]), words);
    }
}

#[test]
fn files_and_keys() {
    let file = |id: i64, path: &str| {
        json!({"snapshot-id": id, "statistics-path": path, "file-size-in-bytes": 9,
        "file-footer-size-in-bytes": 2, "blob-metadata": [{"type": "b", "snapshot-id": id, "sequence-number": 1, "fields": [1]}]})
    };
    let set = |path: &str| json!({"action": "set-statistics", "snapshot-id": 5, "statistics": file(5, path)});
    let set_partition = |path: &str| json!({"action": "set-partition-statistics", "partition-statistics": file(5, path)});
    let key = json!({"key-id": "k", "encrypted-key-metadata": "YQ=="});
    check(
        "set twice",
        &table(),
        &json!([set("a"), set("b"), set_partition("c"), set_partition("d")]),
        &[("/statistics", json!([file(5, "b")])), ("/partition-statistics", json!([file(5, "d")]))],
    );
    let removed = [
        json!({"action": "remove-statistics", "snapshot-id": 5}),
        json!({"action": "remove-partition-statistics", "snapshot-id": 5}),
    ];
    check(
        "removed",
        &table(),
        &json!([set("a"), set_partition("c"), removed[0], removed[1]]),
        &[("/statistics", json!([])), ("/partition-statistics", json!([]))],
    );
    check(
        "a key",
        &table(),
        &json!([{"action": "add-encryption-key", "encryption-key": key}, {"action": "add-encryption-key", "encryption-key": key}]),
        &[("/encryption-keys", json!([key]))],
    );
    check(
        "a key that is removed",
        &table(),
        &json!([{"action": "add-encryption-key", "encryption-key": key}, {"action": "remove-encryption-key", "key-id": "k"}]),
        &[("/encryption-keys", json!([]))],
    );
    check_refused(
        "two snapshots",
        &table(),
        &json!([{"action": "set-statistics", "snapshot-id": 6, "statistics": file(5, "a")}]),
        "snapshot-id is 6",
    );
    check_refused(
        "no path",
        &table(),
        &json!([{"action": "set-partition-statistics", "partition-statistics": {"snapshot-id": 5}}]),
        "statistics-path is missing",
    );
}

#[test]
fn all_updates_or_none() {
    let metadata = parsed(&table());
    let updates = [Update::SetLocation("s3://bucket/new".to_owned()), Update::SetDefaultSpec(9)];
    assert!(matches!(metadata.apply(&updates, NOW, None), Err(Invalid::Malformed(_))));
    assert_eq!(metadata, parsed(&table()));
    assert!(metadata.apply(&updates[..1], NOW, None).is_ok());
}
