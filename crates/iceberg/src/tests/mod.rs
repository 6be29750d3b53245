//! Tests of names and requests.

use serde_json::{Value, json};

use crate::{
    CommitTransaction, CreateNamespace, Identifier, NAME_BYTES_MAX, Namespace, Register, Rename,
    UpdateNamespaceProperties,
};

#[test]
fn names_are_safe() {
    let long = "x".repeat(NAME_BYTES_MAX);
    let longer = "é".repeat(128);
    for (name, is_legal) in [
        ("a", true),
        ("a.b", true),
        ("a/b", true),
        ("a b", true),
        ("...", true),
        ("%2e", true),
        ("\u{1f600}", true),
        (long.as_str(), true),
        (longer.as_str(), false),
        ("", false),
        (".", false),
        ("..", false),
        ("a\u{1f}b", false),
        ("a\0", false),
        ("a\n", false),
        ("\u{85}", false),
        ("\u{7f}", false),
    ] {
        let levels = vec!["ok".to_owned(), name.to_owned()];
        assert_eq!(Namespace::new(levels).is_ok(), is_legal, "{name:?}");
        let identifier = json!({"namespace": ["ok"], "name": name});
        assert_eq!(Identifier::from_value(&identifier).is_ok(), is_legal, "{name:?}");
    }
}

#[test]
fn namespaces_have_levels() {
    let namespace = Namespace::from_path("accounting\u{1f}tax.paid").expect("two levels");
    assert_eq!(namespace.levels(), ["accounting", "tax.paid"]);
    assert_eq!(namespace.to_value(), json!(["accounting", "tax.paid"]));
    assert_eq!(Namespace::from_path(&namespace.to_path()), Ok(namespace.clone()));
    assert_eq!(Namespace::from_value(&namespace.to_value()), Ok(namespace.clone()));
    let parent = namespace.parent().expect("there is one");
    assert_eq!((parent.to_string(), parent.parent()), ("accounting".to_owned(), None));
    assert_eq!(namespace.to_string(), "accounting.tax.paid");
    for path in ["", "\u{1f}", "a\u{1f}", "\u{1f}a", "a\u{1f}\u{1f}b"] {
        assert!(Namespace::from_path(path).is_err(), "{path:?}");
    }
    for value in [
        json!([]),
        json!("a"),
        json!([1]),
        json!([["a"]]),
        json!(vec!["a"; 17]),
        json!(vec!["x".repeat(250); 5]),
    ] {
        assert!(Namespace::from_value(&value).is_err(), "{value}");
    }
    assert!(Namespace::from_value(&json!(vec!["a"; 16])).is_ok());
}

#[test]
fn identifiers_are_objects() {
    let value = json!({"namespace": ["a", "b"], "name": "t"});
    let identifier = Identifier::from_value(&value).expect("it is one");
    assert_eq!((identifier.namespace().levels().len(), identifier.name()), (2, "t"));
    assert_eq!((identifier.to_value(), identifier.to_string()), (value, "a.b.t".to_owned()));
    for value in [
        json!({"name": "t"}),
        json!({"namespace": [], "name": "t"}),
        json!({"namespace": ["a"]}),
        json!(["a", "t"]),
    ] {
        assert!(Identifier::from_value(&value).is_err(), "{value}");
    }
}

#[test]
fn requests_are_read() {
    let create = CreateNamespace::from_value(&json!({"namespace": ["a"]})).expect("no properties");
    assert!(create.properties.is_empty());
    assert!(
        CreateNamespace::from_value(&json!({"namespace": ["a"], "properties": {"b": 1}})).is_err()
    );
    let update = json!({"removals": ["a", "b"], "updates": {"b": "c"}});
    let update = UpdateNamespaceProperties::from_value(&update).expect("it is one");
    assert_eq!(update.in_both(), Some("b"));
    assert_eq!(UpdateNamespaceProperties::from_value(&json!({})).expect("nothing").in_both(), None);
    let register = json!({"name": "t", "metadata-location": "s3://b/m.json"});
    assert!(!Register::from_value(&register).expect("it is one").overwrites);
    assert!(Register::from_value(&json!({"name": "t"})).is_err());
    let identifier = |name: &str| json!({"namespace": ["a"], "name": name});
    let rename =
        Rename::from_value(&json!({"source": identifier("b"), "destination": identifier("c")}));
    assert_eq!(rename.expect("it is one").destination.name(), "c");
    assert!(Rename::from_value(&json!({"source": identifier("b")})).is_err());
}

#[test]
fn a_transaction_names_each_table_once() {
    let commit = |name: Value| json!({"identifier": name, "requirements": [], "updates": []});
    let table = |name: &str| json!({"namespace": ["a"], "name": name});
    let read = |changes: Value| CommitTransaction::from_value(&json!({"table-changes": changes}));
    let transaction = read(json!([commit(table("b")), commit(table("c"))])).expect("two tables");
    let names: Vec<_> = transaction.changes.iter().map(|(table, _)| table.name()).collect();
    assert_eq!(names, ["b", "c"]);
    for (changes, words) in [
        (json!([commit(table("b")), commit(table("b"))]), "a.b is named twice"),
        (json!([commit(Value::Null)]), "identifier is missing"),
        (json!([{"identifier": table("b"), "updates": []}]), "requirements is missing"),
        (Value::Null, "table-changes is missing"),
    ] {
        let error = read(changes).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}
