//! The scrub: finds damage by itself, and goes on after a restart.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use liteio_store::vectors::{CreateIndex, DistanceMetric, NewVectors, VectorName};
use liteio_store::{ScrubState, Store, StoreConfig};

use crate::harness::*;

const OBJECTS: u64 = 300;

fn open(directory: &Path, bytes_per_second: u64) -> Store {
    let config = StoreConfig {
        scrub_interval: None,
        scrub_bytes_per_second: bytes_per_second,
        inline_bytes_max: 100,
        reserve_bytes: 0,
        ..StoreConfig::directory(directory)
    };
    Store::open(config).expect("opens")
}

/// Waits until the scrub is as far as that.
fn wait(store: &Store, is_so: impl Fn(&ScrubState) -> bool) -> ScrubState {
    loop {
        let state = store.scrub_state().expect("a store on a disk");
        if is_so(&state) {
            return state;
        }
        thread::yield_now();
    }
}

fn any_blob(directory: &Path) -> PathBuf {
    let below =
        |path: &Path| fs::read_dir(path).expect("readable").map(|it| it.expect("one").path());
    let blobs = below(&directory.join("blobs")).flat_map(|path| below(&path).collect::<Vec<_>>());
    blobs.into_iter().next().expect("a blob")
}

#[test]
fn damage_is_found_by_itself_and_again_until_it_is_gone() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path(), u64::MAX);
    create_bucket(&store, "bucket");
    put(&store, "small", &bytes(1, 10));
    put(&store, "large", &bytes(2, 10_000));
    store.scrub_now();
    let state = wait(&store, |state| state.ended_ms.is_some());
    // The objects, and the usage of their bucket.
    assert_eq!((state.records, state.damaged), (3, 0), "{state:?}");

    let blob = any_blob(directory.path());
    let mut content = fs::read(&blob).expect("readable");
    content[7_000] ^= 1;
    fs::write(&blob, &content).expect("written");
    store.scrub_now();
    let state = wait(&store, |state| state.begun_ms.is_none() && state.damaged > 0);
    assert_eq!(state.damaged, 1);
    assert!(state.first_damage.as_deref().is_some_and(|it| it.starts_with("bucket/large: ")));
    store.close();
    // It is known after a restart, and until a scrub does not find it any more.
    let store = open(directory.path(), u64::MAX);
    assert_eq!(store.scrub_state().expect("on a disk").damaged, 1);
    content[7_000] ^= 1;
    fs::write(&blob, &content).expect("written");
    store.scrub_now();
    wait(&store, |state| state.begun_ms.is_none() && state.damaged == 0);
}

#[test]
fn after_a_restart_it_goes_on_where_it_was() {
    let directory = tempfile::tempdir().expect("a directory");
    // Slow enough that it is stopped on its way.
    let store = open(directory.path(), 1 << 20);
    create_bucket(&store, "bucket");
    for number in 0..OBJECTS {
        put(&store, &format!("{number:03}"), &bytes(number, 10));
    }
    store.scrub_now();
    let before = wait(&store, |state| state.records > 0);
    store.close();
    assert!(before.records < OBJECTS && before.ended_ms.is_none(), "{before:?}");

    let store = open(directory.path(), 1 << 20);
    let after = store.scrub_state().expect("on a disk");
    assert_eq!(after.begun_ms, before.begun_ms);
    assert!(after.records >= before.records, "{after:?}");
    let ended = wait(&store, |state| state.ended_ms.is_some());
    assert_eq!((ended.records, ended.damaged), (OBJECTS + 1, 0));
}

#[test]
fn an_index_without_its_file_is_damage() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = open(directory.path(), u64::MAX);
    let name = VectorName::bucket("media").expect("a name");
    let media = store.create_vector_bucket(name, owner(), None, Vec::new()).wait().expect("new");
    let options = CreateIndex::new(4, DistanceMetric::Euclidean);
    let name = VectorName::index("films").expect("a name");
    let index = store.create_index(&media, name, options).wait().expect("new");
    let mut vectors = NewVectors::default();
    vectors.push("one", &[1.0; 4]);
    vectors.push("two", &[2.0; 4]);
    store.put_vectors(&index, vectors).expect("stored");
    store.close();
    for file in fs::read_dir(directory.path().join("vectors")).expect("a directory") {
        fs::remove_file(file.expect("a file").path()).expect("removed");
    }
    let store = open(directory.path(), u64::MAX);
    store.scrub_now();
    let state = wait(&store, |state| state.ended_ms.is_some());
    assert_eq!(state.damaged, 1, "{state:?}");
    assert!(state.first_damage.is_some_and(|it| it.contains("media/films")));
}

#[test]
fn a_scrub_comes_to_its_end_whatever_page_cannot_be_read() {
    let whole = tempfile::tempdir().expect("a directory");
    let store = Store::open(on_directory(whole.path())).expect("opens");
    create_bucket(&store, "bucket");
    for number in 0..40 {
        put(&store, &format!("{number:03}"), &bytes(number, INLINE_BYTES));
    }
    // Its parts are read while its own record is verified.
    let upload = create_upload(&store, "of parts");
    let parts: Vec<u16> = (1..=40).collect();
    for part in &parts {
        put_part(&store, "of parts", &upload, *part, &bytes(1, INLINE_BYTES)).expect("put");
    }
    complete(&store, "of parts", &upload, &parts).expect("completed");
    store.close();
    drop(store);
    let tree = fs::read(whole.path().join("meta.redb")).expect("readable");
    let pages = tree.chunks(4096).enumerate().filter(|(_, page)| page[0] != 0);
    let mut found = 0;
    for (page, _) in pages {
        let directory = tempfile::tempdir().expect("a directory");
        copy(whole.path(), directory.path());
        let mut damaged = tree.clone();
        damaged[page * 4096 + 8..][..64].fill(0x55);
        fs::write(directory.path().join("meta.redb"), damaged).expect("written");
        let config =
            StoreConfig { scrub_bytes_per_second: u64::MAX, ..on_directory(directory.path()) };
        let Ok(store) = Store::open(config) else { continue };
        store.scrub_now();
        let start = Instant::now();
        let state = wait(&store, |state| {
            assert!(start.elapsed() < Duration::from_secs(20), "page {page}: {state:?}");
            state.ended_ms.is_some()
        });
        found += u64::from(state.damaged > 0);
    }
    assert!(found > 0);
}

/// Copies the files of a directory.
fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("readable") {
        let path = entry.expect("one").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            fs::create_dir(&target).expect("made");
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("copied");
        }
    }
}
