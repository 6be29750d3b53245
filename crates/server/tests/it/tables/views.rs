//! Views.

use serde_json::json;

use super::{CATALOG, document, expect, get, schema, send, warehouse};
use crate::harness::memory;

#[tokio::test]
async fn views_are_created_replaced_renamed_and_dropped() {
    let server = memory().await;
    warehouse(&server).await;
    let version = json!({
        "version-id": 1, "timestamp-ms": 1, "schema-id": 0, "summary": {},
        "default-namespace": ["sales"],
        "representations": [{ "type": "sql", "sql": "select 1", "dialect": "spark" }],
    });
    let body =
        json!({ "name": "v", "schema": schema(), "view-version": version, "properties": {} });
    let created = send(&server, "POST", "namespaces/sales/views", body.clone()).await;
    let created = document(&created.expect_status(200));
    expect(
        send(&server, "POST", "namespaces/sales/views", body).await,
        409,
        "AlreadyExistsException",
    );
    let table = json!({ "name": "v", "schema": schema() });
    let table = send(&server, "POST", "namespaces/sales/tables", table).await;
    expect(table, 409, "AlreadyExistsException");
    let path = "namespaces/sales/views/v";
    assert_eq!(
        document(&get(&server, path).await.expect_status(200))["metadata"],
        created["metadata"]
    );
    let uuid = &created["metadata"]["view-uuid"];
    let replace = json!({
        "requirements": [{ "type": "assert-view-uuid", "uuid": uuid }],
        "updates": [{ "action": "set-properties", "updates": { "a": "1" } }],
    });
    let replaced = document(&send(&server, "POST", path, replace).await.expect_status(200));
    assert_eq!(replaced["metadata"]["properties"]["a"], "1");
    let rename = json!({
        "source": { "namespace": ["sales"], "name": "v" },
        "destination": { "namespace": ["sales"], "name": "w" },
    });
    send(&server, "POST", "views/rename", rename).await.expect_status(204);
    expect(get(&server, path).await, 404, "NoSuchViewException");
    let list = document(&get(&server, "namespaces/sales/views").await.expect_status(200));
    assert_eq!(list["identifiers"], json!([{ "namespace": ["sales"], "name": "w" }]));
    server.head(&format!("{CATALOG}/namespaces/sales/views/w")).await.expect_status(204);
    server.delete(&format!("{CATALOG}/namespaces/sales/views/w")).await.expect_status(204);
    server.head(&format!("{CATALOG}/namespaces/sales/views/w")).await.expect_status(404);
}
