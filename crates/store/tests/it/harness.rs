//! Stores to test on, and the calls that every test makes.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use liteio_kv::database::SimulatedDatabase;
use liteio_store::{
    BodyOptions, Bucket, BucketName, ByteRange, ClusterBackend, ClusterBlobs, CompletePart,
    DeleteTarget, GetOptions, ManualClock, NewBucket, ObjectKey, ObjectVersion, Owner, Part,
    PartNumber, PutOptions, SeededRandom, Selection, StagedBody, Store, StoreConfig, StoreError,
    UploadId, VersionId,
};

/// Inline up to here: a few bytes more make a blob.
pub(crate) const INLINE_BYTES: usize = 64;
/// In the record up to here, a few bytes more have a row.
pub(crate) const RECORD_BYTES: usize = 24;
/// Parts are at least as large.
pub(crate) const PART_BYTES: u64 = 8;

/// Fetches of an update at most, whatever it does: far below the limit, which is 64.
const UPDATE_FETCHES_MAX: usize = 32;

/// Small limits, a clock that stands still, and ids that follow from `seed`.
pub(crate) fn config(seed: u64) -> StoreConfig {
    StoreConfig {
        cache_bytes: 1 << 20,
        reserve_bytes: 0,
        clock: Arc::new(ManualClock::new(1_700_000_000_000)),
        random: Arc::new(SeededRandom::new(seed)),
        inline_bytes_max: INLINE_BYTES,
        record_body_bytes_max: RECORD_BYTES,
        part_bytes_min: PART_BYTES,
        // In a directory they run once.
        runs_twice: true,
        // The whole suite runs in pieces with this variable.
        runs_in_pieces: std::env::var_os("LITEIO_RUNS_IN_PIECES").is_some(),
        ..StoreConfig::memory()
    }
}

/// Runs `test` on stores in memory, one of which fetches in pieces, on one over a database, and on
/// one in a directory, all with the bucket `bucket`.
pub(crate) fn on_every_backend(test: impl Fn(&Store)) {
    over_a_database(&test);
    for runs_in_pieces in [false, true] {
        let memory = Store::open(StoreConfig { runs_in_pieces, ..config(1) }).expect("memory");
        create_bucket(&memory, "bucket");
        test(&memory);
    }
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = Store::open(on_directory(directory.path())).expect("a new directory");
    create_bucket(&store, "bucket");
    test(&store);
}

/// Runs `test` on a store over a database.
pub(crate) fn over_a_database(test: impl Fn(&Store)) {
    over_a_database_by(Store::open_as_only_server, test);
}

/// The same without threads of the store, which would fetch, too.
pub(crate) fn over_a_database_at_rest(test: impl Fn(&Store)) {
    over_a_database_by(Store::open_at_rest, test);
}

fn over_a_database_by(
    open: impl Fn(StoreConfig) -> Result<Store, StoreError>,
    test: impl Fn(&Store),
) {
    let database = SimulatedDatabase::new();
    database.check_all_claims();
    let store = open(over(&database)).expect("over a database");
    create_bucket(&store, "bucket");
    test(&store);
    // An update that fetches row by row works with a few rows, and not with a thousand.
    let fetches = store.fetches().updates.into_iter();
    let many: Vec<_> = fetches.filter(|update| update.fetches > UPDATE_FETCHES_MAX).collect();
    assert!(many.is_empty(), "{many:#?}");
    drop(store);
    let unclaimed = database.unclaimed();
    assert!(unclaimed.is_empty(), "{unclaimed:#?}");
}

pub(crate) fn over(database: &Arc<SimulatedDatabase>) -> StoreConfig {
    let backend = ClusterBackend {
        database: database.server(),
        blobs: ClusterBlobs::memory(),
        server_name: "the only one".to_owned(),
        deletion_grace: Default::default(),
    };
    let StoreConfig { backend, .. } = StoreConfig::cluster(backend);
    StoreConfig { backend, ..config(1) }
}

/// The output of a future that is ready, as all are of a database in memory.
pub(crate) fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it is ready"),
    }
}

pub(crate) fn on_directory(path: &std::path::Path) -> StoreConfig {
    let StoreConfig { backend, .. } = StoreConfig::directory(path);
    let random = Arc::new(liteio_store::SystemRandom);
    StoreConfig { backend, random, runs_twice: false, ..config(1) }
}

pub(crate) fn name(name: &str) -> BucketName {
    BucketName::new(name).expect("a bucket name")
}

pub(crate) fn key(key: &str) -> ObjectKey {
    ObjectKey::new(key).expect("a key")
}

pub(crate) fn number(number: u16) -> PartNumber {
    PartNumber::new(number).expect("a part number")
}

pub(crate) fn owner() -> Owner {
    Owner { id: "owner".to_owned(), display_name: "Owner".to_owned() }
}

pub(crate) fn create_bucket(store: &Store, bucket: &str) {
    let created =
        store.create_bucket(NewBucket::new(name(bucket), owner(), "us-east-1".to_owned()));
    created.wait().expect("a new bucket");
}

/// The bucket that has the name now.
pub(crate) fn bucket(store: &Store, bucket: &str) -> Arc<Bucket> {
    store.bucket(&name(bucket)).expect("there is such a bucket")
}

pub(crate) fn delete_bucket(store: &Store, name: &str) {
    store.delete_bucket(&bucket(store, name)).wait().expect("empty");
}

/// Bytes that are not those of another seed.
pub(crate) fn bytes(seed: u64, length: usize) -> Vec<u8> {
    let random = SeededRandom::new(seed);
    (0..length).map(|_| random.below(256) as u8).collect()
}

pub(crate) fn stage(store: &Store, body: &[u8]) -> Result<StagedBody, StoreError> {
    let mut writer = store.begin_body(BodyOptions::default())?;
    for piece in body.chunks(100) {
        writer.write(piece)?;
    }
    writer.finish()
}

pub(crate) fn try_put(
    store: &Store,
    object: &str,
    body: &[u8],
    options: PutOptions,
) -> Result<ObjectVersion, StoreError> {
    let body = stage(store, body)?;
    store.put_object(&bucket(store, "bucket"), key(object), body, options).wait()
}

pub(crate) fn put(store: &Store, object: &str, body: &[u8]) -> ObjectVersion {
    try_put(store, object, body, PutOptions::default()).expect("put")
}

pub(crate) fn put_into(store: &Store, name: &str, object: &str, body: &[u8]) {
    let body = stage(store, body).expect("staged");
    let put = store.put_object(&bucket(store, name), key(object), body, PutOptions::default());
    put.wait().expect("put");
}

/// The object, without its bytes.
pub(crate) fn head_object(
    store: &Store,
    bucket: &Bucket,
    key: &ObjectKey,
    version: Option<&VersionId>,
) -> Result<ObjectVersion, StoreError> {
    let options = GetOptions { version: version.copied(), ..GetOptions::default() };
    Ok(store.head_object(bucket, key, &options)?.object)
}

/// Selects bytes of an object; not empty.
pub(crate) fn range(range: std::ops::Range<u64>) -> Selection {
    Selection::Range(ByteRange::FromTo { first: range.start, last: range.end - 1 })
}

pub(crate) fn try_get(
    store: &Store,
    object: &str,
    selection: Selection,
) -> Result<(ObjectVersion, Vec<u8>), StoreError> {
    let options = GetOptions { select: selection, ..GetOptions::default() };
    let opened = store.get_object(&bucket(store, "bucket"), &key(object), &options)?;
    let (version, mut reader) = (opened.found.object, opened.reader);
    let expected = reader.remaining();
    let mut body = Vec::new();
    loop {
        // Half of the pieces without waiting, where that is possible.
        match reader.try_next()? {
            Some(Some(piece)) => body.extend_from_slice(&piece),
            Some(None) => break,
            None => match reader.next()? {
                Some(piece) => body.extend_from_slice(&piece),
                None => break,
            },
        }
    }
    assert_eq!(body.len() as u64, expected, "{object}");
    assert_eq!((reader.remaining(), reader.next()?), (0, None), "{object}");
    Ok((version, body))
}

pub(crate) fn get(store: &Store, object: &str) -> Vec<u8> {
    try_get(store, object, Selection::Whole).expect("get").1
}

pub(crate) fn delete(store: &Store, object: &str) {
    delete_from(store, "bucket", object);
}

pub(crate) fn delete_from(store: &Store, name: &str, object: &str) {
    let bucket = bucket(store, name);
    let deleted = store.delete_object(&bucket, DeleteTarget::new(key(object), None));
    deleted.wait().expect("delete");
}

pub(crate) fn create_upload(store: &Store, object: &str) -> UploadId {
    let upload = store.create_upload(&bucket(store, "bucket"), key(object), Default::default());
    upload.wait().expect("create upload").id
}

pub(crate) fn put_part(
    store: &Store,
    object: &str,
    id: &UploadId,
    part: u16,
    body: &[u8],
) -> Result<Part, StoreError> {
    let body = stage(store, body)?;
    store.put_part(&bucket(store, "bucket"), &key(object), id, number(part), body, None).wait()
}

pub(crate) fn complete(
    store: &Store,
    object: &str,
    id: &UploadId,
    parts: &[u16],
) -> Result<ObjectVersion, StoreError> {
    let part = |part: &u16| CompletePart { number: number(*part), etag: None, checksum: None };
    let parts = parts.iter().map(part).collect();
    store
        .complete_upload(&bucket(store, "bucket"), &key(object), id, parts, Default::default())
        .wait()
}

/// The number of blobs, none of which is damaged or an orphan.
pub(crate) fn blobs(store: &Store) -> u64 {
    let report = store.verify(&mut |_| {}).expect("verify");
    assert_eq!((report.damaged, report.orphans), (Vec::new(), 0));
    report.blobs
}
