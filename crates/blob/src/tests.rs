//! The contract on every blob store, and what only files can suffer: damage, faults and crashes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use liteio_disk::{Disk, DiskFile, Durability, Fault, OpenMode, RealDisk, SimulatedDisk};

use super::contract::{blob_store_contract, body, read_all, seal};
use super::footer::{self, BLOCK_BYTES, Footer, footer_bytes};
use super::{
    BlobError, BlobId, BlobStore, FileBlobStore, Lengths, MemoryBlobStore, Seal, SealedBlob,
    file_path,
};

const BLOCK: u64 = BLOCK_BYTES as u64;

fn open<D: Disk>(disk: &Arc<D>, durability: Durability) -> FileBlobStore {
    let disk: Arc<D> = Arc::clone(disk);
    FileBlobStore::open(disk, durability, 128 << 10, Lengths::new(0)).expect("opened")
}

fn simulated(seed: u64) -> (Arc<SimulatedDisk>, FileBlobStore) {
    let disk = Arc::new(SimulatedDisk::new(seed));
    let store = open(&disk, Durability::Fsync);
    (disk, store)
}

fn found(store: &dyn BlobStore) -> BTreeSet<BlobId> {
    let mut ids = BTreeSet::new();
    store
        .scan(&mut |id| {
            ids.insert(id);
        })
        .expect("scanned");
    ids
}

/// The contract with each durability, in new directories of the file system.
pub(super) fn contract_on_the_real_disk(open: fn(&Arc<RealDisk>, Durability) -> FileBlobStore) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let next = AtomicU64::new(0);
    for durability in [Durability::Fsync, Durability::Os] {
        blob_store_contract(&|| {
            let number = next.fetch_add(1, Ordering::Relaxed).to_string();
            let disk = RealDisk::open(&directory.path().join(number)).expect("opened");
            Arc::new(open(&Arc::new(disk), durability))
        });
    }
}

#[test]
fn memory_keeps_the_contract() {
    blob_store_contract(&|| Arc::new(MemoryBlobStore::new()));
}

#[test]
fn files_keep_the_contract_on_the_real_disk() {
    contract_on_the_real_disk(open);
}

#[test]
fn files_keep_the_contract_on_the_simulated_disk() {
    for durability in [Durability::Fsync, Durability::Os] {
        blob_store_contract(&|| Arc::new(open(&Arc::new(SimulatedDisk::new(1)), durability)));
    }
}

#[test]
fn blobs_that_are_written_together_share_a_directory_until_a_run_ends() {
    let (_disk, store) = simulated(1);
    let directories: Vec<u8> = (0..3000_u32)
        .map(|number| {
            let mut random = [0xaa; 16];
            random[..4].copy_from_slice(&number.wrapping_mul(0x9e37_79b9).to_be_bytes());
            random[4..8].copy_from_slice(&number.to_be_bytes());
            let id = store.next_id(random);
            assert_eq!(id.0[1..], random[1..], "all other bytes are as they came");
            id.0[0]
        })
        .collect();
    assert_eq!(directories[0], directories[1023]);
    assert_eq!(directories[0].wrapping_add(1), directories[1024]);
    assert_eq!(directories[0].wrapping_add(2), directories[2999]);
}

/// Every region of a file: first, middle and last block, table, and each field of the tail.
#[test]
fn damage_anywhere_in_a_file_is_found_and_never_read() {
    let (disk, store) = simulated(1);
    let body = body(1, 5 * BLOCK + 1000);
    let length = body.len() as u64;
    let file_bytes = length + footer_bytes(length, BLOCK_BYTES);
    let sealed = seal(&store, 1, &body);
    let path = file_path::blob_path(&sealed.id);
    let file = disk.open(&path, OpenMode::Write).expect("there");
    assert_eq!(file.len().expect("length"), file_bytes);

    let within_body = [0, 1, BLOCK - 1, BLOCK, 3 * BLOCK + 77, 5 * BLOCK, length - 1];
    for position in within_body.into_iter().chain(length..file_bytes) {
        for bit in [0, 7] {
            flip(&*file, position, bit);
            check_damaged(&store, sealed, position);
            if position < length {
                // The other blocks are as good as before.
                let sound = if position < 2 * BLOCK { 4 * BLOCK..length } else { 0..BLOCK };
                let reader = store.open(&sealed.id, length).expect("opened");
                let read = read_all(&*reader, sound.clone()).expect("sound");
                assert!(read == body[sound.start as usize..sound.end as usize]);
            }
            flip(&*file, position, bit);
        }
    }
    for zeroed in [0..BLOCK, length - 10..length, length..length + 4, length..file_bytes] {
        let mut kept = vec![0; (zeroed.end - zeroed.start) as usize];
        assert_eq!(file.read_at(&mut kept, zeroed.start).expect("read"), kept.len());
        file.write_at(&vec![0; kept.len()], zeroed.start).expect("zeroed");
        check_damaged(&store, sealed, zeroed.start);
        file.write_at(&kept, zeroed.start).expect("restored");
    }
    check_sound(&store, sealed, &body);

    for kept in [file_bytes - 1, file_bytes - 4, length + 1, length, length - 1, BLOCK, 1, 0] {
        file.set_len(kept).expect("cut");
        check_damaged(&store, sealed, kept);
    }
}

fn flip(file: &dyn DiskFile, position: u64, bit: u8) {
    let mut byte = [0];
    assert_eq!(file.read_at(&mut byte, position).expect("read"), 1);
    file.write_at(&[byte[0] ^ 1 << bit], position).expect("written");
}

fn check_sound(store: &dyn BlobStore, sealed: SealedBlob, body: &[u8]) {
    let reader = store.open(&sealed.id, sealed.bytes).expect("opened");
    assert!(read_all(&*reader, 0..sealed.bytes).expect("read") == body);
}

/// Checks that reading the whole blob, and the block at `position`, is refused as damage.
fn check_damaged(store: &dyn BlobStore, sealed: SealedBlob, position: u64) {
    let last = sealed.bytes - 1;
    let touched = position.min(last)..position.min(last) + 1;
    for range in [0..sealed.bytes, touched] {
        let reader = store.open(&sealed.id, sealed.bytes).expect("opened");
        let error = read_all(&*reader, range.clone()).expect_err("damaged");
        let is_damage = matches!(error, BlobError::Corrupt { id, .. } if id == sealed.id);
        assert!(is_damage, "damage at {position}, read of {range:?}: {error}");
    }
}

#[test]
fn a_file_under_the_name_of_another_is_found() {
    let (disk, store) = simulated(1);
    let sealed = seal(&store, 1, b"one body");
    let other = seal(&store, 2, b"two body");
    let path = file_path::blob_path;
    disk.rename(&path(&sealed.id), &path(&other.id)).expect("renamed");
    let reader = store.open(&other.id, other.bytes).expect("opened");
    let error = reader.read(0..other.bytes).expect_err("the bytes of another");
    assert!(error.to_string().contains("another blob"), "{error}");
}

#[test]
fn files_with_another_block_length_stay_readable() {
    let (disk, store) = simulated(1);
    for block_bytes in [4096_u32, 16_384, 262_144] {
        for length in [1, 5000, 262_144, 700_001] {
            let body = body(9, length);
            let id = BlobId([(length % 255) as u8; 16]);
            let sums = body.chunks(block_bytes as usize).map(footer::block_checksum);
            let footer = Footer { block_bytes, block_checksums: sums.collect() };
            let path = file_path::blob_path(&id);
            disk.create_dir(&file_path::directory_path(id.0[0])).expect("created");
            let _ = disk.remove(&path);
            let file = disk.open(&path, OpenMode::CreateOrWrite).expect("created");
            file.write_at(&body, 0).expect("written");
            file.write_at(&footer::encode(&id, length, &footer), length).expect("written");
            let sealed = SealedBlob { id, bytes: length };
            check_sound(&store, sealed, &body);
            flip(&*file, length - 1, 3);
            check_damaged(&store, sealed, length - 1);
        }
    }
}

#[test]
fn a_failed_sync_ends_writing_and_leaves_reading() {
    // A seal syncs the file first, then the directory.
    for syncs_before in [0, 1] {
        let (disk, store) = simulated(7);
        let kept = seal(&store, 1, b"kept");
        let id = store.next_id([2; 16]);
        let mut writer = store.begin(id, None).expect("begun");
        writer.append(b"lost").expect("appended");
        // A seal writes, syncs, links, syncs.
        disk.set_fault(disk.operations() + 1 + 2 * syncs_before, Fault::FailedSync);
        let error = writer.seal(Seal::Now).expect_err("the sync fails");
        assert!(matches!(error, BlobError::Poisoned { .. }), "{error}");
        for result in [store.begin(store.next_id([3; 16]), None).map(drop), store.delete(&kept.id)]
        {
            let error = result.expect_err("poisoned");
            assert!(matches!(error, BlobError::Poisoned { .. }), "{error}");
        }
        check_sound(&store, kept, b"kept");

        let after = open(&Arc::new(disk.crash()), Durability::Fsync);
        check_sound(&after, kept, b"kept");
    }
}

#[test]
fn a_full_disk_refuses_and_keeps_nothing() {
    let (disk, store) = simulated(3);
    let kept = seal(&store, 1, b"kept");
    let large = body(1, 3 << 20);
    let before = disk.operations();
    let _ = seal(&store, 2, &large);
    let operations = disk.operations() - before;
    let full: BTreeSet<BlobId> = found(&store);

    let mut refused = 0;
    for operation in 0..operations {
        let id = store.next_id([operation as u8 + 10; 16]);
        disk.set_fault(disk.operations() + operation, Fault::NoSpaceFrom);
        let written = store.begin(id, None).and_then(|mut writer| {
            if let Err(error) = writer.append(&large) {
                let again = writer.append(b"more").expect_err("the blob is lost");
                assert!(matches!(again, BlobError::NoSpace), "{again}");
                return writer.seal(Seal::Now).map(|it| it.blob).map_err(|_| error);
            }
            writer.seal(Seal::Now).map(|it| it.blob)
        });
        disk.clear_faults();
        if let Ok(sealed) = written {
            // Only the directory's sync was left to do.
            check_sound(&store, sealed, &large);
            store.delete(&id).expect("deleted");
            continue;
        }
        refused += 1;
        assert!(matches!(written, Err(BlobError::NoSpace)), "{written:?}");
        assert_eq!(found(&store), full, "operation {operation}");
        check_sound(&store, kept, b"kept");
    }
    assert!(refused > 3, "{refused} of {operations}");
    // And there is space again.
    seal(&store, 9, &large);
}

/// A fault, or a crash, at every single operation of a seal: what was reported as sealed is there
/// after a power cut, and whatever the scan finds is whole.
#[test]
fn whatever_happens_during_a_seal_an_acknowledged_blob_is_whole() {
    let large = body(1, (1 << 20) + 77);
    let write = |store: &FileBlobStore| -> Result<SealedBlob, BlobError> {
        let mut writer = store.begin(store.next_id([5; 16]), None)?;
        for part in large.chunks(100_000) {
            writer.append(part)?;
        }
        writer.seal(Seal::Now).map(|it| it.blob)
    };
    // The first blob of a directory makes that, too.
    let prepared = |seed: u64, is_first: bool| {
        let (disk, store) = simulated(seed);
        let kept = (!is_first).then(|| seal(&store, 1, b"kept"));
        (disk, store, kept)
    };
    let (disk, store, _) = prepared(0, true);
    let before = disk.operations();
    write(&store).expect("sealed");
    let operations = disk.operations() - before;

    let faults = [Fault::Crash, Fault::Io, Fault::NoSpace, Fault::ShortWrite, Fault::FailedSync];
    for seed in 0..20 {
        for fault in faults {
            for operation in 0..=operations {
                let (disk, store, kept) = prepared(seed, seed % 2 == 0);
                disk.set_fault(disk.operations() + operation, fault);
                let written = write(&store);
                for surviving in [disk.crash(), disk.crash(), disk.kill()] {
                    let case = format!("seed {seed}, {fault:?} at operation {operation}");
                    let after = open(&Arc::new(surviving), Durability::Fsync);
                    after.clean_temporary().expect("cleaned");
                    if let Some(kept) = kept {
                        check_sound(&after, kept, b"kept");
                    }
                    let ids = found(&after);
                    if let Ok(sealed) = &written {
                        assert!(ids.contains(&sealed.id), "{case}: the blob is lost");
                    }
                    for id in ids.into_iter().filter(|id| kept.is_none_or(|kept| *id != kept.id)) {
                        let sealed = SealedBlob { id, bytes: large.len() as u64 };
                        let read = after.open(&id, sealed.bytes);
                        let read = read.and_then(|reader| read_all(&*reader, 0..sealed.bytes));
                        assert!(read.is_ok_and(|read| read == large), "{case}: {id} is not whole");
                    }
                }
            }
        }
    }
}

#[test]
fn opening_again_finds_everything_and_skips_foreign_files() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let store = open(&disk, Durability::Fsync);
    let sealed: Vec<_> = (0..5).map(|seed| seal(&store, seed, &[seed; 1000])).collect();
    drop(store);
    disk.create_dir("blobs/zz").expect("a foreign directory");
    disk.open("blobs/00/readme", OpenMode::CreateOrWrite).expect("a foreign file");
    let store = open(&disk, Durability::Fsync);
    for (seed, sealed) in sealed.iter().enumerate() {
        check_sound(&store, *sealed, &[seed as u8; 1000]);
    }
    assert_eq!(found(&store), sealed.iter().map(|sealed| sealed.id).collect());
}

#[test]
fn a_new_store_makes_two_directories_and_a_directory_with_its_first_blob() {
    let (disk, store) = simulated(1);
    let names = |path: &str| {
        let entries = disk.list(path).expect("listed").into_iter();
        entries.map(|entry| entry.name).collect::<BTreeSet<String>>()
    };
    assert_eq!(names(""), BTreeSet::from(["blobs".to_owned(), "tmp".to_owned()]));
    assert_eq!(names("blobs"), BTreeSet::new());
    assert_eq!(found(&store), BTreeSet::new());
    let sealed = seal(&store, 0xab, b"the first");
    assert_eq!(names("blobs"), BTreeSet::from([format!("{:02x}", sealed.id.0[0])]));
    // A blob that is lost with its directory is reported, and can be deleted.
    let lost = BlobId([7; 16]);
    assert!(!store.recover(&lost, 10, &[]).expect("looked for"));
    store.delete(&lost).expect("nothing to delete");
    for durability in [Durability::Fsync, Durability::Os] {
        // Nothing that a power cut takes was part of a sealed blob.
        let after = open(&Arc::new(disk.crash()), durability);
        check_sound(&after, sealed, b"the first");
        assert_eq!(found(&after), BTreeSet::from([sealed.id]));
    }
}

/// At `os`, and for short blobs at `fsync`, the names are synced later: then the directory is, too.
#[test]
fn a_later_sync_includes_the_directory() {
    for seed in 0..30 {
        let disk = Arc::new(SimulatedDisk::new(seed));
        let store = open(&disk, Durability::Os);
        let sealed = seal(&store, 3, b"first of its directory");
        store.sync().expect("synced");
        let after = open(&Arc::new(disk.crash()), Durability::Os);
        check_sound(&after, sealed, b"first of its directory");
    }
}

#[test]
fn leftovers_of_a_former_process_are_removed() {
    let (disk, store) = simulated(1);
    disk.open("tmp/123-4", OpenMode::CreateOrWrite).expect("created");
    let sealed = seal(&store, 1, b"kept");
    store.clean_temporary().expect("cleaned");
    assert_eq!(disk.list("tmp").expect("listed"), []);
    check_sound(&store, sealed, b"kept");
}

/// Seals `count` blobs whose files wait for their sync.
fn sealed(store: &FileBlobStore, count: u32) -> Vec<BlobId> {
    let ids = (0..count).map(|number| {
        let mut id = [7; 16];
        // In some directories.
        id[0] = (number % 3) as u8;
        id[1..5].copy_from_slice(&number.to_be_bytes());
        let mut writer = store.begin_file(BlobId(id)).expect("begun");
        writer.append(&id).expect("written");
        writer.seal(Seal::Now).expect("sealed");
        BlobId(id)
    });
    ids.collect()
}

#[test]
fn many_files_are_synced_at_once_where_that_is_allowed_and_all_of_them_survive() {
    for (count, is_allowed, is_once) in
        [(1100, true, true), (1100, false, false), (50, true, false)]
    {
        for seed in 0..4 {
            let disk = Arc::new(SimulatedDisk::new(seed));
            let store = open(&disk, Durability::Os);
            if is_allowed {
                store.sync_at_once(Some(1 << 10));
            }
            let ids = sealed(&store, count);
            let before = disk.operations();
            store.sync().expect("synced");
            let syncs = disk.operations() - before;
            assert_eq!(syncs == 1, is_once, "{count} files, {syncs} syncs");
            assert!(is_once || syncs > u64::from(count), "{count} files, {syncs} syncs");
            assert_eq!(store.unsynced_bytes(), 0);
            let store = open(&Arc::new(disk.crash()), Durability::Os);
            for id in ids {
                let reader = store.open(&id, 16).expect("there");
                assert_eq!(read_all(&*reader, 0..16).expect("whole"), id.0, "seed {seed}");
            }
        }
    }
}

#[test]
fn files_whose_common_sync_failed_are_not_forgotten() {
    let disk = Arc::new(SimulatedDisk::new(1));
    let store = open(&disk, Durability::Os);
    store.sync_at_once(Some(1 << 10));
    sealed(&store, 1100);
    disk.set_fault(disk.operations(), Fault::FailedSync);
    store.sync().expect_err("fails");
    assert!(store.unsynced_bytes() > 0);
    store.sync().expect_err("a poisoned disk");
}

#[test]
fn blobs_that_are_synced_later_survive_with_the_next_sync_also_those_of_an_earlier_process() {
    for seed in 0..8 {
        let disk = Arc::new(SimulatedDisk::new(seed));
        let store = open(&disk, Durability::Fsync);
        let write = |number: u8| {
            let id = BlobId([number; 16]);
            let mut writer = store.begin_as(id).expect("begun");
            writer.append(&id.0).expect("written");
            let sealed = writer.seal(Seal::Later).expect("sealed");
            assert!(sealed.contents_to_note.is_some(), "it is not durable");
            id
        };
        let synced = write(1);
        store.sync_all().expect("synced");
        let left = write(2);
        assert!(store.unsynced_bytes() > 0);
        let disk = Arc::new(disk.kill());
        let store = open(&disk, Durability::Fsync);
        store.sync_again(&left, 16).expect("there");
        assert!(matches!(store.sync_again(&BlobId([3; 16]), 16), Err(BlobError::NotFound { .. })));
        store.sync_all().expect("synced");
        let store = open(&Arc::new(disk.crash()), Durability::Fsync);
        for id in [synced, left] {
            let reader = store.open(&id, 16).expect("there");
            assert_eq!(read_all(&*reader, 0..16).expect("whole"), id.0, "seed {seed}");
        }
    }
}
