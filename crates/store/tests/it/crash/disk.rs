//! Stores on simulated disks.

use std::sync::Arc;
use std::time::Duration;

use liteio_disk::{Disk, SimulatedDisk};
use liteio_store::{
    BodyOptions, Bucket, BucketName, Clock, Durability, EncryptionKey, GetOptions, KeyRing,
    ManualClock, ObjectKey, Owner, Sealing, SeededRandom, Selection, StagedBody, Store,
    StoreConfig, StoreError, VersionId,
};

/// Larger bodies get blobs; small, so that blobs need no large bodies.
pub(super) const INLINE_BYTES_MAX: usize = 64;
/// Larger bodies are not in their records.
const RECORD_BODY_BYTES_MAX: usize = 24;
/// The smallest part but the last.
pub(super) const PART_BYTES_MIN: u64 = 8;

pub(super) fn open(
    disk: &SimulatedDisk,
    durability: Durability,
    clock: &Arc<ManualClock>,
) -> Result<Store, StoreError> {
    // Other ids after every restart, as with any good generator.
    let seed = disk.operations() ^ clock.now_ms() << 20;
    let config = StoreConfig {
        durability,
        cache_bytes: 1 << 20,
        reserve_bytes: 0,
        // Never by time: the same run makes the same operations.
        sync_interval: Duration::from_secs(3_600),
        clock: Arc::clone(clock) as _,
        random: Arc::new(SeededRandom::new(seed)),
        keys: Arc::new(KeyRing::new(vec![EncryptionKey::new([7; 32])], Vec::new())),
        inline_bytes_max: INLINE_BYTES_MAX,
        record_body_bytes_max: RECORD_BODY_BYTES_MAX,
        // Blobs of some runs are synced at once, those of others left to the log, some of each of others.
        logged_bytes_max: [0, 3_000, usize::MAX][(seed % 3) as usize],
        // Half of the starts put short bodies into segments, which are full after some of them.
        segment_bytes_max: [0, 1 << 20][(seed / 12 % 2) as usize],
        segment_bytes: Some(64 << 10),
        part_bytes_min: PART_BYTES_MIN,
        // Half of the starts run every closure twice.
        runs_twice: (seed / 3).is_multiple_of(2),
        // Half of the starts drain many times, some of them while updates go on.
        log_bytes: (seed / 6).is_multiple_of(2).then_some(2_000 + seed % 3),
        ..StoreConfig::memory()
    };
    Store::open_on(Arc::new(disk.clone()), config)
}

pub(super) fn bucket_name(text: &str) -> BucketName {
    BucketName::new(text).expect("a valid name")
}

pub(super) fn object_key(text: &str) -> ObjectKey {
    ObjectKey::new(text).expect("a valid key")
}

pub(super) fn owner() -> Owner {
    Owner { id: "owner".to_owned(), display_name: "Owner".to_owned() }
}

/// Stages `bytes`, in several writes when they are many.
pub(super) fn stage(
    store: &Store,
    bytes: &[u8],
    sealing: Option<Sealing>,
) -> Result<StagedBody, StoreError> {
    let mut body = store.begin_body(BodyOptions { sealing, ..BodyOptions::default() })?;
    for piece in bytes.chunks(100_000) {
        body.write(piece)?;
    }
    body.finish()
}

/// The selected bytes of a version, or of the current object.
pub(super) fn read(
    store: &Store,
    bucket: &Bucket,
    key: &ObjectKey,
    version: Option<VersionId>,
    selection: Selection,
) -> Result<Vec<u8>, StoreError> {
    let options = GetOptions { version, select: selection, ..GetOptions::default() };
    let mut reader = store.get_object(bucket, key, &options)?.reader;
    let mut bytes = Vec::new();
    while let Some(piece) = reader.next()? {
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

/// Blobs below `blobs/`, whatever the records say.
pub(super) fn blobs(disk: &SimulatedDisk) -> usize {
    let directories = disk.list("blobs").expect("the disk runs");
    let names = |name: &str| {
        let entries = disk.list(&format!("blobs/{name}")).expect("the disk runs").into_iter();
        entries.map(|entry| entry.name)
    };
    let of_directory = |entry: liteio_disk::DirEntry| match &*entry.name {
        "lost" => 0,
        // Each frame ends with a mark.
        "segments" => names("segments").map(|name| marks(disk, &name)).sum(),
        name => names(name).count(),
    };
    directories.into_iter().map(of_directory).sum()
}

/// Frames of the present life of a segment.
fn marks(disk: &SimulatedDisk, name: &str) -> usize {
    let path = format!("blobs/segments/{name}");
    let file = disk.open(&path, liteio_disk::OpenMode::Read).expect("it was listed");
    let mut bytes = vec![0; file.len().expect("a length") as usize];
    file.read_at(&mut bytes, 0).expect("the disk runs");
    let id: String = name.chars().filter(|it| *it != '-').collect();
    let is_own = |mark: &[u8]| {
        let named: String = mark[12..24].iter().map(|byte| format!("{byte:02x}")).collect();
        mark.starts_with(b"LSGM") && named == id
    };
    bytes.chunks_exact(4096).filter(|block| is_own(&block[4064..])).count()
}
