//! A store on a simulated disk, changed at random, and what a backup of it has to have.

use std::collections::BTreeMap;
use std::sync::Arc;

use liteio_disk::{ManualClock, SeededRandom, SimulatedDisk};
use liteio_kv::{Change, changes};
use liteio_store::backup::BackupFeed;
use liteio_store::vectors::{CreateIndex, DistanceMetric, Index, NewVectors, VectorName};
use liteio_store::{
    BodyOptions, Bucket, BucketName, CompleteOptions, CompletePart, CopyOptions, DeleteTarget,
    Durability, NewBucket, ObjectId, ObjectKey, Owner, PartNumber, PutOptions, RenameOptions,
    StagedBody, Store, StoreConfig, StoreError, UploadOptions, Versioning,
};

/// All pairs of a store, as a backup has them.
pub(crate) type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

/// Inline up to here, and in the record up to half of it: a few bytes more make a blob.
const INLINE_BYTES: usize = 64;

/// A store that is changed step by step.
pub(crate) struct Workload {
    pub(crate) store: Store,
    pub(crate) disk: SimulatedDisk,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) random: SeededRandom,
    config: StoreConfig,
}

impl Workload {
    /// A new store, with buckets, an index and some objects.
    pub(crate) fn new(seed: u64, durability: Durability) -> Self {
        let clock = Arc::new(ManualClock::new(1_700_000_000_000));
        let config = StoreConfig {
            durability,
            cache_bytes: 1 << 20,
            reserve_bytes: 0,
            clock: clock.clone(),
            random: Arc::new(SeededRandom::new(seed)),
            inline_bytes_max: INLINE_BYTES,
            record_body_bytes_max: INLINE_BYTES / 2,
            part_bytes_min: 8,
            log_bytes: Some(3 << 10),
            scrub_interval: None,
            ..StoreConfig::memory()
        };
        let disk = SimulatedDisk::new(seed);
        let store = open(&disk, &config);
        let workload = Self { store, disk, clock, random: SeededRandom::new(!seed), config };
        workload.prepare();
        (0..12).for_each(|_| workload.step());
        workload
    }

    /// The store after the end of its process, by a power cut or not, and what a start makes of it.
    pub(crate) fn restart(self, is_power_cut: bool) -> Self {
        let disk = if is_power_cut { self.disk.crash() } else { self.disk.kill() };
        self.on(disk)
    }

    /// The same workload on another store.
    pub(crate) fn on(self, disk: SimulatedDisk) -> Self {
        let store = open(&disk, &self.config);
        Self { store, disk, ..self }
    }

    /// The configuration for a restored store.
    pub(crate) fn config(&self) -> StoreConfig {
        self.config.clone()
    }

    fn prepare(&self) {
        for name in ["bucket", "plain"] {
            let name = BucketName::new(name).expect("a name");
            let new = NewBucket::new(name, owner(), "us-east-1".to_owned());
            self.store.create_bucket(new).wait().expect("new");
        }
        let versioned = self.bucket("bucket");
        self.store.set_versioning(&versioned, Versioning::Enabled).wait().expect("set");
        let name = VectorName::bucket("vectors").expect("a name");
        let vectors = self.store.create_vector_bucket(name, owner(), None, Vec::new());
        let options = CreateIndex::new(3, DistanceMetric::Euclidean);
        let name = VectorName::index("index").expect("a name");
        let vectors = vectors.wait().expect("new");
        self.store.create_index(&vectors, name, options).wait().expect("new");
    }

    fn bucket(&self, name: &str) -> Arc<Bucket> {
        self.store.bucket(&BucketName::new(name).expect("a name")).expect("there")
    }

    fn index(&self) -> Index {
        let bucket = VectorName::bucket("vectors").expect("a name");
        let bucket = self.store.vector_bucket(&bucket).expect("there");
        let index = VectorName::index("index").expect("a name");
        self.store.index(&bucket, &index).expect("there")
    }

    fn stage(&self, body: &[u8]) -> StagedBody {
        let mut writer = self.store.begin_body(BodyOptions::default()).expect("begun");
        writer.write(body).expect("written");
        writer.finish().expect("staged")
    }

    /// A body of a random kind: empty, in the record, in a row, in a blob.
    fn body(&self) -> Vec<u8> {
        let lengths = [0, INLINE_BYTES / 2, INLINE_BYTES, 200, 3000];
        let length = lengths[self.random.below(5) as usize];
        (0..length).map(|_| self.random.below(256) as u8).collect()
    }

    /// Puts an object.
    pub(crate) fn put(&self, key: &str, body: &[u8]) {
        let (bucket, key) = (self.bucket("plain"), ObjectKey::new(key).expect("a key"));
        let body = self.stage(body);
        self.store.put_object(&bucket, key, body, PutOptions::default()).wait().expect("put");
    }

    /// Changes something.
    pub(crate) fn step(&self) {
        let (store, random) = (&self.store, &self.random);
        let key = ObjectKey::new(format!("object {}", random.below(4))).expect("a key");
        let (versioned, plain) = (self.bucket("bucket"), self.bucket("plain"));
        match random.below(14) {
            0..=2 => {
                let body = self.stage(&self.body());
                let put = store.put_object(&versioned, key, body, PutOptions::default());
                put.wait().expect("put");
            }
            3..=5 => {
                let body = self.stage(&self.body());
                store.put_object(&plain, key, body, PutOptions::default()).wait().expect("put");
            }
            6 => {
                let target = DeleteTarget::new(key, None);
                store.delete_object(&plain, target).wait().expect("deleted");
            }
            7 => {
                let target = DeleteTarget::new(key, None);
                store.delete_object(&versioned, target).wait().expect("deleted");
            }
            8 => self.upload(&versioned, key),
            9 => {
                let source = ObjectId { bucket: plain.clone(), key, version: None };
                let copy = ObjectKey::new("copy").expect("a key");
                match store.copy_object(source, &plain, copy, CopyOptions::default()).wait() {
                    Ok(_) | Err(StoreError::NoSuchKey { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            12..=13 => {
                let new = ObjectKey::new(format!("object {}", random.below(4))).expect("a key");
                match store.rename_object(&plain, key, new, RenameOptions::default()).wait() {
                    Ok(_)
                    | Err(StoreError::NoSuchKey { .. } | StoreError::InvalidRequest { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            10 => {
                let mut vectors = NewVectors::default();
                let first = random.below(12);
                for number in first..first + 3 {
                    let elements = [random.below(9) as f32, 1.0, number as f32];
                    vectors.push(format!("vector {number}"), &elements);
                }
                store.put_vectors(&self.index(), vectors).expect("put");
            }
            _ => {
                let keys = (0..15).step_by(3).map(|number| format!("vector {number}")).collect();
                store.delete_vectors(&self.index(), keys).expect("deleted");
            }
        }
        self.clock.advance_ms(1000);
    }

    fn upload(&self, bucket: &Arc<Bucket>, key: ObjectKey) {
        let store = &self.store;
        let upload = store.create_upload(bucket, key.clone(), UploadOptions::default());
        let upload = upload.wait().expect("created").id;
        let mut parts = Vec::new();
        for number in 1..=2 {
            let number = PartNumber::new(number).expect("a number");
            let body = if number.get() == 1 { vec![1; 300] } else { self.body() };
            let body = self.stage(&body);
            let part = store.put_part(bucket, &key, &upload, number, body, None);
            let etag = Some(part.wait().expect("a part").etag.to_string());
            parts.push(CompletePart { number, etag, checksum: None });
        }
        let options = CompleteOptions::default();
        store.complete_upload(bucket, &key, &upload, parts, options).wait().expect("completed");
    }
}

/// Opens a store, without threads.
pub(crate) fn open(disk: &SimulatedDisk, config: &StoreConfig) -> Store {
    Store::open_on(Arc::new(disk.clone()), config.clone()).expect("opens")
}

/// All pairs.
pub(crate) fn pairs(feed: &BackupFeed) -> Pairs {
    let mut pairs = Pairs::new();
    let mut after = None;
    loop {
        let page = feed.page(after.as_deref(), 1 << 20).expect("readable");
        assert_eq!(page.unreadable, 0);
        for change in changes(&page.changes) {
            let Change::Put { key, value } = change.expect("own bytes") else { panic!("a delete") };
            pairs.insert(key.to_vec(), value.to_vec());
        }
        after = page.next;
        if after.is_none() {
            return pairs;
        }
    }
}

fn owner() -> Owner {
    Owner { id: "owner".to_owned(), display_name: "Owner".to_owned() }
}
