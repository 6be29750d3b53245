//! Resets: everything goes, whatever locks it, and what is left is whole after a crash at any point.

use std::sync::Arc;

use liteio_disk::effort::amount;
use liteio_disk::{Fault, SimulatedDisk};
use liteio_store::vectors::{CreateIndex, DistanceMetric, NewVectors, VectorName};
use liteio_store::{
    DocumentKind, IdentityEntry, LegalHold, ListBuckets, NewBucket, ObjectLock, PutOptions,
    Retention, RetentionMode, Store, StoreConfig, StoreError, UploadOptions, Usage, Versioning,
};

use crate::harness::*;

const NOW_MS: u64 = 1_700_000_000_000;

/// Makes all that a bucket may have: versions of many keys, of which one has more than a page, delete markers,
/// locks, uploads, and settings.
fn fill(store: &Store, name_of: &str, keys: usize) {
    let new = NewBucket::new(name(name_of), owner(), "eu-west-1".to_owned());
    store.create_bucket(NewBucket { object_lock: true, ..new }).wait().expect("new");
    let to = bucket(store, name_of);
    store.put_document(&to, DocumentKind::Cors, b"rules".to_vec()).wait().expect("set");
    let retention = Retention { mode: RetentionMode::Compliance, until_ms: NOW_MS + 86_400_000 };
    let lock = ObjectLock {
        retention: Some(retention),
        legal_hold: LegalHold::On,
        ..ObjectLock::default()
    };
    let put = |object: &str, bytes: usize| {
        let body = stage(store, &bytes_of(bytes)).expect("staged");
        let options = PutOptions { lock, ..PutOptions::default() };
        store.put_object(&to, key(object), body, options)
    };
    let many: Vec<_> = (0..keys).map(|number| put(&format!("{number:05}"), number % 100)).collect();
    many.into_iter().for_each(|put| drop(put.wait().expect("put")));
    let versions: Vec<_> = (0..keys).map(|number| put("versions", number % 100)).collect();
    versions.into_iter().for_each(|put| drop(put.wait().expect("put")));
    for object in ["00000", "versions", "never"] {
        let target = liteio_store::DeleteTarget::new(key(object), None);
        store.delete_object(&to, target).wait().expect("a marker");
    }
    let upload = store.create_upload(&to, key("upload"), UploadOptions::default()).wait();
    let upload = upload.expect("new").id;
    let body = stage(store, &bytes_of(200)).expect("staged");
    store.put_part(&to, &key("upload"), &upload, number(1), body, None).wait().expect("a part");
}

fn bytes_of(length: usize) -> Vec<u8> {
    bytes(7, length)
}

fn assert_whole(store: &Store) {
    store.reclaim().expect("reclaimed");
    let report = store.verify(&mut |_| {}).expect("verified");
    assert!(report.damaged.is_empty(), "{report:?}");
}

#[test]
fn a_bucket_begins_anew_whatever_was_in_it() {
    // In one transaction, and in several.
    for keys in [3, 1200] {
        on_every_backend(|store| {
            fill(store, "full", keys);
            let before = bucket(store, "full");
            store.reset_bucket(&name("full"), Vec::new()).expect("reset");
            let after = bucket(store, "full");
            assert_ne!(before.id, after.id);
            assert_eq!((&after.owner, &*after.region), (&before.owner, "eu-west-1"));
            assert!(after.object_lock && after.versioning == Versioning::Enabled);
            assert_eq!(after.settings.document(DocumentKind::Cors), None);
            let page = store.list_versions(&after, &Default::default()).expect("listed");
            assert!(page.entries.is_empty());
            let uploads = store.list_uploads(&after, &Default::default()).expect("listed");
            assert!(uploads.entries.is_empty());
            assert_eq!(store.bucket_usage(&after).expect("counted").usage, Usage::default());
            put_into(store, "full", "00000", b"new");
            assert_eq!(store.bucket_usage(&after).expect("counted").usage.versions, 1);
            assert_whole(store);
            let missing = store.reset_bucket(&name("nobody"), Vec::new());
            assert!(matches!(missing, Err(StoreError::NoSuchBucket { .. })), "{missing:?}");
        });
    }
}

#[test]
fn what_had_begun_before_the_reset_of_a_bucket_does_not_end_in_the_new_one() {
    on_every_backend(|store| {
        let old = bucket(store, "bucket");
        let upload = store.create_upload(&old, key("upload"), UploadOptions::default()).wait();
        let upload = upload.expect("new").id;
        let body = stage(store, b"a body on its way").expect("staged");
        store.reset_bucket(&name("bucket"), Vec::new()).expect("reset");
        let late = store.put_object(&old, key("late"), body, PutOptions::default()).wait();
        assert!(matches!(late, Err(StoreError::NoSuchBucket { .. })), "{late:?}");
        let part = stage(store, b"a part on its way").expect("staged");
        let new = bucket(store, "bucket");
        let late = store.put_part(&new, &key("upload"), &upload, number(1), part, None).wait();
        assert!(matches!(late, Err(StoreError::NoSuchUpload { .. })), "{late:?}");
        assert_whole(store);
    });
}

#[test]
fn a_bucket_is_reset_while_others_write_to_it() {
    on_every_backend(|store| {
        std::thread::scope(|scope| {
            for writer in 0..2 {
                scope.spawn(move || {
                    for number in 0..200 {
                        let body = stage(store, &bytes_of(number)).expect("staged");
                        let to = bucket(store, "bucket");
                        let object = key(&format!("{writer}/{number}"));
                        let put = store.put_object(&to, object, body, PutOptions::default()).wait();
                        let is_gone = matches!(put, Err(StoreError::NoSuchBucket { .. }));
                        assert!(is_gone || put.is_ok(), "{put:?}");
                    }
                });
            }
            for _ in 0..20 {
                store.reset_bucket(&name("bucket"), Vec::new()).expect("reset");
            }
        });
        assert_whole(store);
        store.reset_bucket(&name("bucket"), Vec::new()).expect("reset");
        let usage = store.bucket_usage(&bucket(store, "bucket")).expect("counted").usage;
        assert_eq!(usage, Usage::default());
        assert_whole(store);
    });
}

/// Vectors, and an entry about users.
fn fill_the_rest(store: &Store) {
    let vector_bucket = VectorName::bucket("media").expect("a name");
    let made = store.create_vector_bucket(vector_bucket, owner(), None, Vec::new()).wait();
    let made = made.expect("new");
    let index = VectorName::index("films").expect("a name");
    let options = CreateIndex::new(1, DistanceMetric::Euclidean);
    let index = store.create_index(&made, index, options).wait().expect("new");
    let mut vectors = NewVectors::default();
    vectors.push("k", &[1.0]);
    store.put_vectors(&index, vectors).expect("stored");
    let entry = IdentityEntry { key: b"user/bob".to_vec(), value: Some(b"bob".to_vec()) };
    store.change_identities(vec![entry], None).wait().expect("set");
}

fn assert_empty(store: &Store) {
    let all = ListBuckets { max: 10, ..ListBuckets::default() };
    assert!(store.list_buckets(&all).expect("listed").buckets.is_empty());
    assert!(store.list_vector_buckets(&Default::default()).expect("listed").buckets.is_empty());
    assert!(store.identities().expect("read").entries.is_empty());
    assert_whole(store);
}

#[test]
fn the_whole_store_is_emptied() {
    on_every_backend(|store| {
        fill(store, "full", 3);
        fill(store, "fuller", 600);
        fill_the_rest(store);
        store.reset().expect("reset");
        assert_empty(store);
        fill(store, "full", 3);
        fill_the_rest(store);
        assert_whole(store);
    });
}

#[test]
fn a_power_cut_during_a_reset_leaves_a_whole_store() {
    let config = || StoreConfig { runs_twice: false, ..config(3) };
    let filled = SimulatedDisk::new(11);
    let store = Store::open_on(Arc::new(filled.clone()), config()).expect("new");
    fill(&store, "full", 1200);
    fill_the_rest(&store);
    store.close();
    // At operations of the first dozens, and then at fewer of the rest, which are alike.
    let step = amount(3, 1) as usize;
    for at in (0..60).step_by(step).chain((60..).step_by(17 * step)) {
        let disk = filled.kill();
        let store = Store::open_on(Arc::new(disk.clone()), config()).expect("opens");
        disk.set_fault(disk.operations() + at, Fault::Crash);
        let is_done = store.reset().is_ok();
        store.close();
        let left = disk.crash();
        let store = Store::open_on(Arc::new(left), config()).expect("opens after a crash");
        assert_whole(&store);
        store.reset().expect("reset");
        assert_empty(&store);
        if is_done {
            assert!(at > 10, "it ended without a crash at {at}");
            return;
        }
    }
}
