//! The contract of [`BlobStore`], as tests that every implementation passes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::thread;

use super::buffer::PIECE_BYTES;
use super::footer::BLOCK_BYTES;
use super::{BlobError, BlobExtent, BlobId, BlobReader, BlobStore, ExtentReader, Seal, SealedBlob};

const BLOCK: u64 = BLOCK_BYTES as u64;
const PIECE: u64 = PIECE_BYTES as u64;

/// The promises of the contract that object storage cannot keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Promises {
    All,
    /// Not these two: a missing blob is found by the first read, since an open asks for nothing, and readers of a
    /// deleted blob do not go on, since object storage has no open files. Deletion waits for them elsewhere.
    #[cfg(feature = "cluster")]
    OfObjectStorage,
}

/// Runs the whole suite; `open` returns an empty store each time.
#[cfg(test)]
pub(super) fn blob_store_contract(open: &dyn Fn() -> Arc<dyn BlobStore>) {
    suite(open, Promises::All);
}

/// The same for a store that keeps only some promises.
pub(super) fn suite(open: &dyn Fn() -> Arc<dyn BlobStore>, promises: Promises) {
    sealed_blobs_read_back_however_they_were_appended(&*open());
    every_shape_of_range_reads_back(&*open());
    an_unsealed_blob_is_invisible(&*open(), promises);
    delete_is_idempotent_and_does_not_disturb_readers(&*open(), promises);
    a_missing_blob_is_not_found(&*open(), promises);
    another_length_is_damage(&*open());
    scan_finds_what_is_sealed(&*open());
    concurrent_seals_are_all_there(&open());
    extents_read_in_order_across_blobs(&open());
    a_missing_blob_among_extents_is_an_error(&open(), promises);
}

/// The error of opening a blob that is not there, or of its first read where only that finds it.
fn missing(store: &dyn BlobStore, id: &BlobId, bytes: u64, promises: Promises) -> BlobError {
    let opened = store.open(id, bytes);
    match promises {
        Promises::All => opened.map(drop).expect_err("not there"),
        #[cfg(feature = "cluster")]
        Promises::OfObjectStorage => {
            opened.expect("asks for nothing").read(0..bytes).map(drop).expect_err("not there")
        }
    }
}

/// `length` bytes that repeat nowhere in step with blocks or pieces.
pub(super) fn body(seed: u8, length: u64) -> Vec<u8> {
    let mut state = u32::from(seed).wrapping_mul(0x9e37_79b9) | 1;
    let next = |_| {
        // Xorshift.
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as u8
    };
    (0..length).map(next).collect()
}

/// Seals `body` under an id made from `seed`.
pub(super) fn seal(store: &dyn BlobStore, seed: u8, body: &[u8]) -> SealedBlob {
    let id = store.next_id([seed; 16]);
    let mut writer = store.begin(id, Some(body.len() as u64)).expect("begun");
    writer.append(body).expect("appended");
    let sealed = writer.seal(Seal::Now).expect("sealed").blob;
    // In a segment it is known by its place.
    assert_eq!(sealed.bytes, body.len() as u64);
    sealed
}

pub(super) fn read_all(reader: &dyn BlobReader, range: Range<u64>) -> Result<Vec<u8>, BlobError> {
    let mut read = Vec::new();
    let mut offset = range.start;
    while offset < range.end {
        let piece = reader.read(offset..range.end)?.freeze();
        assert!(!piece.is_empty(), "a piece has bytes");
        assert!(piece.len() as u64 <= range.end - offset, "a piece is within its range");
        offset += piece.len() as u64;
        read.extend_from_slice(&piece);
    }
    Ok(read)
}

pub(super) fn check_reads_back(store: &dyn BlobStore, sealed: SealedBlob, body: &[u8]) {
    let reader = store.open(&sealed.id, sealed.bytes).expect("opened");
    let read = read_all(&*reader, 0..sealed.bytes).expect("read");
    assert!(read == body, "{} bytes of {} read differently", body.len(), sealed.id);
}

fn ids(store: &dyn BlobStore) -> BTreeSet<BlobId> {
    let mut ids = BTreeSet::new();
    store.scan(&mut |id| assert!(ids.insert(id), "{id} was found twice")).expect("scanned");
    ids
}

fn sealed_blobs_read_back_however_they_were_appended(store: &dyn BlobStore) {
    let lengths = [
        0,
        1,
        BLOCK - 1,
        BLOCK,
        BLOCK + 1,
        PIECE - 1,
        PIECE,
        PIECE + 1,
        3 * PIECE + BLOCK + 7,
        (1 << 20) + 1,
        (1 << 20) + 2 * PIECE + BLOCK,
        5 << 20,
    ];
    // Appended whole, in chunks of a socket, in odd chunks, and just across the buffer.
    let chunk_lengths = [u64::MAX, 16_384, 65_521, PIECE + 1];
    for (seed, length) in lengths.into_iter().enumerate() {
        let body = body(seed as u8, length);
        for (round, chunk) in chunk_lengths.into_iter().enumerate() {
            let expected = [None, Some(length), Some(length / 2)][round % 3];
            let mut random = [round as u8; 16];
            // The first byte, or the first four, are of the store.
            (random[1], random[15]) = (seed as u8, seed as u8);
            let id = store.next_id(random);
            let mut writer = store.begin(id, expected).expect("begun");
            for part in body.chunks(usize::try_from(chunk).unwrap_or(usize::MAX)) {
                writer.append(part).expect("appended");
                writer.append(&[]).expect("nothing appended");
            }
            let sealed = writer.seal(Seal::Now).expect("sealed").blob;
            assert_eq!(sealed.bytes, length);
            check_reads_back(store, sealed, &body);
        }
    }
}

fn every_shape_of_range_reads_back(store: &dyn BlobStore) {
    for length in [1, BLOCK, PIECE + BLOCK + 100, 2 * PIECE + 3 * BLOCK] {
        let body = body(3, length);
        let sealed = seal(store, (length % 251) as u8, &body);
        let edges = [0, 1, BLOCK, PIECE, PIECE + BLOCK, 2 * PIECE, length / 2, length];
        let positions: BTreeSet<u64> = edges
            .iter()
            .flat_map(|edge| [edge.saturating_sub(1), *edge, edge + 1])
            .filter(|position| *position <= length)
            .collect();
        let shared = store.open(&sealed.id, length).expect("opened");
        for start in &positions {
            for end in positions.range(start..) {
                let expected = &body[*start as usize..*end as usize];
                // As the first read of a reader, and as a later one.
                let fresh = store.open(&sealed.id, length).expect("opened");
                for reader in [&fresh, &shared] {
                    let read = read_all(&**reader, *start..*end).expect("read");
                    assert!(read == expected, "{start}..{end} of {length}");
                }
                match fresh.try_read(*start..*end).expect("readable") {
                    Some(piece) => assert!(expected.starts_with(&piece.freeze())),
                    None => assert_ne!(start, end, "nothing is always in memory"),
                }
            }
        }
    }
}

fn an_unsealed_blob_is_invisible(store: &dyn BlobStore, promises: Promises) {
    let id = store.next_id([1; 16]);
    let mut writer = store.begin(id, None).expect("begun");
    writer.append(&body(1, 2 * PIECE)).expect("appended");
    let error = missing(store, &id, 2 * PIECE, promises);
    assert!(matches!(error, BlobError::NotFound { .. }), "{error}");
    assert_eq!(ids(store), BTreeSet::new());
    drop(writer);
    missing(store, &id, 2 * PIECE, promises);
    assert_eq!(ids(store), BTreeSet::new());
    store.clean_temporary().expect("cleaned");
}

fn delete_is_idempotent_and_does_not_disturb_readers(store: &dyn BlobStore, promises: Promises) {
    let body = body(2, 3 * PIECE);
    let sealed = seal(store, 1, &body);
    let kept = seal(store, 2, b"kept");
    let reader = store.open(&sealed.id, sealed.bytes).expect("opened");
    for _ in 0..3 {
        store.delete(&sealed.id).expect("deleted");
    }
    let error = missing(store, &sealed.id, sealed.bytes, promises);
    assert!(matches!(error, BlobError::NotFound { .. }), "{error}");
    if promises == Promises::All {
        assert!(read_all(&*reader, 0..sealed.bytes).expect("still open") == body);
    }
    check_reads_back(store, kept, b"kept");
    assert_eq!(ids(store), BTreeSet::from([kept.id]));
}

fn a_missing_blob_is_not_found(store: &dyn BlobStore, promises: Promises) {
    let id = BlobId([0xee; 16]);
    match missing(store, &id, 1, promises) {
        BlobError::NotFound { id: named } => assert_eq!(named, id),
        error => panic!("{error}"),
    }
    store.delete(&id).expect("nothing to delete");
}

/// Found at the latest by the first read.
fn another_length_is_damage(store: &dyn BlobStore) {
    let sealed = seal(store, 1, &body(1, 2 * BLOCK));
    for length in [1, BLOCK, 2 * BLOCK - 1, 2 * BLOCK + 1, 3 * BLOCK, 1 << 60, u64::MAX] {
        let read = store.open(&sealed.id, length).and_then(|reader| reader.read(0..length));
        let error = read.expect_err("another length");
        assert!(matches!(error, BlobError::Corrupt { .. }), "{length}: {error}");
    }
    // Also where nothing is at all.
    let behind = 100 * BLOCK..101 * BLOCK;
    let read = store.open(&sealed.id, behind.end).and_then(|reader| reader.read(behind));
    let error = read.expect_err("another length");
    assert!(matches!(error, BlobError::Corrupt { .. }), "{error}");
}

fn scan_finds_what_is_sealed(store: &dyn BlobStore) {
    assert_eq!(ids(store), BTreeSet::new());
    let sealed: BTreeSet<BlobId> = (0..20).map(|seed| seal(store, seed, b"body").id).collect();
    assert_eq!(sealed.len(), 20);
    assert_eq!(ids(store), sealed);
    // Deleting what is found is what the sweep does.
    store.scan(&mut |id| store.delete(&id).expect("deleted")).expect("scanned");
    assert_eq!(ids(store), BTreeSet::new());
}

fn concurrent_seals_are_all_there(store: &Arc<dyn BlobStore>) {
    const THREADS: u8 = 8;
    const ROUNDS: u8 = 20;
    let sealed: BTreeMap<BlobId, u8> = thread::scope(|scope| {
        let run = |thread: u8| {
            let store = Arc::clone(store);
            scope.spawn(move || {
                let seeds = (0..ROUNDS).map(move |round| thread * ROUNDS + round);
                seeds.map(|seed| (seal(&*store, seed, &[seed; 100]).id, seed)).collect::<Vec<_>>()
            })
        };
        let threads: Vec<_> = (0..THREADS).map(run).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(sealed.len(), usize::from(THREADS * ROUNDS));
    assert_eq!(ids(&**store), sealed.keys().copied().collect());
    for (id, seed) in sealed {
        check_reads_back(&**store, SealedBlob { id, bytes: 100 }, &[seed; 100]);
    }
}

fn extents_read_in_order_across_blobs(store: &Arc<dyn BlobStore>) {
    let bodies = [body(1, 2 * PIECE + 5), body(2, 100), body(3, PIECE)];
    let sealed: Vec<SealedBlob> =
        bodies.iter().enumerate().map(|(seed, body)| seal(&**store, seed as u8, body)).collect();
    let extent = |index: usize, range: Range<u64>| BlobExtent {
        blob: sealed[index].id,
        blob_bytes: sealed[index].bytes,
        offset: range.start,
        bytes: range.end - range.start,
    };
    let extents = [
        extent(0, 10..PIECE + 20),
        extent(0, PIECE..2 * PIECE + 5),
        extent(1, 50..50),
        extent(1, 0..100),
        extent(2, PIECE - 1..PIECE),
        extent(0, 0..1),
    ];
    let expected: Vec<u8> = [
        &bodies[0][10..PIECE_BYTES + 20],
        &bodies[0][PIECE_BYTES..],
        &bodies[1][..],
        &bodies[2][PIECE_BYTES - 1..],
        &bodies[0][..1],
    ]
    .concat();
    let ways = [(true, u64::MAX), (false, u64::MAX), (true, 10_000), (false, 10_000)];
    for (is_patient, bytes_max) in ways {
        let mut reader = ExtentReader::open(Arc::clone(store), extents.to_vec()).expect("opened");
        let mut read = Vec::new();
        loop {
            assert_eq!(reader.remaining(), (expected.len() - read.len()) as u64);
            let at_once =
                if is_patient { None } else { reader.try_next(bytes_max).expect("readable") };
            let piece = match at_once {
                Some(piece) => piece,
                None => reader.next(bytes_max).expect("read"),
            };
            let Some(piece) = piece else { break };
            assert!(!piece.is_empty() && piece.len() as u64 <= bytes_max);
            read.extend_from_slice(&piece);
        }
        assert!(read == expected, "patient: {is_patient}, {bytes_max}");
        assert_eq!((reader.remaining(), reader.next(u64::MAX).expect("the end")), (0, None));
        assert_eq!(reader.try_next(u64::MAX).expect("the end"), Some(None));
    }
    let mut nothing = ExtentReader::open(Arc::clone(store), Vec::new()).expect("opened");
    assert_eq!(nothing.next(u64::MAX).expect("the end"), None);

    for range in [0..101, 101..101, 100..101, u64::MAX - 1..u64::MAX] {
        let error = ExtentReader::open(Arc::clone(store), vec![extent(1, range)]);
        let error = error.expect_err("not within its blob");
        assert!(matches!(error, BlobError::Corrupt { .. }), "{error}");
    }
}

fn a_missing_blob_among_extents_is_an_error(store: &Arc<dyn BlobStore>, promises: Promises) {
    let sealed = seal(&**store, 1, &body(1, PIECE));
    let there =
        BlobExtent { blob: sealed.id, blob_bytes: sealed.bytes, offset: 0, bytes: sealed.bytes };
    let missing = BlobExtent { blob: BlobId([9; 16]), ..there };
    let opened = ExtentReader::open(Arc::clone(store), vec![missing, there]);
    let error = match promises {
        Promises::All => opened.map(drop),
        #[cfg(feature = "cluster")]
        Promises::OfObjectStorage => opened.and_then(|mut reader| reader.next(u64::MAX).map(drop)),
    };
    assert!(matches!(error, Err(BlobError::NotFound { .. })), "the first is opened at once");
    let mut reader = ExtentReader::open(Arc::clone(store), vec![there, missing]).expect("opened");
    while reader.remaining() > sealed.bytes {
        assert!(reader.next(u64::MAX).expect("there").is_some());
    }
    for _ in 0..2 {
        let error = reader.next(u64::MAX).expect_err("missing, however often it is asked for");
        assert!(matches!(error, BlobError::NotFound { .. }), "{error}");
    }
}
