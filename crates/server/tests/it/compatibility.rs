//! The table in `docs/compatibility.md` says what the code does.

use std::collections::BTreeMap;

use crate::harness;

const DISPATCH: &str = include_str!("../../src/s3/dispatch.rs");
const VECTORS: &str = include_str!("../../src/vectors/mod.rs");
const DOCUMENT: &str = include_str!("../../../../docs/compatibility.md");

/// Every operation of the dispatch table, and whether something answers it, be it under the name of
/// another.
fn operations() -> BTreeMap<&'static str, bool> {
    let (_, table) = DISPATCH.split_once("operations! {\n").expect("the table");
    let table = table.trim_end().strip_suffix('}').expect("the end of the table");
    let entries: BTreeMap<&str, &str> = table
        .split(';')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
        .map(|entry| {
            // `Operation [service:Action]: …`
            let (name, rest) = entry.split_once(" [").expect("a name");
            (name.trim(), rest)
        })
        .collect();
    let is_answered = |rest: &str| rest.contains(" = ") || rest.contains(" => ");
    let works = |rest: &str| match rest.split_once(" as ") {
        Some((_, other)) => is_answered(entries[other.trim()]),
        None => is_answered(rest),
    };
    entries.iter().map(|(name, rest)| (*name, works(rest))).collect()
}

/// Every operation of the document, and whether it is said to work.
fn documented() -> BTreeMap<&'static str, bool> {
    let rows = DOCUMENT.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| {
        let mut cells = row.split(" | ");
        let name = cells.next().expect("a name").trim_end_matches('`');
        match cells.next().expect("a state").trim() {
            "yes" => (name, true),
            "no" => (name, false),
            state => panic!("{name} has the state {state:?}"),
        }
    })
    .collect()
}

#[test]
fn the_document_lists_every_operation_with_its_state() {
    let operations = operations();
    assert_eq!(operations.len(), 113);
    assert!(operations.values().any(|works| *works) && operations.values().any(|works| !works));
    assert_eq!(documented(), operations);
}

#[test]
fn the_document_lists_every_operation_of_vectors() {
    let (_, table) = VECTORS.split_once("const OPERATIONS").expect("the table");
    let (table, _) = table.split_once("];").expect("the end of the table");
    let mut operations: Vec<&str> = table.split('"').skip(1).step_by(2).collect();
    // They share a path, and are told by method.
    operations.extend(["ListTagsForResource", "TagResource", "UntagResource"]);
    operations.sort_unstable();
    let rows = DOCUMENT.lines().filter_map(|line| line.strip_prefix("| **"));
    let documented: Vec<&str> =
        rows.map(|row| row.split("** | yes |").next().expect("a name")).collect();
    assert_eq!(operations.len(), 22);
    assert_eq!(documented, operations);
}

#[tokio::test]
async fn what_is_not_implemented_says_so_by_name() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    server.put("/mine/key", "x").await.expect_status(200);
    let rows = [
        ("PUT", "/mine?policy", "PutBucketPolicy"),
        ("PUT", "/mine?replication", "PutBucketReplication"),
        ("PUT", "/mine?website", "PutBucketWebsite"),
        ("POST", "/mine/key?restore", "RestoreObject"),
        ("GET", "/mine/key?torrent", "GetObjectTorrent"),
        ("POST", "/mine/key?select", "SelectObjectContent"),
    ];
    for (method, path, name) in rows {
        let body = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
        let body = if method == "PUT" { body } else { "" };
        let answer = server.request(method, path).body(body).send().await;
        let answer = answer.expect_error(501, "NotImplemented");
        assert!(answer.element("Message").starts_with(name), "{}", answer.element("Message"));
    }
    assert_eq!(server.get("/mine/key").await.body, b"x");
}
