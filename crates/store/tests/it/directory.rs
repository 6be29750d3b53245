use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use liteio_store::limits::SEGMENT_BYTES_MAX;
use liteio_store::{BucketName, Store, StoreConfig, StoreError};

use crate::harness::*;

#[test]
fn what_was_put_is_there_after_a_restart() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let data = directory.path().join("deep/data");
    for round in 0..3 {
        let store = Store::open(on_directory(&data)).expect("opens");
        if round == 0 {
            create_bucket(&store, "bucket");
        } else {
            assert_eq!(get(&store, "small"), bytes(round - 1, 10));
            assert_eq!(get(&store, "large"), bytes(round - 1, 10_000));
        }
        put(&store, "small", &bytes(round, 10));
        put(&store, "large", &bytes(round, 10_000));
        store.close();
    }
    assert!(data.join("clean").exists());
}

#[test]
fn a_directory_in_use_is_refused_until_it_is_closed() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = Store::open(on_directory(directory.path())).expect("opens");
    let second = Store::open(on_directory(directory.path()));
    match second {
        Err(StoreError::InUse { message }) => {
            assert!(message.contains(&std::process::id().to_string()), "{message}");
        }
        other => panic!("{other:?}"),
    }
    store.close();
    Store::open(on_directory(directory.path())).expect("free again");
}

#[test]
fn the_drive_of_a_minio_is_refused_with_the_way_to_bring_it_over() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    fs::create_dir_all(directory.path().join(".minio.sys/buckets")).expect("made");
    fs::create_dir_all(directory.path().join("photos")).expect("made");
    let refused = Store::open(on_directory(directory.path())).map(drop);
    let told = refused.as_ref().expect_err("refused").to_string();
    assert!(matches!(refused, Err(StoreError::DriveOfMinio { .. })), "{told}");
    assert!(told.contains("liteio import minio") && told.contains("--data-dir"), "{told}");
    assert_eq!(fs::read_dir(directory.path()).expect("readable").count(), 2);
}

#[test]
fn foreign_and_newer_directories_are_left_as_they_are() {
    for (photo, shown) in [
        (OsStr::new("photo.jpg"), "which has \"photo.jpg\""),
        (OsStr::new(".hidden"), "which has \".hidden\""),
        (OsStr::from_bytes(b"\xff\xfe"), "which has"),
    ] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        fs::write(directory.path().join(photo), b"x").expect("written");
        let refused = Store::open(on_directory(directory.path())).map(drop);
        let told = refused.as_ref().expect_err("refused").to_string();
        assert!(matches!(refused, Err(StoreError::NotADataDirectory { .. })), "{told}");
        assert!(told.contains(shown), "{told}");
        assert_eq!(fs::read_dir(directory.path()).expect("readable").count(), 1);
    }

    let directory = tempfile::tempdir().expect("a temporary directory");
    fs::write(directory.path().join("format"), b"liteio 99\n").expect("written");
    for refused in [
        Store::open(on_directory(directory.path())).map(drop),
        Store::verify_closed(on_directory(directory.path()), &mut |_| {}).map(drop),
    ] {
        let expected = matches!(refused, Err(StoreError::FormatTooNew { found: 99, known: 4 }));
        assert!(expected, "{refused:?}");
    }
    let names = fs::read_dir(directory.path()).expect("readable");
    let mut names: Vec<_> = names.map(|entry| entry.expect("an entry").file_name()).collect();
    names.sort();
    assert_eq!(names, ["format", "lock"]);
}

#[test]
fn a_directory_without_its_format_file_is_told_from_a_wrong_one() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let config = || on_directory(directory.path());
    Store::open(config()).expect("opens").close();
    let format = directory.path().join("format");
    let content = fs::read(&format).expect("there");
    fs::remove_file(&format).expect("removed");
    for refused in [Store::open(config()).map(drop), Store::open_existing(config()).map(drop)] {
        let told = refused.as_ref().expect_err("refused").to_string();
        assert!(matches!(refused, Err(StoreError::Corrupt { .. })), "{told}");
        assert!(told.contains("the file `format` is missing") && told.contains("put"), "{told}");
    }
    fs::write(&format, content).expect("put back");
    Store::open(config()).expect("opens").close();
}

/// Of macOS, and of a directory that is kept in Git.
#[test]
fn a_directory_that_looks_empty_is_taken() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for name in [".DS_Store", ".gitignore", ".gitkeep", ".keep"] {
        fs::write(directory.path().join(name), b"").expect("written");
    }
    Store::open(on_directory(directory.path())).expect("opens").close();
    assert!(directory.path().join(".gitkeep").exists());
}

#[test]
fn empty_directories_are_taken_where_that_was_asked_for() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for name in ["first", "second", "Upper"] {
        fs::create_dir(directory.path().join(name)).expect("made");
    }
    let open = |takes_empty_directories| {
        let config = on_directory(directory.path());
        Store::open(StoreConfig { takes_empty_directories, ..config })
    };
    for takes_empty in [false, true] {
        let refused = open(takes_empty);
        assert!(matches!(refused, Err(StoreError::NotADataDirectory { .. })), "{refused:?}");
    }
    fs::remove_dir(directory.path().join("Upper")).expect("removed");
    let store = open(true).expect("opens");
    let mut names = store.empty_directories().expect("listed");
    names.sort();
    assert_eq!(names.iter().map(BucketName::as_str).collect::<Vec<_>>(), ["first", "second"]);
    store.close();
    // It is a data directory now.
    fs::write(directory.path().join("first/file"), b"x").expect("written");
    let store = open(false).expect("opens");
    assert_eq!(store.empty_directories().expect("listed").len(), 1);
    let memory = Store::open(StoreConfig::memory()).expect("opens");
    assert_eq!(memory.empty_directories().expect("none"), []);
}

#[test]
fn the_content_of_the_lock_file_does_not_matter() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = Store::open(on_directory(directory.path())).expect("opens");
    create_bucket(&store, "bucket");
    put(&store, "object", b"body");
    store.close();
    let lock = directory.path().join("lock");
    for content in [Some(&b"garbage"[..]), Some(b""), None] {
        match content {
            Some(content) => fs::write(&lock, content).expect("written"),
            None => fs::remove_file(&lock).expect("removed"),
        }
        let report = Store::verify_closed(on_directory(directory.path()), &mut |_| {});
        assert_eq!(report.expect("verified").damaged, Vec::new());
        let store = Store::open(on_directory(directory.path())).expect("opens");
        assert_eq!(get(&store, "object"), b"body");
        store.close();
    }
}

#[test]
fn a_damaged_or_missing_blob_is_an_error_and_a_line_in_verify() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    // Each has a file.
    let config = StoreConfig { segment_bytes_max: 0, ..on_directory(directory.path()) };
    let store = Store::open(config).expect("opens");
    create_bucket(&store, "bucket");
    for object in ["damaged", "missing", "whole"] {
        put(&store, object, &bytes(1, 10_000));
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(directory.path().join("blobs")).expect("readable") {
        let blobs = fs::read_dir(entry.expect("an entry").path()).expect("readable");
        files.extend(blobs.map(|blob| blob.expect("a blob").path()));
    }
    assert_eq!(files.len(), 3);
    // The names of blobs do not show their objects: damage one, remove one, leave the third whole.
    let mut content = fs::read(&files[0]).expect("readable");
    content[5000] ^= 1;
    fs::write(&files[0], content).expect("written");
    fs::remove_file(&files[1]).expect("removed");

    let outcomes = ["damaged", "missing", "whole"]
        .map(|object| (object, try_get(&store, object, liteio_store::Selection::Whole)));
    let failed: Vec<_> = outcomes
        .iter()
        .filter(|(_, outcome)| matches!(outcome, Err(StoreError::Corrupt { .. })))
        .map(|(object, _)| (*object).to_owned())
        .collect();
    assert_eq!(failed.len(), 2, "{outcomes:?}");
    let mut calls = 0;
    let report = store.verify(&mut |_| calls += 1).expect("verify");
    let damaged: Vec<_> = report
        .damaged
        .iter()
        .map(|damage| damage.key.as_ref().expect("known").to_string())
        .collect();
    assert_eq!(damaged, failed);
    assert!(calls >= 3 && report.objects == 3 && report.blobs == 2);
    let sweep = store.sweep().expect("sweep");
    assert_eq!(sweep.orphans, 0, "a damaged blob is no orphan");
}

#[test]
fn a_flipped_bit_in_a_segment_is_an_error_of_one_object_and_a_line_in_verify() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let config =
        || StoreConfig { segment_bytes_max: SEGMENT_BYTES_MAX, ..on_directory(directory.path()) };
    let store = Store::open(config()).expect("opens");
    create_bucket(&store, "bucket");
    for object in ["first", "second", "third"] {
        put(&store, object, &bytes(1, 10_000));
    }
    let segments = fs::read_dir(directory.path().join("blobs/segments")).expect("readable");
    let [segment] = &segments.map(|it| it.expect("one").path()).collect::<Vec<_>>()[..] else {
        panic!("one segment")
    };
    // Three frames of three blocks.
    let mut content = fs::read(segment).expect("readable");
    content[3 * 4096 + 100] ^= 1;
    fs::write(segment, content).expect("written");
    for object in ["first", "third"] {
        assert_eq!(get(&store, object), bytes(1, 10_000));
    }
    let outcome = try_get(&store, "second", liteio_store::Selection::Whole);
    assert!(matches!(outcome, Err(StoreError::Corrupt { .. })), "{outcome:?}");
    let report = store.verify(&mut |_| {}).expect("verify");
    let damaged: Vec<_> = report.damaged.iter().map(|it| it.key.as_ref().expect("known")).collect();
    assert_eq!(damaged, [&key("second")]);
    assert_eq!((report.objects, report.blobs, report.orphans), (3, 3, 0));
    // The others outlive it.
    delete(&store, "second");
    store.reclaim().expect("reclaimed");
    store.close();
    let store = Store::open(config()).expect("opens");
    assert_eq!(blobs(&store), 2);
    assert_eq!(get(&store, "third"), bytes(1, 10_000));
}

#[test]
fn blobs_without_their_key_space_are_left_alone() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = Store::open(on_directory(directory.path())).expect("opens");
    create_bucket(&store, "bucket");
    put(&store, "a", &bytes(1, 10_000));
    store.close();
    drop(store);
    let away = tempfile::tempdir().expect("a temporary directory");
    for file in ["meta.redb", "meta.redb.log"] {
        fs::rename(directory.path().join(file), away.path().join(file)).expect("moved");
    }
    // Neither way to open makes a new key space, with which the next start would sweep.
    for _ in 0..2 {
        let report = Store::verify_closed(on_directory(directory.path()), &mut |_| {});
        let damaged = report.expect("a finding is no error").damaged;
        assert!(damaged[0].what.contains("meta.redb is missing"), "{damaged:?}");
        match Store::open(on_directory(directory.path())) {
            Err(StoreError::Corrupt { what }) => assert!(what.contains("meta.redb is missing")),
            other => panic!("{other:?}"),
        }
    }
    for file in ["meta.redb", "meta.redb.log"] {
        fs::rename(away.path().join(file), directory.path().join(file)).expect("moved back");
    }
    let store = Store::open(on_directory(directory.path())).expect("opens");
    assert_eq!(get(&store, "a"), bytes(1, 10_000));
}

#[test]
fn an_orphan_is_swept_after_an_unclean_end() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = Store::open(on_directory(directory.path())).expect("opens");
    create_bucket(&store, "bucket");
    put(&store, "a", &bytes(1, 10_000));
    store.close();
    let blobs_directory = directory.path().join("blobs");
    let of_blob = fs::read_dir(&blobs_directory)
        .expect("readable")
        .flat_map(|entry| fs::read_dir(entry.expect("an entry").path()).expect("readable"))
        .map(|blob| blob.expect("a blob").path())
        .next()
        .expect("one blob");
    let orphan = blobs_directory.join("ab").join("ab".repeat(16));
    fs::create_dir_all(blobs_directory.join("ab")).expect("made");
    fs::copy(&of_blob, &orphan).expect("copied");
    fs::remove_file(directory.path().join("clean")).expect("removed");

    let store = Store::open(on_directory(directory.path())).expect("opens");
    // The store sweeps by itself; this one finds what is left, or nothing any more.
    store.sweep().expect("sweep");
    assert!(!orphan.exists());
    let lost = fs::read_dir(blobs_directory.join("lost")).expect("made").next().expect("moved");
    let lost = lost.expect("an entry").path();
    assert_eq!(fs::read(&lost).expect("readable"), fs::read(&of_blob).expect("readable"));
    assert_eq!(get(&store, "a"), bytes(1, 10_000));
    assert_eq!(store.stats().orphans_swept, 1);
}
