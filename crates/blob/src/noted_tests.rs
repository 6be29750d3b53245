//! Blobs that are not synced when they are sealed: their contents are noted in the log meanwhile.

use std::sync::Arc;

use bytes::Bytes;
use liteio_disk::{Disk, Durability, OpenMode, SimulatedDisk};

use super::contract::{self, check_reads_back};
use super::{BlobError, BlobStore, FileBlobStore, Lengths, Seal, Sealed, file_path};

/// Bodies up to this length are noted.
const NOTED_BYTES_MAX: usize = 100_000;

fn body(length: usize) -> Vec<u8> {
    contract::body(7, length as u64)
}

/// Files only, or segments, too.
const BOTH: [Lengths; 2] = [Lengths::new(0), Lengths::new(1 << 20)];

fn open(disk: &SimulatedDisk, durability: Durability) -> FileBlobStore {
    open_with(disk, durability, Lengths::new(0))
}

fn open_with(disk: &SimulatedDisk, durability: Durability, lengths: Lengths) -> FileBlobStore {
    FileBlobStore::open(Arc::new(disk.clone()), durability, NOTED_BYTES_MAX, lengths)
        .expect("opened")
}

fn seal(store: &FileBlobStore, seed: u8, length: usize, how: Seal) -> Sealed {
    let mut writer = store.begin(store.next_id([seed; 16]), None).expect("begun");
    for piece in body(length).chunks(7_000) {
        writer.append(piece).expect("appended");
    }
    writer.seal(how).expect("sealed")
}

/// The same, written as by a commit of its record.
fn seal_and_write(store: &FileBlobStore, seed: u8, length: usize) -> Sealed {
    let sealed = seal(store, seed, length, Seal::InLog);
    store.write_with_record(&[sealed.blob.id], false).expect("written");
    sealed
}

#[test]
fn a_short_blob_is_noted_with_its_contents_if_the_caller_prefers_that() {
    // A file is made, written and linked, a frame is written, and nothing is synced.
    for (lengths, operations) in BOTH.into_iter().zip([3, 1]) {
        let disk = SimulatedDisk::new(1);
        let store = open_with(&disk, Durability::Fsync, lengths);
        // The first makes the directory.
        seal_and_write(&store, 5, 10);
        let before = disk.operations();
        let noted = seal_and_write(&store, 1, NOTED_BYTES_MAX);
        assert_eq!(disk.operations() - before, operations);
        assert!(noted.contents_to_note.is_some_and(|contents| contents.len() > NOTED_BYTES_MAX));
        assert!(store.unsynced_bytes() > 0);

        // A frame that is whole in memory waits for its record; a file, and longer frames, do not.
        let waits = lengths.body_bytes_max > 0;
        for (seed, length, how, waits) in [
            (2, NOTED_BYTES_MAX + 1, Seal::InLog, waits),
            (3, 300_000, Seal::InLog, false),
            (4, 10, Seal::Now, false),
            (5, 10, Seal::WithRecord, waits),
        ] {
            let disk = SimulatedDisk::new(1);
            let store = open_with(&disk, Durability::Fsync, lengths);
            let sealed = seal(&store, seed, length, how);
            let contents = waits.then(Bytes::new);
            assert_eq!(sealed.contents_to_note, contents, "{length} bytes, {how:?}");
            if waits {
                store.write_with_record(&[sealed.blob.id], true).expect("synced");
            }
            let after = open_with(&disk.crash(), Durability::Fsync, lengths);
            check_reads_back(&after, sealed.blob, &body(length));
        }
        let os = open_with(&SimulatedDisk::new(1), Durability::Os, lengths);
        let written = seal(&os, 1, 10, Seal::InLog).contents_to_note.expect("not synced");
        assert!(written.is_empty(), "a crash may take it with its record");
    }
}

#[test]
fn whatever_a_crash_left_of_a_noted_blob_its_contents_make_it_whole() {
    for (seed, lengths) in (0..50).flat_map(|seed| BOTH.map(|lengths| (seed, lengths))) {
        let disk = SimulatedDisk::new(seed);
        let store = open_with(&disk, Durability::Fsync, lengths);
        let length = 1 + seed as usize * 1_999;
        let Sealed { blob, contents_to_note } = seal(&store, 1, length, Seal::InLog);
        let contents = contents_to_note.expect("noted");
        for crashed in [disk.crash(), disk.kill()] {
            let store = open_with(&crashed, Durability::Fsync, lengths);
            assert!(store.recover(&blob.id, blob.bytes, &contents).expect("made"), "seed {seed}");
            check_reads_back(&store, blob, &body(length));
            // The cut at a start leaves its frame in the segment.
            store.clean_temporary().expect("cleaned");
            // Like any other it is durable after the next sync, without its note.
            store.sync().expect("synced");
            for after in [crashed.crash(), crashed.kill()] {
                let after = open_with(&after, Durability::Fsync, lengths);
                check_reads_back(&after, blob, &body(length));
                let mut found = Vec::new();
                after.scan(&mut |id| found.push(id)).expect("scanned");
                assert_eq!(found, [blob.id], "seed {seed}");
            }
        }
    }
}

#[test]
fn a_torn_frame_is_written_again_and_no_other() {
    let disk = SimulatedDisk::new(1);
    let store = open_with(&disk, Durability::Fsync, BOTH[1]);
    let before = seal_and_write(&store, 1, 30_000);
    let noted = seal_and_write(&store, 2, 50_000);
    let after = seal_and_write(&store, 3, 30_000);
    drop(store);
    let names = disk.list("blobs/segments").expect("listed");
    let path = format!("blobs/segments/{}", names[0].name);
    let contents = noted.contents_to_note.expect("noted");
    let frames =
        [before.blob, noted.blob, after.blob].map(|blob| (blob, body(blob.bytes as usize)));
    // In its first block, its last but one, and its mark. Eight blocks of another precede them.
    for place in [8 + 1, 8 + 12, 8 + 13].map(|end| end * 4096 - 3) {
        let file = disk.open(&path, OpenMode::Write).expect("there");
        file.write_at(&[0xEE; 2], place).expect("written");
        let store = open_with(&disk, Durability::Fsync, BOTH[1]);
        assert!(store.recover(&noted.blob.id, 50_000, &contents).expect("made"), "{place}");
        frames.iter().for_each(|(blob, body)| check_reads_back(&store, *blob, body));
        // Contents of another blob are refused, and change nothing.
        let foreign = store.recover(&noted.blob.id, 50_000, &contents[1..]);
        assert!(matches!(foreign, Ok(true)), "{foreign:?}");
        let foreign = store.recover(&noted.blob.id, 49_000, &contents);
        assert!(matches!(foreign, Err(BlobError::Corrupt { .. })), "{foreign:?}");
        frames.iter().for_each(|(blob, body)| check_reads_back(&store, *blob, body));
    }
}

#[test]
fn a_torn_file_is_replaced_and_one_without_contents_is_reported() {
    let disk = SimulatedDisk::new(1);
    let store = open(&disk, Durability::Fsync);
    let Sealed { blob, contents_to_note } = seal(&store, 1, 50_000, Seal::InLog);
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
