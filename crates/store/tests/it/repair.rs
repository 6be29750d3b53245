//! Repair: what is whole is kept, what is not is named, and no byte is thrown away.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use liteio_disk::{DirEntry, Disk, DiskFile, Health, OpenMode, SimulatedDisk};
use liteio_store::{Selection, Store, StoreError};

use crate::harness::*;

const OBJECTS: u64 = 12;

fn object(number: u64) -> String {
    format!("object {number:02}")
}

fn filled() -> (SimulatedDisk, Store) {
    let disk = SimulatedDisk::new(1);
    let store = Store::open_on(Arc::new(disk.clone()), config(1)).expect("opens");
    create_bucket(&store, "bucket");
    for number in 0..OBJECTS {
        put(&store, &object(number), &bytes(number, 10_000));
    }
    (disk, store)
}

/// The numbers of the objects that are there. Their bytes are right.
fn there(disk: &SimulatedDisk) -> Vec<u64> {
    let store = Store::open_on(Arc::new(disk.clone()), config(2)).expect("opens");
    let is_there = |number: &u64| match try_get(&store, &object(*number), Selection::Whole) {
        Ok(found) => {
            assert_eq!(found.1, bytes(*number, 10_000));
            true
        }
        Err(StoreError::NoSuchKey { .. }) => false,
        Err(error) => panic!("object {number}: {error}"),
    };
    (0..OBJECTS).filter(is_there).collect()
}

fn all_but(missing: u64) -> Vec<u64> {
    (0..OBJECTS).filter(|number| *number != missing).collect()
}

fn flip(disk: &SimulatedDisk, path: &str, at: u64) {
    let file = disk.open(path, OpenMode::Write).expect("there");
    let mut byte = [0];
    file.read_at(&mut byte, at).expect("reads");
    file.write_at(&[byte[0] ^ 1], at).expect("writes");
}

#[test]
fn a_damaged_record_of_the_log_is_given_up_and_its_blob_is_set_aside() {
    let (disk, _store) = filled();
    let disk = disk.kill();
    let log = disk.open("meta.redb.log", OpenMode::Read).expect("there");
    let mut content = vec![0; log.len().expect("a length") as usize];
    log.read_at(&mut content, 0).expect("reads");
    let name = object(7);
    let at = content.windows(name.len()).position(|window| window == name.as_bytes());
    flip(&disk, "meta.redb.log", at.expect("in the log") as u64);
    let refused = Store::open_on(Arc::new(disk.clone()), config(2));
    assert!(matches!(refused, Err(StoreError::Corrupt { .. })));

    let report = Store::repair_on(Arc::new(disk.clone()), config(2), &mut |_| {}).expect("repairs");
    assert_eq!(report.passed_over.len(), 1, "{report:?}");
    assert_eq!((report.removed.len(), report.left.len(), report.set_aside), (0, 0, 1));
    assert_eq!(there(&disk), all_but(7));
    let again = Store::repair_on(Arc::new(disk), config(3), &mut |_| {}).expect("repairs");
    assert!(again.is_empty(), "{again:?}");
}

#[test]
fn a_damaged_object_is_named_and_removed_and_its_blob_is_set_aside() {
    let (disk, store) = filled();
    store.close();
    drop(store);
    // Any blob: which object it is of is told by the report.
    let directories = disk.list("blobs").expect("lists");
    let directory = directories.iter().find(|entry| entry.name.len() == 2).expect("one");
    let directory = format!("blobs/{}", directory.name);
    let blob = &disk.list(&directory).expect("lists")[0].name;
    flip(&disk, &format!("{directory}/{blob}"), 5_000);

    let report = Store::repair_on(Arc::new(disk.clone()), config(2), &mut |_| {}).expect("repairs");
    assert_eq!((report.removed.len(), report.left.len(), report.set_aside), (1, 0, 1));
    let removed = report.removed[0].key.as_ref().expect("an object").as_str().to_owned();
    let number = (0..OBJECTS).find(|number| object(*number) == removed).expect("one of ours");
    assert_eq!(there(&disk), all_but(number));
    assert_eq!(disk.list("blobs/lost").expect("lists").len(), 1);
}

/// A disk that refuses to open the first blobs, as if there were no descriptors left.
#[derive(Debug)]
struct Refusing {
    disk: SimulatedDisk,
    refusals: AtomicU64,
}

impl Disk for Refusing {
    fn open(&self, path: &str, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        let less = |refusals: u64| refusals.checked_sub(1);
        if path.starts_with("blobs/")
            && self.refusals.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
        {
            const TOO_MANY_OPEN_FILES: i32 = 24;
            return Err(io::Error::from_raw_os_error(TOO_MANY_OPEN_FILES));
        }
        self.disk.open(path, mode)
    }

    fn create_temporary(&self) -> io::Result<Box<dyn DiskFile>> {
        self.disk.create_temporary()
    }

    fn link(&self, file: &dyn DiskFile, path: &str) -> io::Result<()> {
        self.disk.link(file, path)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn create_dir(&self, path: &str) -> io::Result<()> {
        self.disk.create_dir(path)
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        self.disk.sync_dir(path)
    }

    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>> {
        self.disk.list(path)
    }

    fn free_bytes(&self) -> io::Result<u64> {
        self.disk.free_bytes()
    }

    fn health(&self) -> &Health {
        self.disk.health()
    }
}

#[test]
fn an_object_that_only_cannot_be_read_this_time_is_left() {
    let (disk, store) = filled();
    store.close();
    drop(store);
    let refusing = Refusing { disk: disk.clone(), refusals: AtomicU64::new(3) };
    let report =
        Store::repair_on(Arc::new(refusing), config(2), &mut |_| {}).expect("looks at all of it");
    assert_eq!(
        (report.removed.len(), report.left.len(), report.set_aside),
        (0, 3, 0),
        "{report:?}"
    );
    assert_eq!(there(&disk), (0..OBJECTS).collect::<Vec<_>>());
    let again = Store::repair_on(Arc::new(disk), config(3), &mut |_| {}).expect("repairs");
    assert!(again.is_empty(), "{again:?}");
}
