//! Starts after kills, with files that are whole, cut, missing or foreign.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use liteio_disk::{Disk, Durability, OpenMode, SimulatedDisk};

use super::{Attachments, Kv, KvConfig, KvError, Write, config, open_directory, pairs};

/// Attachments that always have a large backlog, so that checkpoints are delayed.
#[derive(Debug)]
struct Behind;

impl Attachments for Behind {
    fn sync(&self) -> std::io::Result<()> {
        Ok(())
    }
    fn unsynced_bytes(&self) -> u64 {
        64 << 20
    }
    fn recover(&self, _: &[u8], _: &[u8]) -> std::io::Result<bool> {
        Ok(true)
    }
}

/// Attachments of which one is looked for at each start, as long as no mark covers it.
#[derive(Debug, Default)]
struct Sought {
    is_there: AtomicBool,
    asked: AtomicUsize,
}

impl Attachments for Sought {
    fn sync(&self) -> std::io::Result<()> {
        Ok(())
    }
    fn unsynced_bytes(&self) -> u64 {
        0
    }
    fn recover(&self, _: &[u8], _: &[u8]) -> std::io::Result<bool> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Ok(self.is_there.load(Ordering::Relaxed))
    }
}

#[test]
fn after_a_restart_and_a_sync_an_attachment_may_be_removed_before_the_next_kill() {
    let sought = Arc::new(Sought::default());
    sought.is_there.store(true, Ordering::Relaxed);
    let config = KvConfig {
        durability: Durability::Os,
        idle: Duration::from_secs(3_600),
        sync_interval: Duration::from_secs(3_600),
        attachments: Some(Arc::clone(&sought) as _),
        ..config()
    };
    let disk = SimulatedDisk::new(1);
    let kv = Kv::open(Arc::new(disk.clone()), "meta.redb", config.clone()).expect("opens");
    let update = kv.update::<(), KvError, _>(|write| {
        write.note(b"attachment", b"");
        write.put(b"key", b"refers to it")
    });
    update.wait().expect("put");
    let update = kv.update::<(), KvError, _>(|write| write.put(b"key", b"refers to nothing"));
    update.wait().expect("put");
    let disk = disk.kill();
    let kv = Kv::open(Arc::new(disk.clone()), "meta.redb", config.clone()).expect("opens");
    assert_eq!(sought.asked.load(Ordering::Relaxed), 1);
    assert!(kv.sync().expect("syncs"), "the mark is missing");
    sought.is_there.store(false, Ordering::Relaxed);
    let kv = Kv::open(Arc::new(disk.kill()), "meta.redb", config).expect("opens");
    let keys = pairs(&kv.snapshot().expect("snapshot"));
    assert_eq!(keys, [(b"key".to_vec(), b"refers to nothing".to_vec())]);
    assert_eq!(sought.asked.load(Ordering::Relaxed), 1);
}

#[test]
fn a_log_that_grew_while_checkpoints_were_put_off_is_replayed_whole() {
    const UPDATES: u8 = 20;
    let config = KvConfig {
        durability: Durability::Os,
        log_bytes: 8 << 20,
        idle: Duration::from_secs(3_600),
        attachments: Some(Arc::new(Behind)),
        ..config()
    };
    let disk = SimulatedDisk::new(1);
    let kv = Kv::open(Arc::new(disk.clone()), "meta.redb", config.clone()).expect("opens");
    for i in 0..UPDATES {
        let update = kv.update::<(), KvError, _>(move |write| write.put(&[i], &[i; 1 << 20]));
        update.wait().expect("put");
    }
    let after = Kv::open(Arc::new(disk.kill()), "meta.redb", config).expect("opens");
    let keys = pairs(&after.snapshot().expect("snapshot")).into_iter().map(|(key, _)| key);
    assert_eq!(keys.collect::<Vec<_>>(), (0..UPDATES).map(|i| vec![i]).collect::<Vec<_>>());
}

#[test]
fn a_log_that_was_cut_to_nothing_after_a_kill_is_refused() {
    let mut disk = SimulatedDisk::new(1);
    let config = KvConfig { idle: Duration::from_secs(3_600), ..config() };
    for i in 0..2_u8 {
        let kv = Kv::open(Arc::new(disk.clone()), "meta.redb", config.clone()).expect("opens");
        kv.update::<(), KvError, _>(move |transaction| transaction.put(&[i], b"1"))
            .wait()
            .expect("put");
        disk = disk.kill();
        let log = disk.open("meta.redb.log", OpenMode::Write).expect("there");
        let mut content = vec![0; log.len().expect("a length") as usize];
        log.read_at(&mut content, 0).expect("reads");
        log.set_len(0).expect("cut");
        match Kv::open(Arc::new(disk.clone()), "meta.redb", config.clone()) {
            Err(KvError::Corrupt(what)) => assert!(what.contains("was cut"), "{what}"),
            other => panic!("start {i}: {other:?}"),
        }
        log.write_at(&content, 0).expect("mended");
    }
    let kv = Kv::open(Arc::new(disk), "meta.redb", config).expect("opens");
    assert_eq!(pairs(&kv.snapshot().expect("snapshot")).len(), 2);
}

#[test]
fn a_file_of_the_log_that_was_removed_after_a_kill_is_refused_also_after_restarts() {
    let config = KvConfig {
        log_bytes: 2 << 10,
        drain_after_groups: Some(0),
        idle: Duration::from_secs(3_600),
        ..config()
    };
    for updates in 1..40_u8 {
        let mut disk = SimulatedDisk::new(1);
        // The second start knows of the files only what the checkpoint says. At some of the numbers the log has gone
        // on in its other file since.
        for _ in 0..2 {
            disk = disk.kill();
            let kv = Kv::open(Arc::new(disk.clone()), "meta.redb", config.clone()).expect("opens");
            for i in 0..updates {
                kv.update::<(), KvError, _>(move |transaction| transaction.put(&[i], &[i; 90]))
                    .wait()
                    .expect("put");
            }
        }
        let killed = disk.kill();
        for name in ["meta.redb.log", "meta.redb.log2"] {
            let disk = killed.kill();
            disk.remove(name).expect("there");
            let opened = Kv::open(Arc::new(disk), "meta.redb", config.clone());
            assert!(matches!(opened, Err(KvError::Corrupt(_))), "{name}, {updates} updates");
        }
    }
}

#[test]
fn foreign_files_are_refused_and_left_alone() {
    for (name, content) in [("meta.redb", &b"not a tree"[..]), ("meta.redb.log", b"not a log")] {
        let directory = tempfile::tempdir().expect("directory");
        std::fs::write(directory.path().join(name), content).expect("write");
        let error = open_directory(directory.path(), config()).expect_err("not ours");
        assert!(matches!(error, KvError::Corrupt(_) | KvError::Io(_)), "{error}");
        assert_eq!(std::fs::read(directory.path().join(name)).expect("read"), content);
    }
}
