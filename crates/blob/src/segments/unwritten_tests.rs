//! Frames that wait for their record.

use std::collections::BTreeSet;
use std::sync::Arc;

use liteio_disk::{Durability, Fault, SimulatedDisk};

use super::super::contract::{self, body, check_reads_back};
use super::super::{BlobError, BlobStore, FileBlobStore, Seal, SealedBlob};
use super::tests::{SHORT, found, open};

fn opened(disk: &SimulatedDisk) -> FileBlobStore {
    let store = open(&Arc::new(disk.clone()), Durability::Fsync);
    // The first segment is there.
    let first = contract::seal(&store, 200, &[0; 10]);
    store.delete(&first.id).expect("deleted");
    store
}

fn seal(store: &FileBlobStore, seed: u8, length: u64) -> SealedBlob {
    let id = store.next_id([seed; 16]);
    let mut writer = store.begin_in_memory(id, length).expect("short enough");
    writer.append(&body(seed, length)).expect("appended");
    assert!(writer.seals_in_memory());
    let sealed = writer.seal(Seal::WithRecord).expect("sealed");
    assert!(sealed.contents_to_note.expect("left to its record").is_empty());
    sealed.blob
}

#[test]
fn a_record_writes_its_own_frames_and_syncs_them() {
    let disk = SimulatedDisk::new(1);
    let store = opened(&disk);
    let before = disk.operations();
    let blobs = [1, 2, 3].map(|seed| seal(&store, seed, 60_000));
    assert_eq!(disk.operations(), before, "a seal in memory leaves the disk alone");
    assert!(found(&store).is_empty());
    store.write_with_record(&[blobs[2].id, blobs[0].id], true).expect("written");
    assert_eq!(disk.operations() - before, 3, "two frames and one sync");
    assert_eq!(found(&store), BTreeSet::from([blobs[0].id, blobs[2].id]));
    // A reader that comes before the record has the last frame written.
    store.write_all().expect("written");
    check_reads_back(&store, blobs[1], &body(2, 60_000));
    let after = open(&Arc::new(disk.crash()), Durability::Fsync);
    check_reads_back(&after, blobs[0], &body(1, 60_000));
    check_reads_back(&after, blobs[2], &body(3, 60_000));
}

#[test]
fn a_frame_whose_update_never_comes_is_never_written() {
    let disk = SimulatedDisk::new(1);
    let store = opened(&disk);
    let blobs = [1, 2].map(|seed| seal(&store, seed, 60_000));
    let before = disk.operations();
    store.delete(&blobs[0].id).expect("deleted");
    store.write_all().expect("written");
    assert_eq!(disk.operations() - before, 1, "the other frame");
    assert_eq!(found(&store), BTreeSet::from([blobs[1].id]));
    store.delete(&blobs[1].id).expect("deleted");
    assert!(store.close().expect("closed"), "nothing keeps a frame");
    assert!(found(&store).is_empty());
}

#[test]
fn a_failed_write_loses_the_frames_of_its_record_and_no_others() {
    for fault in [Fault::Io, Fault::ShortWrite, Fault::NoSpace] {
        let disk = SimulatedDisk::new(1);
        let store = opened(&disk);
        let blobs = [1, 2, 3].map(|seed| seal(&store, seed, 60_000));
        disk.set_fault(disk.operations(), fault);
        store.write_with_record(&[blobs[0].id], true).expect_err("the device fails");
        disk.set_fault(disk.operations(), fault);
        store.write_all().expect_err("the device fails");
        // Their records come later.
        store.write_with_record(&[blobs[1].id, blobs[2].id], true).expect("written");
        store.delete(&blobs[0].id).expect("deleted, as of a failed update");
        assert_eq!(found(&store), BTreeSet::from([blobs[1].id, blobs[2].id]), "{fault:?}");
        let after = open(&Arc::new(disk.crash()), Durability::Fsync);
        check_reads_back(&after, blobs[1], &body(2, 60_000));
        check_reads_back(&after, blobs[2], &body(3, 60_000));
    }
}

#[test]
fn a_record_that_loses_one_frame_leaves_none() {
    for fault in [Fault::Io, Fault::ShortWrite, Fault::NoSpace] {
        let disk = SimulatedDisk::new(1);
        let store = opened(&disk);
        let blobs = [1, 2, 3].map(|seed| seal(&store, seed, 60_000));
        disk.set_fault(disk.operations() + 1, fault);
        store.write_with_record(&blobs.map(|blob| blob.id), true).expect_err("the device fails");
        assert!(found(&store).is_empty(), "{fault:?}");
    }
}

#[test]
fn a_failed_sync_stops_writing() {
    let disk = SimulatedDisk::new(1);
    let store = opened(&disk);
    let blob = seal(&store, 1, 60_000);
    disk.set_fault(disk.operations() + 1, Fault::FailedSync);
    store.write_with_record(&[blob.id], true).expect_err("the sync fails");
    let other = store.begin_in_memory(store.next_id([2; 16]), 10).expect("in memory");
    let sealed = other.seal(Seal::Now).map(drop);
    assert!(matches!(sealed, Err(BlobError::Poisoned { .. })), "{sealed:?}");
}

#[test]
fn few_frames_wait_and_room_is_not_made_by_the_one_who_must_not_wait() {
    let disk = SimulatedDisk::new(1);
    let store = FileBlobStore::open(Arc::new(disk.clone()), Durability::Fsync, 0, SHORT);
    let store = store.expect("opened");
    let mut writer = store.begin_in_memory(store.next_id([1; 16]), 20_000).expect("short enough");
    writer.append(&body(1, 20_000)).expect("appended");
    assert!(!writer.seals_in_memory(), "there is no segment yet");
    let first = writer.seal(Seal::WithRecord).expect("sealed, after some waiting").blob;
    store.write_with_record(&[first.id], true).expect("written");
    let mut blobs = Vec::new();
    loop {
        let id = store.next_id([9; 16]);
        let mut writer = store.begin_in_memory(id, 100).expect("short enough");
        writer.append(&body(blobs.len() as u8, 100)).expect("appended");
        if !writer.seals_in_memory() {
            break;
        }
        blobs.push(writer.seal(Seal::WithRecord).expect("sealed").blob);
    }
    assert_eq!(blobs.len(), super::unwritten::WAITING_MAX);
    let ids: Vec<_> = blobs.iter().map(|blob| blob.id).collect();
    store.write_with_record(&ids, true).expect("written");
    for (seed, blob) in blobs.iter().enumerate() {
        check_reads_back(&store, *blob, &body(seed as u8, 100));
    }
}
