use std::sync::Arc;
use std::time::{Duration, Instant};

use liteio_disk::SimulatedDisk;
use liteio_store::vectors::{DistanceMetric, Metadata, NewVectors};
use liteio_store::{BodyOptions, Store, StoreError, StoreHealth};

use crate::harness::*;
use crate::vectors::create as create_index;

/// Puts again and again until the answer is `wanted`: how much is free is asked a few times a second.
fn put_until(store: &Store, length: usize, wanted: impl Fn(&Result<(), StoreError>) -> bool) {
    let start = Instant::now();
    loop {
        let answer = try_put(store, "b", &bytes(2, length), Default::default()).map(drop);
        if wanted(&answer) {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{length} bytes: {answer:?}");
        std::thread::yield_now();
    }
}

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
    let large = try_put(&store, "b", &bytes(2, 100_000), Default::default());
    assert!(matches!(large, Err(StoreError::NoSpace)), "{large:?}");
    put_until(&store, 10, |answer| matches!(answer, Err(StoreError::NoSpace)));
    assert_eq!(store.health(), StoreHealth::Full);
    assert_eq!(get(&store, "a"), bytes(1, 100_000));
    delete(&store, "small");
    let settings = bucket(&store, "bucket");
    store.set_lifecycle(&settings, None).wait().expect("deleted");
    store.set_default_encryption(&settings, None, None).wait().expect("deleted");

    disk.set_capacity(1 << 40);
    for length in [10, 100_000] {
        put_until(&store, length, Result::is_ok);
    }
    assert_eq!(store.health(), StoreHealth::Ready);
    store.reclaim().expect("reclaim");
    assert_eq!(blobs(&store), 2);
}

#[test]
fn a_disk_that_is_full_but_for_the_reserve_is_full_once_it_has_refused_a_write() {
    let disk = SimulatedDisk::new(1);
    let mut config = config(1);
    config.reserve_bytes = 1 << 20;
    let store = Store::open_on(Arc::new(disk.clone()), config).expect("opens");
    create_bucket(&store, "bucket");
    let free = || store.space().expect("asked").expect("a disk").0;
    disk.set_capacity(1 << 40);
    let used = (1 << 40) - free();
    disk.set_capacity(used + (1 << 20) + 500_000);
    assert_eq!(store.health(), StoreHealth::Ready, "nothing was refused");
    let begin = |bytes| {
        let options = BodyOptions { expected_bytes: Some(bytes), ..BodyOptions::default() };
        store.begin_body(options).map(drop)
    };
    // Larger than the reserve: there is room for most others.
    disk.set_capacity(used + (4 << 20));
    let large = begin(6 << 20);
    assert!(matches!(large, Err(StoreError::NoSpace)), "{large:?}");
    assert_eq!(store.health(), StoreHealth::Ready);

    disk.set_capacity(used + (1 << 20) + 500_000);
    let refused = begin(1_000_000);
    assert!(matches!(refused, Err(StoreError::NoSpace)), "{refused:?}");
    for _ in 0..2 {
        assert_eq!(store.health(), StoreHealth::Full);
    }
    disk.set_capacity(used + (3 << 20));
    assert_eq!(store.health(), StoreHealth::Ready);
    disk.set_capacity(used + (1 << 20) + 500_000);
    assert_eq!(store.health(), StoreHealth::Ready, "nothing was refused since");
}

#[test]
fn deleted_vectors_make_room_for_others_on_a_full_disk() {
    const BATCH: u32 = 500;
    let disk = SimulatedDisk::new(1);
    let mut config = config(1);
    config.reserve_bytes = 1 << 20;
    let store = Store::open_on(Arc::new(disk.clone()), config).expect("opens");
    let index = create_index(&store, 256, DistanceMetric::Euclidean);
    let keys = |batch: u32| (batch * BATCH..).take(BATCH as usize).map(|number| number.to_string());
    let put = |batch: u32| {
        let mut vectors = NewVectors::default();
        keys(batch).for_each(|key| vectors.push_with(key, &[1.0; 256], Metadata::default()));
        store.put_vectors(&index, vectors)
    };
    for batch in 0..4 {
        put(batch).expect("there is room");
    }
    disk.set_capacity(1 << 40);
    let used = (1 << 40) - store.space().expect("asked").expect("a disk").0;
    disk.set_capacity(used + (1 << 20) + 300_000);
    let refused = put(4);
    assert!(matches!(refused, Err(StoreError::NoSpace)), "{refused:?}");
    store.delete_vectors(&index, keys(0).collect()).expect("deleted");
    put(4).expect("the file does not grow");
    let refused = put(5);
    assert!(matches!(refused, Err(StoreError::NoSpace)), "{refused:?}");
}

#[test]
fn a_full_disk_is_not_made_a_data_directory() {
    let disk = SimulatedDisk::new(1);
    disk.set_capacity(1 << 20);
    let mut config = config(1);
    config.reserve_bytes = 2 << 20;
    let refused = Store::open_on(Arc::new(disk.clone()), config);
    assert!(matches!(refused, Err(StoreError::NoSpace)), "{refused:?}");
    assert_eq!(disk.operations(), 0, "nothing was changed");
}
