//! Remote blobs over a bucket in memory, which fails in every way that a service and a network can.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use liteio_disk::SimulatedDisk;
use object_store::path::Path;
use object_store::{ObjectStoreExt as _, PutPayload};

use super::blocks::{self, BLOCK, BLOCK_BODY, CHUNK_BODY};
use super::call::{Patience, wait};
use super::faulty::{Call, Fault, Faulty};
use super::writer::PART;
use super::{CacheSpace, RemoteBlobStore};
use crate::contract::{Promises, body, check_reads_back, read_all, seal, suite};
use crate::identity::{ClusterId, IDENTITY};
use crate::shared_store::SharedBlobStore;
use crate::{BlobError, BlobId, BlobStore, Seal, SealedBlob};

/// For calls that succeed in the end, however slow the machine is.
const PATIENT: Patience = Patience {
    total: Duration::from_secs(600),
    attempt: Duration::from_secs(300),
    stall: Duration::from_secs(300),
    pause: Duration::from_millis(1),
    pause_max: Duration::from_millis(4),
};
/// The same, where the service is silent at times.
const WATCHFUL: Patience =
    Patience { attempt: Duration::from_millis(100), stall: Duration::from_millis(100), ..PATIENT };
/// For calls that fail in the end.
const HASTY: Patience = Patience { total: Duration::from_millis(60), ..WATCHFUL };

const PART_BODY: u64 = (PART / BLOCK * BLOCK_BODY) as u64;

fn of_run(bucket: &Arc<Faulty>, run: u32, patience: Patience) -> RemoteBlobStore {
    let bucket: Arc<Faulty> = Arc::clone(bucket);
    let shown = "s3://bucket/prefix".to_owned();
    RemoteBlobStore::over(bucket, shown, "prefix".to_owned(), run, patience).expect("opened")
}

fn open(patience: Patience) -> (Arc<Faulty>, RemoteBlobStore) {
    let bucket = Arc::new(Faulty::default());
    let store = of_run(&bucket, 7, patience);
    (bucket, store)
}

fn with_cache(store: RemoteBlobStore, disk: &Arc<SimulatedDisk>) -> RemoteBlobStore {
    let disk: Arc<SimulatedDisk> = Arc::clone(disk);
    let space = CacheSpace { disk, bytes_max: 1 << 30 };
    store.with_cache(space, &ClusterId([1; 16])).expect("opened")
}

fn found(store: &dyn BlobStore) -> BTreeSet<BlobId> {
    let mut ids = BTreeSet::new();
    store.scan(&mut |id| assert!(ids.insert(id))).expect("scanned");
    ids
}

fn of(store: &RemoteBlobStore, run: u32) -> BTreeSet<BlobId> {
    let mut ids = BTreeSet::new();
    store.scan_run(run, &mut |id| assert!(ids.insert(id))).expect("scanned");
    ids
}

fn read(store: &dyn BlobStore, sealed: SealedBlob) -> Result<Vec<u8>, BlobError> {
    let reader = store.open(&sealed.id, sealed.bytes)?;
    read_all(&*reader, 0..sealed.bytes)
}

fn write(store: &dyn BlobStore, seed: u8, body: &[u8]) -> Result<SealedBlob, BlobError> {
    let mut writer = store.begin(store.next_id([seed; 16]), None)?;
    writer.append(body)?;
    writer.seal(Seal::Now).map(|sealed| sealed.blob)
}

#[test]
fn object_storage_keeps_the_contract() {
    suite(&|| Arc::new(open(PATIENT).1), Promises::OfObjectStorage);
}

#[test]
fn object_storage_with_a_cache_keeps_the_contract() {
    let new = || with_cache(open(PATIENT).1, &Arc::new(SimulatedDisk::new(1)));
    suite(&|| Arc::new(new()), Promises::OfObjectStorage);
}

#[test]
fn any_range_is_one_get_of_its_blocks() {
    let (bucket, store) = open(PATIENT);
    let length = 40 * BLOCK_BODY as u64 + 17;
    let body = body(1, length);
    let sealed = seal(&store, 1, &body);
    let block = BLOCK_BODY as u64;
    for range in [
        0..1,
        0..length,
        block - 1..block + 1,
        7 * block..9 * block,
        length - 1..length,
        5..length - 5,
    ] {
        bucket.forget();
        let reader = store.open(&sealed.id, length).expect("opened");
        assert_eq!(bucket.count(Call::Get), 0, "an open asks for nothing");
        let read = read_all(&*reader, range.clone()).expect("read");
        assert!(read == body[range.start as usize..range.end as usize]);
        let blocks = range.start / block..range.end.div_ceil(block);
        assert_eq!(bucket.ranges(), [Some(blocks::object_range(length, &blocks))], "{range:?}");
    }
}

#[test]
fn reads_that_follow_each_other_fetch_more_and_more_ahead() {
    let (bucket, store) = open(PATIENT);
    let length = 20 << 20;
    let body = body(1, length);
    let sealed = seal(&store, 1, &body);
    bucket.forget();
    let reader = store.open(&sealed.id, length).expect("opened");
    let mut read = Vec::new();
    while (read.len() as u64) < length {
        let at = read.len() as u64;
        let piece = reader.read(at..length.min(at + 16_000)).expect("read");
        read.extend_from_slice(&piece.freeze());
    }
    assert!(read == body);
    // The first block, 0.5, 1, 2, 4, 4, 4 and 4 MiB, and what blocks add.
    assert!(bucket.count(Call::Get) <= 10, "{:?}", bucket.ranges());
    // A reader that jumps fetches only what it is asked for.
    bucket.forget();
    let reader = store.open(&sealed.id, length).expect("opened");
    for at in [10_u64 << 20, 3 << 20, 15 << 20] {
        reader.read(at..at + 10).expect("read");
    }
    let bytes: u64 = bucket.ranges().iter().flatten().map(|range| range.end - range.start).sum();
    assert_eq!((bucket.count(Call::Get), bytes), (3, 3 * BLOCK as u64));
}

#[test]
fn chunks_that_came_ahead_are_read_without_waiting() {
    let (_bucket, store) = open(PATIENT);
    let length = 3 * CHUNK_BODY;
    let body = body(1, length);
    let sealed = seal(&store, 1, &body);
    let reader = store.open(&sealed.id, length).expect("opened");
    assert!(reader.try_read(0..length).expect("readable").is_none());
    let mut read = reader.read(0..length).expect("read").freeze().to_vec();
    while (read.len() as u64) < length {
        match reader.try_read(read.len() as u64..length).expect("readable") {
            Some(piece) => read.extend_from_slice(&piece.freeze()),
            // It is on its way.
            None => std::thread::yield_now(),
        }
    }
    assert!(read == body);
}

#[test]
fn readers_share_a_bounded_room_and_give_it_back() {
    let (_bucket, store) = open(PATIENT);
    let length = 40 * CHUNK_BODY;
    let sealed = seal(&store, 1, &body(1, length));
    let left = store.shared.ahead.left();
    let readers: Vec<_> = (0..50)
        .map(|_| {
            let reader = store.open(&sealed.id, length).expect("opened");
            reader.read(0..length).expect("read");
            reader
        })
        .collect();
    assert!(store.shared.ahead.left() < left);
    drop(readers);
    assert_eq!(store.shared.ahead.left(), left);
}

#[test]
fn threads_read_different_places_of_one_reader() {
    let (_bucket, store) = open(PATIENT);
    let length = 8 * CHUNK_BODY;
    let body = body(1, length);
    let sealed = seal(&store, 1, &body);
    let reader = store.open(&sealed.id, length).expect("opened");
    std::thread::scope(|scope| {
        for part in 0..4 {
            let (reader, body) = (&reader, &body);
            let range = part * 2 * CHUNK_BODY..(part + 1) * 2 * CHUNK_BODY - 1;
            scope.spawn(move || {
                let read = read_all(&**reader, range.clone()).expect("read");
                assert!(read == body[range.start as usize..range.end as usize]);
            });
        }
    });
}

#[test]
fn a_body_of_one_part_is_one_put_and_a_longer_one_is_sent_in_parts_two_at_a_time() {
    let (bucket, store) = open(PATIENT);
    for (length, parts) in [(PART_BODY, 0), (PART_BODY + 1, 2), (5 * PART_BODY + 3, 6)] {
        bucket.forget();
        let body = body(3, length);
        let sealed = seal(&store, (length % 251) as u8, &body);
        let counts =
            [Call::Put, Call::Create, Call::Part, Call::Complete].map(|it| bucket.count(it));
        let is_upload = usize::from(parts > 0);
        assert_eq!(counts, [1 - is_upload, is_upload, parts, is_upload], "{length}");
        check_reads_back(&store, sealed, &body);
    }
    assert_eq!(bucket.open_uploads(), 0);
    assert!(bucket.parts_in_flight_max() <= 2);
}

#[test]
fn a_dropped_writer_leaves_nothing() {
    let (bucket, store) = open(PATIENT);
    bucket.fail(Call::Abort, &[Fault::Refused, Fault::AnswerLost]);
    for length in [1, PART_BODY, 4 * PART_BODY] {
        let id = store.next_id([length as u8; 16]);
        let mut writer = store.begin(id, None).expect("begun");
        writer.append(&body(1, length)).expect("appended");
        drop(writer);
        assert!(matches!(
            read(&store, SealedBlob { id, bytes: length }),
            Err(BlobError::NotFound { .. })
        ));
    }
    store.close().expect("closed");
    assert_eq!(bucket.open_uploads(), 0);
    assert_eq!(found(&store), BTreeSet::new());
}

#[test]
fn a_write_survives_refusals_and_lost_answers() {
    use Call::{Complete, Create, Part, Put};
    use Fault::{AnswerLost, Refused};
    let short = body(1, 1000);
    let long = body(2, 3 * PART_BODY);
    let rows: [(Call, &[Fault], &[u8]); 9] = [
        (Put, &[Refused, Refused], &short),
        (Put, &[AnswerLost], &short),
        (Put, &[AnswerLost, Refused, AnswerLost], &short),
        (Create, &[Refused], &long),
        (Part, &[Refused, AnswerLost, Refused], &long),
        (Part, &[AnswerLost, AnswerLost, AnswerLost], &long),
        (Complete, &[Refused], &long),
        (Complete, &[AnswerLost], &long),
        (Complete, &[AnswerLost, Refused], &long),
    ];
    for (number, (call, faults, body)) in rows.into_iter().enumerate() {
        let (bucket, store) = open(PATIENT);
        bucket.fail(call, faults);
        let sealed = write(&store, number as u8, body).expect("written in the end");
        check_reads_back(&store, sealed, body);
        assert_eq!(found(&store), BTreeSet::from([sealed.id]), "{call:?} {faults:?}");
        assert_eq!(bucket.open_uploads(), 0, "{call:?} {faults:?}");
    }
}

#[test]
fn a_write_survives_silence() {
    let (bucket, store) = open(WATCHFUL);
    bucket.fail(Call::Put, &[Fault::Silent]);
    let sealed = write(&store, 1, b"body").expect("written in the end");
    check_reads_back(&store, sealed, b"body");
}

#[test]
fn a_write_that_fails_in_the_end_says_what_to_do_and_leaves_nothing() {
    let long = body(2, 3 * PART_BODY);
    let rows: [(Call, Fault, &[u8], &str); 8] = [
        (Call::Put, Fault::Refused, b"body", "repeat the request later"),
        (Call::Put, Fault::Silent, b"body", "did not answer"),
        // It is there, and deleted in the background.
        (Call::Put, Fault::AnswerLost, b"body", "did not answer"),
        (Call::Put, Fault::Denied, b"body", "credentials"),
        (Call::Create, Fault::Denied, &long, "credentials"),
        (Call::Part, Fault::Refused, &long, "repeat the request later"),
        (Call::Part, Fault::Denied, &long, "credentials"),
        (Call::Complete, Fault::Refused, &long, "repeat the request later"),
    ];
    for (call, fault, body, expected) in rows {
        let (bucket, store) = open(HASTY);
        bucket.fail_always(call, Some(fault.clone()));
        let error = write(&store, 1, body).expect_err("fails in the end");
        let BlobError::Unavailable { reason } = &error else {
            panic!("{call:?} {fault:?}: {error}")
        };
        assert!(
            reason.contains(expected) && reason.contains("s3://bucket/prefix"),
            "{call:?}: {reason}"
        );
        assert!(!reason.contains('\n'), "{reason}");
        bucket.fail_always(call, None);
        store.close().expect("closed");
        assert_eq!(found(&store), BTreeSet::new(), "{call:?} {fault:?}");
        assert_eq!(bucket.open_uploads(), 0, "{call:?} {fault:?}");
    }
    // A refusal of the credentials is not repeated.
    let (bucket, store) = open(PATIENT);
    bucket.fail_always(Call::Put, Some(Fault::Denied));
    write(&store, 1, b"body").expect_err("denied");
    assert_eq!(bucket.count(Call::Put), 1);
}

#[test]
fn an_error_of_an_append_is_repeated_by_the_seal() {
    let (bucket, store) = open(HASTY);
    bucket.fail_always(Call::Create, Some(Fault::Refused));
    let mut writer = store.begin(store.next_id([1; 16]), None).expect("begun");
    writer.append(&body(1, 2 * PART_BODY)).expect_err("refused");
    writer.append(b"more").expect_err("still");
    writer.seal(Seal::Now).expect_err("still");
    assert_eq!(found(&store), BTreeSet::new());
}

#[test]
fn answers_that_are_cut_stall_or_are_refused_are_asked_for_again() {
    let length = 9 * CHUNK_BODY + 5;
    let body = body(1, length);
    let (bucket, store) = open(WATCHFUL);
    let sealed = seal(&store, 1, &body);
    let rows: [&[Fault]; 7] = [
        &[Fault::Refused, Fault::AnswerLost],
        &[Fault::Silent],
        &[Fault::Cut(0), Fault::Cut(1)],
        &[Fault::Cut(300_000), Fault::Cut(BLOCK), Fault::Cut(4 * BLOCK), Fault::Cut(4 * BLOCK - 1)],
        &[Fault::Stalls(0)],
        &[Fault::Stalls(300_000)],
        &[Fault::Flipped(70_000)],
    ];
    for faults in rows {
        bucket.fail(Call::Get, faults);
        assert!(read(&store, sealed).expect("read in the end") == body, "{faults:?}");
    }
    // With each answer a little more.
    bucket.fail_always(Call::Get, Some(Fault::Cut(300_000)));
    assert!(read(&store, sealed).expect("read in the end") == body);
}

#[test]
fn a_read_that_fails_in_the_end_says_what_to_do() {
    let (bucket, store) = open(HASTY);
    let sealed = seal(&store, 1, &body(1, 3 * CHUNK_BODY));
    for (fault, expected) in [
        (Fault::Refused, "repeat the request later"),
        (Fault::Silent, "did not answer"),
        (Fault::Cut(1000), "cut"),
        (Fault::Stalls(1000), "no byte"),
        (Fault::Denied, "credentials"),
    ] {
        bucket.fail_always(Call::Get, Some(fault.clone()));
        let reader = store.open(&sealed.id, sealed.bytes).expect("opened");
        let error = reader.read(0..sealed.bytes).expect_err("fails in the end");
        assert!(
            matches!(&error, BlobError::Unavailable { reason } if reason.contains(expected)),
            "{fault:?}: {error}"
        );
        // The same reader goes on once the service does.
        bucket.fail_always(Call::Get, None);
        reader.read(0..sealed.bytes).expect("read");
    }
}

#[test]
fn a_flipped_bit_in_any_block_is_damage_and_no_other_byte_is_returned() {
    let (bucket, store) = open(PATIENT);
    let length = 9 * BLOCK_BODY as u64 + 100;
    let body = body(1, length);
    let sealed = seal(&store, 1, &body);
    let object_bytes = blocks::object_bytes(length);
    let places = (0..10).map(|block| block * BLOCK as u64 + 50);
    let checksums = (1..10).map(|block| block * BLOCK as u64 - 2).chain([object_bytes - 1]);
    for place in places.chain(checksums) {
        bucket.fail_always(Call::Get, Some(Fault::Flipped(place)));
        let reader = store.open(&sealed.id, length).expect("opened");
        let mut read = Vec::new();
        let error = loop {
            match reader.read(read.len() as u64..length) {
                Ok(piece) => read.extend_from_slice(&piece.freeze()),
                Err(error) => break error,
            }
        };
        assert!(
            matches!(error, BlobError::Corrupt { id, .. } if id == sealed.id),
            "{place}: {error}"
        );
        assert!(body.starts_with(&read), "{place}");
        let damaged = place / BLOCK as u64 * BLOCK_BODY as u64;
        assert!(read.len() as u64 <= damaged, "{place}");
        // The blocks around it are as good as before.
        let behind = damaged + BLOCK_BODY as u64;
        if behind < length {
            let read = read_all(&*reader, behind..length).expect("sound");
            assert!(read == body[behind as usize..]);
        }
    }
}

#[test]
fn the_object_of_another_blob_is_damage() {
    let (bucket, store) = open(PATIENT);
    let (one, other) = (seal(&store, 1, &[1; 1000]), seal(&store, 2, &[2; 1000]));
    let objects = [one, other].map(|sealed| store.shared.remote.object(&sealed.id));
    let bytes =
        wait(async { bucket.objects.get(&objects[1]).await?.bytes().await }).expect("there");
    wait(bucket.objects.put(&objects[0], bytes.into())).expect("replaced");
    assert!(matches!(read(&store, one), Err(BlobError::Corrupt { .. })));
}

#[test]
fn servers_of_different_runs_leave_each_others_blobs_alone() {
    let bucket = Arc::new(Faulty::default());
    let (one, other) = (of_run(&bucket, 1, PATIENT), of_run(&bucket, 0x0200_0000, PATIENT));
    let of_one: BTreeSet<BlobId> = (0..5).map(|seed| seal(&one, seed, &[seed; 50]).id).collect();
    let of_other: BTreeSet<BlobId> =
        (0..5).map(|seed| seal(&other, seed, &[seed; 50]).id).collect();
    assert!(of_one.is_disjoint(&of_other), "by the run alone");
    assert_eq!((of(&one, 1), of(&one, 0x0200_0000)), (of_one.clone(), of_other.clone()));
    assert_eq!(found(&other), of_one.union(&of_other).copied().collect());
    assert!(of_one.iter().all(|id| one.is_own(id) && !other.is_own(id)));
    // A start, and the sweep of one run.
    let third = of_run(&bucket, 3, PATIENT);
    third.clean_temporary().expect("cleaned");
    third.clean_run(1).expect("cleaned");
    third.scan_run(1, &mut |id| third.delete(&id).expect("deleted")).expect("swept");
    assert_eq!(found(&third), of_other);
    assert_eq!(of(&third, 3), BTreeSet::new());
}

#[test]
fn a_listing_goes_on_where_it_was_cut_and_passes_over_what_is_not_ours() {
    let (bucket, store) = open(PATIENT);
    let sealed: BTreeSet<BlobId> = (0..30).map(|seed| seal(&store, seed, b"body").id).collect();
    let first = sealed.first().expect("one");
    for name in [
        "readme",
        "00000007/readme",
        "00000007/00",
        &format!("00000008/{first}"),
        &first.to_string(),
    ] {
        let object = Path::from(format!("prefix/blobs/{name}"));
        wait(bucket.objects.put(&object, PutPayload::from("foreign"))).expect("put");
    }
    bucket.fail(
        Call::List,
        &[Fault::Refused, Fault::Cut(0), Fault::Cut(7), Fault::Cut(1), Fault::Refused],
    );
    assert_eq!(found(&store), sealed);
    let (bucket, store) = open(HASTY);
    bucket.fail_always(Call::List, Some(Fault::Refused));
    let error = store.scan(&mut |_| {}).expect_err("refused");
    assert!(matches!(error, BlobError::Unavailable { .. }), "{error}");
}

#[test]
fn a_deletion_is_repeated_until_it_succeeds() {
    let (bucket, store) = open(PATIENT);
    let sealed = seal(&store, 1, b"body");
    bucket.fail(Call::Delete, &[Fault::Refused, Fault::AnswerLost]);
    store.delete(&sealed.id).expect("deleted in the end");
    assert_eq!(found(&store), BTreeSet::new());
}

#[test]
fn a_location_belongs_to_one_cluster() {
    let (bucket, store) = open(PATIENT);
    let (one, other) = (ClusterId([1; 16]), ClusterId([2; 16]));
    assert_eq!(store.read_identity().expect("read"), None);
    bucket.fail(Call::Put, &[Fault::AnswerLost]);
    assert!(store.create_identity(&one).expect("created, and its answer lost"));
    assert!(store.create_identity(&one).expect("created already"));
    assert!(!store.create_identity(&other).expect("answered"), "it belongs to the first");
    assert_eq!(store.read_identity().expect("read"), Some(one));
    // Not a blob.
    assert_eq!(found(&store), BTreeSet::new());
    let object = Path::from(format!("prefix/{IDENTITY}"));
    wait(bucket.objects.put(&object, PutPayload::from("something else"))).expect("put");
    let error = store.read_identity().expect_err("foreign");
    assert!(error.to_string().contains("does not belong to a LiteIO cluster"), "{error}");
}

#[test]
fn of_several_that_create_a_cluster_one_succeeds() {
    for _ in 0..10 {
        let bucket = Arc::new(Faulty::default());
        let stores: Vec<_> = (0..4).map(|run| of_run(&bucket, run, PATIENT)).collect();
        let create = |(number, store): (usize, &RemoteBlobStore)| {
            store.create_identity(&ClusterId([number as u8; 16])).expect("answered")
        };
        let created = std::thread::scope(|scope| {
            let threads: Vec<_> =
                stores.iter().enumerate().map(|it| scope.spawn(move || create(it))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<_>>()
        });
        let winners: Vec<usize> = (0..4).filter(|number| created[*number]).collect();
        assert_eq!(winners.len(), 1, "{created:?}");
        let id = ClusterId([winners[0] as u8; 16]);
        assert_eq!(stores[0].read_identity().expect("read"), Some(id));
    }
}

#[test]
fn what_is_kept_on_a_local_disk_is_not_fetched_again() {
    let (bucket, store) = open(PATIENT);
    let disk = Arc::new(SimulatedDisk::new(1));
    let store = with_cache(store, &disk);
    let length = 3 * CHUNK_BODY + 100;
    let body = body(1, length);
    let sealed = seal(&store, 1, &body);
    bucket.forget();
    // A range is fetched with the chunks around it.
    let reader = store.open(&sealed.id, length).expect("opened");
    reader.read(CHUNK_BODY + 1000..CHUNK_BODY + 2000).expect("read");
    let blocks = blocks::object_range(length, &(4..8));
    assert_eq!(bucket.ranges(), [Some(blocks)]);
    reader.read(2 * CHUNK_BODY - 10..2 * CHUNK_BODY).expect("read");
    assert_eq!(bucket.count(Call::Get), 1);
    assert!(read(&store, sealed).expect("read") == body);
    bucket.forget();
    assert!(read(&store, sealed).expect("read") == body);
    assert_eq!(bucket.count(Call::Get), 0, "all is kept");

    // Damage is found, and costs a fetch.
    let path = disk_path(&disk, &sealed.id);
    let file = liteio_disk::Disk::open(&*disk, &path, liteio_disk::OpenMode::Write).expect("there");
    file.write_at(&[0xff; 8], 5000).expect("written");
    assert!(read(&store, sealed).expect("read") == body);
    assert!(bucket.count(Call::Get) > 0);
    bucket.forget();
    assert!(read(&store, sealed).expect("read") == body);
    assert_eq!(bucket.count(Call::Get), 0, "kept again");
}

/// The file of the first chunk of a blob.
fn disk_path(disk: &SimulatedDisk, id: &BlobId) -> String {
    let directory = format!("chunks/{:02x}", id.0[15]);
    let entries = liteio_disk::Disk::list(disk, &directory).expect("listed");
    let entry = entries.iter().find(|entry| entry.name.starts_with(&format!("{id}-0-")));
    format!("{directory}/{}", entry.expect("kept").name)
}

#[test]
fn a_store_is_dropped_and_used_where_nothing_may_block() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(async {
        let (_bucket, store) = open(PATIENT);
        let sealed = seal(&store, 1, b"body");
        check_reads_back(&store, sealed, b"body");
        drop(store);
    });
}
