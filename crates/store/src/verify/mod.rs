//! Verification: every record is compared with the bytes that it references.

mod bodies;
mod vectors;

use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;

use liteio_disk::Disk;

use self::bodies::{DataKey, VerifiedBody};
use self::vectors::VectorVerifier;
use crate::checksum::{ChecksumAlgorithm, ChecksumType, Digests};
use crate::config::StoreConfig;
use crate::encryption::Identity;
use crate::error::StoreError;
use crate::etag::ETag;
use crate::kv::{KvError, Read};
use crate::meta::bucket::BucketRecord;
use crate::meta::content::Content;
use crate::meta::key::successor;
use crate::meta::object::{Extensions, ObjectRecord};
use crate::meta::upload::{PartRecord, UploadRecord};
use crate::meta::{document, space};
use crate::name::{BucketId, BucketName, ObjectKey, UploadId, VersionId};
use crate::object::identity;
use crate::open;
use crate::store::{Opened, Store};

/// The progress of [`Store::verify`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyProgress {
    /// Records checked.
    pub done: u64,
    /// Records in all.
    pub total: u64,
}

/// One damaged object; with no key a damaged record or document of a bucket; with no bucket and no key a
/// damaged vector or index, whose name is in `what`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Its bucket; none if only its number is known.
    pub bucket: Option<BucketName>,
    /// Its key.
    pub key: Option<ObjectKey>,
    /// Its version.
    pub version: Option<VersionId>,
    /// The damage, in words.
    pub what: String,
    /// What repair can do about it.
    pub(crate) remedy: Remedy,
}

/// What [`Store::repair`] can do about damage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// Nothing: the damaged record is not known, or it may be whole, and could only not be read.
    #[default]
    None,
    /// Removing the record at this key.
    Remove(Vec<u8>),
    /// Writing the row of the index of null versions at this key again, for the version of this stamp.
    Index { row: Vec<u8>, stamp: [u8; 16] },
}

/// The reason why a record does not verify.
enum Failure {
    /// It, or a blob that it references, is not what was written.
    Damaged(StoreError),
    /// It is whole, and not in the index of null versions.
    NotIndexed { row: Vec<u8>, stamp: [u8; 16] },
    /// It may be whole: it is of a newer format, or could not be read, or its page of the tree.
    Unknown(StoreError),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Corrupt { .. } => Self::Damaged(error),
            error => Self::Unknown(error),
        }
    }
}

impl From<KvError> for Failure {
    fn from(error: KvError) -> Self {
        Self::Unknown(error.into())
    }
}

/// The result of [`Store::verify`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Objects (versions) checked.
    pub objects: u64,
    /// Blobs on the disk.
    pub blobs: u64,
    /// Vectors checked.
    pub vectors: u64,
    /// Bytes read and verified.
    pub bytes: u64,
    /// Objects and parts of uploads that are encrypted with keys which are not there: only their cipher
    /// text was verified.
    pub sealed: u64,
    /// The damage found.
    pub damaged: Vec<Damage>,
    /// Blobs that no record references; 0 if a record is damaged, because its blobs are unknown.
    pub orphans: u64,
    /// The paths of blobs that no record referenced, which a sweep has moved to `blobs/lost/`.
    pub lost: Vec<String>,
    /// The place where the log ends and the reason, if it does not end in order. Only of a closed store.
    pub log_end: Option<String>,
}

impl VerifyReport {
    /// Damage that ends a part of the verification, as an entry of the report.
    fn or_damage<T>(&mut self, result: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
        match result {
            Err(error @ (StoreError::Corrupt { .. } | StoreError::FormatTooNew { .. })) => {
                self.damaged.push(Damage::of_store(&error));
                Ok(None)
            }
            result => result.map(Some),
        }
    }
}

impl Damage {
    /// Damage of the store as a whole.
    pub(crate) fn of_store(error: &StoreError) -> Self {
        Self {
            bucket: None,
            key: None,
            version: None,
            what: error.to_string(),
            remedy: Remedy::None,
        }
    }
}

impl Store {
    /// Opens the store that `config` describes, [verifies](Store::verify) it and closes it. It is only
    /// read: what opening changes, such as the replay of its log, stays in memory. The files may be
    /// read-only.
    ///
    /// # Errors
    /// As [`Store::open`], but a directory without a store is [`StoreError::NotADataDirectory`], and damage
    /// for which a store cannot be opened is in the report.
    pub fn verify_closed(
        config: StoreConfig,
        progress: &mut dyn FnMut(VerifyProgress),
    ) -> Result<VerifyReport, StoreError> {
        verify_opened(open::open_to_look(config), progress)
    }

    /// As [`Store::verify_closed`], on `disk`. The backend in `config` is ignored.
    ///
    /// # Errors
    /// As [`Store::verify_closed`].
    pub fn verify_closed_on(
        disk: Arc<dyn Disk>,
        config: StoreConfig,
        progress: &mut dyn FnMut(VerifyProgress),
    ) -> Result<VerifyReport, StoreError> {
        verify_opened(open::open_to_look_on(disk, config), progress)
    }

    /// Reads every object, every part of an upload and every vector, and verifies their checksums.
    /// Changes nothing. Data written or deleted meanwhile may or may not be included.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the disk cannot be read. Damage is in the report, not an error.
    pub fn verify(
        &self,
        progress: &mut dyn FnMut(VerifyProgress),
    ) -> Result<VerifyReport, StoreError> {
        let mut unpaced = |_| Ok(());
        let mut verifier = Verifier::new(self, &mut unpaced)?;
        let total = match self.count_records() {
            // Those that can be read are counted as they come.
            Err(StoreError::Corrupt { .. }) => 0,
            total => total?,
        };
        let mut state = VerifyProgress { done: 0, total };
        progress(state);
        for space in SPACES {
            let result = verifier.verify_space(space, &mut || {
                state.done += 1;
                state.total = state.total.max(state.done);
                progress(state);
            });
            verifier.report.or_damage(result)?;
        }
        let damaged = verifier.take_damage();
        let mut report = VerifyReport { damaged, ..verifier.report };
        self.count_blobs(&mut report)?;
        report.lost = self.lost_paths()?;
        Ok(report)
    }

    fn count_records(&self) -> Result<u64, StoreError> {
        let mut total = 0;
        let snapshot = self.snapshot()?;
        for space in SPACES {
            self.walk(&snapshot, space, &mut |_, _| {
                total += 1;
                Ok(())
            })?;
        }
        Ok(total)
    }

    fn count_blobs(&self, report: &mut VerifyReport) -> Result<(), StoreError> {
        let mut orphans = 0;
        let scanned = self.scan_orphans(&mut |_| {
            orphans += 1;
            Ok(())
        });
        match scanned {
            Ok(blobs) => (report.blobs, report.orphans) = (blobs, orphans),
            // The blobs that a damaged record references are unknown.
            Err(StoreError::Corrupt { .. } | StoreError::FormatTooNew { .. }) => {
                self.shared().blobs.scan(&mut |_| report.blobs += 1)?;
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The names of all buckets whose records can be read.
    fn bucket_names(
        &self,
        damaged: &mut Vec<Damage>,
    ) -> Result<HashMap<BucketId, VerifiedBucket>, StoreError> {
        let mut names = HashMap::new();
        self.walk(&self.snapshot()?, &space::bucket(""), &mut |key, value| {
            let name = space::bucket_name(key).and_then(|name| BucketName::new(name).ok());
            match BucketRecord::decode(key, value) {
                Ok(record) => {
                    let has_index = !record.is_version_1;
                    drop(
                        name.map(|name| {
                            names.insert(record.id, VerifiedBucket { name, has_index })
                        }),
                    );
                }
                Err(error) => damaged.push(Damage {
                    bucket: name,
                    key: None,
                    version: None,
                    what: error.to_string(),
                    remedy: Remedy::None,
                }),
            }
            Ok(())
        })?;
        Ok(names)
    }

    /// A batch of keys and values of a space. Its snapshot ends before blobs are read, because a long one
    /// keeps replaced pages alive.
    pub(crate) fn read_batch(
        &self,
        space: &[u8],
        position: &Bound<Vec<u8>>,
    ) -> Result<Vec<Pair>, StoreError> {
        let end = successor(space).unwrap_or_default();
        let snapshot = self.snapshot()?;
        let lower = position.as_ref().map(Vec::as_slice);
        let mut cursor = snapshot.cursor(lower, Bound::Excluded(&end))?;
        let mut batch = Vec::new();
        while batch.len() < BATCH
            && let Some((key, value)) = cursor.next()?
        {
            batch.push((key.to_vec(), value.to_vec()));
        }
        Ok(batch)
    }
}

fn verify_opened(
    opened: Result<Opened, StoreError>,
    progress: &mut dyn FnMut(VerifyProgress),
) -> Result<VerifyReport, StoreError> {
    let opened = match opened {
        // Found before anything could be read.
        Err(error @ StoreError::Corrupt { .. }) => {
            let damaged = vec![Damage::of_store(&error)];
            return Ok(VerifyReport { damaged, ..VerifyReport::default() });
        }
        opened => opened?,
    };
    let log_end = opened.log_end.clone();
    let store = Store::from_opened(opened);
    let report = store.verify(progress);
    store.close();
    Ok(VerifyReport { log_end, ..report? })
}

/// The key spaces whose records are verified one by one.
pub(crate) const SPACES: [&[u8]; 8] = [
    space::ALL_DOCUMENTS,
    space::ALL_CURRENT,
    space::ALL_HISTORY,
    space::ALL_NULL_VERSIONS,
    space::ALL_UPLOADS,
    space::ALL_PARTS,
    space::ALL_VECTORS,
    space::ALL_VECTOR_SLOTS,
];

/// A key with its value.
type Pair = (Vec<u8>, Vec<u8>);

/// Records read at a time; a record may hold as much as an inline body.
const BATCH: usize = 128;

/// A bucket whose record can be read.
struct VerifiedBucket {
    name: BucketName,
    /// `true` when the history of its objects is indexed.
    has_index: bool,
}

/// Called with the number of bytes that were read; may wait, or end the verification.
type Pace<'a> = dyn FnMut(u64) -> Result<(), StoreError> + 'a;

/// A verification under way.
pub(crate) struct Verifier<'a> {
    store: &'a Store,
    pace: &'a mut Pace<'a>,
    buckets: HashMap<BucketId, VerifiedBucket>,
    vectors: VectorVerifier,
    report: VerifyReport,
}

/// The key of the parts of an upload, if it can be unwrapped.
type UploadKey = Result<DataKey, StoreError>;

/// The place of a record, for a [`Damage`].
#[derive(Clone, Debug, Default)]
struct Location {
    bucket: Option<BucketId>,
    key: Option<ObjectKey>,
    version: Option<VersionId>,
}

impl<'a> Verifier<'a> {
    pub(crate) fn new(store: &'a Store, pace: &'a mut Pace<'a>) -> Result<Self, StoreError> {
        let mut report = VerifyReport::default();
        let buckets = store.bucket_names(&mut report.damaged);
        let vectors = VectorVerifier::new(store);
        Ok(Self {
            store,
            pace,
            buckets: report.or_damage(buckets)?.unwrap_or_default(),
            vectors: report.or_damage(vectors)?.unwrap_or_default(),
            report,
        })
    }

    /// Counts bytes that were read.
    pub(crate) fn pace(&mut self, bytes: u64) -> Result<(), StoreError> {
        (self.pace)(bytes)
    }

    /// The damage that was found since the last call.
    pub(crate) fn take_damage(&mut self) -> Vec<Damage> {
        let mut damaged = std::mem::take(&mut self.report.damaged);
        damaged.extend(self.vectors.take_damaged_indexes());
        damaged
    }
}

impl Verifier<'_> {
    /// Verifies every record of a space, and calls `verified` after each.
    fn verify_space(&mut self, space: &[u8], verified: &mut dyn FnMut()) -> Result<(), StoreError> {
        let mut position = Bound::Included(space.to_vec());
        loop {
            let batch = self.store.read_batch(space, &position)?;
            let Some((last, _)) = batch.last() else { return Ok(()) };
            position = Bound::Excluded(last.clone());
            for (place, value) in &batch {
                self.verify(place, value)?;
                verified();
            }
        }
    }

    /// Verifies a record.
    ///
    /// # Errors
    /// Those of the disk. A page of the tree that cannot be read is damage.
    pub(crate) fn verify(&mut self, place: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let verified = self.verify_record(place, value);
        self.report.or_damage(verified).map(drop)
    }

    fn verify_record(&mut self, place: &[u8], value: &[u8]) -> Result<(), StoreError> {
        if let Some(damage) = self.vectors.verify(self.store, place, value, &mut self.report)? {
            self.report.damaged.push(damage);
        }
        if matches!(place.first(), Some(tag) if VectorVerifier::is_for(*tag)) {
            return Ok(());
        }
        let mut location = Location::default();
        if let Some((bucket, _)) = space::split_document(place) {
            location.bucket = Some(bucket);
            let result = document::decode(place, value).map(drop).map_err(Failure::from);
            return self.note(result, place, value, location);
        }
        if let Some((bucket, key)) = space::split_null_version(place) {
            let result = self.verify_null_version(bucket, key, value, &mut location);
            return self.note(result, place, value, location);
        }
        if space::is_upload(place) {
            let result = UploadRecord::decode(place, value).map(drop).map_err(Failure::from);
            return self.note(result, place, value, location);
        }
        let result = match space::split_part(place) {
            Some((upload, _)) => match self.upload_location(&upload)? {
                Some((found, key)) => {
                    location = found;
                    key.map_err(Failure::from).and_then(|key| self.verify_part(place, value, &key))
                }
                // Of a completed upload: it is checked as a part of its object.
                None => return Ok(()),
            },
            None => self.verify_object(place, value, &mut location),
        };
        self.note(result, place, value, location)
    }

    /// Reports damage, unless the record was replaced while it was read.
    fn note(
        &mut self,
        result: Result<(), Failure>,
        place: &[u8],
        value: &[u8],
        location: Location,
    ) -> Result<(), StoreError> {
        let (what, remedy) = match result {
            Ok(()) => return Ok(()),
            Err(Failure::Unknown(StoreError::Closed)) => return Err(StoreError::Closed),
            Err(Failure::Damaged(error)) => (error.to_string(), Remedy::Remove(place.to_vec())),
            Err(Failure::NotIndexed { row, stamp }) => {
                let what = StoreError::corrupt("the version null is not in its index");
                (what.to_string(), Remedy::Index { row, stamp })
            }
            Err(Failure::Unknown(error)) => (error.to_string(), Remedy::None),
        };
        if self.is_still_there(place, value)? {
            let bucket = location.bucket.and_then(|id| self.buckets.get(&id));
            let bucket = bucket.map(|bucket| bucket.name.clone());
            let Location { key, version, .. } = location;
            self.report.damaged.push(Damage { bucket, key, version, what, remedy });
        }
        Ok(())
    }

    fn is_still_there(&self, place: &[u8], value: &[u8]) -> Result<bool, StoreError> {
        let snapshot = self.store.snapshot()?;
        Ok(snapshot.get(place)?.is_some_and(|found| *found == *value))
    }

    fn verify_object(
        &mut self,
        place: &[u8],
        value: &[u8],
        location: &mut Location,
    ) -> Result<(), Failure> {
        self.report.objects += 1;
        let split = space::split_current(place).map(|(bucket, key)| (bucket, key.to_vec()));
        let split = split.or_else(|| space::split_history(place).map(|it| (it.0, it.1)));
        let (bucket, key) = split.ok_or_else(|| StoreError::corrupt("the key of a record"))?;
        location.bucket = Some(bucket);
        location.key = String::from_utf8(key).ok().and_then(|key| ObjectKey::new(key).ok());
        if location.key.is_none() {
            return Err(StoreError::corrupt("a record's object key").into());
        }
        let record = ObjectRecord::decode(place, value)?;
        location.version = Some(record.version_id());
        if record.is_null && space::split_history(place).is_some() {
            self.verify_is_indexed(location, &record.stamp)?;
        }
        if record.is_delete_marker {
            return Ok(());
        }
        if let Content::Parts { list, count, .. } = &record.content {
            return self.verify_parts(&record, list, *count);
        }
        let key = match &location.key {
            Some(key) => {
                let identity = identity(bucket, key, &record.stamp, &record.content);
                self.data_key(&record.extensions, identity)?
            }
            None => DataKey::Unknown,
        };
        let full = record.checksum.filter(|it| it.kind == ChecksumType::FullObject);
        let algorithms: Vec<_> = full.iter().map(|full| full.value.algorithm).collect();
        let body = key.body(&record.content, record.bytes);
        let digests = self.read(&body, &algorithms)?;
        if !key.is_known() {
            return Ok(());
        }
        if record.etag != ETag::Md5(body.tag(digests.md5)) {
            return Err(StoreError::corrupt("the bytes do not have the MD5 of the object").into());
        }
        match full {
            Some(full) if digests.checksum(full.value.algorithm) != Some(&full.value) => {
                Err(StoreError::corrupt("the bytes do not have the checksum of the object").into())
            }
            _ => Ok(()),
        }
    }

    fn verify_parts(
        &mut self,
        record: &ObjectRecord,
        list: &UploadId,
        count: u32,
    ) -> Result<(), Failure> {
        let key = self.data_key(&record.extensions, Identity::Upload(list))?;
        let mut md5s = Vec::new();
        let mut start = 0;
        for number in 1..=count {
            let missing = || StoreError::corrupt(format!("part {number} is missing"));
            let number = u16::try_from(number).map_err(|_| missing())?;
            let place = space::part(list, number);
            let part = self.get(&place)?.ok_or_else(missing)?;
            let part = PartRecord::decode(&place, &part)?;
            if part.facts.start != start {
                return Err(StoreError::corrupt(format!("part {number} is out of place")).into());
            }
            self.verify_part_bytes(&part, &key)?;
            start += part.facts.bytes;
            md5s.push(part.facts.md5);
        }
        if start != record.bytes || ETag::multipart(&md5s) != record.etag {
            return Err(StoreError::corrupt("the parts do not make up the object").into());
        }
        Ok(())
    }

    fn verify_part(&mut self, place: &[u8], value: &[u8], key: &DataKey) -> Result<(), Failure> {
        self.verify_part_bytes(&PartRecord::decode(place, value)?, key)
    }

    /// Checks that the index has the version `null` of the history.
    fn verify_is_indexed(&self, location: &Location, stamp: &[u8; 16]) -> Result<(), Failure> {
        let (Some(id), Some(key)) = (location.bucket, &location.key) else { return Ok(()) };
        if !self.buckets.get(&id).is_some_and(|bucket| bucket.has_index) {
            return Ok(());
        }
        let row = space::null_version(id, key.as_str());
        match self.get(&row)?.is_some_and(|found| found == *stamp) {
            true => Ok(()),
            false => Err(Failure::NotIndexed { row, stamp: *stamp }),
        }
    }

    /// Checks that a row of the index has the version `null` of the history.
    fn verify_null_version(
        &self,
        bucket: BucketId,
        key: &[u8],
        stamp: &[u8],
        location: &mut Location,
    ) -> Result<(), Failure> {
        location.bucket = Some(bucket);
        location.version = Some(VersionId::Null);
        let key = String::from_utf8(key.to_vec()).ok().and_then(|key| ObjectKey::new(key).ok());
        location.key.clone_from(&key);
        let wrong = || StoreError::corrupt("the index of null versions names no such version");
        let (key, stamp) = (key.ok_or_else(wrong)?, stamp.try_into().map_err(|_| wrong())?);
        let place = space::history(bucket, key.as_str(), &stamp);
        let record = self.get(&place)?.ok_or_else(wrong)?;
        match ObjectRecord::decode(&place, &record)?.is_null {
            true => Ok(()),
            false => Err(wrong().into()),
        }
    }

    fn verify_part_bytes(&mut self, part: &PartRecord, key: &DataKey) -> Result<(), Failure> {
        let body = key.part(part)?;
        let md5 = self.read(&body, &[])?.md5;
        match !key.is_known() || body.tag(md5) == part.facts.md5 {
            true => Ok(()),
            false => Err(StoreError::corrupt("the bytes of a part do not have its MD5").into()),
        }
    }

    fn read(
        &mut self,
        body: &VerifiedBody<'_>,
        algorithms: &[ChecksumAlgorithm],
    ) -> Result<Digests, Failure> {
        let digests = body.digests(self.store, algorithms, &mut *self.pace)?;
        self.report.bytes += digests.bytes;
        Ok(digests)
    }

    /// A value. If it cannot be read, nothing is known of the record that needs it.
    fn get(&self, place: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let snapshot = self.store.snapshot().map_err(Failure::Unknown)?;
        Ok(snapshot.get(place)?.map(|value| value.to_vec()))
    }

    /// The key of an object or upload, which is counted if it is not there.
    fn data_key(
        &mut self,
        extensions: &Extensions,
        identity: Identity<'_>,
    ) -> Result<DataKey, StoreError> {
        let key = DataKey::of(self.store, extensions, identity)?;
        self.report.sealed += u64::from(!key.is_known());
        Ok(key)
    }

    /// The object that an upload in progress is for, and the key of its parts.
    fn upload_location(
        &mut self,
        id: &UploadId,
    ) -> Result<Option<(Location, UploadKey)>, StoreError> {
        let upload = match UploadRecord::read(&self.store.snapshot()?, id) {
            Ok(Some(upload)) => upload,
            Ok(None) => return Ok(None),
            // It is in the report itself.
            Err(StoreError::Corrupt { .. } | StoreError::FormatTooNew { .. }) => {
                return Ok(Some((Location::default(), Ok(DataKey::Unknown))));
            }
            Err(error) => return Err(error),
        };
        let data_key = self.data_key(&upload.extensions, Identity::Upload(id));
        let key = ObjectKey::new(upload.key).ok();
        Ok(Some((Location { bucket: Some(upload.bucket), key, version: None }, data_key)))
    }
}
