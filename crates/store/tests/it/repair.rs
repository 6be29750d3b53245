//! Repair: what is whole is kept, what is not is named, and no byte is thrown away.

use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use liteio_disk::{DirEntry, Disk, DiskFile, Health, OpenMode, SimulatedDisk};
use liteio_store::limits::SEGMENT_BYTES_MAX;
use liteio_store::{Selection, Store, StoreConfig, StoreError};

use crate::harness::*;

const OBJECTS: u64 = 12;

fn object(number: u64) -> String {
    format!("object {number:02}")
}

fn filled() -> (SimulatedDisk, Store) {
    filled_with(SEGMENT_BYTES_MAX)
}

fn filled_with(segment_bytes_max: u64) -> (SimulatedDisk, Store) {
    let disk = SimulatedDisk::new(1);
    let config = StoreConfig { segment_bytes_max, ..config(1) };
    let store = Store::open_on(Arc::new(disk.clone()), config).expect("opens");
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
fn a_damaged_block_of_a_run_is_given_up_and_nothing_else() {
    let with_runs = |seed| StoreConfig { log_bytes: Some(2_001), ..config(seed) };
    let disk = SimulatedDisk::new(1);
    let store = Store::open_on(Arc::new(disk.clone()), with_runs(1)).expect("opens");
    create_bucket(&store, "bucket");
    for number in 0..OBJECTS {
        put(&store, &object(number), &bytes(number, 10_000));
    }
    let runs = || {
        let names = disk.list("").expect("listed").into_iter().map(|entry| entry.name);
        names.filter(|name| name.starts_with("meta.redb.run.")).max()
    };
    // Overwritten until there is a run, whose pairs are the newest of their keys.
    while runs().is_none() {
        put(&store, &object(7), &bytes(7, 10_000));
    }
    let run = runs().expect("there");
    let disk = disk.kill();
    flip(&disk, &run, 60);

    let report =
        Store::repair_on(Arc::new(disk.clone()), with_runs(2), &mut |_| {}).expect("repairs");
    assert_eq!((report.lost_blocks, report.left.len()), (1, 0), "{report:?}");
    let report = Store::repair_on(Arc::new(disk.clone()), with_runs(2), &mut |_| {});
    assert!(report.expect("repairs").is_empty());
    let left = there(&disk);
    assert!(left.len() as u64 >= OBJECTS - 2, "only what the block had is missing: {left:?}");
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
    for segment_bytes_max in [0, SEGMENT_BYTES_MAX] {
        let (disk, store) = filled_with(segment_bytes_max);
        store.close();
        drop(store);
        // Any blob: which object it is of is told by the report.
        let directories = disk.list("blobs").expect("lists").into_iter().map(|entry| entry.name);
        let directory = match segment_bytes_max {
            0 => directories.min().expect("one"),
            _ => "segments".to_owned(),
        };
        let directory = format!("blobs/{directory}");
        let blob = &disk.list(&directory).expect("lists")[0].name;
        flip(&disk, &format!("{directory}/{blob}"), 5_000);

        let report =
            Store::repair_on(Arc::new(disk.clone()), config(2), &mut |_| {}).expect("repairs");
        assert_eq!((report.removed.len(), report.left.len(), report.set_aside), (1, 0, 1));
        let removed = report.removed[0].key.as_ref().expect("an object").as_str().to_owned();
        let number = (0..OBJECTS).find(|number| object(*number) == removed).expect("one of ours");
        assert_eq!(there(&disk), all_but(number));
        assert_eq!(disk.list("blobs/lost").expect("lists").len(), 1);
    }
}

/// A disk that fails.
#[derive(Debug)]
struct Failing {
    disk: SimulatedDisk,
    /// So many blobs are not opened, as if there were no descriptors left.
    refusals: AtomicU64,
    /// A file, and the sectors of it that cannot be read.
    unreadable: Option<(&'static str, Range<u64>)>,
    /// There is no space for the directory of lost blobs.
    is_full: bool,
}

impl Failing {
    fn new(disk: &SimulatedDisk) -> Self {
        Self { disk: disk.clone(), refusals: AtomicU64::new(0), unreadable: None, is_full: false }
    }
}

/// A file on it, with sectors that cannot be read.
#[derive(Debug)]
struct FailingFile(Box<dyn DiskFile>, Range<u64>);

impl DiskFile for FailingFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        if offset < self.1.end && offset + buf.len() as u64 > self.1.start {
            const EIO: i32 = 5;
            return Err(io::Error::from_raw_os_error(EIO));
        }
        self.0.read_at(buf, offset)
    }

    fn try_read_at(&self, _: &mut [u8], _: u64) -> io::Result<Option<usize>> {
        Ok(None)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_at(buf, offset)
    }

    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn start_writeback(&self, offset: u64, bytes: u64) {
        self.0.start_writeback(offset, bytes);
    }

    fn try_lock(&self) -> io::Result<()> {
        self.0.try_lock()
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self.0.as_any()
    }
}

impl Disk for Failing {
    fn open(&self, path: &str, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        let less = |refusals: u64| refusals.checked_sub(1);
        if path.starts_with("blobs/")
            && self.refusals.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
        {
            const TOO_MANY_OPEN_FILES: i32 = 24;
            return Err(io::Error::from_raw_os_error(TOO_MANY_OPEN_FILES));
        }
        let file = self.disk.open(path, mode)?;
        match &self.unreadable {
            Some((name, sectors)) if *name == path => {
                Ok(Box::new(FailingFile(file, sectors.clone())))
            }
            _ => Ok(file),
        }
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
        if self.is_full && path == "blobs/lost" {
            return Err(io::ErrorKind::StorageFull.into());
        }
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
    let failing = Failing { refusals: AtomicU64::new(3), ..Failing::new(&disk) };
    let report =
        Store::repair_on(Arc::new(failing), config(2), &mut |_| {}).expect("looks at all of it");
    assert_eq!(
        (report.removed.len(), report.left.len(), report.set_aside),
        (0, 3, 0),
        "{report:?}"
    );
    assert_eq!(there(&disk), (0..OBJECTS).collect::<Vec<_>>());
    let again = Store::repair_on(Arc::new(disk), config(3), &mut |_| {}).expect("repairs");
    assert!(again.is_empty(), "{again:?}");
}

#[test]
fn without_the_space_to_set_blobs_aside_they_stay_where_they_are_until_the_next_start() {
    let (disk, store) = filled();
    delete(&store, &object(3));
    store.close();
    drop(store);
    // The blob of a record that is gone, of which the marker of the orderly end knows nothing.
    disk.create_dir("blobs/ab").expect("made");
    let orphan = format!("blobs/ab/{}", "ab".repeat(16));
    disk.open(&orphan, OpenMode::CreateOrWrite).expect("made").write_at(&[1], 0).expect("written");
    let failing = Failing { is_full: true, ..Failing::new(&disk) };
    let refused = Store::repair_on(Arc::new(failing), config(2), &mut |_| {});
    assert!(matches!(refused, Err(StoreError::NoSpace)), "{refused:?}");
    disk.open(&orphan, OpenMode::Read).expect("there");
    let is_clean = disk.list("").expect("lists").iter().any(|entry| entry.name == "clean");
    assert!(!is_clean, "the next start sweeps");
    let store = Store::open_on(Arc::new(disk.clone()), config(3)).expect("opens");
    store.sweep().expect("sweeps");
    assert_eq!(disk.list("blobs/lost").expect("lists").len(), 1);
}

const LOG: &str = "meta.redb.log";

#[test]
fn sectors_behind_the_end_of_the_log_that_cannot_be_read_do_not_matter() {
    let (disk, store) = filled();
    store.close();
    drop(store);
    let disk = disk.kill();
    // Beyond the records of the round that was closed, which begins at byte 0.
    let failing = Failing { unreadable: Some((LOG, 4096..1 << 20)), ..Failing::new(&disk) };
    let store = Store::open_on(Arc::new(failing), config(2)).expect("opens");
    assert_eq!(get(&store, &object(3)), bytes(3, 10_000));
    put(&store, "another", b"new");
}

#[test]
fn a_sector_of_the_log_that_cannot_be_read_is_refused_and_repair_passes_over_it() {
    let (disk, _store) = filled();
    for unreadable in [4096..8192, 16_384..20_480] {
        let disk = disk.kill();
        let failing = || {
            Arc::new(Failing { unreadable: Some((LOG, unreadable.clone())), ..Failing::new(&disk) })
        };
        match Store::open_on(failing(), config(2)) {
            Err(StoreError::Corrupt { what }) => {
                assert!(what.contains("`liteio repair`"), "{what}")
            }
            other => panic!("{unreadable:?}: {other:?}"),
        }
        let report = Store::repair_on(failing(), config(2), &mut |_| {}).expect("repairs");
        assert_eq!(report.passed_over.len(), 1, "{unreadable:?}: {report:?}");
        assert!(there(&disk).len() >= 6, "{unreadable:?}");
    }
}
