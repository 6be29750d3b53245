use serde_json::{Value, json};

use crate::{CommitView, CreateView, Invalid, ViewMetadata, ViewRequirement, ViewUpdate};

const UUID: &str = "fa6506c3-7681-40c8-86dc-e36561f83385";
const THEN: i64 = 1_573_518_431_292;
const NOW: i64 = THEN + 1000;

fn sql(dialect: &str, sql: &str) -> Value {
    json!({"type": "sql", "sql": sql, "dialect": dialect})
}

fn version(id: i32, schema: i32, representations: Value) -> Value {
    json!({"version-id": id, "timestamp-ms": THEN, "schema-id": schema, "summary": {"engine-name": "Spark"},
        "default-catalog": "prod", "default-namespace": ["default"], "representations": representations})
}

/// A view with two versions: after the example of the specification.
fn view() -> Value {
    json!({
        "view-uuid": UUID,
        "format-version": 1,
        "location": "s3://bucket/warehouse/default.db/event_agg",
        "current-version-id": 1,
        "properties": {"comment": "Daily event counts"},
        "versions": [version(1, 0, json!([sql("spark", "SELECT 1")]))],
        "schemas": [{"schema-id": 0, "type": "struct", "fields": [
            {"id": 1, "name": "event_count", "required": false, "type": "int", "doc": "Count of events"}]}],
        "version-log": [{"timestamp-ms": THEN, "version-id": 1}],
        "future": {"kept": [1]},
    })
}

fn parsed(document: &Value) -> ViewMetadata {
    ViewMetadata::parse(document.to_string().as_bytes()).expect("the document is valid")
}

fn applied(document: &Value, updates: &Value) -> Result<ViewMetadata, Invalid> {
    let updates = updates.as_array().expect("an array").iter().map(ViewUpdate::from_value);
    parsed(document).apply(&updates.collect::<Result<Vec<_>, _>>()?, NOW)
}

#[track_caller]
fn check(name: &str, document: &Value, updates: &Value, expected: &[(&str, Value)]) {
    let metadata = match applied(document, updates) {
        Ok(metadata) => metadata.to_value(),
        Err(error) => panic!("{name}: {error}"),
    };
    assert_eq!(metadata["future"], json!({"kept": [1]}), "{name}");
    for (pointer, value) in expected {
        assert_eq!(metadata.pointer(pointer).unwrap_or(&Value::Null), value, "{name}: {pointer}");
    }
}

fn add(version: Value) -> Value {
    json!({"action": "add-view-version", "view-version": version})
}

fn choose(id: i32) -> Value {
    json!({"action": "set-current-view-version", "view-version-id": id})
}

#[test]
fn fields_are_read() {
    let metadata = parsed(&view());
    assert_eq!((metadata.uuid(), metadata.format_version()), (UUID, 1));
    assert_eq!(metadata.location(), "s3://bucket/warehouse/default.db/event_agg");
    assert_eq!(metadata.property("comment"), Some("Daily event counts"));
    assert_eq!(metadata.properties().count(), 1);
    assert_eq!(metadata.current_version_id(), 1);
    assert_eq!(metadata.current_version()["representations"][0]["dialect"], "spark");
    assert_eq!((metadata.versions().count(), metadata.schemas().count()), (1, 1));
    assert_eq!(metadata.to_value(), view());
    assert_eq!(ViewMetadata::parse(&metadata.to_bytes()), Ok(metadata));
}

#[test]
fn a_view_is_created() {
    let body = json!({"name": "v", "properties": {"a": "b"},
        "schema": {"type": "struct", "schema-id": 5, "fields": [{"id": 7, "name": "x", "required": false, "type": "int"}]},
        "view-version": version(1, 9, json!([sql("trino", "SELECT 1")]))});
    let request = CreateView::from_value(&body).expect("it is one");
    let metadata = ViewMetadata::create(&request, UUID, "s3://bucket/v/", NOW)
        .expect("it is valid")
        .to_value();
    for (pointer, value) in [
        ("/view-uuid", json!(UUID)),
        ("/format-version", json!(1)),
        ("/location", json!("s3://bucket/v")),
        ("/current-version-id", json!(1)),
        ("/properties", json!({"a": "b"})),
        ("/schemas/0/schema-id", json!(0)),
        ("/schemas/0/fields/0/id", json!(7)),
        ("/versions/0/schema-id", json!(0)),
        ("/version-log", json!([{"timestamp-ms": THEN, "version-id": 1}])),
    ] {
        assert_eq!(metadata.pointer(pointer), Some(&value), "{pointer}");
    }
    for (pointer, value, words) in [
        ("/view-version/representations", json!([]), "must not be empty"),
        (
            "/view-version/representations/0/type",
            json!("ast"),
            "unknown type of a representation: \"ast\"",
        ),
        ("/view-version/default-namespace", Value::Null, "default-namespace is missing"),
        ("/view-version/summary", json!({"a": 1}), "summary must be"),
        ("/schema/type", json!("map"), "type must be struct"),
        ("/name", json!(".."), "must not be \"..\""),
    ] {
        let mut body = body.clone();
        *body.pointer_mut(pointer).expect("it is there") = value;
        let created = CreateView::from_value(&body)
            .and_then(|request| ViewMetadata::create(&request, UUID, "s3://bucket/v", NOW));
        let error = created.unwrap_err().to_string();
        assert!(error.contains(words), "{pointer}: {error}");
    }
}

#[test]
fn versions_are_added_and_reused() {
    let columns = |name: &str| {
        json!({"action": "add-schema", "schema": {"type": "struct", "schema-id": 0, "fields": [
        {"id": 1, "name": name, "required": false, "type": "int"}]}})
    };
    check(
        "a new one",
        &view(),
        &json!([columns("x"), add(version(1, -1, json!([sql("Spark", "SELECT 2")]))), choose(-1)]),
        &[
            ("/current-version-id", json!(2)),
            ("/versions/1/version-id", json!(2)),
            ("/versions/1/schema-id", json!(1)),
            ("/schemas/1/schema-id", json!(1)),
            ("/version-log/1", json!({"timestamp-ms": THEN, "version-id": 2})),
        ],
    );
    check(
        "the same at another time",
        &view(),
        &json!([
        {"action": "set-properties", "updates": {"a": "b"}},
        add(json!({"version-id": 5, "timestamp-ms": NOW, "schema-id": 0, "summary": {"engine-name": "Spark"}, "default-catalog": "prod",
            "default-namespace": ["default"], "representations": [sql("spark", "SELECT 1")]})), choose(-1)]),
        &[
            ("/versions/1", Value::Null),
            ("/current-version-id", json!(1)),
            ("/version-log/1", Value::Null),
        ],
    );
    let two = applied(
        &view(),
        &json!([add(version(2, 0, json!([sql("spark", "SELECT 2")]))), choose(2)]),
    )
    .unwrap();
    check(
        "back to an old one",
        &two.to_value(),
        &json!([choose(1)]),
        &[
            ("/current-version-id", json!(1)),
            ("/version-log/2", json!({"timestamp-ms": NOW, "version-id": 1})),
        ],
    );
    check(
        "location and properties",
        &view(),
        &json!([
        {"action": "set-location", "location": "s3://bucket/new/"}, {"action": "assign-uuid", "uuid": UUID},
        {"action": "upgrade-format-version", "format-version": 1},
        {"action": "set-properties", "updates": {"a": "b"}}, {"action": "remove-properties", "removals": ["comment"]}]),
        &[("/location", json!("s3://bucket/new")), ("/properties", json!({"a": "b"}))],
    );
    assert_eq!(
        applied(&view(), &json!([choose(1), {"action": "assign-uuid", "uuid": UUID}])),
        Ok(parsed(&view()))
    );
}

#[test]
fn old_versions_expire() {
    let mut document = view();
    document["properties"]["version.history.num-entries"] = json!("2");
    let add_three: Vec<Value> = (2..5)
        .flat_map(|id| {
            [add(version(id, 0, json!([sql("spark", &format!("SELECT {id}"))]))), choose(id)]
        })
        .collect();
    // Those of this commit stay, though they are more.
    check(
        "three in a commit",
        &document,
        &json!(add_three),
        &[
            ("/versions/0/version-id", json!(2)),
            ("/versions/2/version-id", json!(4)),
            ("/versions/3", Value::Null),
            ("/version-log", json!([{"timestamp-ms": THEN, "version-id": 4}])),
        ],
    );
    let three = applied(&document, &json!(add_three)).unwrap().to_value();
    check(
        "back to the oldest",
        &three,
        &json!([choose(2), add(version(9, 0, json!([sql("spark", "SELECT 9")])))]),
        &[
            ("/versions/0/version-id", json!(2)),
            ("/versions/1/version-id", json!(9)),
            ("/versions/2", Value::Null),
            ("/version-log", json!([{"timestamp-ms": NOW, "version-id": 2}])),
        ],
    );
}

#[test]
fn a_dialect_is_not_lost() {
    let updates = |allowed: &str| {
        json!([{"action": "set-properties", "updates": {"replace.drop-dialect.allowed": allowed}},
        add(version(2, 0, json!([sql("trino", "SELECT 2")]))), choose(-1)])
    };
    let error = applied(&view(), &updates("false")).unwrap_err().to_string();
    assert!(error.contains("loss of view dialects") && error.contains("spark"), "{error}");
    check("allowed", &view(), &updates("true"), &[("/current-version-id", json!(2))]);
}

#[test]
fn bad_updates_are_refused() {
    for (name, update, words) in [
        (
            "an unknown schema",
            add(version(2, 4, json!([sql("spark", "SELECT 2")]))),
            "schema-id 4 is not among the schemas",
        ),
        (
            "no schema was added",
            add(version(2, -1, json!([sql("spark", "SELECT 2")]))),
            "no schema has been added",
        ),
        (
            "a dialect twice",
            add(version(2, 0, json!([sql("spark", "a"), sql("SPARK", "b")]))),
            "Cannot add multiple queries for dialect spark",
        ),
        ("an unknown version", choose(7), "there is no version 7"),
        ("no version was added", choose(-1), "no version has been added"),
        (
            "another UUID",
            json!({"action": "assign-uuid", "uuid": "fa6506c3-7681-40c8-86dc-e36561f83386"}),
            "cannot be changed",
        ),
        (
            "an unknown format",
            json!({"action": "upgrade-format-version", "format-version": 2}),
            "unsupported format-version",
        ),
        (
            "an update of tables",
            json!({"action": "add-spec", "spec": {}}),
            "unknown update of a view: \"add-spec\"",
        ),
        (
            "a limit that is none",
            json!({"action": "set-properties", "updates": {"version.history.num-entries": "0"}}),
            "must be a positive number",
        ),
    ] {
        let error = applied(&view(), &json!([update])).expect_err(name).to_string();
        assert!(error.contains(words), "{name}: {error}");
    }
}

#[test]
fn contradictions_are_refused_by_field() {
    for (pointer, value, words) in [
        ("/format-version", json!(2), "unsupported format-version"),
        ("/view-uuid", json!("x"), "view-uuid must be a UUID"),
        ("/location", json!(""), "location must be"),
        ("/current-version-id", json!(3), "current-version-id 3"),
        ("/versions", json!([]), "current-version-id 1"),
        ("/versions/0/schema-id", json!(3), "schema-id 3"),
        ("/versions/0/timestamp-ms", json!("x"), "timestamp-ms must be"),
        ("/versions/0/representations/0/sql", Value::Null, "sql is missing"),
        ("/schemas", json!([1]), "schemas must be objects"),
        ("/version-log", json!([{}]), "timestamp-ms is missing"),
        ("/properties", json!([]), "properties must be"),
    ] {
        let mut document = view();
        *document.pointer_mut(pointer).expect("it is there") = value;
        let error = ViewMetadata::from_value(document).expect_err(pointer).to_string();
        assert!(error.contains(words), "{pointer}: {error}");
    }
}

#[test]
fn requirements_hold_or_fail() {
    let metadata = parsed(&view());
    let uuid = |uuid: &str| {
        ViewRequirement::from_value(&json!({"type": "assert-view-uuid", "uuid": uuid})).unwrap()
    };
    assert_eq!(metadata.check(&uuid(&UUID.to_uppercase())), Ok(()));
    let failed = metadata.check(&uuid("fa6506c3-7681-40c8-86dc-e36561f83386")).unwrap_err();
    assert!(failed.to_string().contains("view UUID does not match"));
    let other = json!({"type": "assert-create"});
    assert!(ViewRequirement::from_value(&other).is_err());
    let commit = CommitView::from_value(&json!({"updates": [choose(1)]})).unwrap();
    assert_eq!((commit.requirements.len(), commit.updates.len()), (0, 1));
}
