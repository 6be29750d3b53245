//! The table in `docs/compatibility.md` says what the code does.

use std::collections::BTreeMap;

use crate::harness;
use crate::operations::operations;

const VECTORS: &str = include_str!("../../../s3vectors/src/lib.rs");
const IAM: &str = include_str!("../../../iam/src/operations/mod.rs");
const DOCUMENT: &str = include_str!("../../../../docs/compatibility.md");

/// Every operation of the dispatch table, and whether something answers it.
fn answered() -> BTreeMap<&'static str, bool> {
    operations().into_iter().map(|operation| (operation.name, operation.is_answered)).collect()
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
    let operations = answered();
    assert_eq!(operations.len(), 119);
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

#[test]
fn the_document_lists_every_operation_of_iam() {
    let (_, table) = IAM.split_once("const OPERATIONS").expect("the table");
    let (table, _) = table.split_once("];").expect("the end of the table");
    let mut operations: Vec<&str> = table.split('"').skip(1).step_by(2).collect();
    let (_, document) =
        DOCUMENT.split_once("| IAM | Operations |\n|---|---|\n").expect("the table");
    let (document, _) = document.split_once("\n\n").expect("the end of the table");
    let rows = document.lines().flat_map(|row| row.split(" | ").skip(1));
    let mut documented: Vec<&str> =
        rows.flat_map(|cell| cell.trim_end_matches(" |").split(", ")).collect();
    documented.sort_unstable();
    operations.sort_unstable();
    assert_eq!(documented, operations);
}

#[tokio::test]
async fn what_is_not_implemented_says_so_by_name() {
    let server = harness::memory().await;
    server.bucket("mine").await;
    server.put("/mine/key", "x").await.expect_status(200);
    let rows = [
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
    let select = server.request("POST", "/mine/key?select").send().await;
    let message = select.expect_error(501, "NotImplemented").element("Message");
    assert!(message.contains("DuckDB"), "{message}");
    assert_eq!(server.get("/mine/key").await.body, b"x");
}
