//! A device that the store has filled to its reserve: the refusal, the health and the metric.

use std::sync::Arc;

use liteio_disk::SimulatedDisk;
use liteio_store::{Store, StoreConfig};

use crate::harness::{self, TestServer};

async fn state(server: &TestServer) -> (String, bool) {
    let ready = server.get("/_liteio/health/ready").await.expect_status(200).text();
    let page = server.get("/_liteio/metrics").await.expect_status(200).text();
    (ready, page.contains("\nliteio_store_ready 1\n"))
}

#[tokio::test]
async fn a_server_that_has_refused_a_write_for_space_is_not_ready_until_there_is_some() {
    // All objects are files, whose space is checked before they are written.
    let disk = SimulatedDisk::new(1);
    let config = StoreConfig {
        inline_bytes_max: 0,
        logged_bytes_max: 0,
        segment_bytes_max: 0,
        reserve_bytes: 1 << 20,
        ..StoreConfig::memory()
    };
    let store = Store::open_on(Arc::new(disk.clone()), config).expect("opens");
    let asked = store.clone();
    let server =
        harness::start_with("memory", "us-east-1", |builder, _| builder.store(store)).await;
    server.bucket("bucket").await;
    disk.set_capacity(1 << 40);
    let used = (1 << 40) - asked.space().expect("asked").expect("a disk").0;
    disk.set_capacity(used + (1 << 20) + 500_000);
    let (ready, is_ready) = state(&server).await;
    assert!(is_ready && ready.contains("\"ready\""), "{ready}");

    let refused = server.put("/bucket/key", vec![1; 1_000_000]).await;
    let refused = refused.expect_error(507, "StorageFull").text();
    assert!(refused.contains("64 MiB are kept free"), "{refused}");
    let (ready, is_ready) = state(&server).await;
    assert!(!is_ready && ready.contains("\"degraded\""), "{ready}");
    assert!(ready.contains("the storage device is full"), "{ready}");

    disk.set_capacity(1 << 40);
    let (ready, is_ready) = state(&server).await;
    assert!(is_ready && ready.contains("\"ready\""), "{ready}");
    server.put("/bucket/key", vec![1; 1_000_000]).await.expect_status(200);
}
