//! Requirements of commits.

use serde_json::{Value, json};

use crate::{CommitTable, Requirement, TableMetadata};

use super::{FIRST, OTHER_UUID, SECOND, UUID, parsed, table};

#[test]
fn requirements_hold_or_fail_by_name() {
    let metadata = parsed(&table());
    let of_ref = |name: &str, id: Value| json!({"type": "assert-ref-snapshot-id", "ref": name, "snapshot-id": id});
    for (requirement, failure) in [
        (json!({"type": "assert-create"}), "table already exists"),
        (json!({"type": "assert-table-uuid", "uuid": UUID.to_uppercase()}), ""),
        (json!({"type": "assert-table-uuid", "uuid": OTHER_UUID}), "UUID does not match"),
        (of_ref("main", json!(SECOND)), ""),
        (of_ref("main", json!(FIRST)), "branch \"main\" has changed"),
        (of_ref("main", Value::Null), "branch \"main\" was created concurrently"),
        (of_ref("test", json!(SECOND)), "tag \"test\" has changed"),
        (of_ref("new", Value::Null), ""),
        (of_ref("new", json!(FIRST)), "branch or tag \"new\" is missing"),
        (json!({"type": "assert-last-assigned-field-id", "last-assigned-field-id": 3}), ""),
        (
            json!({"type": "assert-last-assigned-field-id", "last-assigned-field-id": 2}),
            "expected id 2 != 3",
        ),
        (json!({"type": "assert-current-schema-id", "current-schema-id": 1}), ""),
        (
            json!({"type": "assert-current-schema-id", "current-schema-id": 0}),
            "current schema changed",
        ),
        (
            json!({"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 1000}),
            "",
        ),
        (
            json!({"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": 1001}),
            "last assigned partition id changed",
        ),
        (json!({"type": "assert-default-spec-id", "default-spec-id": 0}), ""),
        (
            json!({"type": "assert-default-spec-id", "default-spec-id": 1}),
            "default partition spec changed",
        ),
        (json!({"type": "assert-default-sort-order-id", "default-sort-order-id": 3}), ""),
        (
            json!({"type": "assert-default-sort-order-id", "default-sort-order-id": 0}),
            "default sort order changed",
        ),
    ] {
        let parsed = Requirement::from_value(&requirement).expect("it is known");
        match TableMetadata::check(Some(&metadata), &parsed) {
            Ok(()) => assert_eq!(failure, "", "{requirement}"),
            Err(failed) => {
                let message = failed.to_string();
                assert!(
                    !failure.is_empty() && message.contains(failure),
                    "{requirement}: {message}"
                );
            }
        }
        // Nothing but a creation holds for a table that is not there.
        let without = TableMetadata::check(None, &parsed).is_ok();
        assert_eq!(without, parsed == Requirement::Create, "{requirement}");
    }
}

#[test]
fn bad_requirements_are_refused() {
    for (requirement, words) in [
        (json!({"type": "assert-luck"}), "unknown requirement on a table: \"assert-luck\""),
        (json!({"type": "assert-view-uuid", "uuid": UUID}), "unknown requirement on a table"),
        (json!({}), "type is missing"),
        (json!([]), "must be an object"),
        (json!({"type": "assert-table-uuid"}), "uuid is missing"),
        (
            json!({"type": "assert-current-schema-id", "current-schema-id": "1"}),
            "must be an integer",
        ),
        (json!({"type": "assert-ref-snapshot-id", "snapshot-id": 1}), "ref is missing"),
    ] {
        let error = Requirement::from_value(&requirement).unwrap_err().to_string();
        assert!(error.contains(words), "{requirement}: {error}");
    }
}

#[test]
fn a_creation_has_no_other_requirement() {
    let create = json!({"type": "assert-create"});
    let uuid = json!({"type": "assert-table-uuid", "uuid": UUID});
    let commit = |requirements: Value| {
        CommitTable::from_value(&json!({"requirements": requirements, "updates": []}))
    };
    assert!(commit(json!([create])).unwrap().is_create());
    assert!(!commit(json!([uuid])).unwrap().is_create());
    assert!(commit(json!([create, uuid])).is_err());
}
