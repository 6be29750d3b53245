//! Purges of tables through a real server: what is deleted after a crash, and what is not.

use std::sync::Arc;

use liteio::TestAccess;
use liteio_store::tables::{NamespaceName, Purge, TableDrop, TableKind, TableName};
use liteio_store::{BucketName, ShiftedClock, Store, StoreConfig, SystemClock};
use serde_json::{Value, json};

use crate::harness::start_with;
use crate::table_maintenance::{CATALOG, orphan, schema, send};
use crate::test_api::told;

/// A server that ends between the drop of a table and the deletion of its files finishes the purge when it runs again.
#[tokio::test]
async fn a_purge_that_was_cut_off_is_finished() {
    let clock = Arc::new(ShiftedClock::new(Arc::new(SystemClock)));
    let config = StoreConfig { clock: Arc::clone(&clock) as _, ..StoreConfig::memory() };
    let store = Store::open(config).expect("a store");
    let server = start_with("memory", "us-east-1", |builder, _| {
        builder.store(store.clone()).test_api(TestAccess::Local)
    })
    .await;
    // The removal of unreferenced files is off in such a bucket.
    server.bucket("lake").await;
    send(&server, "POST", CATALOG, json!({ "namespace": ["sales"] })).await;
    let tables = format!("{CATALOG}/sales/tables");
    let bucket = store.bucket(&BucketName::new("lake").expect("a name")).expect("a bucket");
    // What a request does until the server ends.
    let drop_only = |name: &str, table: &Value| {
        let location = table["metadata"]["location"].as_str().expect("a location");
        let prefix = location.strip_prefix("s3://lake/").expect("in the bucket");
        let purge = Purge {
            bucket: bucket.id,
            prefix: format!("{prefix}/"),
            table: format!("sales.{name}"),
            began_ms: store.now_ms() + 1,
        };
        let namespace = NamespaceName::new(vec!["sales".to_owned()]).expect("a namespace");
        let name = TableName::new(namespace, name.to_owned()).expect("a name");
        let how = TableDrop { expected: None, purge: Some(purge) };
        store.drop_table_at(&bucket, TableKind::Table, name, how).wait().expect("dropped");
    };
    let create = async |name: &str| {
        let table =
            send(&server, "POST", &tables, json!({ "name": name, "schema": schema() })).await;
        let file = orphan(&server, &table).await;
        drop_only(name, &table);
        (table, file)
    };
    server.put("/lake/early", "x").await.expect_status(200);
    let (_, gone) = create("gone").await;
    let (reused, kept) = create("reused").await;
    clock.set_offset_ms(1000);
    // Objects that came later are none of the purge, and neither is anything below a table that is there again.
    let later = format!("{gone}-later");
    server.put(&later, "x").await.expect_status(200);
    // It keeps the time at which it was written elsewhere.
    let moved = format!("{gone}-moved");
    let rename = server.request("PUT", &format!("{moved}?renameObject"));
    rename.header("x-amz-rename-source", "early").send().await.expect_status(200);
    let again = json!({ "name": "again", "metadata-location": reused["metadata-location"] });
    send(&server, "POST", &format!("{CATALOG}/sales/register"), again).await;
    assert_eq!(store.walk_purges(None).expect("read").purges.len(), 2);
    told(&server, "PUT", "/clock", json!({ "advance_ms": 0 })).await;
    server.head(&gone).await.expect_status(404);
    for kept in [&kept, &later, &moved] {
        server.head(kept).await.expect_status(200);
    }
    assert_eq!(store.walk_purges(None).expect("read").purges, []);
}

/// A purge by a request leaves nothing to finish.
#[tokio::test]
async fn a_purge_ends_with_its_request() {
    let store = Store::open(StoreConfig::memory()).expect("a store");
    let server = start_with("memory", "us-east-1", |builder, _| builder.store(store.clone())).await;
    server.bucket("lake").await;
    send(&server, "POST", CATALOG, json!({ "namespace": ["sales"] })).await;
    let tables = format!("{CATALOG}/sales/tables");
    let table = send(&server, "POST", &tables, json!({ "name": "t", "schema": schema() })).await;
    let file = orphan(&server, &table).await;
    send(&server, "DELETE", &format!("{tables}/t?purgeRequested=true"), Value::Null).await;
    server.head(&file).await.expect_status(404);
    assert_eq!(store.walk_purges(None).expect("read").purges, []);
}
