//! The usage of buckets: kept with every write, right after any end, counted where nobody has counted.

use std::collections::BTreeMap;
use std::sync::Arc;

use liteio_disk::SimulatedDisk;
use liteio_store::{
    DeleteTarget, ListVersionsQuery, ObjectId, RenameOptions, Store, Usage, VersionEntry,
    Versioning,
};

use crate::harness::*;

/// The usage of `bucket`, which is the same as that of a listing of all versions.
fn usage(store: &Store) -> Usage {
    let found = store.bucket_usage(&bucket(store, "bucket")).expect("readable");
    assert!(found.is_complete);
    let all = store.usage().expect("readable");
    assert_eq!(all.iter().find(|it| it.name == found.name), Some(&found));
    assert_eq!(found.usage, listed(store));
    found.usage
}

fn listed(store: &Store) -> Usage {
    let query = ListVersionsQuery { max: 1000, ..ListVersionsQuery::default() };
    let page = store.list_versions(&bucket(store, "bucket"), &query).expect("listed");
    assert!(page.next.is_none());
    let mut usage = Usage::default();
    for entry in page.entries {
        match entry {
            VersionEntry::Version(version) => {
                usage.objects += u64::from(version.is_latest);
                usage.bytes += version.bytes;
            }
            VersionEntry::DeleteMarker(_) => usage.delete_markers += 1,
            VersionEntry::Prefix(_) => panic!("no delimiter"),
        }
        usage.versions += 1;
    }
    usage
}

fn expect(store: &Store, objects: u64, versions: u64, delete_markers: u64, bytes: u64) {
    assert_eq!(usage(store), Usage { objects, versions, delete_markers, bytes });
}

fn set_versioning(store: &Store, versioning: Versioning) {
    store.set_versioning(&bucket(store, "bucket"), versioning).wait().expect("set");
}

#[test]
fn every_way_to_write_counts() {
    on_every_backend(|store| {
        expect(store, 0, 0, 0, 0);
        put(store, "small", &bytes(1, 10));
        put(store, "large", &bytes(2, 1_000));
        expect(store, 2, 2, 0, 1_010);
        put(store, "small", &bytes(3, 20));
        expect(store, 2, 2, 0, 1_020);
        let to = bucket(store, "bucket");
        let source = ObjectId { bucket: Arc::clone(&to), key: key("large"), version: None };
        store.copy_object(source, &to, key("copy"), Default::default()).wait().expect("copied");
        expect(store, 3, 3, 0, 2_020);
        let renamed = store.rename_object(&to, key("copy"), key("small"), RenameOptions::default());
        renamed.wait().expect("renamed");
        expect(store, 2, 2, 0, 2_000);
        let id = create_upload(store, "parts");
        for number in [1, 2] {
            put_part(store, "parts", &id, number, &bytes(4, 100)).expect("put");
        }
        expect(store, 2, 2, 0, 2_000);
        complete(store, "parts", &id, &[1, 2]).expect("completed");
        expect(store, 3, 3, 0, 2_200);
        for object in ["small", "large", "parts", "missing"] {
            delete(store, object);
        }
        expect(store, 0, 0, 0, 0);
    });
}

#[test]
fn versions_and_delete_markers_count() {
    on_every_backend(|store| {
        put(store, "a", &bytes(1, 1));
        set_versioning(store, Versioning::Enabled);
        let second = put(store, "a", &bytes(1, 100));
        expect(store, 1, 2, 0, 101);
        delete(store, "a");
        expect(store, 0, 3, 1, 101);
        let third = put(store, "a", &bytes(1, 10_000));
        expect(store, 1, 4, 1, 10_101);
        set_versioning(store, Versioning::Suspended);
        // In place of the version `null`, which is the oldest.
        put(store, "a", &bytes(1, 7));
        expect(store, 1, 4, 1, 10_107);
        delete(store, "a");
        expect(store, 0, 4, 2, 10_100);
        let remove = |version| {
            let target = DeleteTarget::new(key("a"), Some(version));
            store.delete_object(&bucket(store, "bucket"), target).wait().expect("deleted");
        };
        remove(liteio_store::VersionId::Null);
        expect(store, 1, 3, 1, 10_100);
        remove(third.version_id);
        expect(store, 0, 2, 1, 100);
        remove(second.version_id);
        expect(store, 0, 1, 1, 0);
    });
}

#[test]
fn a_deleted_bucket_leaves_nothing_behind() {
    on_every_backend(|store| {
        put(store, "a", &bytes(1, 10));
        delete(store, "a");
        let old = bucket(store, "bucket");
        delete_bucket(store, "bucket");
        assert_eq!(store.usage().expect("readable"), Vec::new());
        assert!(!store.bucket_usage(&old).expect("readable").is_complete);
        create_bucket(store, "bucket");
        expect(store, 0, 0, 0, 0);
    });
}

#[test]
fn usage_is_right_after_a_kill() {
    let disk = SimulatedDisk::new(1);
    let store = Store::open_on(Arc::new(disk.clone()), config(1)).expect("opens");
    create_bucket(&store, "bucket");
    for number in 0..50 {
        put(&store, &format!("{}", number % 20), &bytes(number, 10 * number as usize));
    }
    let before = usage(&store);
    let disk = disk.kill();
    let store = Store::open_on(Arc::new(disk.clone()), config(2)).expect("opens");
    assert_eq!(usage(&store), before);
    let disk = disk.crash();
    let store = Store::open_on(Arc::new(disk), config(2)).expect("opens");
    assert_eq!(usage(&store), before);
    assert_eq!(store.verify(&mut |_| {}).expect("verify").damaged, Vec::new());
}

#[test]
fn several_buckets_have_their_own() {
    on_every_backend(|store| {
        create_bucket(store, "another");
        put_into(store, "another", "a", &bytes(1, 30));
        put(store, "a", &bytes(1, 10));
        let all: BTreeMap<_, _> = store
            .usage()
            .expect("readable")
            .into_iter()
            .map(|usage| (usage.name.as_str().to_owned(), usage.usage.bytes))
            .collect();
        assert_eq!(all, BTreeMap::from([("another".to_owned(), 30), ("bucket".to_owned(), 10)]));
    });
}

#[test]
fn stats_tell_the_work_of_the_key_space() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = Store::open(on_directory(directory.path())).expect("opens");
    create_bucket(&store, "bucket");
    let before = store.stats().kv;
    for number in 0..10 {
        put(&store, "a", &bytes(number, 10));
    }
    let after = store.stats().kv;
    assert_eq!(after.updates - before.updates, 10);
    assert!(after.groups - before.groups <= 10 && after.groups > before.groups);
    assert_eq!(after.syncs - before.syncs, after.groups - before.groups, "each is synced");
    assert!(after.sync_time > before.sync_time);
    assert!(after.log_bytes > before.log_bytes && after.table_bytes > before.table_bytes);
    assert!(after.tables > 0 && after.tree_bytes > 0, "{after:?}");
    let (free, capacity) = store.space().expect("known").expect("on a disk");
    assert!(0 < free && free < capacity);
    assert_eq!(store.deletions_waiting(10).expect("readable"), 0);
}
