//! Updates of snapshots, branches and tags.

use serde_json::{Value, json};

use crate::Invalid;

use super::{FIRST, NOW, SECOND, applied_to, check, check_refused, table, with};

fn add(id: i64, number: i64) -> Value {
    json!({"action": "add-snapshot", "snapshot": {"snapshot-id": id, "parent-snapshot-id": SECOND,
        "sequence-number": number, "timestamp-ms": NOW - 10, "summary": {"operation": "append"},
        "manifest-list": "s3://bucket/l.avro", "schema-id": 1}})
}

fn set(name: &str, id: i64, kind: &str) -> Value {
    json!({"action": "set-snapshot-ref", "ref-name": name, "type": kind, "snapshot-id": id})
}

fn log(entries: &[(i64, i64)]) -> Value {
    entries.iter().map(|(at, id)| json!({"timestamp-ms": at, "snapshot-id": id})).collect()
}

const OLD: [(i64, i64); 2] = [(1_515_100_955_770, FIRST), (1_555_100_955_770, SECOND)];

#[test]
fn a_commit_adds_a_snapshot_and_moves_main() {
    check(
        "append",
        &table(),
        &json!([add(5, 35), set("main", 5, "branch")]),
        &[
            ("/last-sequence-number", json!(35)),
            ("/current-snapshot-id", json!(5)),
            ("/refs/main", json!({"snapshot-id": 5, "type": "branch"})),
            ("/snapshots/2/snapshot-id", json!(5)),
            ("/snapshot-log", log(&[OLD[0], OLD[1], (NOW - 10, 5)])),
        ],
    );
}

#[test]
fn the_log_shows_what_was_current() {
    let cases = [
        (
            "two snapshots in a commit: the one between was never current",
            json!([add(5, 35), set("main", 5, "branch"), add(6, 36), set("main", 6, "branch")]),
            log(&[OLD[0], OLD[1], (NOW - 10, 6)]),
        ),
        (
            "a rollback is a change of now",
            json!([set("main", FIRST, "branch")]),
            log(&[OLD[0], OLD[1], (NOW, FIRST)]),
        ),
        ("another branch", json!([add(5, 35), set("dev", 5, "branch")]), log(&OLD)),
        (
            "a removal cuts what is before it",
            json!([{"action": "remove-snapshots", "snapshot-ids": [FIRST]}]),
            log(&OLD[1..]),
        ),
        (
            "no branch main",
            json!([{"action": "remove-snapshot-ref", "ref-name": "main"}]),
            log(&OLD),
        ),
    ];
    for (name, updates, expected) in cases {
        check(name, &table(), &updates, &[("/snapshot-log", expected)]);
    }
    let without = with(table(), "/snapshot-log", Value::Null);
    check(
        "a table without a log",
        &without,
        &json!([{"action": "remove-snapshots", "snapshot-ids": [FIRST]}]),
        &[("/snapshot-log", json!([]))],
    );
}

#[test]
fn references_are_set_and_removed() {
    let keep = json!({"action": "set-snapshot-ref", "ref-name": "dev", "type": "branch", "snapshot-id": FIRST,
        "min-snapshots-to-keep": 2, "max-snapshot-age-ms": 3, "max-ref-age-ms": 4});
    check(
        "a branch with limits",
        &table(),
        &json!([keep]),
        &[(
            "/refs/dev",
            json!({"snapshot-id": FIRST, "type": "branch",
        "min-snapshots-to-keep": 2, "max-snapshot-age-ms": 3, "max-ref-age-ms": 4}),
        )],
    );
    let document = with(table(), "/refs/test/future", json!(1));
    check(
        "limits go, unknown fields stay",
        &document,
        &json!([set("test", SECOND, "tag")]),
        &[
            ("/refs/test", json!({"snapshot-id": SECOND, "type": "tag", "future": 1})),
            ("/current-snapshot-id", json!(SECOND)),
        ],
    );
    check(
        "main is removed",
        &table(),
        &json!([{"action": "remove-snapshot-ref", "ref-name": "main"}]),
        &[("/current-snapshot-id", json!(-1)), ("/refs/main", Value::Null)],
    );
    check(
        "removed and set",
        &table(),
        &json!([{"action": "remove-snapshot-ref", "ref-name": "main"}, set("main", SECOND, "branch")]),
        &[("/current-snapshot-id", json!(SECOND))],
    );
    for (name, update, words) in [
        ("main as a tag", set("main", FIRST, "tag"), "it must be a branch"),
        ("an unknown snapshot", set("dev", 9, "branch"), "there is no snapshot 9"),
        ("an unknown type", set("dev", FIRST, "label"), "branch or tag"),
        ("no name", set("", FIRST, "tag"), "ref-name must not be empty"),
        (
            "a tag with snapshots to keep",
            with(keep.clone(), "/type", json!("tag")),
            "a tag must not have",
        ),
        (
            "no snapshots to keep",
            with(keep.clone(), "/min-snapshots-to-keep", json!(0)),
            "must be positive",
        ),
    ] {
        check_refused(name, &table(), &json!([update]), words);
    }
}

#[test]
fn removed_snapshots_take_references_and_statistics_along() {
    let file = |id: i64| {
        json!({"snapshot-id": id, "statistics-path": "s", "file-size-in-bytes": 9,
        "file-footer-size-in-bytes": 2, "blob-metadata": []})
    };
    let mut document = table();
    document["statistics"] = json!([file(FIRST), file(SECOND)]);
    document["partition-statistics"] = json!([file(FIRST)]);
    check(
        "one that a tag names",
        &document,
        &json!([{"action": "remove-snapshots", "snapshot-ids": [FIRST, 1]}]),
        &[
            ("/snapshots/0/snapshot-id", json!(SECOND)),
            ("/snapshots/1", Value::Null),
            ("/refs/test", Value::Null),
            ("/statistics", json!([file(SECOND)])),
            ("/partition-statistics", json!([])),
        ],
    );
    check(
        "all",
        &document,
        &json!([{"action": "remove-snapshots", "snapshot-ids": [SECOND, FIRST]}]),
        &[
            ("/snapshots", json!([])),
            ("/refs", json!({})),
            ("/current-snapshot-id", json!(-1)),
            ("/snapshot-log", json!([])),
        ],
    );
}

#[test]
fn a_snapshot_that_was_overtaken_is_stale() {
    for (name, update, is_stale, words) in [
        ("a used sequence number", add(5, 34), true, "older than last sequence number 34"),
        ("an id that is there", add(SECOND, 35), false, "already exists"),
        (
            "no manifest list",
            with(add(5, 35), "/snapshot/manifest-list", Value::Null),
            false,
            "manifest-list is missing",
        ),
        (
            "no time",
            with(add(5, 35), "/snapshot/timestamp-ms", Value::Null),
            false,
            "timestamp-ms is missing",
        ),
        (
            "a text as id",
            with(add(5, 35), "/snapshot/snapshot-id", json!("5")),
            false,
            "snapshot-id must be",
        ),
    ] {
        match applied_to(&table(), &json!([update])) {
            Err(error) => {
                assert!(error.to_string().contains(words), "{name}: {error}");
                assert_eq!(matches!(error, Invalid::Stale(_)), is_stale, "{name}");
            }
            Ok(_) => panic!("{name}: not refused"),
        }
    }
    // Manifests in the place of their list are of version 1.
    let listed = with(add(5, 35), "/snapshot/manifests", json!(["m.avro"]));
    let listed = with(listed, "/snapshot/manifest-list", Value::Null);
    check_refused("manifests", &table(), &json!([listed]), "which format version 2 requires");
    // A first snapshot could not see another one. The number of the table does not go back.
    let first = with(add(5, 0), "/snapshot/parent-snapshot-id", Value::Null);
    check(
        "without a parent",
        &table(),
        &json!([first]),
        &[("/last-sequence-number", json!(34)), ("/snapshots/2/snapshot-id", json!(5))],
    );
}

#[test]
fn clocks_of_writers_may_differ() {
    let at = |id: i64, number: i64, time: i64| {
        with(add(id, number), "/snapshot/timestamp-ms", json!(time))
    };
    const DAY: i64 = 24 * 60 * 60 * 1000;
    check(
        "ahead of the catalog, then behind the writer before",
        &table(),
        &json!([
            at(5, 35, NOW + DAY),
            set("dev", 5, "branch"),
            set("main", 5, "branch"),
            at(6, 36, NOW),
            set("main", FIRST, "branch"),
        ]),
        &[
            ("/last-updated-ms", json!(NOW + DAY)),
            ("/snapshot-log", log(&[OLD[0], OLD[1], (NOW + DAY, FIRST)])),
        ],
    );
    let ahead = applied_to(&table(), &json!([at(5, 35, NOW + DAY), set("main", 5, "branch")]));
    let ahead = ahead.expect("a day is legal").to_value();
    check(
        "behind",
        &ahead,
        &json!([at(6, 36, NOW), set("main", 6, "branch")]),
        &[
            ("/last-updated-ms", json!(NOW + DAY)),
            ("/snapshots/3/timestamp-ms", json!(NOW)),
            ("/snapshot-log", log(&[OLD[0], OLD[1], (NOW + DAY, 5), (NOW + DAY, 6)])),
        ],
    );
    check_refused(
        "years ahead",
        &table(),
        &json!([at(5, 35, NOW + DAY + 1)]),
        "ahead of the catalog's clock",
    );
}

#[test]
fn version_1_has_no_sequence_numbers() {
    let mut document = with(table(), "/format-version", json!(1));
    document["last-sequence-number"] = json!(0);
    document["snapshots"][1]["sequence-number"] = json!(0);
    let none = with(add(5, 0), "/snapshot/sequence-number", Value::Null);
    check(
        "none",
        &document,
        &json!([none]),
        &[("/snapshots/2/snapshot-id", json!(5)), ("/last-sequence-number", Value::Null)],
    );
    check_refused("one", &document, &json!([add(5, 1)]), "must be 0 in format version 1");
}

#[test]
fn rows_of_version_3_have_ids() {
    let mut document = with(table(), "/format-version", json!(3));
    document["next-row-id"] = json!(100);
    let rows = |id: i64, number: i64, first: i64, added: i64| {
        let update = with(add(id, number), "/snapshot/first-row-id", json!(first));
        with(update, "/snapshot/added-rows", json!(added))
    };
    check(
        "appended twice",
        &document,
        &json!([rows(5, 35, 100, 20), rows(6, 36, 120, 0)]),
        &[("/next-row-id", json!(120))],
    );
    check("with a gap", &document, &json!([rows(5, 35, 110, 20)]), &[("/next-row-id", json!(130))]);
    for (name, update, is_stale, words) in [
        ("behind", rows(5, 35, 99, 20), true, "first-row-id is behind table next-row-id: 99 < 100"),
        ("no first row", add(5, 35), false, "first-row-id is missing"),
        (
            "no rows",
            with(rows(5, 35, 100, 1), "/snapshot/added-rows", Value::Null),
            false,
            "added-rows is missing",
        ),
        ("too many", rows(5, 35, 100, i64::MAX), false, "added-rows is too large"),
        ("a negative number", rows(5, 35, 100, -1), false, "added-rows must not be negative"),
    ] {
        match applied_to(&document, &json!([update])) {
            Err(error) => {
                assert!(error.to_string().contains(words), "{name}: {error}");
                assert_eq!(matches!(error, Invalid::Stale(_)), is_stale, "{name}");
            }
            Ok(_) => panic!("{name}: not refused"),
        }
    }
}
