use serde_json::{Map, Value, json};

use crate::TableMetadata;

use super::{Primitive, Schema, is_same};

fn map(value: Value) -> Map<String, Value> {
    value.as_object().expect("it is one").clone()
}

fn schema(fields: Value) -> Map<String, Value> {
    map(json!({"type": "struct", "fields": fields}))
}

#[test]
fn types_have_one_spelling() {
    for (text, spelling) in [
        ("LONG", "long"),
        ("decimal(9,2)", "decimal(9, 2)"),
        ("decimal( 38 , 38 )", "decimal(38, 38)"),
        ("fixed[ 16 ]", "fixed[16]"),
        ("timestamptz_ns", "timestamptz_ns"),
        ("geometry", "geometry"),
        ("Geometry(EPSG:3857)", "geometry(EPSG:3857)"),
        ("geography(OGC:CRS84, karney)", "geography(OGC:CRS84, karney)"),
        ("variant", "variant"),
    ] {
        assert_eq!(Primitive::parse(text).expect(text).to_string(), spelling);
    }
    for text in [
        "",
        "number",
        "decimal",
        "decimal(9)",
        "decimal(0, 0)",
        "decimal(9, 10)",
        "decimal(39, 1)",
        "decimal(9, -1)",
        "fixed",
        "fixed[x]",
        "fixed[-1]",
        "fixed[99999999999]",
        "geometry(",
        "geography)",
        "list",
        "fixed[1]]",
    ] {
        assert!(Primitive::parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn columns_have_full_names() {
    let parsed = Schema::parse(&schema(json!([
        {"id": 1, "name": "a", "required": false, "type": {"type": "list", "element-id": 2, "element-required": true,
            "element": {"type": "struct", "fields": [{"id": 3, "name": "b.c", "required": false, "type": "int"}]}}},
        {"id": 4, "name": "m", "required": false, "type": {"type": "map", "key-id": 5, "key": "string",
            "value-id": 6, "value-required": false, "value": "int"}}])));
    let parsed = parsed.expect("the schema is valid");
    for (name, id) in
        [("a", 1), ("a.element", 2), ("a.element.b.c", 3), ("m.key", 5), ("m.value", 6)]
    {
        assert_eq!(parsed.id_of(name), Some(id), "{name}");
    }
    assert_eq!(parsed.range_of_ids(), Some((1, 6)));
    assert!(!parsed.is_in_structs(parsed.column(3).expect("it is there")));
    assert!(parsed.is_in_structs(parsed.column(4).expect("it is there")));
}

#[test]
fn bad_schemas_are_refused() {
    let field = |id: i32, name: &str, kind: Value| json!({"id": id, "name": name, "required": true, "type": kind});
    let inner = |required: bool| {
        json!([{"id": 1, "name": "s", "required": required, "type":
        {"type": "struct", "fields": [{"id": 2, "name": "x", "required": true, "type": "int"}]}}])
    };
    let list = json!([field(
        1,
        "l",
        json!({"type": "list", "element-id": 2, "element-required": true, "element": "int"})
    )]);
    let default = |kind: &str, value: Value| {
        schema(
            json!([{"id": 1, "name": "x", "required": true, "type": kind, "initial-default": value}]),
        )
    };
    let identified = |fields: Value| {
        let mut schema = schema(fields);
        schema.insert("identifier-field-ids".to_owned(), json!([2]));
        schema
    };
    for (name, schema, words) in [
        (
            "a name that is a path",
            schema(json!([
                field(1, "a", json!({"type": "struct", "fields": [field(2, "b", json!("int"))]})),
                field(3, "a.b", json!("int"))
            ])),
            "both have the name \"a.b\"",
        ),
        (
            "an id of an inner column twice",
            schema(json!([field(
                1,
                "a",
                json!({"type": "list", "element-id": 1, "element-required": true, "element": "int"})
            )])),
            "both have the id 1",
        ),
        (
            "an unknown nesting",
            schema(json!([field(1, "a", json!({"type": "set"}))])),
            "unknown type: \"set\"",
        ),
        (
            "a type that is a number",
            schema(json!([field(1, "a", json!(1))])),
            "must be a string or an object",
        ),
        (
            "no element",
            schema(json!([field(
                1,
                "a",
                json!({"type": "list", "element-id": 2, "element-required": true})
            )])),
            "element is missing",
        ),
        (
            "no key id",
            schema(json!([field(
                1,
                "a",
                json!({"type": "map", "key": "int", "value": "int", "value-id": 3})
            )])),
            "key-id is missing",
        ),
        (
            "no value-required",
            schema(json!([field(
                1,
                "a",
                json!({"type": "map", "key": "int", "key-id": 2, "value": "int", "value-id": 3})
            )])),
            "value-required is missing",
        ),
        (
            "required and unknown",
            schema(json!([field(1, "a", json!("unknown"))])),
            "must be optional",
        ),
        (
            "a default of another type",
            default("int", json!("1")),
            "initial-default does not fit the type",
        ),
        (
            "a default beyond its type",
            default("int", json!(2_147_483_648_i64)),
            "initial-default does not fit",
        ),
        ("a date as a number", default("date", json!(1)), "initial-default does not fit"),
        (
            "a default of a geometry",
            default("geometry", json!("POINT (1 2)")),
            "initial-default does not fit",
        ),
        (
            "an identifier in an optional struct",
            identified(inner(false)),
            "is in \"s\", which is no required struct",
        ),
        ("an identifier in a list", identified(list), "is in \"l\", which is no required struct"),
        (
            "a text as id",
            schema(json!([{"id": "1", "name": "x", "required": true, "type": "int"}])),
            "id must be an integer",
        ),
        ("no fields", map(json!({"type": "struct"})), "fields is missing"),
    ] {
        match Schema::parse(&schema) {
            Ok(_) => panic!("{name}: not refused"),
            Err(error) => assert!(error.to_string().contains(words), "{name}: {error}"),
        }
    }
    assert!(Schema::parse(&identified(inner(true))).is_ok());
    for (kind, value) in [
        ("boolean", json!(true)),
        ("long", json!(1_i64 << 40)),
        ("double", json!(1)),
        ("decimal(9, 2)", json!("14.20")),
        ("uuid", json!("f79c3e09-677c-4bbd-a479-3f349cb785e7")),
        ("binary", json!("000102ff")),
        ("timestamptz", json!("2017-11-16T22:31:08.123456+00:00")),
    ] {
        let parsed = Schema::parse(&default(kind, value)).expect(kind);
        assert!(parsed.check_version(3).is_ok() && parsed.check_version(2).is_err(), "{kind}");
    }
}

#[test]
fn equal_schemas_differ_in_ids_and_spelling_only() {
    let one = |kind: &str| schema(json!([{"id": 1, "name": "x", "required": true, "type": kind}]));
    let with_id = |id: i32| {
        let mut it = one("decimal(9, 2)");
        it.insert("schema-id".to_owned(), id.into());
        it.insert("identifier-field-ids".to_owned(), json!([]));
        it
    };
    assert!(is_same(&with_id(3), &one("DECIMAL(9,2)")));
    assert!(!is_same(&one("int"), &one("long")));
    let mut identified = one("int");
    identified.insert("identifier-field-ids".to_owned(), json!([1]));
    assert!(!is_same(&identified, &one("int")));
    let documented =
        schema(json!([{"id": 1, "name": "x", "required": true, "type": "int", "doc": "a"}]));
    assert!(!is_same(&documented, &one("int")));
    // A column whose name is that of a type is not respelled into another one.
    let named =
        |name: &str| schema(json!([{"id": 1, "name": name, "required": true, "type": "int"}]));
    assert!(!is_same(&named("LONG"), &named("long")));
}

#[test]
fn transforms_fit_types() {
    let all = [
        "identity",
        "bucket[4]",
        "truncate[4]",
        "year",
        "month",
        "day",
        "hour",
        "void",
        "later[1]",
    ];
    for (kind, refused) in [
        ("int", &["year", "month", "day", "hour"][..]),
        ("string", &["year", "month", "day", "hour"]),
        ("decimal(9, 2)", &["year", "month", "day", "hour"]),
        ("boolean", &["bucket[4]", "truncate[4]", "year", "month", "day", "hour"]),
        ("double", &["bucket[4]", "truncate[4]", "year", "month", "day", "hour"]),
        ("uuid", &["truncate[4]", "year", "month", "day", "hour"]),
        ("fixed[4]", &["truncate[4]", "year", "month", "day", "hour"]),
        ("time", &["truncate[4]", "year", "month", "day", "hour"]),
        ("date", &["truncate[4]", "hour"]),
        ("timestamptz_ns", &["truncate[4]"]),
        ("geometry", &["identity", "bucket[4]", "truncate[4]", "year", "month", "day", "hour"]),
        (
            "variant",
            &["identity", "bucket[4]", "truncate[4]", "year", "month", "day", "hour", "later[1]"],
        ),
    ] {
        for transform in all {
            let created = TableMetadata::create(
                &crate::CreateTable::from_value(&json!({
                    "name": "t",
                    "schema": {"type": "struct", "fields": [{"id": 1, "name": "x", "required": false, "type": kind}]},
                    "partition-spec": {"fields": [{"source-id": 1, "name": "p", "transform": transform}]},
                    "properties": {"format-version": "3"},
                }))
                .expect("it is a request"),
                "9c12d441-03fe-4693-9a96-a0705ddf69c1",
                "s3://bucket/t",
                0,
            );
            assert_eq!(created.is_err(), refused.contains(&transform), "{transform} of {kind}");
        }
    }
}
