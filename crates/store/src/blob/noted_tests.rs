//! Blobs that are not synced when they are sealed: their contents are noted in the log meanwhile.

use std::sync::Arc;

use liteio_disk::{Disk, OpenMode, SimulatedDisk};

use super::contract::{self, check_reads_back};
use super::{BlobError, BlobStore, FileBlobStore, Lengths, Sealed, file_path};
use crate::Durability;

/// Bodies up to this length are noted.
const NOTED_BYTES_MAX: usize = 100_000;

fn body(length: usize) -> Vec<u8> {
    contract::body(7, length as u64)
}

fn open(disk: &SimulatedDisk, durability: Durability) -> FileBlobStore {
    FileBlobStore::open(Arc::new(disk.clone()), durability, NOTED_BYTES_MAX, Lengths::new(0))
        .expect("opened")
}

fn seal(store: &FileBlobStore, seed: u8, length: usize, prefers_note: bool) -> Sealed {
    let mut writer = store.begin(store.next_id([seed; 16]), None).expect("begun");
    for piece in body(length).chunks(7_000) {
        writer.append(piece).expect("appended");
    }
    writer.seal(prefers_note).expect("sealed")
}

#[test]
fn a_short_blob_is_noted_with_its_contents_if_the_caller_prefers_that() {
    let disk = SimulatedDisk::new(1);
    let store = open(&disk, Durability::Fsync);
    // The first makes the directory.
    seal(&store, 5, 10, true);
    let before = disk.operations();
    let noted = seal(&store, 1, NOTED_BYTES_MAX, true);
    // The file is made, written and linked, and nothing is synced.
    assert_eq!(disk.operations() - before, 3);
    assert!(noted.contents_to_note.is_some_and(|contents| contents.len() > NOTED_BYTES_MAX));
    assert!(store.unsynced_bytes() > 0);

    for (seed, length, prefers_note) in
        [(2, NOTED_BYTES_MAX + 1, true), (3, 300_000, true), (4, 10, false)]
    {
        let disk = SimulatedDisk::new(1);
        let sealed = seal(&open(&disk, Durability::Fsync), seed, length, prefers_note);
        assert!(sealed.contents_to_note.is_none(), "{length} bytes");
        check_reads_back(&open(&disk.crash(), Durability::Fsync), sealed.blob, &body(length));
    }
    let os = open(&SimulatedDisk::new(1), Durability::Os);
    let written = seal(&os, 1, 10, true).contents_to_note.expect("not synced");
    assert!(written.is_empty(), "a crash may take it with its record");
}

#[test]
fn whatever_a_crash_left_of_a_noted_blob_its_contents_make_it_whole() {
    for seed in 0..50 {
        let disk = SimulatedDisk::new(seed);
        let store = open(&disk, Durability::Fsync);
        let length = 1 + seed as usize * 1_999;
        let Sealed { blob, contents_to_note } = seal(&store, 1, length, true);
        let contents = contents_to_note.expect("noted");
        for crashed in [disk.crash(), disk.kill()] {
            let store = open(&crashed, Durability::Fsync);
            assert!(store.recover(&blob.id, blob.bytes, &contents).expect("made"), "seed {seed}");
            check_reads_back(&store, blob, &body(length));
            // Like any other it is durable after the next sync, without its note.
            store.sync().expect("synced");
            let after = open(&crashed.crash(), Durability::Fsync);
            check_reads_back(&after, blob, &body(length));
        }
    }
}

#[test]
fn a_torn_file_is_replaced_and_one_without_contents_is_reported() {
    let disk = SimulatedDisk::new(1);
    let store = open(&disk, Durability::Fsync);
    let Sealed { blob, contents_to_note } = seal(&store, 1, 50_000, true);
    let contents = contents_to_note.expect("noted");
    let path = file_path::blob_path(&blob.id);
    for (place, byte) in [(0, 1), (49_999, 1), (contents.len() as u64 - 1, 0xFF)] {
        let file = disk.open(&path, OpenMode::Write).expect("there");
        file.write_at(&[contents[place as usize] ^ byte], place).expect("written");
        assert!(!store.recover(&blob.id, blob.bytes, &[]).expect("read"), "byte {place}");
        assert!(store.recover(&blob.id, blob.bytes, &contents).expect("made"), "byte {place}");
        check_reads_back(&store, blob, &body(50_000));
    }
    store.delete(&blob.id).expect("deleted");
    assert!(!store.recover(&blob.id, blob.bytes, &[]).expect("read"));
    let foreign = store.recover(&blob.id, blob.bytes, &contents[1..]);
    assert!(matches!(foreign, Err(BlobError::Corrupt { .. })), "{foreign:?}");
}
