//! Verifying a closed store: it finds what is damaged, and leaves everything as it is.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use liteio_disk::{Disk, OpenMode, SimulatedDisk};
use liteio_store::vectors::{CreateIndex, DistanceMetric, NewVectors, VectorName};
use liteio_store::{Store, StoreError, VerifyReport};

use crate::harness::*;
use crate::read_only::ReadOnlyDisk;

/// Objects of every kind, an upload in progress and some vectors.
fn fill(store: &Store) {
    create_bucket(store, "bucket");
    put(store, "small", &bytes(1, 10));
    put(store, "large", &bytes(2, 10_000));
    put(store, "replaced", &bytes(3, 500));
    put(store, "replaced", &bytes(4, 500));
    for (object, is_completed) in [("parts", true), ("upload", false)] {
        let id = create_upload(store, object);
        for number in [1, 2] {
            put_part(store, object, &id, number, &bytes(5, 100)).expect("put");
        }
        if is_completed {
            complete(store, object, &id, &[1, 2]).expect("completed");
        }
    }
    let vectors = VectorName::bucket("vectors").expect("a name");
    let vectors = store.create_vector_bucket(vectors, owner(), None, Vec::new()).wait();
    let options = CreateIndex::new(4, DistanceMetric::Cosine);
    let index = VectorName::index("index").expect("a name");
    let index = store.create_index(&vectors.expect("new"), index, options).wait().expect("new");
    let mut batch = NewVectors::default();
    batch.push("vector".to_owned(), &[1.0, 2.0, 3.0, 4.0]);
    store.put_vectors(&index, batch).expect("stored");
}

fn check_whole(report: &VerifyReport) {
    assert_eq!(report.damaged, Vec::new());
    assert_eq!((report.objects, report.vectors), (4, 1));
}

/// Everything below `path`: files with their bytes, directories without, both with the time of their last
/// change.
fn tree(path: &Path) -> BTreeMap<PathBuf, (Option<Vec<u8>>, SystemTime)> {
    let changed = |path: &Path| {
        fs::metadata(path).and_then(|metadata| metadata.modified()).expect("it has a time")
    };
    let mut tree = BTreeMap::from([(path.to_owned(), (None, changed(path)))]);
    for entry in fs::read_dir(path).expect("readable") {
        let entry = entry.expect("an entry").path();
        if entry.is_dir() {
            tree.extend(self::tree(&entry));
        } else {
            let bytes = fs::read(&entry).expect("readable");
            tree.insert(entry.clone(), (Some(bytes), changed(&entry)));
        }
    }
    tree
}

/// Copies everything, as a kill would leave it that came now.
fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("readable") {
        let entry = entry.expect("an entry").path();
        let target = to.join(entry.file_name().expect("a name"));
        if entry.is_dir() {
            fs::create_dir_all(&target).expect("made");
            copy(&entry, &target);
        } else {
            fs::copy(&entry, &target).expect("copied");
        }
    }
}

#[test]
fn nothing_in_the_directory_changes_after_an_orderly_end_or_a_kill() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let killed = tempfile::tempdir().expect("a temporary directory");
    let store = Store::open(on_directory(directory.path())).expect("opens");
    fill(&store);
    // Of this copy the log has to be replayed.
    copy(directory.path(), killed.path());
    store.close();
    for path in [directory.path(), killed.path()] {
        for is_locked in [true, false] {
            if !is_locked {
                fs::remove_file(path.join("lock")).expect("removed");
            }
            let before = tree(path);
            check_whole(&Store::verify_closed(on_directory(path), &mut |_| {}).expect("verified"));
            assert!(tree(path) == before, "{path:?}");
        }
        Store::open(on_directory(path)).expect("a lock that is gone is made again");
    }
}

#[test]
fn orphans_are_counted_and_stay() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path();
    let store = Store::open(on_directory(path)).expect("opens");
    create_bucket(&store, "bucket");
    put(&store, "a", &bytes(1, 10_000));
    store.close();
    for first in ["ab", "cd", "ef"] {
        fs::create_dir_all(path.join("blobs").join(first)).expect("made");
        fs::write(path.join("blobs").join(first).join(first.repeat(16)), b"x").expect("written");
    }
    fs::write(path.join("tmp/1-1"), b"x").expect("written");
    // After an orderly end and after any other.
    for is_clean in [true, false] {
        if !is_clean {
            fs::remove_file(path.join("clean")).expect("removed");
        }
        let before = tree(path);
        let report = Store::verify_closed(on_directory(path), &mut |_| {}).expect("verified");
        assert_eq!((report.objects, report.blobs, report.orphans), (1, 4, 3));
        assert_eq!(report.damaged, Vec::new());
        assert!(tree(path) == before, "clean: {is_clean}");
    }
}

#[test]
fn an_open_store_is_in_use_and_a_verified_one_is_not_opened() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let config = on_directory(directory.path());
    let store = Store::open(config.clone()).expect("opens");
    let refused = Store::verify_closed(config.clone(), &mut |_| {});
    assert!(matches!(refused, Err(StoreError::InUse { .. })), "{refused:?}");
    store.close();
    let mut refused = None;
    let verified = Store::verify_closed(config.clone(), &mut |_| {
        refused.get_or_insert_with(|| Store::open(config.clone()).map(drop));
        // Others may verify it, too.
        Store::verify_closed(config.clone(), &mut |_| {}).expect("verified");
    });
    verified.expect("verified");
    match refused {
        Some(Err(StoreError::InUse { message })) => assert!(message.contains("reads it")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_directory_without_a_store_gets_none() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let refused = Store::verify_closed(on_directory(directory.path()), &mut |_| {});
    assert!(matches!(refused, Err(StoreError::NotADataDirectory { .. })), "{refused:?}");
    assert_eq!(fs::read_dir(directory.path()).expect("readable").count(), 0);
    let missing = directory.path().join("missing");
    Store::verify_closed(on_directory(&missing), &mut |_| {}).expect_err("nothing there");
    assert!(!missing.exists());
    let refused = Store::open_existing(on_directory(directory.path())).map(drop);
    assert!(matches!(refused, Err(StoreError::NotADataDirectory { .. })), "{refused:?}");
    Store::open_existing(on_directory(&missing)).map(drop).expect_err("nothing there");
    assert!(!missing.exists());
    assert_eq!(fs::read_dir(directory.path()).expect("readable").count(), 0);
}

/// A key space that is gone is never replaced by a new one that is whole, because it is empty.
#[test]
fn a_directory_without_its_key_space_is_not_sound() {
    for is_large in [false, true] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = Store::open(on_directory(directory.path())).expect("opens");
        create_bucket(&store, "bucket");
        put(&store, "object", &vec![7; if is_large { 1 << 20 } else { 10 }]);
        store.close();
        fs::remove_file(directory.path().join("meta.redb")).expect("removed");
        let config = || on_directory(directory.path());
        let report = Store::verify_closed(config(), &mut |_| {}).expect("looked");
        assert!(report.damaged[0].what.contains("meta.redb is missing"), "{report:?}");
        for refused in [
            Store::open(config()).map(drop),
            Store::open_existing(config()).map(drop),
            Store::repair(config(), true, &mut |_| {}).map(drop),
            Store::repair(config(), false, &mut |_| {}).map(drop),
        ] {
            let error = refused.expect_err("no key space").to_string();
            assert!(error.contains("meta.redb is missing"), "{error}");
        }
        assert!(!directory.path().join("meta.redb").exists());
    }
}

/// Nor is a directory of blobs ever replaced by an empty one.
#[test]
fn a_directory_without_its_blobs_is_not_opened() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = Store::open(on_directory(directory.path())).expect("opens");
    create_bucket(&store, "bucket");
    put(&store, "object", &vec![7; 1 << 20]);
    store.close();
    drop(store);
    let (blobs, away) = (directory.path().join("blobs"), directory.path().join("away"));
    fs::rename(&blobs, &away).expect("moved");
    let config = || on_directory(directory.path());
    let report = Store::verify_closed(config(), &mut |_| {}).expect("looked");
    assert!(report.damaged[0].what.contains("blobs is missing"), "{report:?}");
    assert!(!report.is_unlocked, "the lock is there");
    for refused in [
        Store::open(config()).map(drop),
        Store::open_existing(config()).map(drop),
        Store::repair(config(), false, &mut |_| {}).map(drop),
    ] {
        let error = refused.expect_err("no blobs").to_string();
        assert!(error.contains("blobs is missing"), "{error}");
    }
    assert!(!blobs.exists());
    fs::rename(&away, &blobs).expect("moved back");
    let store = Store::open(config()).expect("opens");
    assert_eq!(get(&store, "object"), vec![7; 1 << 20]);
}

/// A first start may end at any of its steps.
#[test]
fn a_directory_that_ends_before_its_blobs_is_opened() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    Store::open(on_directory(directory.path())).expect("opens").close();
    for name in ["meta.redb", "meta.redb.log", "clean"] {
        fs::remove_file(directory.path().join(name)).expect("removed");
    }
    fs::remove_dir_all(directory.path().join("blobs")).expect("removed");
    Store::open(on_directory(directory.path())).expect("opens").close();
}

/// Without a lock file, a server that changes the directory meanwhile would go unnoticed.
#[test]
fn a_check_without_the_lock_is_told() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    Store::open(on_directory(directory.path())).expect("opens").close();
    let is_unlocked = || {
        let report = Store::verify_closed(on_directory(directory.path()), &mut |_| {});
        report.expect("verified").is_unlocked
    };
    assert!(!is_unlocked());
    fs::remove_file(directory.path().join("lock")).expect("removed");
    assert!(is_unlocked());
}

/// As `liteio verify` finds the disk.
fn verify(disk: &SimulatedDisk) -> Result<VerifyReport, StoreError> {
    let disk = Arc::new(ReadOnlyDisk::new(disk));
    Store::verify_closed_on(disk, config(9), &mut |_| {})
}

/// The disk of a store that was filled, and closed or killed.
fn filled(is_closed: bool) -> SimulatedDisk {
    let disk = SimulatedDisk::new(1);
    let store = Store::open_on(Arc::new(disk.clone()), config(1)).expect("opens");
    fill(&store);
    if is_closed {
        store.close();
    }
    disk.kill()
}

#[test]
fn a_full_disk_that_is_mounted_read_only_is_verified() {
    for is_closed in [true, false] {
        check_whole(&verify(&filled(is_closed)).expect("verified"));
    }
}

#[test]
fn damage_for_which_the_store_is_not_opened_is_found() {
    let disk = filled(false);
    let log = disk.open("meta.redb.log", OpenMode::Write).expect("there");
    let mut content = vec![0; log.len().expect("a length") as usize];
    log.read_at(&mut content, 0).expect("reads");
    let middle = content.iter().rposition(|byte| *byte != 0).expect("records") / 2;
    log.write_at(&[content[middle] ^ 1], middle as u64).expect("written");
    Store::open_on(Arc::new(disk.clone()), config(2)).expect_err("refused");
    let report = verify(&disk).expect("a finding is no error");
    assert_eq!(report.damaged.len(), 1, "{report:?}");
    assert!(report.damaged[0].what.contains("meta.redb.log"), "{report:?}");

    let disk = filled(true);
    disk.remove("meta.redb").expect("removed");
    let report = verify(&disk).expect("a finding is no error");
    assert!(report.damaged[0].what.contains("meta.redb is missing"), "{report:?}");
}
