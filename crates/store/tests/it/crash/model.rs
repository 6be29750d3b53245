//! The model of a store, in plain maps.

use std::collections::BTreeMap;
use std::sync::Arc;

use liteio_store::{ETag, SeededRandom, StoreError, UploadId, Versioning};
use md5::{Digest as _, Md5};

use super::disk::PART_BYTES_MIN;
use super::workload::{BUCKETS, KEYS, LOCKABLE, NAMES, Place, Step};

/// The moment of a step.
#[derive(Clone, Debug)]
pub(super) struct Turn {
    seed: u64,
    pub(super) index: usize,
    pub(super) now_ms: u64,
}

impl Turn {
    pub(super) fn new(seed: u64, index: usize) -> Self {
        Self { seed, index, now_ms: 1_700_000_000_000 + index as u64 * 1_000 }
    }

    /// The body that this step sends.
    pub(super) fn body(&self, bytes: usize) -> Arc<[u8]> {
        let random = SeededRandom::new(self.seed ^ (self.index as u64) << 32);
        let mut body = vec![0; bytes];
        liteio_store::RandomSource::fill(&random, &mut body).expect("a seeded source");
        body.into()
    }

    /// What this step writes is encrypted: nothing, everything or every second write of a workload.
    pub(super) fn is_encrypted(&self) -> bool {
        match self.seed % 3 {
            0 => false,
            1 => true,
            _ => self.index.is_multiple_of(2),
        }
    }

    /// The user metadata that this step sends.
    pub(super) fn label(&self) -> String {
        format!("step {}", self.index)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) buckets: BTreeMap<String, ModelBucket>,
    pub(super) uploads: BTreeMap<u32, ModelUpload>,
    /// Events that wait, the oldest first.
    pub(super) events: Vec<ModelEvent>,
}

/// The name of an event, its bucket and its key.
pub(super) type ModelEvent = (&'static str, String, String);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ModelBucket {
    pub(super) created_ms: u64,
    pub(super) versioning: Versioning,
    /// Its events are told.
    pub(super) is_told: bool,
    /// The current objects.
    pub(super) objects: BTreeMap<String, ModelObject>,
    /// The other versions of each key, newest first.
    pub(super) older: BTreeMap<String, Vec<ModelVersion>>,
}

/// A version that is not current: an object or a delete marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ModelVersion {
    Object(ModelObject),
    Marker { modified_ms: u64, is_null: bool },
}

impl ModelVersion {
    pub(super) fn is_null(&self) -> bool {
        match self {
            Self::Object(object) => object.is_null,
            Self::Marker { is_null, .. } => *is_null,
        }
    }
}

impl ModelBucket {
    /// Takes the current object away for a newer version, which is `null` or not. Returns which.
    fn make_room(&mut self, key: &str) -> bool {
        let is_null = self.versioning != Versioning::Enabled;
        let older = self.older.entry(key.to_owned()).or_default();
        if let Some(current) = self.objects.remove(key)
            && !(is_null && current.is_null)
        {
            older.insert(0, ModelVersion::Object(current));
        }
        older.retain(|version| !(is_null && version.is_null()));
        is_null
    }

    fn put(&mut self, key: &str, object: ModelObject) {
        let is_null = self.make_room(key);
        self.objects.insert(key.to_owned(), ModelObject { is_null, ..object });
    }

    /// Returns the event, if there was anything to do.
    fn delete(&mut self, key: &str, now_ms: u64) -> Option<&'static str> {
        if self.versioning == Versioning::Never {
            return self.objects.remove(key).map(|_| "ObjectRemoved:Delete");
        }
        let is_null = self.make_room(key);
        let marker = ModelVersion::Marker { modified_ms: now_ms, is_null };
        self.older.entry(key.to_owned()).or_default().insert(0, marker);
        Some("ObjectRemoved:DeleteMarkerCreated")
    }

    /// All versions of a key, newest first.
    pub(super) fn versions(&self, key: &str) -> Vec<ModelVersion> {
        let current = self.objects.get(key).cloned().map(ModelVersion::Object);
        current.into_iter().chain(self.older.get(key).into_iter().flatten().cloned()).collect()
    }

    fn set_versions(&mut self, key: &str, mut versions: Vec<ModelVersion>) {
        self.objects.remove(key);
        if let Some(ModelVersion::Object(object)) = versions.first().cloned() {
            self.objects.insert(key.to_owned(), object);
            versions.remove(0);
        }
        self.older.insert(key.to_owned(), versions);
    }

    fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.older.values().all(Vec::is_empty)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModelObject {
    pub(super) bytes: Arc<[u8]>,
    pub(super) etag: ETag,
    pub(super) modified_ms: u64,
    pub(super) label: String,
    pub(super) part_count: Option<u32>,
    /// Those of its parts, or its own.
    pub(super) part_md5s: Vec<[u8; 16]>,
    pub(super) is_null: bool,
    pub(super) is_held: bool,
    /// The upload that made it.
    pub(super) made_by: Option<u32>,
    pub(super) is_encrypted: bool,
    /// By their names.
    pub(super) annotations: BTreeMap<&'static str, Arc<[u8]>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModelUpload {
    /// Unknown when it was never acknowledged.
    pub(super) id: Option<UploadId>,
    pub(super) bucket: String,
    pub(super) key: String,
    pub(super) initiated_ms: u64,
    pub(super) label: String,
    pub(super) parts: BTreeMap<u16, ModelPart>,
    pub(super) is_open: bool,
    pub(super) is_encrypted: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModelPart {
    pub(super) bytes: Arc<[u8]>,
    pub(super) modified_ms: u64,
}

/// The expected outcome of a step.
#[derive(Clone, Debug)]
pub(super) enum Expected {
    /// It cannot be asked for.
    Skip,
    /// It fails, and changes nothing.
    Refused(&'static str),
    /// This is what there is then.
    Done(Model),
}

use Expected::{Done, Refused, Skip};

impl Model {
    /// The expected outcome of `step` in this state.
    pub(super) fn expect(&self, step: &Step, turn: &Turn) -> Expected {
        let mut next = self.clone();
        match *step {
            Step::Reclaim | Step::Sync | Step::Reopen => Done(next),
            Step::Notify { bucket } => match next.buckets.get_mut(BUCKETS[bucket]) {
                Some(found) => {
                    found.is_told = true;
                    next.tell(bucket, "", Some("TestEvent"));
                    Done(next)
                }
                None => Refused("NoSuchBucket"),
            },
            Step::Deliver { count } => {
                next.events.drain(..count.min(self.events.len()));
                Done(next)
            }
            Step::CreateBucket { bucket } => {
                let bucket = BUCKETS[bucket].to_owned();
                if self.buckets.contains_key(&bucket) {
                    return Refused("BucketAlreadyOwnedByYou");
                }
                let mut created = ModelBucket { created_ms: turn.now_ms, ..ModelBucket::default() };
                if bucket == LOCKABLE {
                    created.versioning = Versioning::Enabled;
                }
                next.buckets.insert(bucket, created);
                Done(next)
            }
            Step::DeleteBucket { bucket } => {
                let Some(found) = self.buckets.get(BUCKETS[bucket]) else {
                    return Refused("NoSuchBucket");
                };
                if !found.is_empty() {
                    return Refused("BucketNotEmpty");
                }
                // Uploads in progress end with their bucket.
                let uploads = next.uploads.values_mut();
                uploads
                    .filter(|upload| upload.bucket == BUCKETS[bucket])
                    .for_each(|upload| upload.is_open = false);
                next.buckets.remove(BUCKETS[bucket]);
                Done(next)
            }
            Step::Put { place, bytes } => {
                let bytes = turn.body(bytes);
                let md5 = Md5::digest(&bytes).into();
                let etag = ETag::Md5(md5);
                next.insert(
                    (place, "ObjectCreated:Put"),
                    turn,
                    ModelObject {
                        bytes,
                        etag,
                        modified_ms: turn.now_ms,
                        label: turn.label(),
                        part_count: None,
                        part_md5s: vec![md5],
                        is_null: true,
                        is_held: false,
                        made_by: None,
                        is_encrypted: turn.is_encrypted(),
                        annotations: BTreeMap::new(),
                    },
                )
            }
            Step::Import { place: (bucket, key), bytes, parts } => {
                let Some(found) = next.buckets.get_mut(BUCKETS[bucket]) else {
                    return Refused("NoSuchBucket");
                };
                let bytes = turn.body(bytes);
                let part_md5s: Vec<[u8; 16]> = bytes
                    .chunks(bytes.len().div_ceil(parts))
                    .map(|part| Md5::digest(part).into())
                    .collect();
                let (etag, part_count) = match part_md5s[..] {
                    [md5] => (ETag::Md5(md5), None),
                    _ => (ETag::multipart(&part_md5s), Some(part_md5s.len() as u32)),
                };
                let object = ModelObject {
                    bytes,
                    etag,
                    modified_ms: turn.now_ms,
                    label: turn.label(),
                    part_count,
                    part_md5s,
                    is_null: true,
                    is_held: false,
                    made_by: None,
                    is_encrypted: false,
                    annotations: BTreeMap::new(),
                };
                // Events are not told.
                found.put(KEYS[key], object);
                Done(next)
            }
            Step::Delete { place: (bucket, key) } => match next.buckets.get_mut(BUCKETS[bucket]) {
                Some(found) => {
                    let event = found.delete(KEYS[key], turn.now_ms);
                    next.tell(bucket, KEYS[key], event);
                    Done(next)
                }
                None => Refused("NoSuchBucket"),
            },
            Step::DeleteAll { bucket } => match next.buckets.get_mut(BUCKETS[bucket]) {
                Some(found) => {
                    let events = KEYS.map(|key| (key, found.delete(key, turn.now_ms)));
                    events.iter().for_each(|(key, event)| next.tell(bucket, key, *event));
                    Done(next)
                }
                None => Refused("NoSuchBucket"),
            },
            Step::SetVersioning { bucket, is_enabled } => {
                match (next.buckets.get_mut(BUCKETS[bucket]), is_enabled) {
                    (None, _) => Refused("NoSuchBucket"),
                    (Some(_), false) if BUCKETS[bucket] == LOCKABLE => {
                        Refused("InvalidBucketState")
                    }
                    (Some(found), is_enabled) => {
                        found.versioning = match is_enabled {
                            true => Versioning::Enabled,
                            false => Versioning::Suspended,
                        };
                        Done(next)
                    }
                }
            }
            Step::DeleteVersion { place: (bucket, key), newer } => {
                let Some(found) = next.buckets.get_mut(BUCKETS[bucket]) else { return Skip };
                let mut versions = found.versions(KEYS[key]);
                if newer >= versions.len() {
                    return Skip;
                }
                match versions.remove(newer) {
                    ModelVersion::Object(object) if object.is_held => Refused("ObjectLocked"),
                    _ => {
                        found.set_versions(KEYS[key], versions);
                        next.tell(bucket, KEYS[key], Some("ObjectRemoved:Delete"));
                        Done(next)
                    }
                }
            }
            Step::Hold { place: (bucket, key), is_held } => {
                let Some(found) = next.buckets.get_mut(BUCKETS[bucket]) else { return Skip };
                match found.objects.get_mut(KEYS[key]) {
                    None => Refused("NoSuchKey"),
                    Some(_) if BUCKETS[bucket] != LOCKABLE => Refused("InvalidRequest"),
                    Some(object) => {
                        object.is_held = is_held;
                        Done(next)
                    }
                }
            }
            Step::Annotate { place: (bucket, key), name, bytes } => {
                let Some(found) = next.buckets.get_mut(BUCKETS[bucket]) else {
                    return Refused("NoSuchBucket");
                };
                let Some(object) = found.objects.get_mut(KEYS[key]) else {
                    return Refused("NoSuchKey");
                };
                let (name, is_there) = (NAMES[name], object.annotations.contains_key(NAMES[name]));
                if is_there && object.is_held {
                    return Refused("ObjectLocked");
                }
                let event = match bytes {
                    0 => {
                        object.annotations.remove(name);
                        is_there.then_some("ObjectAnnotation:Delete")
                    }
                    bytes => {
                        object.annotations.insert(name, turn.body(bytes));
                        Some("ObjectAnnotation:Put")
                    }
                };
                next.tell(bucket, KEYS[key], event);
                Done(next)
            }
            Step::Copy { from, to, is_relabelled } => {
                if [from, to].iter().any(|place| !self.buckets.contains_key(BUCKETS[place.0])) {
                    return Refused("NoSuchBucket");
                }
                let source = match self.source(from) {
                    Ok(source) => source.clone(),
                    Err(refused) => return refused,
                };
                let label = if is_relabelled { turn.label() } else { source.label.clone() };
                let copy = ModelObject { label, made_by: None, is_held: false, ..source };
                if copy.is_encrypted == turn.is_encrypted() {
                    // Shared parts are one piece, until they are appended to.
                    let etag = match copy.part_count {
                        None => copy.etag,
                        Some(_) => ETag::Md5(Md5::digest(&copy.bytes).into()),
                    };
                    let copy = ModelObject { etag, part_count: None, ..copy };
                    return next.insert((to, "ObjectCreated:Copy"), turn, copy);
                }
                // Written anew, in one piece.
                let md5 = Md5::digest(&copy.bytes).into();
                let (etag, part_md5s) = (ETag::Md5(md5), vec![md5]);
                let is_encrypted = turn.is_encrypted();
                let copy = ModelObject { etag, part_count: None, part_md5s, is_encrypted, ..copy };
                next.insert((to, "ObjectCreated:Copy"), turn, copy)
            }
            Step::Append { place: (bucket, key), bytes } => {
                let Some(found) = next.buckets.get_mut(BUCKETS[bucket]) else {
                    return Refused("NoSuchBucket");
                };
                if found.versioning != Versioning::Never {
                    return Refused("InvalidBucketState");
                }
                let Some(object) = found.objects.get_mut(KEYS[key]) else { return Skip };
                if object.is_encrypted {
                    return Refused("EncryptedAppend");
                }
                let body = turn.body(bytes);
                let md5 = Md5::digest(&body).into();
                if object.bytes.is_empty() {
                    (object.etag, object.part_count) = (ETag::Md5(md5), None);
                    object.part_md5s = vec![md5];
                } else {
                    object.part_md5s.push(md5);
                    object.etag = ETag::multipart(&object.part_md5s);
                    object.part_count = Some(object.part_md5s.len() as u32);
                }
                object.bytes = [&object.bytes[..], &body[..]].concat().into();
                object.modified_ms = turn.now_ms;
                object.made_by = None;
                next.tell(bucket, KEYS[key], Some("ObjectCreated:Put"));
                Done(next)
            }
            Step::Rename { from: (bucket, from), to } => {
                let Some(found) = next.buckets.get_mut(BUCKETS[bucket]) else {
                    return Refused("NoSuchBucket");
                };
                if found.versioning != Versioning::Never {
                    return Refused("InvalidBucketState");
                }
                // Its bytes and its time stay, also its parts.
                let Some(object) = found.objects.remove(KEYS[from]) else {
                    return Refused("NoSuchKey");
                };
                found.objects.insert(KEYS[to].to_owned(), object);
                if from != to {
                    next.tell(bucket, KEYS[from], Some("ObjectRemoved:Delete"));
                    next.tell(bucket, KEYS[to], Some("ObjectCreated:Copy"));
                }
                Done(next)
            }
            Step::CreateUpload { slot, place: (bucket, key) } => {
                if !self.buckets.contains_key(BUCKETS[bucket]) {
                    return Refused("NoSuchBucket");
                }
                next.uploads.insert(
                    slot,
                    ModelUpload {
                        id: None,
                        bucket: BUCKETS[bucket].to_owned(),
                        key: KEYS[key].to_owned(),
                        initiated_ms: turn.now_ms,
                        label: turn.label(),
                        parts: BTreeMap::new(),
                        is_open: true,
                        is_encrypted: turn.is_encrypted(),
                    },
                );
                Done(next)
            }
            Step::PutPart { slot, number, bytes } => {
                next.insert_part(slot, number, turn, turn.body(bytes))
            }
            Step::CopyPart { slot, number, from, is_whole } => {
                let Some(upload) = self.uploads.get(&slot) else { return Skip };
                // The order of two refusals is unspecified.
                if !upload.is_open || !self.buckets.contains_key(&upload.bucket) {
                    return Skip;
                }
                let source = match self.source(from) {
                    Ok(source) => source,
                    Err(refused) => return refused,
                };
                let Some((first, last)) = copied_range(&source.bytes, is_whole) else {
                    return Skip;
                };
                next.insert_part(slot, number, turn, source.bytes[first..=last].into())
            }
            Step::Complete { slot } => next.complete(slot, turn),
            Step::Abort { slot } => {
                let Some(upload) = next.uploads.get_mut(&slot) else { return Skip };
                if !self.buckets.contains_key(&upload.bucket) {
                    return Refused("NoSuchBucket");
                }
                if !upload.is_open {
                    return Refused("NoSuchUpload");
                }
                upload.is_open = false;
                Done(next)
            }
        }
    }

    /// Uploads in progress in the order in which they are listed.
    pub(super) fn open_uploads(&self, bucket: &str) -> impl Iterator<Item = &ModelUpload> {
        let mut open: Vec<&ModelUpload> = self
            .uploads
            .values()
            .filter(|upload| upload.is_open && upload.bucket == bucket)
            .collect();
        open.sort_by_key(|upload| (&upload.key, upload.initiated_ms));
        open.into_iter()
    }

    pub(super) fn object(&self, (bucket, key): Place) -> Option<&ModelObject> {
        self.buckets.get(BUCKETS[bucket])?.objects.get(KEYS[key])
    }

    fn source(&self, place: Place) -> Result<&ModelObject, Expected> {
        match self.object(place) {
            Some(object) => Ok(object),
            None if self.buckets.contains_key(BUCKETS[place.0]) => Err(Refused("NoSuchKey")),
            None => Err(Refused("NoSuchBucket")),
        }
    }

    /// Notes the event, if the bucket is told of.
    fn tell(&mut self, bucket: usize, key: &str, event: Option<&'static str>) {
        let name = BUCKETS[bucket].to_owned();
        if let (Some(event), true) = (event, self.buckets[&name].is_told) {
            self.events.push((event, name, key.to_owned()));
        }
    }

    fn insert(
        mut self,
        ((bucket, key), event): (Place, &'static str),
        turn: &Turn,
        object: ModelObject,
    ) -> Expected {
        let Some(found) = self.buckets.get_mut(BUCKETS[bucket]) else {
            return Refused("NoSuchBucket");
        };
        let object = ModelObject { modified_ms: turn.now_ms, ..object };
        found.put(KEYS[key], object);
        self.tell(bucket, KEYS[key], Some(event));
        Done(self)
    }

    fn insert_part(mut self, slot: u32, number: u16, turn: &Turn, bytes: Arc<[u8]>) -> Expected {
        let Some(upload) = self.uploads.get_mut(&slot) else { return Skip };
        if !self.buckets.contains_key(&upload.bucket) {
            return Refused("NoSuchBucket");
        }
        if !upload.is_open {
            return Refused("NoSuchUpload");
        }
        upload.parts.insert(number, ModelPart { bytes, modified_ms: turn.now_ms });
        Done(self)
    }

    fn complete(mut self, slot: u32, turn: &Turn) -> Expected {
        let Some(upload) = self.uploads.get_mut(&slot) else { return Skip };
        let Some(bucket) = self.buckets.get_mut(&upload.bucket) else {
            return Refused("NoSuchBucket");
        };
        if !upload.is_open {
            let current = bucket.objects.get(&upload.key);
            let is_repeat = current.is_some_and(|object| object.made_by == Some(slot));
            return if is_repeat { Done(self) } else { Refused("NoSuchUpload") };
        }
        if upload.parts.is_empty() {
            return Refused("InvalidRequest");
        }
        upload.is_open = false;
        let bytes: Vec<u8> = upload.parts.values().flat_map(|part| part.bytes.to_vec()).collect();
        let md5s: Vec<[u8; 16]> =
            upload.parts.values().map(|part| Md5::digest(&part.bytes).into()).collect();
        let object = ModelObject {
            bytes: bytes.into(),
            etag: ETag::multipart(&md5s),
            modified_ms: turn.now_ms,
            label: upload.label.clone(),
            part_count: Some(upload.parts.len() as u32),
            part_md5s: md5s,
            is_null: true,
            is_held: false,
            made_by: Some(slot),
            is_encrypted: upload.is_encrypted,
            annotations: BTreeMap::new(),
        };
        bucket.put(&upload.key, object);
        if bucket.is_told {
            let event = "ObjectCreated:CompleteMultipartUpload";
            self.events.push((event, upload.bucket.clone(), upload.key.clone()));
        }
        Done(self)
    }
}

/// First and last byte that a copied part takes of its source; none when it would be too small.
pub(super) fn copied_range(source: &[u8], is_whole: bool) -> Option<(usize, usize)> {
    let first = if is_whole { 0 } else { source.len() / 3 };
    let last = source.len().checked_sub(1)?;
    (last + 1 - first >= PART_BYTES_MIN as usize).then_some((first, last))
}

/// The name of what a step may be refused with; `None` for failures of the disk.
pub(super) fn refusal(error: &StoreError) -> Option<&'static str> {
    match error {
        StoreError::BucketAlreadyOwnedByYou { .. } => Some("BucketAlreadyOwnedByYou"),
        StoreError::NoSuchBucket { .. } => Some("NoSuchBucket"),
        StoreError::BucketNotEmpty { .. } => Some("BucketNotEmpty"),
        StoreError::NoSuchKey { .. } => Some("NoSuchKey"),
        StoreError::NoSuchUpload { .. } => Some("NoSuchUpload"),
        StoreError::InvalidRequest { .. } => Some("InvalidRequest"),
        StoreError::InvalidBucketState { .. } => Some("InvalidBucketState"),
        StoreError::ObjectLocked => Some("ObjectLocked"),
        StoreError::EncryptedAppend => Some("EncryptedAppend"),
        StoreError::NoSpace
        | StoreError::Poisoned { .. }
        | StoreError::Io(_)
        | StoreError::BodyNotWritten(_) => None,
        _ => Some("something that must not happen"),
    }
}
