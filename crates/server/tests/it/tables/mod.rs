//! The Iceberg REST catalog: routes, commits, permission, tokens and credentials, through a real server.

mod commits;
mod config;
mod files;
mod permission;
mod views;

use serde_json::{Value, json};

use crate::harness::TestServer;
use crate::reply::Reply;

const CATALOG: &str = "/_iceberg/v1/lake";

async fn send(server: &TestServer, method: &'static str, path: &str, body: Value) -> Reply {
    server.request(method, &format!("{CATALOG}/{path}")).body(body.to_string()).send().await
}

async fn get(server: &TestServer, path: &str) -> Reply {
    server.get(&format!("{CATALOG}/{path}")).await
}

fn document(reply: &Reply) -> Value {
    serde_json::from_slice(&reply.body).unwrap_or_else(|_| panic!("no JSON: {}", reply.text()))
}

/// An error of the specification's model.
#[track_caller]
fn expect(reply: Reply, status: u16, kind: &str) -> String {
    assert_eq!(reply.status, status, "{}", reply.text());
    let error = &document(&reply)["error"];
    assert_eq!((&error["type"], &error["code"]), (&json!(kind), &json!(status)), "{error}");
    error["message"].as_str().expect("a message").to_owned()
}

fn schema() -> Value {
    json!({ "type": "struct", "fields": [
        { "id": 1, "name": "id", "type": "long", "required": true },
        { "id": 2, "name": "note", "type": "string", "required": false },
    ] })
}

async fn warehouse(server: &TestServer) {
    server.bucket("lake").await;
    send(server, "POST", "namespaces", json!({ "namespace": ["sales"] })).await.expect_status(200);
}

async fn create(server: &TestServer, name: &str) -> Value {
    let body = json!({ "name": name, "schema": schema() });
    document(&send(server, "POST", "namespaces/sales/tables", body).await.expect_status(200))
}

/// The updates by which a client creates a table with this metadata.
pub(crate) fn updates_of_create(metadata: &Value) -> Value {
    let (schema, last_column_id) = (&metadata["schemas"][0], &metadata["last-column-id"]);
    json!([
        { "action": "assign-uuid", "uuid": metadata["table-uuid"] },
        { "action": "upgrade-format-version", "format-version": 2 },
        { "action": "add-schema", "schema": schema, "last-column-id": last_column_id },
        { "action": "set-current-schema", "schema-id": -1 },
        { "action": "add-spec", "spec": { "spec-id": 0, "fields": [] } },
        { "action": "set-default-spec", "spec-id": -1 },
        { "action": "add-sort-order", "sort-order": { "order-id": 0, "fields": [] } },
        { "action": "set-default-sort-order", "sort-order-id": -1 },
        { "action": "set-location", "location": metadata["location"] },
    ])
}

fn set_property(requirements: Value, value: &str) -> Value {
    json!({
        "requirements": requirements,
        "updates": [{ "action": "set-properties", "updates": { "a": value } }],
    })
}

/// The key of an object in the warehouse.
fn key_of(location: &Value) -> String {
    let location = location.as_str().expect("a location");
    location.strip_prefix("s3://").expect("of S3").to_owned()
}
