//! Maintenance of tables through a real server whose clock is moved: what it deletes, and what it may not.

use std::sync::Arc;

use liteio::TestAccess;
use liteio_store::tables::{NamespaceName, TableName};
use liteio_store::{BucketName, ShiftedClock, Store, StoreConfig, SystemClock};
use serde_json::{Value, json};

use crate::harness::{ACCOUNTS, BOB, TestServer, start_with};
use crate::metrics::{OWN, scrape};
use crate::reply::Reply;
use crate::tables::updates_of_create;
use crate::test_api::told;

pub(crate) const CATALOG: &str = "/_iceberg/v1/lake/namespaces";
const DAY_MS: u64 = 24 * 60 * 60 * 1000;
const REMOVAL: &str = "icebergUnreferencedFileRemoval";

fn document(reply: &Reply) -> Value {
    serde_json::from_slice(&reply.body).unwrap_or_else(|_| panic!("no JSON: {}", reply.text()))
}

pub(crate) async fn send(
    server: &TestServer,
    method: &'static str,
    path: &str,
    body: Value,
) -> Value {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let reply = server.request(method, path).for_service("s3tables").body(body).send().await;
    assert!(reply.status < 300, "{}", reply.everything());
    if reply.body.is_empty() { Value::Null } else { document(&reply) }
}

pub(crate) fn schema() -> Value {
    json!({ "type": "struct", "fields": [{ "id": 1, "name": "id", "type": "long", "required": true }] })
}

/// The ARN, as a part of paths, of the table bucket `lake` with the namespace `sales`, whose files go after two days.
async fn lake(server: &TestServer) -> String {
    let made = send(server, "PUT", "/buckets", json!({ "name": "lake" })).await;
    let arn = made["arn"].as_str().expect("an ARN");
    let arn = arn.replace(':', "%3A").replace('/', "%2F");
    let days = json!({ "unreferencedDays": 1, "nonCurrentDays": 1 });
    let value = json!({ "value": { "status": "enabled", "settings": { REMOVAL: days } } });
    send(server, "PUT", &format!("/buckets/{arn}/maintenance/{REMOVAL}"), value).await;
    send(server, "POST", CATALOG, json!({ "namespace": ["sales"] })).await;
    arn
}

/// Writes an object below the location of a table, and returns its path.
pub(crate) async fn orphan(server: &TestServer, table: &Value) -> String {
    let location = table["metadata"]["location"].as_str().expect("a location");
    let path = format!("{}/data/orphan", location.strip_prefix("s3:/").expect("of S3"));
    server.put(&path, "x").await.expect_status(200);
    path
}

async fn removal(server: &TestServer, arn: &str, name: &str) -> Value {
    let path = format!("/tables/{arn}/sales/{name}/maintenance-job-status");
    send(server, "GET", &path, Value::Null).await["status"][REMOVAL].clone()
}

/// The right to create a table is none to delete the objects at a place that its creator names.
#[tokio::test]
async fn only_files_at_places_that_the_server_has_chosen_are_deleted() {
    let server =
        start_with("memory", "us-east-1", |builder, _| builder.test_api(TestAccess::Local)).await;
    let arn = lake(&server).await;
    let tables = format!("{CATALOG}/sales/tables");
    server.put("/lake/backups/2026.tar", "x").await.expect_status(200);
    let chosen = json!({ "name": "chosen", "schema": schema(), "location": "s3://lake/backups" });
    send(&server, "POST", &tables, chosen).await;
    let moved =
        send(&server, "POST", &tables, json!({ "name": "moved", "schema": schema() })).await;
    let updates = json!([{ "action": "set-location", "location": "s3://lake/archive" }]);
    let commit = json!({ "requirements": [], "updates": updates });
    send(&server, "POST", &format!("{tables}/moved"), commit).await;
    server.put("/lake/archive/2026.tar", "x").await.expect_status(200);
    let own = send(&server, "POST", &tables, json!({ "name": "own", "schema": schema() })).await;
    let body = json!({ "name": "staged", "schema": schema(), "stage-create": true });
    let staged = send(&server, "POST", &tables, body).await;
    let requirements = json!([{ "type": "assert-create" }]);
    let updates = updates_of_create(&staged["metadata"]);
    let commit = json!({ "requirements": requirements, "updates": updates });
    send(&server, "POST", &format!("{tables}/staged"), commit).await;
    let orphans = [orphan(&server, &own).await, orphan(&server, &staged).await];
    let left = orphan(&server, &moved).await;
    for _ in 0..4 {
        told(&server, "PUT", "/clock", json!({ "advance_ms": DAY_MS })).await;
    }
    for kept in ["/lake/backups/2026.tar", "/lake/archive/2026.tar", &left] {
        server.head(kept).await.expect_status(200);
    }
    for gone in &orphans {
        server.head(gone).await.expect_status(404);
    }
    let found = scrape(&server, OWN).await;
    assert_eq!(found["liteio_table_files_deleted_total"], 2.0, "{found:#?}");
    assert_eq!(found["liteio_table_deleted_bytes_total"], 2.0, "{found:#?}");
    for (name, status) in [
        ("chosen", "Disabled"),
        ("moved", "Disabled"),
        ("own", "Successful"),
        ("staged", "Successful"),
    ] {
        let removal = removal(&server, &arn, name).await;
        assert_eq!(removal["status"], status, "{name}: {removal}");
        let reason = removal["failureMessage"].as_str();
        assert_eq!(reason.is_some(), status == "Disabled", "{name}: {removal}");
    }
}

/// A metadata file may be in no directory, where nothing is that other tables could share.
#[tokio::test]
async fn metadata_at_the_root_of_a_bucket_hinder_no_other_table() {
    let server =
        start_with("memory", "us-east-1", |builder, _| builder.test_api(TestAccess::Local)).await;
    let arn = lake(&server).await;
    let tables = format!("{CATALOG}/sales/tables");
    let own = send(&server, "POST", &tables, json!({ "name": "own", "schema": schema() })).await;
    let mut metadata = own["metadata"].clone();
    metadata["location"] = "s3://lake/elsewhere".into();
    metadata["table-uuid"] = "11111111-2222-4333-8444-555555555555".into();
    server.put("/lake/root.metadata.json", metadata.to_string()).await.expect_status(200);
    let root = json!({ "name": "root", "metadata-location": "s3://lake/root.metadata.json" });
    send(&server, "POST", &format!("{CATALOG}/sales/register"), root).await;
    let orphan = orphan(&server, &own).await;
    for _ in 0..4 {
        told(&server, "PUT", "/clock", json!({ "advance_ms": DAY_MS })).await;
    }
    assert_eq!(removal(&server, &arn, "own").await["status"], "Successful");
    server.head(&orphan).await.expect_status(404);
    server.head("/lake/root.metadata.json").await.expect_status(200);
}

/// Only days on which the server was there to look count: one that was off for weeks, or whose clock jumps, has seen a file
/// no longer for that.
#[tokio::test]
async fn time_that_passes_without_a_look_is_not_the_age_of_a_file() {
    let server =
        start_with("memory", "us-east-1", |builder, _| builder.test_api(TestAccess::Local)).await;
    let arn = lake(&server).await;
    let tables = format!("{CATALOG}/sales/tables");
    let own = send(&server, "POST", &tables, json!({ "name": "own", "schema": schema() })).await;
    let orphan = orphan(&server, &own).await;
    let advance = async |ms: u64| {
        told(&server, "PUT", "/clock", json!({ "advance_ms": ms })).await;
        assert_eq!(removal(&server, &arn, "own").await["status"], "Successful");
    };
    advance(DAY_MS).await;
    advance(30 * DAY_MS).await;
    server.head(&orphan).await.expect_status(200);
    advance(DAY_MS).await;
    server.head(&orphan).await.expect_status(404);
}

/// A commit of a client and the expiry of snapshots exclude each other; whichever loses is decided again.
#[tokio::test]
async fn snapshots_expire_while_clients_commit() {
    const TABLES: usize = 4;
    let server =
        start_with("memory", "us-east-1", |builder, _| builder.test_api(TestAccess::Local)).await;
    let arn = lake(&server).await;
    let path = |table: usize| format!("{CATALOG}/sales/tables/t{table}");
    for table in 0..TABLES {
        let body = json!({ "name": format!("t{table}"), "schema": schema() });
        let made = send(&server, "POST", &format!("{CATALOG}/sales/tables"), body).await;
        let now_ms = made["metadata"]["last-updated-ms"].as_i64().expect("a time");
        for number in 1..4 {
            let mut snapshot = json!({
                "snapshot-id": number, "sequence-number": number, "timestamp-ms": now_ms + number,
                "manifest-list": format!("s3://lake/none/{number}.avro"), "schema-id": 0,
                "summary": { "operation": "append" },
            });
            if number > 1 {
                snapshot["parent-snapshot-id"] = (number - 1).into();
            }
            let updates = json!([
                { "action": "add-snapshot", "snapshot": snapshot },
                { "action": "set-snapshot-ref", "ref-name": "main", "type": "branch", "snapshot-id": number },
            ]);
            let commit = json!({ "requirements": [], "updates": updates });
            send(&server, "POST", &path(table), commit).await;
        }
        let settings = json!({ "icebergSnapshotManagement": { "minSnapshotsToKeep": 1, "maxSnapshotAgeHours": 1 } });
        let value = json!({ "value": { "status": "enabled", "settings": settings } });
        let job = "icebergSnapshotManagement";
        send(&server, "PUT", &format!("/tables/{arn}/sales/t{table}/maintenance/{job}"), value)
            .await;
    }
    let commits = async {
        for round in 0..30 {
            for table in 0..TABLES {
                let updates = json!([{ "action": "set-properties", "updates": { "round": round.to_string() } }]);
                let commit = json!({ "requirements": [], "updates": updates });
                send(&server, "POST", &path(table), commit).await;
            }
        }
    };
    let passes = async {
        for _ in 0..3 {
            told(&server, "PUT", "/clock", json!({ "advance_ms": DAY_MS })).await;
        }
    };
    tokio::join!(commits, passes);
    // One more pass, beside which nobody commits.
    told(&server, "PUT", "/clock", json!({ "advance_ms": DAY_MS })).await;
    for table in 0..TABLES {
        let loaded = send(&server, "GET", &path(table), Value::Null).await;
        let metadata = &loaded["metadata"];
        assert_eq!(metadata["properties"]["round"], "29", "{metadata}");
        let snapshots = metadata["snapshots"].as_array().expect("snapshots");
        assert_eq!(snapshots.len(), 1, "{metadata}");
        assert_eq!(snapshots[0]["snapshot-id"], 3);
    }
}

/// A record that cannot be read costs its own table the maintenance; what it names may be anything, so nothing is deleted.
#[tokio::test]
async fn a_damaged_record_of_a_table_does_not_end_the_maintenance_of_others() {
    let clock = Arc::new(ShiftedClock::new(Arc::new(SystemClock)));
    let config = StoreConfig { clock: Arc::clone(&clock) as _, ..StoreConfig::memory() };
    let store = Store::open(config).expect("a store");
    let server = start_with("memory", "us-east-1", |builder, _| {
        builder.store(store.clone()).test_api(TestAccess::Local)
    })
    .await;
    let arn = lake(&server).await;
    let tables = format!("{CATALOG}/sales/tables");
    let own = send(&server, "POST", &tables, json!({ "name": "own", "schema": schema() })).await;
    send(&server, "POST", &tables, json!({ "name": "damaged", "schema": schema() })).await;
    let orphan = orphan(&server, &own).await;
    let bucket = store.bucket(&BucketName::new("lake").expect("a name")).expect("a bucket");
    let namespace = NamespaceName::new(vec!["sales".to_owned()]).expect("a namespace");
    let name = TableName::new(namespace, "damaged".to_owned()).expect("a name");
    store.damage_table(&bucket, &name).wait().expect("damaged");
    for days in 1..=4 {
        // The clock of this store is not that of the server; setting that does what is due.
        clock.set_offset_ms(days * 24 * 60 * 60 * 1000);
        told(&server, "PUT", "/clock", json!({ "advance_ms": 0 })).await;
    }
    server.head(&orphan).await.expect_status(200);
    let path = format!("/tables/{arn}/sales/own/maintenance-job-status");
    let status = send(&server, "GET", &path, Value::Null).await["status"].clone();
    assert_eq!(status["icebergSnapshotManagement"]["status"], "Successful", "{status}");
    assert_eq!(status[REMOVAL]["status"], "Failed", "{status}");
    let reason = status[REMOVAL]["failureMessage"].as_str().expect("a reason");
    assert!(reason.contains("lake/sales.damaged"), "{reason}");
    let metrics = server.get("/_liteio/metrics").await.expect_status(200).text();
    let failures =
        metrics.lines().find_map(|it| it.strip_prefix("liteio_table_maintenance_failures_total "));
    assert!(
        failures.and_then(|it| it.parse::<u64>().ok()).is_some_and(|count| count > 0),
        "{metrics}"
    );
}

/// Metadata never change, so a table that was read once names what it named then, if its files are lost later.
#[tokio::test]
async fn a_table_that_named_nothing_elsewhere_does_not_keep_the_files_of_others() {
    let server =
        start_with("memory", "us-east-1", |builder, _| builder.test_api(TestAccess::Local)).await;
    let arn = lake(&server).await;
    let tables = format!("{CATALOG}/sales/tables");
    let create = async |name: &str| {
        send(&server, "POST", &tables, json!({ "name": name, "schema": schema() })).await
    };
    let (own, lost) = (create("own").await, create("lost").await);
    let advance = async |days: usize| {
        for _ in 0..days {
            told(&server, "PUT", "/clock", json!({ "advance_ms": DAY_MS })).await;
        }
    };
    let lose = async |table: &Value| {
        let location = table["metadata-location"].as_str().expect("a location");
        server.delete(location.strip_prefix("s3:/").expect("of S3")).await.expect_status(204);
    };
    advance(1).await;
    lose(&lost).await;
    let orphans = [orphan(&server, &own).await, orphan(&server, &lost).await];
    advance(4).await;
    server.head(&orphans[0]).await.expect_status(404);
    server.head(&orphans[1]).await.expect_status(200);
    assert_eq!(removal(&server, &arn, "own").await["status"], "Successful");
    assert_eq!(removal(&server, &arn, "lost").await["status"], "Failed");

    // One that was never read since its last commit may name any file.
    let unread = create("unread").await;
    lose(&unread).await;
    let kept = orphan(&server, &own).await;
    advance(4).await;
    server.head(&kept).await.expect_status(200);
    let status = removal(&server, &arn, "own").await;
    let reason = status["failureMessage"].as_str().expect("a reason");
    assert!(reason.contains("lake/sales.unread"), "{reason}");
}

/// So may one that was read, and named a file outside of its location.
#[tokio::test]
async fn a_table_that_named_files_elsewhere_keeps_those_of_others() {
    let server =
        start_with("memory", "us-east-1", |builder, _| builder.test_api(TestAccess::Local)).await;
    let arn = lake(&server).await;
    let tables = format!("{CATALOG}/sales/tables");
    let own = send(&server, "POST", &tables, json!({ "name": "own", "schema": schema() })).await;
    let mut metadata = own["metadata"].clone();
    metadata["location"] = "s3://lake/other".into();
    metadata["table-uuid"] = "11111111-2222-4333-8444-555555555555".into();
    server.put("/lake/root.metadata.json", metadata.to_string()).await.expect_status(200);
    let root = json!({ "name": "root", "metadata-location": "s3://lake/root.metadata.json" });
    send(&server, "POST", &format!("{CATALOG}/sales/register"), root).await;
    let orphan = orphan(&server, &own).await;
    told(&server, "PUT", "/clock", json!({ "advance_ms": DAY_MS })).await;
    server.delete("/lake/root.metadata.json").await.expect_status(204);
    for _ in 0..4 {
        told(&server, "PUT", "/clock", json!({ "advance_ms": DAY_MS })).await;
    }
    server.head(&orphan).await.expect_status(200);
    assert_eq!(removal(&server, &arn, "own").await["status"], "Failed");
}

/// Tables of one account that change all the time do not put off the removal of files of another one.
#[tokio::test]
async fn busy_tables_of_one_account_do_not_put_off_removals_of_others() {
    let server = start_with("memory", "us-east-1", |builder, directory| {
        let file = directory.join("accounts.toml");
        std::fs::write(&file, ACCOUNTS).expect("the users are written");
        builder.credentials_file(file).test_api(TestAccess::Local)
    })
    .await;
    let arn = lake(&server).await;
    let tables = format!("{CATALOG}/sales/tables");
    let own = send(&server, "POST", &tables, json!({ "name": "own", "schema": schema() })).await;
    let mut orphans = Vec::new();
    for number in 0..100 {
        let path = format!("{}-{number}", orphan(&server, &own).await);
        server.put(&path, "x").await.expect_status(200);
        orphans.push(path);
    }
    let by_bob = async |path: &str, body: Value| {
        let request = server.request("POST", path).for_service("s3tables").by(BOB);
        request.body(body.to_string()).send().await.expect_status(200)
    };
    server.request("PUT", "/bobs").by(BOB).send().await.expect_status(200);
    let bobs = "/_iceberg/v1/bobs/namespaces";
    by_bob(bobs, json!({ "namespace": ["n"] })).await;
    by_bob(&format!("{bobs}/n/tables"), json!({ "name": "busy", "schema": schema() })).await;
    let is_done = std::cell::Cell::new(false);
    let commits = async {
        let mut number = 0;
        while !is_done.get() {
            number += 1;
            let updates =
                json!([{ "action": "set-properties", "updates": { "x": number.to_string() } }]);
            let commit = json!({ "requirements": [], "updates": updates });
            by_bob(&format!("{bobs}/n/tables/busy"), commit).await;
        }
    };
    let passes = async {
        for _ in 0..3 {
            told(&server, "PUT", "/clock", json!({ "advance_ms": DAY_MS })).await;
            let removal = removal(&server, &arn, "own").await;
            assert_eq!(removal["status"], "Successful", "{removal}");
        }
        is_done.set(true);
    };
    tokio::join!(commits, passes);
    for path in orphans {
        server.head(&path).await.expect_status(404);
    }
}
