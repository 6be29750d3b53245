//! The model of a store, in plain maps.

use std::collections::BTreeMap;
use std::sync::Arc;

use liteio_store::{ETag, SeededRandom, StoreError, UploadId};
use md5::{Digest as _, Md5};

use super::disk::PART_BYTES_MIN;
use super::workload::{BUCKETS, KEYS, Place, Step};

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

    /// The user metadata that this step sends.
    pub(super) fn label(&self) -> String {
        format!("step {}", self.index)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) buckets: BTreeMap<String, ModelBucket>,
    pub(super) uploads: BTreeMap<u32, ModelUpload>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ModelBucket {
    pub(super) created_ms: u64,
    pub(super) objects: BTreeMap<String, ModelObject>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModelObject {
    pub(super) bytes: Arc<[u8]>,
    pub(super) etag: ETag,
    pub(super) modified_ms: u64,
    pub(super) label: String,
    pub(super) part_count: Option<u32>,
    /// The upload that made it.
    pub(super) made_by: Option<u32>,
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
            Step::CreateBucket { bucket } => {
                let bucket = BUCKETS[bucket].to_owned();
                if self.buckets.contains_key(&bucket) {
                    return Refused("BucketAlreadyOwnedByYou");
                }
                let created = ModelBucket { created_ms: turn.now_ms, objects: BTreeMap::new() };
                next.buckets.insert(bucket, created);
                Done(next)
            }
            Step::DeleteBucket { bucket } => {
                let Some(found) = self.buckets.get(BUCKETS[bucket]) else {
                    return Refused("NoSuchBucket");
                };
                if !found.objects.is_empty() {
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
                let etag = ETag::Md5(Md5::digest(&bytes).into());
                next.insert(
                    place,
                    turn,
                    ModelObject {
                        bytes,
                        etag,
                        modified_ms: turn.now_ms,
                        label: turn.label(),
                        part_count: None,
                        made_by: None,
                    },
                )
            }
            Step::Delete { place: (bucket, key) } => match next.buckets.get_mut(BUCKETS[bucket]) {
                Some(found) => {
                    found.objects.remove(KEYS[key]);
                    Done(next)
                }
                None => Refused("NoSuchBucket"),
            },
            Step::DeleteAll { bucket } => match next.buckets.get_mut(BUCKETS[bucket]) {
                Some(found) => {
                    found.objects.clear();
                    Done(next)
                }
                None => Refused("NoSuchBucket"),
            },
            Step::Copy { from, to, is_relabelled } => {
                if [from, to].iter().any(|place| !self.buckets.contains_key(BUCKETS[place.0])) {
                    return Refused("NoSuchBucket");
                }
                let source = match self.source(from) {
                    Ok(source) => source.clone(),
                    Err(refused) => return refused,
                };
                let label = if is_relabelled { turn.label() } else { source.label.clone() };
                next.insert(to, turn, ModelObject { label, made_by: None, ..source })
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

    fn insert(mut self, (bucket, key): Place, turn: &Turn, object: ModelObject) -> Expected {
        let Some(found) = self.buckets.get_mut(BUCKETS[bucket]) else {
            return Refused("NoSuchBucket");
        };
        let object = ModelObject { modified_ms: turn.now_ms, ..object };
        found.objects.insert(KEYS[key].to_owned(), object);
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
            made_by: Some(slot),
        };
        bucket.objects.insert(upload.key.clone(), object);
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
        StoreError::NoSpace | StoreError::Poisoned { .. } | StoreError::Io(_) => None,
        _ => Some("something that must not happen"),
    }
}
