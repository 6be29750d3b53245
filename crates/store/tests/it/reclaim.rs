use std::sync::Arc;

use liteio_disk::SimulatedDisk;
use liteio_store::{BodyOptions, Store, StoreError, StoreHealth};

use crate::harness::*;

#[test]
fn a_body_that_is_given_up_leaves_nothing() {
    on_every_backend(|store| {
        drop(stage(store, &bytes(1, 5000)).expect("staged"));
        let mut unfinished = store.begin_body(BodyOptions::default()).expect("body");
        unfinished.write(&bytes(2, 5000)).expect("write");
        assert!(!unfinished.is_inline());
        drop(unfinished);
        store.reclaim().expect("reclaim");
        assert_eq!(blobs(store), 0);
    });
}

#[test]
fn a_sweep_leaves_alone_what_is_on_its_way() {
    on_every_backend(|store| {
        put(store, "a", &bytes(1, 500));
        let body = stage(store, &bytes(2, 500)).expect("staged");
        let report = store.sweep().expect("sweep");
        assert_eq!((report.blobs, report.orphans), (2, 0));
        store
            .put_object(&bucket(store, "bucket"), key("b"), body, Default::default())
            .wait()
            .expect("put");
        assert_eq!(get(store, "b"), bytes(2, 500));
    });
}

#[test]
fn a_body_says_beforehand_whether_it_will_wait_for_the_disk() {
    on_every_backend(|store| {
        let mut body = store.begin_body(BodyOptions::default()).expect("body");
        assert!(body.is_inline() && !body.will_block(INLINE_BYTES));
        body.write(&bytes(1, INLINE_BYTES)).expect("write");
        assert!(body.is_inline() && body.will_block(1));
        let large = BodyOptions { expected_bytes: Some(1000), ..BodyOptions::default() };
        assert!(!store.begin_body(large).expect("body").is_inline());
        let huge = BodyOptions { expected_bytes: Some(6 << 30), ..BodyOptions::default() };
        let refused = store.begin_body(huge).map(drop);
        assert!(matches!(refused, Err(StoreError::PartTooLarge { .. })), "{refused:?}");
    });
}

#[test]
fn a_closed_store_says_so() {
    let store = Store::open(config(1)).expect("memory");
    create_bucket(&store, "bucket");
    put(&store, "a", b"x");
    assert_eq!(store.health(), StoreHealth::Ready);
    store.close();
    store.close();
    let refused = head_object(&store, &bucket(&store, "bucket"), &key("a"), None);
    assert!(matches!(refused, Err(StoreError::Closed)), "{refused:?}");
    let refused = try_put(&store, "a", b"x", Default::default());
    assert!(matches!(refused, Err(StoreError::Closed)), "{refused:?}");
    assert_ne!(store.health(), StoreHealth::Ready);
}

#[test]
fn a_deleted_blob_does_not_come_back_after_an_orderly_end_and_a_power_cut() {
    for seed in 0..20 {
        let disk = SimulatedDisk::new(seed);
        let store = Store::open_on(Arc::new(disk.clone()), config(seed)).expect("opens");
        create_bucket(&store, "bucket");
        for object in ["a", "b", "c", "d"] {
            put(&store, object, &bytes(1, 500));
        }
        for object in ["a", "b", "c"] {
            delete(&store, object);
        }
        store.reclaim().expect("reclaim");
        store.close();
        let left = disk.crash();
        let store = Store::open_on(Arc::new(left), config(seed + 100)).expect("opens");
        // Nothing was swept: the end was an orderly one.
        assert_eq!(blobs(&store), 1, "seed {seed}");
    }
}
