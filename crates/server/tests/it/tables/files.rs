//! The files of tables: locations and purges.

use serde_json::json;

use super::{CATALOG, create, document, expect, key_of, schema, send, warehouse};
use crate::harness::{memory, start_with};

#[tokio::test]
async fn a_purge_deletes_the_files_of_a_table_and_no_others() {
    let server = memory().await;
    warehouse(&server).await;
    let orders = create(&server, "orders").await;
    let other = create(&server, "other").await;
    let location = key_of(&orders["metadata"]["location"]);
    server.put(&format!("/{location}/data/1.parquet"), "x").await.expect_status(200);
    server.put(&format!("/{location}-2/1.parquet"), "x").await.expect_status(200);
    // A table within the location of another one keeps that from being purged.
    let inner = json!({ "name": "inner", "schema": schema(),
        "location": format!("{}/inner", orders["metadata"]["location"].as_str().expect("text")) });
    send(&server, "POST", "namespaces/sales/tables", inner).await.expect_status(200);
    let purge = |name: &str| {
        server
            .request(
                "DELETE",
                &format!("{CATALOG}/namespaces/sales/tables/{name}?purgeRequested=true"),
            )
            .send_owned()
    };
    let message = expect(purge("orders").await, 400, "BadRequestException");
    assert!(message.contains("sales.inner"), "{message}");
    purge("inner").await.expect_status(204);
    purge("orders").await.expect_status(204);
    for gone in [&format!("{location}/data/1.parquet"), &key_of(&orders["metadata-location"])] {
        server.head(&format!("/{gone}")).await.expect_status(404);
    }
    for kept in [&format!("{location}-2/1.parquet"), &key_of(&other["metadata-location"])] {
        server.head(&format!("/{kept}")).await.expect_status(200);
    }
}

#[tokio::test]
async fn a_location_elsewhere_is_refused_or_replaced() {
    let elsewhere = json!({ "name": "elsewhere", "schema": schema(), "location": "hdfs://name-node/elsewhere" });
    let refusing = memory().await;
    warehouse(&refusing).await;
    let reply = send(&refusing, "POST", "namespaces/sales/tables", elsewhere.clone()).await;
    expect(reply, 400, "ValidationException");
    let replacing =
        start_with("memory", "us-east-1", |builder, _| builder.iceberg_own_locations()).await;
    warehouse(&replacing).await;
    let created =
        send(&replacing, "POST", "namespaces/sales/tables", elsewhere).await.expect_status(200);
    let created = document(&created);
    let location = &created["metadata"]["location"];
    assert!(key_of(location).starts_with("lake/sales/elsewhere-"), "{location}");
    let moved = json!({ "requirements": [], "updates": [
        { "action": "set-location", "location": "file:/elsewhere" },
        { "action": "set-properties", "updates": { "a": "b" } },
    ] });
    let moved = send(&replacing, "POST", "namespaces/sales/tables/elsewhere", moved)
        .await
        .expect_status(200);
    let moved = document(&moved);
    assert_eq!(
        (&moved["metadata"]["location"], &moved["metadata"]["properties"]["a"]),
        (location, &json!("b"))
    );
}
