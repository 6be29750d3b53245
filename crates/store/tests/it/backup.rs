//! Backups: what a store in use holds for them. Restores are tested in `liteio-backup`.

use liteio_store::backup::{BackupPlace, FeedError};
use liteio_store::{Store, StoreError};

use crate::harness::{bytes, config, create_bucket, on_directory, put};

const PLACE: BackupPlace =
    BackupPlace { backup: [7; 16], generation: 1, pack: 2, offset: 3, crc: 4 };

#[test]
fn what_a_backup_needs_is_deleted_once_it_is_kept() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = Store::open(on_directory(directory.path())).expect("opens");
    create_bucket(&store, "bucket");
    let body = bytes(1, 1000);
    let feed = store.backup_feed(1 << 20).expect("the only one");
    put(&store, "object", &body);
    put(&store, "object", &bytes(2, 1000));
    let report = store.reclaim().expect("reclaimed");
    assert_eq!((report.blobs, report.waiting), (0, 1), "the first one is not backed up");
    let batch = feed.take(1 << 20).expect("not behind");
    let mut read = Vec::new();
    let mut take = |piece: &[u8]| -> Result<(), StoreError> {
        read.extend_from_slice(piece);
        Ok(())
    };
    assert!(feed.read_blob(&batch.blobs[0], &mut take).expect("still there"));
    assert_eq!(read, body);
    feed.remember(vec![(batch.blobs[0], PLACE)]).expect("remembered");
    assert_eq!(feed.place(&batch.blobs[0], &PLACE.backup).expect("read"), Some(PLACE));
    assert_eq!(feed.place(&batch.blobs[0], &[8; 16]).expect("read"), None, "of another backup");
    feed.kept(&batch);
    while store.stats().blobs_deleted < 1 {
        store.reclaim().expect("reclaimed");
    }
    assert_eq!(feed.place(&batch.blobs[0], &PLACE.backup).expect("read"), None);
    let mut ignore = |_: &[u8]| -> Result<(), StoreError> { Ok(()) };
    assert!(!feed.read_blob(&batch.blobs[0], &mut ignore).expect("gone"));
    drop(feed);
    put(&store, "object", &body);
    while store.stats().blobs_deleted < 2 {
        store.reclaim().expect("reclaimed without a backup");
    }
}

#[test]
fn there_is_one_backup_at_a_time_and_none_in_memory() {
    let memory = Store::open(config(1)).expect("memory");
    assert!(matches!(memory.backup_feed(1), Err(StoreError::InvalidRequest { .. })));
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = Store::open(on_directory(directory.path())).expect("opens");
    let feed = store.backup_feed(100).expect("the only one");
    assert!(matches!(store.backup_feed(1), Err(StoreError::InvalidRequest { .. })));
    create_bucket(&store, "bucket");
    (0..20).for_each(|_| drop(put(&store, "object", b"bytes")));
    assert!(matches!(feed.take(1), Err(FeedError::Behind)));
    drop(feed);
    store.backup_feed(1).expect("the first one has ended");
}
