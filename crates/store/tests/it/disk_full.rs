use std::sync::Arc;

use liteio_disk::SimulatedDisk;
use liteio_store::{Store, StoreError, StoreHealth};

use crate::harness::*;

#[test]
fn a_full_disk_refuses_writes_keeps_the_rest_and_returns_by_itself() {
    let disk = SimulatedDisk::new(1);
    let mut config = config(1);
    config.reserve_bytes = 1 << 20;
    let store = Store::open_on(Arc::new(disk.clone()), config).expect("opens");
    create_bucket(&store, "bucket");
    put(&store, "a", &bytes(1, 100_000));
    put(&store, "small", b"x");
    disk.set_capacity(1 << 20);
    for length in [10, 100_000] {
        let refused = try_put(&store, "b", &bytes(2, length), Default::default());
        assert!(matches!(refused, Err(StoreError::NoSpace)), "{length}: {refused:?}");
    }
    assert_eq!(store.health(), StoreHealth::Full);
    assert_eq!(get(&store, "a"), bytes(1, 100_000));
    delete(&store, "small");
    disk.set_capacity(1 << 40);
    put(&store, "b", &bytes(2, 100_000));
    assert_eq!(store.health(), StoreHealth::Ready);
    store.reclaim().expect("reclaim");
    assert_eq!(blobs(&store), 2);
}
