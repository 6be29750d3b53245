//! The contract on blobs in segments, and the life of a segment.

use std::collections::BTreeSet;
use std::sync::Arc;

use liteio_disk::{Disk, DiskFile, Durability, OpenMode, SimulatedDisk};

use super::super::contract::{blob_store_contract, body, check_reads_back, read_all, seal};
use super::super::tests::contract_on_the_real_disk;
use super::super::{BlobError, BlobId, BlobStore, FileBlobStore, Seal, SealedBlob};
use super::place::{DIRECTORY, Place};
use super::{BLOCK, Lengths};

/// Longest body in a segment, as the store has it.
const SEGMENT_BYTES_MAX: u64 = 1 << 20;

const LENGTHS: Lengths = Lengths::new(SEGMENT_BYTES_MAX);

/// Short segments, so that a test fills several.
pub(super) const SHORT: Lengths =
    Lengths { body_bytes_max: 300_000, first_bytes: 512 << 10, bytes: 1 << 20 };

pub(super) fn open<D: Disk>(disk: &Arc<D>, durability: Durability) -> FileBlobStore {
    let disk: Arc<D> = Arc::clone(disk);
    FileBlobStore::open(disk, durability, 0, LENGTHS).expect("opened")
}

fn simulated(seed: u64) -> (Arc<SimulatedDisk>, FileBlobStore) {
    let disk = Arc::new(SimulatedDisk::new(seed));
    let store = open(&disk, Durability::Fsync);
    (disk, store)
}

fn with_short_segments() -> (Arc<SimulatedDisk>, FileBlobStore) {
    let disk = Arc::new(SimulatedDisk::new(1));
    let store = FileBlobStore::open(Arc::clone(&disk) as _, Durability::Fsync, 0, SHORT);
    (disk, store.expect("opened"))
}

pub(super) fn found(store: &dyn BlobStore) -> BTreeSet<BlobId> {
    let mut ids = BTreeSet::new();
    store.scan(&mut |id| _ = ids.insert(id)).expect("scanned");
    ids
}

/// The files of segments, with their lengths.
fn segments(disk: &dyn Disk) -> Vec<u64> {
    let mut names: Vec<_> = disk.list(DIRECTORY).map_or(Vec::new(), |entries| {
        entries.into_iter().map(|entry| format!("{DIRECTORY}/{}", entry.name)).collect()
    });
    names.sort();
    let length =
        |name: &String| disk.open(name, OpenMode::Read).and_then(|file| file.len()).expect("there");
    names.iter().map(length).collect()
}

fn file_of(disk: &dyn Disk, id: &BlobId) -> Box<dyn DiskFile> {
    disk.open(&Place::of(id).segment.path(), OpenMode::Write).expect("there")
}

#[test]
fn segments_keep_the_contract_on_the_simulated_disk() {
    for durability in [Durability::Fsync, Durability::Os] {
        blob_store_contract(&|| Arc::new(open(&Arc::new(SimulatedDisk::new(1)), durability)));
    }
}

#[test]
fn segments_keep_the_contract_on_the_real_disk() {
    contract_on_the_real_disk(open);
}

#[test]
fn short_bodies_share_a_file_and_long_ones_have_their_own() {
    let (disk, store) = simulated(1);
    let bodies: Vec<Vec<u8>> =
        [0, 100, 65_536, 262_144, 262_145, SEGMENT_BYTES_MAX, SEGMENT_BYTES_MAX + 1]
            .iter()
            .enumerate()
            .map(|(seed, length)| body(seed as u8, *length))
            .collect();
    let sealed: Vec<SealedBlob> =
        bodies.iter().enumerate().map(|(seed, body)| seal(&store, seed as u8, body)).collect();
    assert_eq!(segments(&*disk), [LENGTHS.first_bytes]);
    let starts: Vec<u16> = sealed[..6].iter().map(|it| Place::of(&it.id).start).collect();
    assert_eq!(starts, [0, 1, 2, 19, 84, 149], "one behind the other");
    let directories = disk.list("blobs").expect("listed").len();
    assert_eq!(directories, 2, "the segments, and the directory of one file");
    for again in [store, open(&disk, Durability::Fsync)] {
        for (sealed, body) in sealed.iter().zip(&bodies) {
            check_reads_back(&again, *sealed, body);
        }
        assert_eq!(found(&again).len(), 7);
    }
}

#[test]
fn a_body_of_another_length_than_expected_is_whole() {
    let (_disk, store) = simulated(1);
    let lengths = [10, 262_144, 262_145, 600_000, SEGMENT_BYTES_MAX, 3_000_000];
    for length in lengths {
        for expected in lengths.map(Some).into_iter().chain([None]) {
            let body = body(3, length);
            let id = store.next_id([length as u8; 16]);
            let mut writer = store.begin(id, expected).expect("begun");
            body.chunks(70_000).for_each(|part| writer.append(part).expect("appended"));
            let sealed = writer.seal(Seal::Now).expect("sealed").blob;
            check_reads_back(&store, sealed, &body);
            store.delete(&sealed.id).expect("deleted");
        }
    }
    assert_eq!(found(&store), BTreeSet::new());
}

#[test]
fn segments_follow_one_another_and_dead_ones_are_written_again() {
    let (disk, store) = with_short_segments();
    // 25 blocks each: 5 bodies in the first segment, 10 in each other.
    let body = body(1, 100_000);
    let mut sealed: Vec<SealedBlob> = (0..38).map(|seed| seal(&store, seed, &body)).collect();
    let kib: Vec<u64> = segments(&*disk).iter().map(|bytes| bytes >> 10).collect();
    assert_eq!(kib, [512, 1024, 1024, 1024, 1024]);
    let numbers: BTreeSet<u32> = sealed.iter().map(|it| Place::of(&it.id).segment.number).collect();
    assert_eq!(numbers, (0..5).collect());
    // The first is gone, two of the full length are kept, one of them was not needed yet.
    sealed.drain(..20).for_each(|it| store.delete(&it.id).expect("deleted"));
    store.settle().expect("settled");
    assert_eq!(segments(&*disk), [1 << 20; 4]);
    for (seed, old) in sealed.iter().enumerate() {
        check_reads_back(&store, *old, &body);
        store.delete(&old.id).expect("deleted");
        let new = seal(&store, seed as u8, &[seed as u8; 100_000]);
        check_reads_back(&store, new, &[seed as u8; 100_000]);
        store.settle().expect("settled");
    }
    assert!(segments(&*disk).len() <= 6, "{:?}", segments(&*disk));
    assert!(store.close().expect("closed"));
    drop(store);
    let store = open(&Arc::new(disk.crash()), Durability::Fsync);
    assert_eq!(found(&store).len(), 18);
}

#[test]
fn space_in_the_middle_is_given_back_when_no_more_dies() {
    let (disk, store) = simulated(1);
    let free = || disk.free_bytes().expect("asked");
    let before = free();
    let bodies: Vec<_> = (0..60).map(|seed| seal(&store, seed, &[seed; 100_000])).collect();
    let (kept, dead): (Vec<SealedBlob>, Vec<SealedBlob>) =
        bodies.into_iter().partition(|it| it.id.0[13] % 3 == 0);
    let full = before - free();
    dead.iter().for_each(|it| store.delete(&it.id).expect("deleted"));
    // The first call sees what has just died, the second that no more has.
    while store.settle().expect("settled") {}
    assert!(before - free() < full, "some are in a full segment");
    assert!(store.close().expect("closed"));
    let frames = kept.len() as u64 * 25 * BLOCK as u64;
    assert_eq!(before - free(), frames, "nothing but the living is left");
    drop(store);
    for disk in [disk.crash(), disk.kill()] {
        let store = open(&Arc::new(disk), Durability::Fsync);
        store.clean_temporary().expect("cleaned");
        assert_eq!(found(&store), kept.iter().map(|it| it.id).collect());
        for kept in &kept {
            let reader = store.open(&kept.id, kept.bytes).expect("opened");
            read_all(&*reader, 0..kept.bytes).expect("whole");
        }
        // Deleted by another process: counted first.
        kept.iter().for_each(|it| store.delete(&it.id).expect("deleted"));
        kept.iter().for_each(|it| store.delete(&it.id).expect("deleted again"));
        assert!(!store.settle().expect("settled"));
        assert_eq!(found(&store), BTreeSet::new());
    }
}

#[test]
fn a_pause_gives_back_what_is_kept_for_appends() {
    let (disk, store) = with_short_segments();
    let free = || disk.free_bytes().expect("asked");
    let (before, body) = (free(), body(1, 100_000));
    let sealed: Vec<SealedBlob> = (0..30).map(|seed| seal(&store, seed, &body)).collect();
    let (last, dead) = sealed.split_last().expect("30");
    dead.iter().for_each(|it| store.delete(&it.id).expect("deleted"));
    assert!(store.settle().expect("settled"), "more may be appended");
    assert!(segments(&*disk).len() > 1, "two are kept to be written again");
    while store.settle().expect("settled") {}
    assert_eq!(segments(&*disk), [1 << 20], "the active one");
    check_reads_back(&store, *last, &body);
    store.delete(&last.id).expect("deleted");
    while store.settle().expect("settled") {}
    assert_eq!((segments(&*disk), free()), (Vec::new(), before));
    // The next one is short, as the first was.
    let sealed = seal(&store, 40, &body);
    assert_eq!(segments(&*disk), [512 << 10]);
    check_reads_back(&store, sealed, &body);
}

#[test]
fn what_is_read_keeps_its_place_until_the_last_reader_ends() {
    let (_disk, store) = simulated(1);
    let body = body(1, 600_000);
    let sealed = seal(&store, 1, &body);
    let reader = store.open(&sealed.id, sealed.bytes).expect("opened");
    store.delete(&sealed.id).expect("deleted");
    let error = store.open(&sealed.id, sealed.bytes).expect_err("deleted");
    assert!(matches!(error, BlobError::NotFound { .. }), "{error}");
    assert!(store.settle().expect("settled"), "a reader keeps it");
    assert!(!store.close().expect("closed"), "and it may come back");
    assert!(read_all(&*reader, 0..sealed.bytes).expect("still there") == body);
    drop(reader);
    assert!(store.close().expect("closed"));
    let error = store.open(&sealed.id, sealed.bytes).expect_err("deleted");
    assert!(matches!(error, BlobError::NotFound { .. }), "{error}");
}

#[test]
fn a_damaged_byte_takes_one_blob_at_most() {
    let (disk, store) = simulated(1);
    let bodies: Vec<Vec<u8>> =
        [1, 300, 4_000, 70_000].iter().map(|length| body(7, *length)).collect();
    let sealed: Vec<_> =
        bodies.iter().enumerate().map(|(seed, body)| seal(&store, seed as u8, body)).collect();
    let file = file_of(&*disk, &sealed[0].id);
    let end = u64::from(Place::of(&sealed[3].id).end()) * BLOCK as u64;
    let all: BTreeSet<BlobId> = sealed.iter().map(|it| it.id).collect();
    // Every byte of the first frame and around the last mark, some of the others.
    let step = |at: u64| match at {
        _ if at < BLOCK as u64 || at + 200 > end => 1,
        _ if at < 3 * BLOCK as u64 => 37,
        _ => 997,
    };
    let mut at = 0;
    while at < end {
        let mut byte = [0];
        assert_eq!(file.read_at(&mut byte, at).expect("read"), 1);
        file.write_at(&[byte[0] ^ 0x10], at).expect("written");
        // By a process that knows nothing but the disk.
        let fresh = open(&disk, Durability::Fsync);
        let mut lost = 0;
        for (sealed, body) in sealed.iter().zip(&bodies) {
            let reader = fresh.open(&sealed.id, sealed.bytes).expect("opened");
            match read_all(&*reader, 0..sealed.bytes) {
                Ok(read) => assert!(read == *body, "other bytes at {at}"),
                Err(BlobError::Corrupt { id, .. }) if id == sealed.id => lost += 1,
                Err(error) => panic!("byte {at}: {error}"),
            }
        }
        assert!(lost <= 1, "byte {at} takes {lost} blobs");
        let listed = found(&fresh);
        assert!(listed.is_subset(&all) && listed.len() >= 3, "byte {at}: {listed:?}");
        file.write_at(&byte, at).expect("restored");
        at += step(at);
    }
}

#[test]
fn a_frame_with_a_damaged_mark_outlives_restarts_and_all_others() {
    let (disk, store) = simulated(1);
    let bodies = [70_000, 5_000, 100_000].map(|length| body(7, length));
    let sealed = bodies.each_ref().map(|body| seal(&store, 1, body));
    drop(store);
    for damaged in 0..sealed.len() {
        let disk = Arc::new(disk.kill());
        let last = u64::from(Place::of(&sealed[damaged].id).end()) * BLOCK as u64 - 1;
        let file = file_of(&*disk, &sealed[damaged].id);
        let mut byte = [0];
        assert_eq!(file.read_at(&mut byte, last).expect("read"), 1);
        file.write_at(&[!byte[0]], last).expect("damaged");
        for _ in 0..2 {
            let store = open(&disk, Durability::Fsync);
            store.clean_temporary().expect("cleaned");
            check_reads_back(&store, sealed[damaged], &bodies[damaged]);
            let others = sealed.iter().filter(|it| it.id != sealed[damaged].id);
            others.for_each(|it| store.delete(&it.id).expect("deleted"));
            while store.settle().expect("settled") {}
            check_reads_back(&store, sealed[damaged], &bodies[damaged]);
            assert!(store.close().expect("closed"));
        }
        assert_eq!(segments(&*disk).len(), 1);
    }
}

#[test]
fn a_body_cannot_pretend_to_be_a_frame() {
    let (disk, store) = simulated(1);
    let sealed = seal(&store, 1, &body(1, 50_000));
    // The bytes of a frame, uploaded: a copy of it is not at its place.
    let mut frame = vec![0; 13 * BLOCK];
    let file = file_of(&*disk, &sealed.id);
    assert_eq!(file.read_at(&mut frame, 0).expect("read"), frame.len());
    let forged = seal(&store, 2, &frame);
    let place = Place::of(&forged.id);
    // Even where its own mark is damaged.
    let last = u64::from(place.end()) * BLOCK as u64 - 1;
    file.write_at(&[0], last).expect("damaged");
    let again = open(&disk, Durability::Fsync);
    assert_eq!(found(&again), BTreeSet::from([sealed.id]));
}

#[test]
fn a_start_cuts_off_what_was_allocated_ahead() {
    let (disk, store) = simulated(1);
    let sealed: Vec<_> = (0..35).map(|seed| seal(&store, seed, &[seed; 100_000])).collect();
    assert!(store.is_room_low());
    store.make_room(1);
    assert!(!store.is_room_low());
    assert_eq!(segments(&*disk), [4 << 20, 8 << 20], "the second was made ahead");
    drop(store);
    let disk = Arc::new(disk.kill());
    let store = open(&disk, Durability::Fsync);
    store.clean_temporary().expect("cleaned");
    assert_eq!(segments(&*disk), [35 * 25 * BLOCK as u64]);
    for (seed, sealed) in sealed.iter().enumerate() {
        check_reads_back(&store, *sealed, &[seed as u8; 100_000]);
    }
    // The next process writes to a segment of its own.
    let new = seal(&store, 1, b"new");
    assert!(store.is_own(&new.id) && !store.is_own(&sealed[0].id));
    assert_eq!(segments(&*disk).len(), 2);
}

#[test]
fn without_much_space_a_body_has_a_file() {
    let (disk, store) = simulated(1);
    disk.set_capacity(16 * LENGTHS.first_bytes - 1);
    let sealed = seal(&store, 1, b"short");
    assert_eq!(segments(&*disk), [0_u64; 0]);
    check_reads_back(&store, sealed, b"short");
}

#[test]
fn a_blob_gets_a_file_of_its_own() {
    for seed in 0..20 {
        let (disk, store) = simulated(seed);
        let body = body(1, 70_000);
        let sealed = seal(&store, 1, &body);
        let kept = seal(&store, 2, b"kept");
        store.make_file(&sealed.id).expect("made");
        store.make_file(&BlobId([9; 16])).expect("nothing to do");
        let path = super::super::file_path::blob_path(&sealed.id);
        disk.open(&path, OpenMode::Read).expect("there");
        store.sync().expect("synced");
        disk.sync_dir("blobs").expect("synced");
        disk.sync_dir(path.rsplit_once('/').expect("a directory").0).expect("synced");
        assert!(store.close().expect("closed"));
        let again = open(&Arc::new(disk.crash()), Durability::Fsync);
        assert_eq!(found(&again), BTreeSet::from([sealed.id, kept.id]));
    }
}
