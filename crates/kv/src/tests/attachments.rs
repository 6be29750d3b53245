//! Attachments that a commit writes and syncs before its record.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use liteio_disk::{Durability, SimulatedDisk};
use parking_lot::Mutex;

use super::{config, pairs};
use crate::{Attachments, Kv, KvConfig, KvError, Read as _, Write as _};

/// Attachments that tell what was asked of them, and that may fail.
#[derive(Debug)]
struct Told {
    disk: SimulatedDisk,
    /// The names, whether they were to be synced, and the bytes of the log at that time.
    written: Mutex<Vec<(Vec<u8>, bool, u64)>>,
    sought: AtomicBool,
    fails: AtomicBool,
}

impl Told {
    fn new(disk: &SimulatedDisk) -> Arc<Self> {
        Arc::new(Self {
            disk: disk.clone(),
            written: Mutex::default(),
            sought: AtomicBool::new(false),
            fails: AtomicBool::new(false),
        })
    }
}

impl Attachments for Told {
    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
    fn write_with_record(&self, noted: &[&[u8]], is_synced: bool) -> io::Result<()> {
        if self.fails.load(Ordering::SeqCst) {
            return Err(io::Error::other("the device fails"));
        }
        let operations = self.disk.operations();
        let noted = noted.iter().map(|name| (name.to_vec(), is_synced, operations));
        self.written.lock().extend(noted);
        Ok(())
    }
    fn unsynced_bytes(&self) -> u64 {
        0
    }
    fn recover(&self, _: &[u8], _: &[u8]) -> io::Result<bool> {
        self.sought.store(true, Ordering::SeqCst);
        Ok(false)
    }
}

fn told_config(told: &Arc<Told>, durability: Durability) -> KvConfig {
    KvConfig {
        durability,
        idle: Duration::from_secs(3_600),
        sync_interval: Duration::from_secs(3_600),
        attachments: Some(Arc::clone(told) as _),
        ..config()
    }
}

fn put(kv: &Kv, key: &'static [u8], contents: &'static [u8]) -> Result<(), KvError> {
    let update = kv.update::<(), KvError, _>(move |write| {
        write.note(key, contents);
        write.put(key, b"refers to it")
    });
    update.wait()
}

#[test]
fn an_attachment_is_written_before_its_record_and_synced_if_the_log_has_not_its_contents() {
    for durability in [Durability::Fsync, Durability::Os] {
        let disk = SimulatedDisk::new(1);
        let told = Told::new(&disk);
        let config = told_config(&told, durability);
        let kv = Kv::open(Arc::new(disk.clone()), "meta.redb", config).expect("opens");
        for (key, contents) in [(&b"a"[..], &b""[..]), (b"b", b"contents")] {
            let before = disk.operations();
            put(&kv, key, contents).expect("put");
            let (name, is_synced, operations) = told.written.lock().pop().expect("written");
            assert_eq!(name, key);
            assert_eq!(is_synced, durability == Durability::Fsync && contents.is_empty());
            assert_eq!(operations, before, "nothing of the record was written before");
        }
        assert!(told.written.lock().is_empty());
    }
}

#[test]
fn a_restart_does_not_look_for_what_was_synced_before_its_record() {
    let disk = SimulatedDisk::new(1);
    let told = Told::new(&disk);
    let config = told_config(&told, Durability::Fsync);
    let kv = Kv::open(Arc::new(disk.clone()), "meta.redb", config.clone()).expect("opens");
    put(&kv, b"a", b"").expect("put");
    put(&kv, b"b", b"").expect("put");
    assert!(!kv.sync().expect("synced"), "nothing is left to sync");
    let kv = Kv::open(Arc::new(disk.crash()), "meta.redb", config).expect("opens");
    assert!(!told.sought.load(Ordering::SeqCst));
    assert_eq!(pairs(&kv.snapshot().expect("snapshot")).len(), 2);
}

#[test]
fn an_update_whose_attachment_cannot_be_written_fails_with_nothing_in_the_log() {
    let disk = SimulatedDisk::new(1);
    let told = Told::new(&disk);
    let config = told_config(&told, Durability::Fsync);
    let kv = Kv::open(Arc::new(disk.clone()), "meta.redb", config.clone()).expect("opens");
    put(&kv, b"a", b"").expect("put");
    told.fails.store(true, Ordering::SeqCst);
    let before = disk.operations();
    assert!(matches!(put(&kv, b"b", b""), Err(KvError::Attachment(_))));
    assert_eq!(disk.operations(), before);
    told.fails.store(false, Ordering::SeqCst);
    assert!(kv.refusal().is_none());
    put(&kv, b"c", b"").expect("writing goes on");
    let kv = Kv::open(Arc::new(disk.crash()), "meta.redb", config).expect("opens");
    let snapshot = kv.snapshot().expect("snapshot");
    assert!(snapshot.get(b"b").expect("read").is_none());
    assert_eq!(pairs(&snapshot).len(), 2);
}

#[test]
fn a_transaction_that_is_rolled_back_writes_no_attachment() {
    let disk = SimulatedDisk::new(1);
    let told = Told::new(&disk);
    let config = told_config(&told, Durability::Fsync);
    let kv = Kv::open(Arc::new(disk.clone()), "meta.redb", config).expect("opens");
    let refused = kv.update::<(), KvError, _>(|write| {
        write.note(b"a", b"");
        write.put(b"a", b"refers to it")?;
        Err(KvError::Closed)
    });
    refused.wait().expect_err("refused");
    put(&kv, b"b", b"").expect("put");
    let names: Vec<_> = told.written.lock().iter().map(|(name, ..)| name.clone()).collect();
    assert_eq!(names, [b"b"]);
}
