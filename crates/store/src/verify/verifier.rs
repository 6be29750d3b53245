//! Verification of records, one by one.

use std::collections::HashMap;
use std::ops::Bound;

use liteio_kv::{KvError, Read};

use super::bodies::DataKey;
use super::vectors::VectorVerifier;
use super::{Damage, Remedy, VerifyReport};
use crate::encryption::{Identity, MissingKeys};
use crate::error::StoreError;
use crate::meta::annotation::{SetHead, SetId};
use crate::meta::answer::AnswerRecord;
use crate::meta::bucket::BucketRecord;
use crate::meta::event::Event;
use crate::meta::object::Extensions;
use crate::meta::queue::{QueueRecord, decode_former};
use crate::meta::remote::{MoveRow, RemoteDeletion};
use crate::meta::restore::RestoreRow;
use crate::meta::space::QueueKind;
use crate::meta::table::{
    ChangeRecord, NamespaceRecord, PurgeRecord, TableRecord, TableSettings, UnreferencedRecord,
};
use crate::meta::upload::UploadRecord;
use crate::meta::{ReplicationRow, Resync, document, identity, space};
use crate::name::{BucketId, BucketName, ObjectKey, UploadId, VersionId};
use crate::store::Store;

/// The reason why a record does not verify.
pub(super) enum Failure {
    /// The record, or a blob that it references, differs from what was written.
    Damaged(StoreError),
    /// The record is whole, but missing in the index of null versions.
    NotIndexed { row: Vec<u8>, stamp: [u8; 16] },
    /// A set of annotations has no head, or one with another number or version.
    Annotations { set: SetId, head: SetHead },
    /// The row of an annotation belongs to no set, unless the head of the set is lost, which its version tells.
    Headless(StoreError),
    /// The record may be whole: it has a newer format, or it or its page of the tree could not be
    /// read.
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
        // A failed read says nothing about the record.
        Self::Unknown(error.into())
    }
}

/// Objects that are named whose bytes are only in a backup.
const OUTSTANDING_NAMED: usize = 1_000;

/// A bucket with a readable record.
pub(super) struct VerifiedBucket {
    pub(super) name: BucketName,
    /// `true` if the history of its objects has the index of null versions.
    pub(super) has_index: bool,
}

/// Called with the number of bytes read; may wait, or end the verification.
pub(super) type Pace<'a> = dyn FnMut(u64) -> Result<(), StoreError> + 'a;

/// A running verification: it is fed records one by one, and collects the damage.
pub(crate) struct Verifier<'a> {
    pub(super) store: &'a Store,
    pub(super) pace: &'a mut Pace<'a>,
    pub(super) buckets: HashMap<BucketId, VerifiedBucket>,
    vectors: VectorVerifier,
    pub(super) report: VerifyReport,
}

/// The data key of an upload's parts, if it can be unwrapped.
type UploadKey = Result<DataKey, StoreError>;

/// The owner of a record, for [`Damage`].
#[derive(Clone, Debug, Default)]
pub(super) struct Location {
    pub(super) bucket: Option<BucketId>,
    pub(super) key: Option<ObjectKey>,
    pub(super) version: Option<VersionId>,
}

impl<'a> Verifier<'a> {
    pub(crate) fn new(store: &'a Store, pace: &'a mut Pace<'a>) -> Result<Self, StoreError> {
        let mut report = VerifyReport::default();
        let buckets = readable_buckets(store, &mut report.damaged);
        let vectors = VectorVerifier::new(store);
        Ok(Self {
            store,
            pace,
            buckets: report.or_damage(buckets)?.unwrap_or_default(),
            vectors: report.or_damage(vectors)?.unwrap_or_default(),
            report,
        })
    }

    /// Reports bytes that were read.
    pub(crate) fn pace(&mut self, bytes: u64) -> Result<(), StoreError> {
        (self.pace)(bytes)
    }

    /// The report, with all damage found.
    pub(super) fn into_report(mut self) -> VerifyReport {
        let damaged = self.take_damage();
        VerifyReport { damaged, ..self.report }
    }

    /// The missing keys found since the last call.
    pub(crate) fn take_missing(&mut self) -> MissingKeys {
        std::mem::take(&mut self.report.missing)
    }

    /// The damage found since the last call.
    pub(crate) fn take_damage(&mut self) -> Vec<Damage> {
        let mut damaged = std::mem::take(&mut self.report.damaged);
        damaged.extend(self.vectors.take_damaged_indexes());
        damaged
    }
}

impl Verifier<'_> {
    /// Verifies every record of a key space, and calls `verified` after each.
    pub(super) fn verify_space(
        &mut self,
        space: &[u8],
        verified: &mut dyn FnMut(),
    ) -> Result<(), StoreError> {
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

    /// Verifies one record.
    ///
    /// # Errors
    /// The errors of the disk. An unreadable page of the tree is damage.
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
        // Most records need only be decoded. Objects and parts, further below, are compared with
        // their bytes.
        if let Some((bucket, _)) = space::split_document(place) {
            location.bucket = Some(bucket);
            let result = document::decode(place, value).map(drop).map_err(Failure::from);
            return self.note(result, place, value, location);
        }
        if let Some((bucket, key)) = space::split_null_version(place) {
            let result = self.verify_null_version(bucket, key, value, &mut location);
            return self.note(result, place, value, location);
        }
        if let Some(result) = self.verify_annotation_row(place, value, &mut location) {
            return self.note(result, place, value, location);
        }
        if let Some(stamp) = space::split_body(place) {
            let result = self.verify_has_version(place, value, &stamp, &mut location);
            return self.note(result, place, value, location);
        }
        for kind in [QueueKind::Events, QueueKind::Replication] {
            if place == kind.former_place() {
                let result = decode_former(kind, value).map(drop).map_err(Failure::from);
                return self.note(result, place, value, location);
            }
        }
        if space::split_queue_counter(place).is_some() {
            let result = QueueRecord::open(place, value).map(drop).map_err(Failure::from);
            return self.note(result, place, value, location);
        }
        match space::split_queue_row(place) {
            Some((QueueKind::Events, target, number)) => {
                let named = |error| match error {
                    StoreError::Corrupt { .. } => {
                        StoreError::corrupt(format!("event {number} for {target:?}: {error}"))
                    }
                    error => error,
                };
                let result = Event::decode(place, value).map(drop).map_err(|it| named(it).into());
                return self.note(result, place, value, location);
            }
            Some((QueueKind::Replication, ..)) => {
                let result = ReplicationRow::decode(place, value).map(drop).map_err(Failure::from);
                return self.note(result, place, value, location);
            }
            None => {}
        }
        if space::is_resync(place) {
            let result = Resync::decode(place, value).map(drop).map_err(Failure::from);
            return self.note(result, place, value, location);
        }
        if space::is_tier_move(place) {
            let result = MoveRow::decode(place, value).map(drop).map_err(Failure::from);
            return self.note(result, place, value, location);
        }
        if space::split_restore(place).is_some() {
            let result = RestoreRow::decode(place, value).map(drop).map_err(Failure::from);
            return self.note(result, place, value, location);
        }
        if space::split_remote_deletion(place).is_some() {
            let result = RemoteDeletion::decode(place, value).map(drop).map_err(Failure::from);
            return self.note(result, place, value, location);
        }
        if space::is_identity(place) {
            let result = identity::decode(place, value).map(drop).map_err(Failure::from);
            return self.note(result, place, value, location);
        }
        if let Some((bucket, ..)) = space::split_catalog(place) {
            location.bucket = Some(bucket);
            let result = verify_catalog(place, value).map_err(Failure::from);
            return self.note(result, place, value, location);
        }
        if let Some((bucket, id, path, name)) = space::split_table_id(place) {
            location.bucket = Some(bucket);
            let result = self.verify_table_id(&space::table(bucket, &path, name), &id);
            return self.note(result.map_err(Failure::from), place, value, location);
        }
        if let Some((bucket, _)) = space::split_unreferenced(place) {
            location.bucket = Some(bucket);
            let result = UnreferencedRecord::decode(place, value).map(drop).map_err(Failure::from);
            return self.note(result, place, value, location);
        }
        if space::is_answer(place) {
            let result = AnswerRecord::decode(place, value).map(drop).map_err(Failure::from);
            return self.note(result, place, value, location);
        }
        if space::split_answer_time(place).is_some() {
            return self.note(Ok(()), place, value, location);
        }
        if let Some((bucket, _)) = space::split_purge(place) {
            location.bucket = Some(bucket);
            let result = PurgeRecord::decode(place, value).map(drop).map_err(Failure::from);
            return self.note(result, place, value, location);
        }
        if space::split_catalog_change(place).is_some() {
            let result = ChangeRecord::decode(place, value).map(drop).map_err(Failure::from);
            return self.note(result, place, value, location);
        }
        if let Some(bucket) = space::split_usage(place) {
            return self.verify_usage_row(bucket, place, value);
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
                // A part of a completed upload is checked with its object.
                None => return Ok(()),
            },
            None => self.verify_object(place, value, &mut location),
        };
        self.note(result, place, value, location)
    }

    /// Reports damage, unless the record was replaced while it was checked.
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
            // What may not be read says nothing about its bytes.
            Err(Failure::Unknown(error)) if error.is_denied() => return Err(error),
            Err(Failure::Unknown(StoreError::Suspended { reason })) => {
                self.report.outstanding_count += 1;
                if self.report.outstanding.len() < OUTSTANDING_NAMED {
                    let bucket = location.bucket.and_then(|id| self.buckets.get(&id));
                    let bucket = bucket.map(|bucket| bucket.name.clone());
                    let Location { key, version, .. } = location;
                    let (what, remedy) = (reason, Remedy::None);
                    self.report.outstanding.push(Damage { bucket, key, version, what, remedy });
                }
                return Ok(());
            }
            Err(Failure::Damaged(error)) => (error.to_string(), Remedy::Remove(place.to_vec())),
            Err(Failure::NotIndexed { row, stamp }) => {
                let what = StoreError::corrupt("the version null is not in its index");
                (what.to_string(), Remedy::Index { row, stamp })
            }
            Err(Failure::Annotations { set, head }) => {
                let what = StoreError::corrupt("the head of the annotations of a version");
                (what.to_string(), Remedy::Annotations { set, head })
            }
            Err(Failure::Headless(error)) => (error.to_string(), Remedy::Headless(place.to_vec())),
            Err(Failure::Unknown(error)) => (error.to_string(), Remedy::None),
        };
        // Only what is still stored is damage: a concurrent write may have replaced record and
        // blob.
        if self.is_still_there(place, value)? {
            let bucket = location.bucket.and_then(|id| self.buckets.get(&id));
            let bucket = bucket.map(|bucket| bucket.name.clone());
            let Location { key, version, .. } = location;
            self.report.damaged.push(Damage { bucket, key, version, what, remedy });
        }
        Ok(())
    }

    pub(super) fn is_still_there(&self, place: &[u8], value: &[u8]) -> Result<bool, StoreError> {
        let snapshot = self.store.snapshot()?;
        Ok(snapshot.get(place)?.is_some_and(|found| *found == *value))
    }

    /// Reads a value. If that fails, nothing is known about the record that needs it.
    pub(super) fn get(&self, place: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
        let snapshot = self.store.snapshot().map_err(Failure::Unknown)?;
        Ok(snapshot.get(place)?.map(|value| value.to_vec()))
    }

    /// The data key of an object or upload. Counts the unavailable ones.
    pub(super) fn data_key(
        &mut self,
        extensions: &Extensions,
        identity: Identity<'_>,
    ) -> Result<DataKey, StoreError> {
        let key = DataKey::of(self.store, extensions, identity)?;
        match &key {
            DataKey::None | DataKey::Known { .. } => {}
            DataKey::Unknown { missing: None } => self.report.sealed += 1,
            DataKey::Unknown { missing: Some(missing) } => {
                *self.report.missing.entry(missing.clone()).or_default() += 1;
            }
        }
        Ok(key)
    }

    /// Checks that the table whose record has this key has an id. The table may have been dropped or renamed since the row
    /// was read.
    fn verify_table_id(&self, place: &[u8], id: &[u8; 16]) -> Result<(), StoreError> {
        match TableRecord::read(&self.store.snapshot()?, place) {
            Ok(Some(record)) if record.uuid != *id => Err(StoreError::corrupt("the id of a table")),
            // The damaged record is reported by itself.
            Ok(_) | Err(StoreError::Corrupt { .. } | StoreError::FormatTooNew { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The object of an upload in progress, and the data key of its parts.
    fn upload_location(
        &mut self,
        id: &UploadId,
    ) -> Result<Option<(Location, UploadKey)>, StoreError> {
        let upload = match UploadRecord::read(&self.store.snapshot()?, id) {
            Ok(Some(upload)) => upload,
            Ok(None) => return Ok(None),
            // The damaged upload record is reported by itself.
            Err(StoreError::Corrupt { .. } | StoreError::FormatTooNew { .. }) => {
                return Ok(Some((Location::default(), Ok(DataKey::Unknown { missing: None }))));
            }
            Err(error) => return Err(error),
        };
        let data_key = self.data_key(&upload.extensions, upload.identity(id));
        let key = ObjectKey::new(upload.key).ok();
        Ok(Some((Location { bucket: Some(upload.bucket), key, version: None }, data_key)))
    }
}

/// Decodes a record of a catalog.
fn verify_catalog(place: &[u8], value: &[u8]) -> Result<(), StoreError> {
    match space::is_namespace(place) {
        true => NamespaceRecord::decode(place, value).map(drop),
        false if space::is_table_settings(place) => TableSettings::decode(place, value).map(drop),
        false => TableRecord::decode(place, value).map(drop),
    }
}

/// The buckets with readable records. The others are added to the damage.
fn readable_buckets(
    store: &Store,
    damaged: &mut Vec<Damage>,
) -> Result<HashMap<BucketId, VerifiedBucket>, StoreError> {
    let mut names = HashMap::new();
    store.walk(&store.snapshot()?, &space::bucket(""), &mut |key, value| {
        let name = space::bucket_name(key).and_then(|name| BucketName::new(name).ok());
        match BucketRecord::decode(key, value) {
            Ok(record) => {
                let has_index = !record.is_version_1;
                if let Some(name) = name {
                    names.insert(record.id, VerifiedBucket { name, has_index });
                }
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
