//! Copies of stores that are changed at random, and of directories.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::Arc;

use liteio_disk::{Durability, SimulatedDisk, effort};
use liteio_store::backup::Restore;
use liteio_store::{
    BodyOptions, BucketName, DeleteTarget, NewBucket, ObjectKey, Owner, PutOptions, Store,
    StoreConfig,
};

use super::{Copied, Options, copy, fill};
use crate::Error;
use crate::limits::WAITING_BYTES;
use crate::testing::{Workload, open, pairs};

#[test]
fn a_copy_is_one_moment_of_a_store_that_is_changed_meanwhile() {
    for seed in effort::seeds(100, 5000) {
        for durability in [Durability::Fsync, Durability::Os] {
            let workload = Workload::new(seed, durability);
            let backup = (seed % 2 == 0).then(|| workload.store.backup_feed(1 << 20).expect("one"));
            let feed = workload.store.copy_feed(WAITING_BYTES).expect("the only one");
            let disk = SimulatedDisk::new(!seed);
            let to = Restore::begin_on(Arc::new(disk.clone()), workload.config()).expect("empty");
            let mut expected = pairs(&feed);
            let copied = fill(
                &feed,
                to,
                Options { chunk_bytes: 700, ..Options::default() },
                &mut |copied| {
                    workload.step();
                    workload.store.reclaim().expect("reclaimed");
                    // Until then everything is part of the moment.
                    if copied.time_ms == 0 {
                        expected = pairs(&feed);
                    }
                    true
                },
            );
            let what = format!("seed {seed}, {durability:?}");
            let copied = copied.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert_eq!(copied.left_out, 0, "{what}: {copied:?}");
            drop((feed, backup));
            let held = workload.store.reclaim().expect("reclaimed").waiting;
            assert_eq!(held, 0, "{what}: nothing is held any more");
            let store = open(&disk.crash(), &workload.config());
            let report = store.verify(&mut |_| {}).expect("verified");
            assert!(report.damaged.is_empty(), "{what}: {report:?}");
            let feed = store.backup_feed(1 << 20).expect("the only one");
            assert!(pairs(&feed) == expected, "{what}");
        }
    }
}

#[test]
fn an_interrupted_copy_is_no_store_and_goes_on() {
    let workload = Workload::new(3, Durability::Fsync);
    let disk = SimulatedDisk::new(4);
    let copy = |steps: &mut dyn FnMut() -> bool| {
        let feed = workload.store.copy_feed(WAITING_BYTES).expect("the only one");
        let to = Restore::begin_on(Arc::new(disk.clone()), workload.config()).expect("unfinished");
        fill(&feed, to, Options::default(), &mut |_| steps())
    };
    let whole = std::cell::Cell::new(0);
    copy(&mut || {
        whole.set(whole.get() + 1);
        whole.get() < 2
    })
    .expect_err("stopped");
    Store::open_on(Arc::new(disk.clone()), workload.config()).expect_err("no store yet");
    let copied = copy(&mut || true).expect("copied");
    assert_eq!(copied.copied, 1, "the other one is there: {copied:?}");
    let store = open(&disk, &workload.config());
    assert!(store.verify(&mut |_| {}).expect("verified").damaged.is_empty());
}

/// A store in a directory.
struct Live {
    store: Store,
    root: tempfile::TempDir,
}

impl Live {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary directory");
        let store = Store::open(StoreConfig::directory(root.path().join("data"))).expect("opens");
        let name = BucketName::new("bucket").expect("a name");
        let new = NewBucket::new(name, Owner::default(), String::new());
        store.create_bucket(new).wait().expect("new");
        Self { store, root }
    }

    fn put(&self, key: &str, bytes: usize) {
        let bucket = self.store.bucket(&BucketName::new("bucket").expect("a name")).expect("there");
        let mut writer = self.store.begin_body(BodyOptions::default()).expect("begun");
        writer.write(&vec![7; bytes]).expect("written");
        let (key, body) = (ObjectKey::new(key).expect("a key"), writer.finish().expect("staged"));
        self.store.put_object(&bucket, key, body, PutOptions::default()).wait().expect("put");
    }

    fn delete(&self, key: &str) {
        let bucket = self.store.bucket(&BucketName::new("bucket").expect("a name")).expect("there");
        let target = DeleteTarget::new(ObjectKey::new(key).expect("a key"), None);
        self.store.delete_object(&bucket, target).wait().expect("deleted");
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.root.path().join(name)
    }

    fn copy(&self, name: &str) -> Result<Copied, Error> {
        copy(&self.store, &self.path("data"), &self.path(name), &mut |_| true)
    }
}

fn blobs(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for first in fs::read_dir(directory.join("blobs")).expect("readable") {
        let first = first.expect("an entry").path();
        if first.file_name().is_some_and(|name| name.len() == 2) {
            found.extend(fs::read_dir(first).expect("readable").map(|it| it.expect("one").path()));
        }
    }
    found
}

fn check(path: &Path) {
    let store = Store::open_existing(StoreConfig::directory(path)).expect("a store");
    let report = store.verify(&mut |_| {}).expect("verified");
    assert!(report.damaged.is_empty(), "{report:?}");
    store.close();
}

#[test]
fn a_second_copy_links_what_the_first_has_and_drops_what_is_deleted() {
    let live = Live::new();
    live.put("small", 10);
    live.put("middle", 20 << 10);
    live.put("long", 3 << 20);
    let first = live.copy("copy").expect("copied");
    assert_eq!((first.linked, first.copied, first.copied_bytes), (1, 1, 20 << 10), "{first:?}");
    let linked = blobs(&live.path("copy"));
    assert_eq!(linked.len(), 2);
    let names = linked.iter().map(|it| fs::metadata(it).expect("there").nlink()).max();
    assert_eq!(names, Some(2), "a long blob has a name in both");

    live.put("new", 30 << 10);
    live.delete("long");
    let second = live.copy("copy").expect("copied");
    assert_eq!((second.linked, second.copied, second.copied_bytes), (1, 1, 30 << 10), "{second:?}");
    assert_eq!(blobs(&live.path("copy")).len(), 2);
    let left: Vec<_> = fs::read_dir(live.root.path()).expect("readable").collect();
    assert_eq!(left.len(), 2, "{left:?}");
    check(&live.path("copy"));
    // A store has used it, so that it is no copy any more.
    let refused = live.copy("copy").expect_err("in use").to_string();
    assert!(refused.contains("choose another directory"), "{refused}");
}

#[test]
fn what_was_deleted_or_damaged_in_the_directory_is_whole_in_its_copy() {
    let live = Live::new();
    live.put("long", 3 << 20);
    live.copy("copy").expect("copied");
    live.delete("long");
    live.store.reclaim().expect("reclaimed");
    check(&live.path("copy"));
}

#[test]
fn only_an_empty_directory_or_an_own_copy_becomes_one() {
    let live = Live::new();
    live.put("long", 3 << 20);
    fs::create_dir(live.path("foreign")).expect("made");
    fs::write(live.path("foreign").join("file"), "mine").expect("written");
    let other = Live::new();
    for (name, expected) in
        [("foreign", "is not empty, and no copy"), ("data", "is not empty, and no copy")]
    {
        let refused = live.copy(name).expect_err(name).to_string();
        assert!(refused.contains(expected), "{refused}");
    }
    fs::rename(live.path("data").join("nothing"), live.path("x")).expect_err("untouched");
    let relative = copy(&live.store, &live.path("data"), Path::new("copy"), &mut |_| true);
    assert!(relative.expect_err("relative").to_string().contains("absolute path"));
    let root = copy(&live.store, &live.path("data"), Path::new("/"), &mut |_| true);
    root.expect_err("no name");
    other.copy("copy").expect("copied");
    // Created in the same millisecond, perhaps.
    if live.store.created_ms().expect("there") != other.store.created_ms().expect("there") {
        let to = other.path("copy");
        let refused = copy(&live.store, &live.path("data"), &to, &mut |_| true);
        let refused = refused.expect_err("another store").to_string();
        assert!(refused.contains("a copy of another data directory"), "{refused}");
    }
    let feed = live.store.copy_feed(1 << 20).expect("the only one");
    let refused = live.copy("copy").expect_err("two at a time").to_string();
    assert!(refused.contains("another copy of this store is being made"), "{refused}");
    drop(feed);
}

#[test]
fn a_copy_is_whole_whenever_the_next_one_is_interrupted() {
    let live = Live::new();
    live.put("long", 3 << 20);
    live.put("middle", 20 << 10);
    live.copy("copy").expect("copied");
    live.put("new", 40 << 10);
    let stopped = copy(&live.store, &live.path("data"), &live.path("copy"), &mut |copied| {
        copied.linked + copied.copied < 2
    });
    assert!(matches!(stopped, Err(Error::Stopped)), "{stopped:?}");
    assert!(live.path("copy.copying").join("restoring").exists());
    assert!(live.path("copy").join("format").exists());
    // As after a crash between the exchange and the removal, and within the removal.
    let next = live.copy("copy").expect("copied");
    assert_eq!(next.left_out, 0, "{next:?}");
    live.copy("other").expect("copied");
    fs::rename(live.path("other"), live.path("copy.copying")).expect("moved");
    live.copy("copy").expect("copied");
    live.copy("other").expect("copied");
    fs::rename(live.path("other"), live.path("copy.removing")).expect("moved");
    fs::remove_file(live.path("copy.removing").join("format")).expect("removed");
    live.copy("copy").expect("copied");
    fs::create_dir(live.path("copy.removing")).expect("made");
    live.copy("copy").expect("copied");
    // A link to a copy is followed.
    std::os::unix::fs::symlink(live.path("copy"), live.path("link")).expect("made");
    live.copy("link").expect("copied");
    assert!(fs::symlink_metadata(live.path("link")).expect("there").is_symlink());
    fs::remove_file(live.path("link")).expect("removed");
    // As after a crash between two renames, where names cannot be exchanged.
    fs::rename(live.path("copy"), live.path("copy.copying")).expect("moved");
    let last = live.copy("copy").expect("copied");
    assert_eq!(last.copied, 0, "what was copied once is linked: {last:?}");
    let left: Vec<_> = fs::read_dir(live.root.path()).expect("readable").collect();
    assert_eq!(left.len(), 2, "{left:?}");
    check(&live.path("copy"));
}
