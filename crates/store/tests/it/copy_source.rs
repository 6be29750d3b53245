//! Copies whose source's bucket is deleted, and its name taken by somebody else, between the moment
//! that the source is found and the moment that the copy is written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use liteio_disk::{HookedDisk, Moment, OpenMode, SimulatedDisk};
use liteio_store::{
    ChecksumAlgorithm, CopyOptions, NewBucket, ObjectId, Owner, Pending, Store, StoreConfig,
    StoreError,
};
use parking_lot::Mutex;

use crate::harness::*;

/// Runs `copy` from the bucket `source` to the bucket `bucket`. While the bytes of the source are
/// opened, its owner deletes it and another user creates a bucket of the same name, with an object of
/// the same key.
fn copy_from_a_name_that_changes_hands<T>(
    copy: impl FnOnce(&Store) -> Pending<T>,
) -> (Store, Result<T, StoreError>) {
    let hook = Arc::new(Mutex::new(None::<Box<dyn FnOnce() + Send>>));
    let on_read = Arc::clone(&hook);
    let disk = HookedDisk::new(&SimulatedDisk::new(1), move |moment| match moment {
        Moment::Open(path, OpenMode::Read) if path.starts_with("blobs/") => {
            let once = on_read.lock().take();
            once.into_iter().for_each(|hook| hook());
        }
        _ => {}
    });
    // The blobs of both objects are files, not notes of the log.
    let config = StoreConfig { logged_bytes_max: 0, segment_bytes_max: 0, ..config(1) };
    let store = Store::open_on(Arc::new(disk), config).expect("opens");
    create_bucket(&store, "bucket");
    create_bucket(&store, "source");
    put_into(&store, "source", "a", &bytes(1, 500));
    let changed = Arc::new(AtomicBool::new(false));
    let (in_hook, is_changed) = (store.clone(), Arc::clone(&changed));
    *hook.lock() = Some(Box::new(move || {
        delete_from(&in_hook, "source", "a");
        delete_bucket(&in_hook, "source");
        let other = Owner { id: "other".to_owned(), ..Owner::default() };
        let created =
            in_hook.create_bucket(NewBucket::new(name("source"), other, "us-east-1".to_owned()));
        created.wait().expect("free again");
        put_into(&in_hook, "source", "a", &bytes(2, 700));
        is_changed.store(true, Ordering::SeqCst);
    }));
    let copied = copy(&store).wait();
    assert!(changed.load(Ordering::SeqCst), "the source was read");
    (store, copied)
}

#[test]
fn a_copied_object_is_never_that_of_another_bucket_of_the_name() {
    let (store, copied) = copy_from_a_name_that_changes_hands(|store| {
        let options = CopyOptions {
            checksum_algorithm: Some(ChecksumAlgorithm::Sha256),
            ..CopyOptions::default()
        };
        let source = ObjectId { bucket: bucket(store, "source"), key: key("a"), version: None };
        store.copy_object(source, &bucket(store, "bucket"), key("copy"), options)
    });
    assert!(matches!(copied, Err(StoreError::NoSuchBucket { .. })), "{copied:?}");
    let copy = head_object(&store, &bucket(&store, "bucket"), &key("copy"), None);
    assert!(matches!(copy, Err(StoreError::NoSuchKey { .. })), "{copy:?}");
}

#[test]
fn a_copied_part_is_never_that_of_another_bucket_of_the_name() {
    let (store, copied) = copy_from_a_name_that_changes_hands(|store| {
        let id = create_upload(store, "copy");
        let source = ObjectId { bucket: bucket(store, "source"), key: key("a"), version: None };
        let target = bucket(store, "bucket");
        store.copy_part(source, &target, &key("copy"), &id, number(1), Default::default())
    });
    assert!(matches!(copied, Err(StoreError::NoSuchBucket { .. })), "{copied:?}");
    store.reclaim().expect("reclaim");
    assert_eq!(blobs(&store), 1, "that of the new bucket");
}
