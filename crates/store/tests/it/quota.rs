//! Quotas of buckets: each way to add bytes is refused beyond them, and nothing else is.

use std::sync::Arc;
use std::thread;

use liteio_disk::SimulatedDisk;
use liteio_store::{
    CopyOptions, ImportedContent, ImportedObject, ImportedVersion, ObjectId, ObjectLock,
    PutOptions, Quota, RenameOptions, Store, StoreError, Versioning,
};

use crate::harness::*;

fn set(store: &Store, bytes: u64) {
    let quota = Some(Quota { bytes });
    store.set_quota(&bucket(store, "bucket"), quota).wait().expect("set");
}

fn used(store: &Store) -> u64 {
    store.bucket_usage(&bucket(store, "bucket")).expect("readable").usage.bytes
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, StoreError>, quota: u64, would: u64) {
    match result {
        Err(StoreError::QuotaExceeded { bucket, quota_bytes, bytes }) => {
            assert_eq!((bucket.as_str(), quota_bytes, bytes), ("bucket", quota, would));
        }
        other => panic!("{other:?}"),
    }
}

fn append(store: &Store, object: &str, offset: u64, body: &[u8]) -> Result<u64, StoreError> {
    let (target, body) = (bucket(store, "bucket"), stage(store, body)?);
    let appended = store.append_object(&target, key(object), offset, body, PutOptions::default());
    appended.wait().map(|version| version.bytes)
}

fn copy(store: &Store, from: &str, to: &str) -> Result<(), StoreError> {
    let target = bucket(store, "bucket");
    let source = ObjectId { bucket: Arc::clone(&target), key: key(from), version: None };
    store.copy_object(source, &target, key(to), CopyOptions::default()).wait().map(drop)
}

#[test]
fn each_way_to_add_bytes_ends_at_the_quota() {
    on_every_backend(|store| {
        set(store, 1_000);
        put(store, "a", &bytes(1, 400));
        // As full as the quota, and not a byte more.
        refused(try_put(store, "b", &bytes(2, 601), PutOptions::default()), 1_000, 1_001);
        put(store, "b", &bytes(2, 600));
        refused(try_put(store, "c", &bytes(2, 1), PutOptions::default()), 1_000, 1_001);
        refused(copy(store, "a", "c"), 1_000, 1_400);
        refused(append(store, "a", 400, b"1"), 1_000, 1_001);
        // What adds nothing goes on.
        put(store, "empty", b"");
        copy(store, "a", "a").expect("onto itself");
        put(store, "b", &bytes(3, 600));
        let to = bucket(store, "bucket");
        let renamed = store.rename_object(&to, key("b"), key("a"), RenameOptions::default());
        renamed.wait().expect("renamed");
        assert_eq!(used(store), 600);
        assert_eq!(append(store, "a", 600, &bytes(1, 400)).expect("room"), 1_000);
        delete(store, "a");
        assert_eq!(used(store), 0);

        let upload = create_upload(store, "parts");
        for part in [1, 2] {
            put_part(store, "parts", &upload, part, &bytes(1, 501)).expect("room for one");
        }
        refused(put_part(store, "parts", &upload, 3, &bytes(1, 1_001)), 1_000, 1_001);
        refused(complete(store, "parts", &upload, &[1, 2]), 1_000, 1_002);
        complete(store, "parts", &upload, &[1]).expect("the first alone");
        assert_eq!(used(store), 501);
    });
}

#[test]
fn versions_count_and_a_lowered_quota_lets_a_bucket_shrink() {
    on_every_backend(|store| {
        let versioned = bucket(store, "bucket");
        put(store, "null", &bytes(1, 300));
        store.set_versioning(&versioned, Versioning::Enabled).wait().expect("set");
        set(store, 1_000);
        let first = put(store, "a", &bytes(1, 300));
        put(store, "a", &bytes(2, 400));
        refused(try_put(store, "a", b"1", PutOptions::default()), 1_000, 1_001);
        // The version `null` gives its room to the next.
        let suspended = bucket(store, "bucket");
        store.set_versioning(&suspended, Versioning::Suspended).wait().expect("set");
        put(store, "null", &bytes(1, 300));
        set(store, 500);
        put(store, "null", &bytes(1, 200));
        refused(try_put(store, "null", &bytes(1, 201), PutOptions::default()), 500, 901);
        delete(store, "a");
        let target = liteio_store::DeleteTarget::new(key("a"), Some(first.version_id));
        store.delete_object(&bucket(store, "bucket"), target).wait().expect("deleted");
        assert_eq!(used(store), 600);
        store.set_quota(&bucket(store, "bucket"), None).wait().expect("removed");
        assert_eq!(bucket(store, "bucket").settings.quota, None);
        put(store, "large", &bytes(1, 5_000));
    });
}

#[test]
fn an_import_brings_what_another_store_had() {
    on_every_backend(|store| {
        set(store, 10);
        let body = stage(store, &bytes(1, 100)).expect("staged");
        let md5 = body.digests().md5;
        let object = ImportedObject {
            content: ImportedContent::Whole { bodies: vec![body], md5 },
            etag: None,
            metadata: Default::default(),
            checksum: None,
            lock: ObjectLock::default(),
        };
        let version = ImportedVersion { modified_ms: 1, is_null: true, object: Some(object) };
        let target = bucket(store, "bucket");
        store.import_version(&target, key("a"), version).wait().expect("imported");
        refused(try_put(store, "b", b"1", PutOptions::default()), 10, 101);
    });
}

#[test]
fn writers_at_the_same_time_exceed_nothing() {
    let store = Store::open(config(1)).expect("memory");
    create_bucket(&store, "bucket");
    set(&store, 10_000);
    thread::scope(|threads| {
        for thread in 0..8 {
            let store = &store;
            threads.spawn(move || {
                for number in 0..50 {
                    let object = format!("{thread}/{number}");
                    match try_put(store, &object, &bytes(1, 77), PutOptions::default()) {
                        Ok(_) | Err(StoreError::QuotaExceeded { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    assert_eq!(used(&store), 10_000 / 77 * 77);
}

#[test]
fn a_quota_is_there_after_a_crash() {
    let disk = SimulatedDisk::new(1);
    let store = Store::open_on(Arc::new(disk.clone()), config(1)).expect("opens");
    create_bucket(&store, "bucket");
    set(&store, 100);
    put(&store, "a", &bytes(1, 60));
    let store = Store::open_on(Arc::new(disk.crash()), config(2)).expect("opens");
    assert_eq!(bucket(&store, "bucket").settings.quota, Some(Quota { bytes: 100 }));
    refused(try_put(&store, "b", &bytes(1, 41), PutOptions::default()), 100, 101);
    put(&store, "b", &bytes(1, 40));
}
