//! The store that is damaged: made from a seed, with the model of what is in it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use liteio_disk::SimulatedDisk;
use liteio_store::vectors::{CreateIndex, DistanceMetric, Index, NewVectors, VectorName};
use liteio_store::{
    Annotate, AnnotationChange, AnnotationName, Bucket, Cause, CompletePart, DeleteTarget,
    DocumentKind, Durability, NewAnnotation, NewBucket, SeededRandom, Store, StoreConfig,
    StoreError, VersionChange, Versioning,
};
use md5::{Digest as _, Md5};

use super::model::{Body, DIMENSION, KEYS, Model, PLAIN, UPLOADED, VERSIONED, WITH_VERSIONS};
use super::strike::{Files, disk_of, files};
use crate::harness::{bytes, config, key, name, number, owner, stage};
use crate::read_only::{ReadOnlyDisk, Sectors};

/// Longer bodies are blobs. Shorter ones fill some pages of the tree.
const INLINE_BYTES_MAX: u64 = 1_000;
/// Longer bodies are not in their records.
const RECORD_BODY_BYTES_MAX: usize = 400;

/// A store on two disks: closed in order, and killed.
pub(super) struct World {
    pub(super) number: u64,
    pub(super) closed: End,
    pub(super) killed: End,
    /// The files as they were some writes before the end.
    pub(super) older: Files,
    /// The model after each update, the last is what is there.
    pub(super) history: Vec<Model>,
}

/// A disk after the end of a store.
pub(super) struct End {
    pub(super) disk: SimulatedDisk,
    /// The sectors that verifying it reads.
    pub(super) read: Sectors,
}

impl End {
    fn new(number: u64, disk: SimulatedDisk) -> Self {
        let watched = ReadOnlyDisk::new(&disk);
        let read = watched.read();
        let report = Store::verify_closed_on(Arc::new(watched), config_of(number, 8), &mut |_| {});
        assert_eq!(report.expect("nothing is damaged yet").damaged, Vec::new());
        let read = read.lock().expect("no panic while it is locked").clone();
        Self { disk, read }
    }
}

/// An open store that is written to.
pub(super) struct Running {
    pub(super) store: Store,
    pub(super) older: Files,
    pub(super) history: Vec<Model>,
    random: SeededRandom,
    bodies: u64,
    has_blobs: bool,
    attempted: Model,
    plain: Arc<Bucket>,
    versioned: Arc<Bucket>,
    index: Index,
}

pub(super) fn config_of(world: u64, start: u64) -> StoreConfig {
    StoreConfig {
        durability: World::durability(world),
        // Never by time.
        sync_interval: Duration::from_secs(3_600),
        logged_bytes_max: [0, usize::MAX][(world / 2 % 2) as usize],
        runs_twice: false,
        inline_bytes_max: INLINE_BYTES_MAX as usize,
        record_body_bytes_max: RECORD_BODY_BYTES_MAX,
        // In every other pair of worlds tables become runs.
        log_bytes: (world / 4 % 2 == 1).then_some(2_001),
        // In two of three worlds bodies are in segments.
        segment_bytes_max: if world.is_multiple_of(3) { 0 } else { 1 << 20 },
        segment_bytes: Some(64 << 10),
        ..config(world * 16 + start)
    }
}

impl World {
    pub(super) fn durability(world: u64) -> Durability {
        if world.is_multiple_of(2) { Durability::Fsync } else { Durability::Os }
    }

    pub(super) fn new(number: u64) -> Self {
        let (disk, running) = Self::running(number);
        // As a kill leaves it: all that was written.
        let killed = End::new(number, disk_of(number, &files(&disk)));
        running.store.close();
        let closed = End::new(number, disk.kill());
        let Running { older, history, .. } = running;
        Self { number, closed, killed, older, history }
    }

    /// The store before its end.
    pub(super) fn running(number: u64) -> (SimulatedDisk, Running) {
        let disk = SimulatedDisk::new(number);
        let mut running = Running::new(&disk, number);
        let steps = 12 + running.random.below(20);
        let older_at = running.random.below(steps);
        for step in 0..steps {
            if step == older_at {
                // With a tree that has what was written so far, or without; and sometimes with a newer one
                // behind it.
                if !number.is_multiple_of(3) {
                    running.reopen(&disk, config_of(number, 1));
                }
                running.older = files(&disk);
            }
            if step == older_at + 2 && number % 3 == 2 {
                running.reopen(&disk, config_of(number, 2));
            }
            running.try_step().expect("nothing is damaged yet");
        }
        (disk, running)
    }
}

impl Running {
    fn new(disk: &SimulatedDisk, number: u64) -> Self {
        let open = Store::open_on(Arc::new(disk.clone()), config_of(number, 0));
        let store = open.expect("an empty disk");
        for bucket in [PLAIN, WITH_VERSIONS] {
            store
                .create_bucket(NewBucket::new(name(bucket), owner(), String::new()))
                .wait()
                .expect("new");
        }
        let plain = store.bucket(&name(PLAIN)).expect("there");
        let versioned = store.bucket(&name(WITH_VERSIONS)).expect("there");
        store.set_versioning(&versioned, Versioning::Enabled).wait().expect("set");
        let vectors = VectorName::bucket("vectors").expect("a name");
        let vectors = store.create_vector_bucket(vectors, owner(), None, Vec::new()).wait();
        let index = VectorName::index("index").expect("a name");
        let options = CreateIndex::new(DIMENSION as u32, DistanceMetric::Euclidean);
        let index = store.create_index(&vectors.expect("new"), index, options).wait();
        Self {
            store,
            older: Files::new(),
            history: vec![Model::default()],
            random: SeededRandom::new(number),
            bodies: 0,
            has_blobs: number % 4 != 3,
            attempted: Model::default(),
            plain,
            versioned,
            index: index.expect("new"),
        }
    }

    fn reopen(&mut self, disk: &SimulatedDisk, config: StoreConfig) {
        self.store.close();
        let open = Store::open_on(Arc::new(disk.clone()), config);
        self.store = open.expect("nothing is damaged yet");
    }

    pub(super) fn model(&self) -> &Model {
        self.history.last().expect("there is a first")
    }

    /// The model with the update that failed last, which may have happened all the same.
    pub(super) fn attempted(&self) -> Model {
        self.attempted.clone()
    }

    fn body(&mut self) -> Body {
        self.bodies += 1;
        let length = match self.random.below(4) {
            2 if self.has_blobs => INLINE_BYTES_MAX + 1 + self.random.below(4_000),
            3 if self.has_blobs => 20_000 + self.random.below(200_000),
            _ => self.random.below(INLINE_BYTES_MAX),
        };
        bytes(self.bodies << 8, length as usize).into()
    }

    /// One update or a few, each of which adds to the history. If one fails the history ends before it.
    pub(super) fn try_step(&mut self) -> Result<(), StoreError> {
        match self.random.below(12) {
            0..=3 => self.put(),
            4 => self.delete(),
            5 => self.put_version(),
            6 => self.put_vectors(),
            7 => self.put_document(),
            8 => self.put_part(),
            9 | 10 => self.annotate(),
            _ => self.complete(),
        }
    }

    /// Adds the model that `change` makes of the newest to the history, if `update` succeeds.
    fn update<T>(
        &mut self,
        update: impl FnOnce(&Self) -> Result<T, StoreError>,
        change: impl Fn(&mut Model, Option<&T>),
    ) -> Result<(), StoreError> {
        let mut next = self.model().clone();
        self.attempted = next.clone();
        change(&mut self.attempted, None);
        let done = update(self)?;
        change(&mut next, Some(&done));
        // Deleting what is not there writes no record.
        if next != *self.model() {
            self.history.push(next);
        }
        Ok(())
    }

    fn a_key(&self) -> &'static str {
        KEYS[self.random.below(KEYS.len() as u64) as usize]
    }

    fn put(&mut self) -> Result<(), StoreError> {
        let (object, body) = (self.a_key(), self.body());
        self.update(
            |it| {
                let staged = stage(&it.store, &body)?;
                it.store.put_object(&it.plain, key(object), staged, Default::default()).wait()
            },
            |model, _| model.replace(object, Some(Arc::clone(&body))),
        )
    }

    fn delete(&mut self) -> Result<(), StoreError> {
        let object = self.a_key();
        self.update(
            |it| it.store.delete_object(&it.plain, DeleteTarget::new(key(object), None)).wait(),
            |model, _| model.replace(object, None),
        )
    }

    /// Puts or deletes an annotation of an object that is there.
    fn annotate(&mut self) -> Result<(), StoreError> {
        let objects = self.model().objects.keys().cloned().collect::<Vec<_>>();
        if objects.is_empty() {
            return self.put();
        }
        let object = objects[self.random.below(objects.len() as u64) as usize].clone();
        let name = ["m", "n"][self.random.below(2) as usize];
        // ASCII, some longer than what is in a record.
        let length = 1 + self.random.below([100, 5_000][self.random.below(2) as usize]);
        let payload: Vec<u8> =
            bytes(length, length as usize).iter().map(|byte| b'a' + byte % 26).collect();
        let is_put = self.random.below(4) > 0;
        let known = AnnotationName::new(name).expect("a name");
        let change = match is_put {
            true => AnnotationChange::Put(NewAnnotation {
                name: known,
                md5: Md5::digest(&payload).into(),
                payload: payload.clone().into(),
                checksum: None,
            }),
            false => AnnotationChange::Delete(known),
        };
        let (conditions, bypasses_governance) = Default::default();
        let change = Annotate { change, conditions, bypasses_governance };
        let change = VersionChange::Annotate(Box::new(change));
        self.update(
            |it| {
                let object = key(&object);
                it.store.annotate_object(&it.plain, object, None, change, Cause::Unknown).wait()
            },
            |model, _| {
                let of_object = model.annotations.entry(object.clone()).or_default();
                match is_put {
                    true => _ = of_object.insert(name.to_owned(), payload.clone()),
                    false => _ = of_object.remove(name),
                }
                model.annotations.retain(|_, of_object| !of_object.is_empty());
            },
        )
    }

    fn put_version(&mut self) -> Result<(), StoreError> {
        let body = self.body();
        self.update(
            |it| {
                let staged = stage(&it.store, &body)?;
                let object = key(VERSIONED);
                it.store.put_object(&it.versioned, object, staged, Default::default()).wait()
            },
            |model, put| {
                // One that failed has an id that nobody was told.
                if let Some(put) = put {
                    model.versions.push((put.version_id, Arc::clone(&body)));
                }
            },
        )
    }

    fn put_vectors(&mut self) -> Result<(), StoreError> {
        let vectors: BTreeMap<String, [f32; DIMENSION]> = (0..1 + self.random.below(3))
            .map(|_| {
                let element = |_| self.random.below(1_000_000) as f32 / 7.0;
                let elements = std::array::from_fn(element);
                (format!("vector-{}", self.random.below(6)), elements)
            })
            .collect();
        self.update(
            |it| {
                let mut batch = NewVectors::default();
                vectors.iter().for_each(|(key, elements)| batch.push(key.clone(), elements));
                it.store.put_vectors(&it.index, batch)
            },
            |model, _| model.vectors.extend(vectors.clone()),
        )
    }

    fn put_document(&mut self) -> Result<(), StoreError> {
        let document = bytes(self.random.below(1 << 20), 40);
        self.update(
            |it| it.store.put_document(&it.plain, DocumentKind::Cors, document.clone()).wait(),
            |model, _| model.document = Some(document.clone()),
        )
    }

    /// Into the upload in progress, which is begun if there is none.
    fn put_part(&mut self) -> Result<(), StoreError> {
        if self.model().upload.is_none() {
            self.update(
                |it| it.store.create_upload(&it.plain, key(UPLOADED), Default::default()).wait(),
                |model, upload| {
                    model.upload = upload.map(|upload| (upload.id, BTreeMap::new()));
                },
            )?;
        }
        let Some((id, _)) = self.model().upload.clone() else { return Ok(()) };
        let (part, body) = (1 + self.random.below(3) as u16, self.body());
        let body: Body = if body.len() < 8 { bytes(1, 8).into() } else { body };
        self.update(
            |it| {
                let staged = stage(&it.store, &body)?;
                let object = key(UPLOADED);
                it.store.put_part(&it.plain, &object, &id, number(part), staged, None).wait()
            },
            |model, _| {
                if let Some((_, parts)) = &mut model.upload {
                    parts.insert(part, Arc::clone(&body));
                }
            },
        )
    }

    fn complete(&mut self) -> Result<(), StoreError> {
        let Some((id, parts)) = self.model().upload.clone() else { return self.put_part() };
        if parts.is_empty() {
            return self.put_part();
        }
        self.update(
            |it| {
                let listed = parts.keys().map(|part| CompletePart {
                    number: number(*part),
                    etag: None,
                    checksum: None,
                });
                let (object, listed) = (key(UPLOADED), listed.collect());
                let options = Default::default();
                it.store.complete_upload(&it.plain, &object, &id, listed, options).wait()
            },
            |model, _| {
                model.upload = None;
                let body: Vec<u8> = parts.values().flat_map(|body| body.to_vec()).collect();
                model.replace(UPLOADED, Some(body.into()));
            },
        )
    }
}
