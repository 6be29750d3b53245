//! A power cut, a kill and a fault at every operation of the life of segments.

use std::collections::BTreeMap;
use std::sync::Arc;

use liteio_disk::{Disk as _, Durability, Fault, OpenMode, SimulatedDisk};

use super::super::contract::{body, read_all};
use super::super::{BlobError, BlobId, BlobStore, FileBlobStore, Seal, SealedBlob};
use super::tests::{SHORT, found, open};

const FAULTS: [Fault; 6] = [
    Fault::Crash,
    Fault::Io,
    Fault::NoSpace,
    Fault::ShortWrite,
    Fault::FailedSync,
    Fault::NoSpaceFrom,
];

/// The acknowledged blobs.
#[derive(Debug, Default)]
struct Known {
    sealed: BTreeMap<BlobId, (SealedBlob, u8, u64)>,
    /// Deleted, or being deleted: may be there or not.
    deleted: Vec<BlobId>,
}

/// Lengths that fill the first segment, need several pieces, or a file.
const LENGTHS: [u64; 4] = [1, 300_000, 70_000, 310_000];

fn open_short(disk: &SimulatedDisk) -> Result<FileBlobStore, BlobError> {
    FileBlobStore::open(Arc::new(disk.clone()), Durability::Fsync, 0, SHORT)
}

/// Seals and deletes until something fails.
fn work(
    store: &FileBlobStore,
    known: &mut Known,
    rounds: std::ops::Range<u8>,
) -> Result<(), BlobError> {
    for round in rounds {
        for (index, length) in LENGTHS.into_iter().enumerate() {
            let seed = round * 16 + index as u8;
            let mut writer = store.begin(store.next_id([seed; 16]), Some(length))?;
            for part in body(seed, length).chunks(100_000) {
                writer.append(part)?;
            }
            let sealed = writer.seal(Seal::Now)?.blob;
            known.sealed.insert(sealed.id, (sealed, seed, length));
        }
        // All of the first half, and some later ones.
        let dying: Vec<BlobId> =
            known.sealed.keys().copied().take(2 + usize::from(round % 2)).collect();
        for id in dying {
            known.sealed.remove(&id);
            known.deleted.push(id);
            store.delete(&id)?;
        }
        store.settle()?;
        store.settle()?;
    }
    store.close().map(drop)
}

fn check(disk: SimulatedDisk, known: &Known, case: &str) {
    let store = open_short(&disk).expect("opened");
    store.clean_temporary().unwrap_or_else(|error| panic!("{case}: {error}"));
    let listed = found(&store);
    for (id, (sealed, seed, length)) in &known.sealed {
        assert!(listed.contains(id), "{case}: {id} is lost");
        let reader = store.open(id, sealed.bytes).expect("opened");
        let read = read_all(&*reader, 0..sealed.bytes);
        let read = read.unwrap_or_else(|error| panic!("{case}: {error}"));
        assert!(read == body(*seed, *length), "{case}: {id} reads other bytes");
    }
    // It goes on, and what is deleted is gone.
    let mut after = Known::default();
    work(&store, &mut after, 9..10).unwrap_or_else(|error| panic!("{case}: {error}"));
    for id in after.sealed.keys() {
        assert!(!listed.contains(id), "{case}: {id} was used before");
    }
    let listed = found(&store);
    assert!(known.sealed.keys().chain(after.sealed.keys()).all(|id| listed.contains(id)), "{case}");
    assert!(!after.deleted.iter().any(|id| listed.contains(id)), "{case}");
}

#[test]
fn whatever_happens_at_any_operation_what_was_sealed_is_whole() {
    let disk = SimulatedDisk::new(0);
    let mut known = Known::default();
    let store = open_short(&disk).expect("opened");
    work(&store, &mut known, 0..3).expect("no fault");
    drop(store);
    let operations = disk.operations();
    check(disk.crash(), &known, "no fault");

    for operation in 0..operations {
        let fault = FAULTS[(operation % FAULTS.len() as u64) as usize];
        for fault in [Fault::Crash, fault] {
            let case = format!("{fault:?} at operation {operation} of {operations}");
            let disk = SimulatedDisk::new(operation);
            let mut known = Known::default();
            disk.set_fault(operation, fault);
            if let Ok(store) = &open_short(&disk) {
                let _ = work(store, &mut known, 0..3);
                // Reads go on.
                if fault != Fault::Crash {
                    for (id, (sealed, seed, length)) in &known.sealed {
                        let read = store.open(id, sealed.bytes);
                        let read = read.and_then(|reader| read_all(&*reader, 0..sealed.bytes));
                        assert!(read.is_ok_and(|read| read == body(*seed, *length)), "{case}");
                    }
                }
            }
            let cut = disk.crash();
            check(cut, &known, &case);
            if operation % 3 == 0 {
                check(disk.kill(), &known, &case);
            }
        }
    }
}

#[test]
fn at_os_a_power_cut_takes_what_is_not_synced_and_a_kill_nothing() {
    for seed in 0..30 {
        let disk = SimulatedDisk::new(seed);
        let store = open(&Arc::new(disk.clone()), Durability::Os);
        let seal = |seed: u8, length: u64| {
            let mut writer = store.begin(store.next_id([seed; 16]), Some(length)).expect("begun");
            writer.append(&body(seed, length)).expect("appended");
            let sealed = writer.seal(Seal::InLog).expect("sealed");
            assert!(sealed.contents_to_note.is_some_and(|contents| contents.is_empty()));
            store.write_with_record(&[sealed.blob.id], false).expect("written");
            sealed.blob
        };
        let synced = [seal(1, 100), seal(2, 300_000)];
        assert!(store.unsynced_bytes() > 300_000);
        store.sync().expect("synced");
        assert_eq!(store.unsynced_bytes(), 0);
        let late = seal(3, 200_000);
        let recover = |disk: SimulatedDisk, sealed: &SealedBlob| {
            let store = open(&Arc::new(disk), Durability::Os);
            let is_whole = store.recover(&sealed.id, sealed.bytes, &[]).expect("read");
            assert_eq!(store.unsynced_bytes() > 0, is_whole);
            is_whole
        };
        for sealed in &synced {
            assert!(recover(disk.crash(), sealed), "seed {seed}");
        }
        // Whole or not, but never anything else.
        recover(disk.crash(), &late);
        assert!(recover(disk.kill(), &late), "seed {seed}");
    }
}

#[test]
fn a_blob_that_a_power_cut_has_left_without_its_mark_keeps_its_place() {
    let disk = SimulatedDisk::new(1);
    let store = open(&Arc::new(disk.clone()), Durability::Os);
    let mut writer = store.begin(store.next_id([1; 16]), None).expect("begun");
    writer.append(&body(1, 100)).expect("appended");
    let sealed = writer.seal(Seal::InLog).expect("sealed").blob;
    store.write_with_record(&[sealed.id], false).expect("written");
    let path = super::place::Place::of(&sealed.id).segment.path();
    let file = disk.open(&path, OpenMode::Write).expect("there");
    file.write_at(&[0; 32], 4096 - 32).expect("lost");
    drop(store);
    let store = open(&Arc::new(disk.clone()), Durability::Os);
    assert_eq!(found(&store).len(), 0);
    assert!(store.recover(&sealed.id, sealed.bytes, &[]).expect("read"));
    store.clean_temporary().expect("cleaned");
    store.sync().expect("synced");
    let store = open(&Arc::new(disk.crash()), Durability::Os);
    assert!(found(&store).contains(&sealed.id));
    let reader = store.open(&sealed.id, sealed.bytes).expect("opened");
    assert!(read_all(&*reader, 0..sealed.bytes).expect("whole") == body(1, 100));
}
