//! Annotations of a version: named texts, which are written, read and removed without the object.
//!
//! A change of one is a [`VersionChange`](super::VersionChange): it is decided on the version that the transaction
//! finds. The version keeps its bytes, its tag and its time.

use std::ops::Bound;
use std::sync::Arc;

use bytes::Bytes;
use liteio_checksum::{ChecksumValue, DigestSet};
use liteio_kv::{Read, Transaction, Write};

use super::ObjectVersion;
use super::copy::check_source;
use super::current::Found;
use super::get::find_object;
use super::publish::NewVersion;
use super::seal::unlock;
use crate::encryption::{EncryptionKey, EncryptionScheme, ObjectSealing, annotation_key};
use crate::error::StoreError;
use crate::etag::ETag;
use crate::limits::{ANNOTATION_BYTES_MAX, ANNOTATIONS_MAX};
use crate::meta::AnnotationName;
use crate::meta::annotation::{AnnotationRecord, SetDeletion, SetHead, SetId};
use crate::meta::claim::Claim;
use crate::meta::key::successor;
use crate::meta::object::ObjectRecord;
use crate::meta::space;
use crate::name::{BucketId, ObjectKey, VersionId};
use crate::precondition::ReadConditions;
use crate::process::Bucket;
use crate::store::{Shared, Store};

/// An annotation without its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// The name.
    pub name: String,
    /// The size of the payload.
    pub bytes: u64,
    /// The entity tag: the MD5 of the payload, unless the encryption of the object hides it.
    pub etag: ETag,
    /// Time of the write, in milliseconds since 1970.
    pub modified_ms: u64,
    /// The checksum of the payload.
    pub checksum: Option<ChecksumValue>,
}

/// A change of the annotations of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnnotationChange {
    /// A new annotation, or another payload.
    Put(NewAnnotation),
    /// No annotation with this name. One that does not exist is no error.
    Delete(AnnotationName),
}

/// An annotation to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAnnotation {
    /// The name.
    pub name: AnnotationName,
    /// The payload: 1 byte to [`ANNOTATION_BYTES_MAX`] bytes.
    pub payload: Bytes,
    /// The MD5 of the payload.
    pub md5: [u8; 16],
    /// The checksum of the payload, for its readers.
    pub checksum: Option<ChecksumValue>,
}

/// A change of annotations, and what it depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotate {
    /// The change.
    pub change: AnnotationChange,
    /// Conditions on the object.
    pub conditions: ReadConditions,
    /// Allow removing or replacing an annotation of an object with a governance retention.
    pub bypasses_governance: bool,
}

/// The part of a list of annotations to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnnotationQuery {
    /// Beginning of the names.
    pub prefix: String,
    /// The name after which the page begins.
    pub after: Option<String>,
    /// Most annotations of the page.
    pub max: usize,
}

/// A page of a list of annotations, by their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnotationPage {
    /// The version.
    pub object: ObjectVersion,
    /// The annotations.
    pub annotations: Vec<Annotation>,
    /// `true` if there are more.
    pub has_more: bool,
}

/// An annotation with its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundAnnotation {
    /// The version.
    pub object: ObjectVersion,
    /// The annotation.
    pub annotation: Annotation,
    /// The payload.
    pub payload: Bytes,
}

impl Store {
    /// An annotation of a version; without `version`, of the current object. Waits for the disk.
    ///
    /// # Errors
    /// The errors of [`Store::find_object`]; [`StoreError::NoSuchAnnotation`]; for an encrypted object
    /// [`StoreError::KeyMissing`].
    pub fn get_annotation(
        &self,
        bucket: &Bucket,
        key: &ObjectKey,
        version: Option<&VersionId>,
        name: &str,
    ) -> Result<FoundAnnotation, StoreError> {
        let snapshot = self.snapshot()?;
        let Found { record, is_current } = find_object(&snapshot, bucket, key, version)?;
        let set = record.extensions.annotations()?.ok_or(StoreError::NoSuchAnnotation)?;
        snapshot.fetch([space::annotation(&set, name), space::payload(&set, name)])?;
        let found = AnnotationRecord::read(&snapshot, &set, name)?;
        let found = found.filter(|found| !found.is_deleted());
        let found = found.ok_or(StoreError::NoSuchAnnotation)?;
        let stored = AnnotationRecord::stored(&snapshot, &set, name)?;
        let data_key = unlock(self.shared(), bucket.id, key, &record, None)?;
        let payload = opened(&found, name, stored, data_key.as_ref())?;
        let annotation = Annotation::new(name, &found);
        let object = ObjectVersion::new(key.clone(), record, is_current, &bucket.owner)?;
        Ok(FoundAnnotation { object, annotation, payload })
    }

    /// A page of the annotations of a version; without `version`, of the current object. Waits for the disk.
    ///
    /// # Errors
    /// The errors of [`Store::find_object`].
    pub fn list_annotations(
        &self,
        bucket: &Bucket,
        key: &ObjectKey,
        version: Option<&VersionId>,
        query: &AnnotationQuery,
    ) -> Result<AnnotationPage, StoreError> {
        let snapshot = self.snapshot()?;
        let Found { record, is_current } = find_object(&snapshot, bucket, key, version)?;
        let set = record.extensions.annotations()?;
        let object = ObjectVersion::new(key.clone(), record, is_current, &bucket.owner)?;
        let mut page = AnnotationPage { object, annotations: Vec::new(), has_more: false };
        let Some(set) = set else { return Ok(page) };
        let prefix = space::annotation(&set, &query.prefix);
        let after = query.after.as_ref().map(|after| space::annotation(&set, after));
        let lower = match &after {
            Some(after) if *after >= prefix => Bound::Excluded(&after[..]),
            _ => Bound::Included(&prefix[..]),
        };
        let end = successor(&prefix).unwrap_or_default();
        if after.as_ref().is_some_and(|after| *after >= end) {
            return Ok(page);
        }
        let mut cursor = snapshot.cursor(lower, Bound::Excluded(&end))?;
        while let Some((place, value)) = cursor.next()? {
            let (_, name) = space::split_annotation(place).ok_or_else(no_name)?;
            let record = AnnotationRecord::decode(place, value)?;
            if record.is_deleted() {
                continue;
            }
            if page.annotations.len() >= query.max {
                page.has_more = true;
                break;
            }
            page.annotations.push(Annotation::new(name, &record));
        }
        Ok(page)
    }
}

impl Store {
    /// The annotations of a version, and those that were deleted since it is replicated: their names and times.
    /// Waits for the disk.
    ///
    /// # Errors
    /// The errors of [`Store::find_object`].
    pub fn annotations_to_replicate(
        &self,
        bucket: &Bucket,
        key: &ObjectKey,
        version: &VersionId,
    ) -> Result<(Vec<Annotation>, Vec<(String, u64)>), StoreError> {
        let snapshot = self.snapshot()?;
        let Found { record, .. } = find_object(&snapshot, bucket, key, Some(version))?;
        let (mut there, mut deleted) = (Vec::new(), Vec::new());
        let Some(set) = record.extensions.annotations()? else { return Ok((there, deleted)) };
        let mut cursor = space::within(&snapshot, &space::annotation(&set, ""))?;
        while let Some((place, value)) = cursor.next()? {
            let (_, name) = space::split_annotation(place).ok_or_else(no_name)?;
            let record = AnnotationRecord::decode(place, value)?;
            match record.is_deleted() {
                true => deleted.push((name.to_owned(), record.modified_ms)),
                false => there.push(Annotation::new(name, &record)),
            }
        }
        Ok((there, deleted))
    }
}

pub(super) fn no_name() -> StoreError {
    StoreError::corrupt("the key of an annotation")
}

impl Annotation {
    fn new(name: &str, record: &AnnotationRecord) -> Self {
        let AnnotationRecord { bytes, etag, modified_ms, checksum, .. } = record;
        Self {
            name: name.to_owned(),
            bytes: (*bytes).into(),
            etag: *etag,
            modified_ms: *modified_ms,
            checksum: *checksum,
        }
    }
}

/// The payload of an annotation of an object with this data key.
pub(super) fn opened(
    record: &AnnotationRecord,
    name: &str,
    stored: Bytes,
    data_key: Option<&EncryptionKey>,
) -> Result<Bytes, StoreError> {
    match (record.salt, data_key) {
        (None, None) if stored.len() == record.bytes as usize => Ok(stored),
        (Some(salt), Some(data)) => {
            let opened = annotation_key(data, &salt, name).open(&stored, record.bytes.into())?;
            Ok(opened.into())
        }
        _ => Err(StoreError::corrupt("an annotation is not encrypted as its object is")),
    }
}

/// Makes a change to a version, whose record the caller writes; `at_ms` is the time of one that another store has
/// made. Returns the annotation that was written or removed; `None` if nothing changes.
pub(super) fn apply(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    bucket: &Bucket,
    (key, record): (&ObjectKey, &mut ObjectRecord),
    (annotate, at_ms): (&Annotate, Option<u64>),
) -> Result<Option<Annotation>, StoreError> {
    check_source(shared, &annotate.conditions, (&record.etag, record.modified_ms))?;
    let name = match &annotate.change {
        AnnotationChange::Put(new) => new.name.as_str(),
        AnnotationChange::Delete(name) => name.as_str(),
    };
    let set = record.extensions.annotations()?;
    let (head, last) = match &set {
        None => (None, None),
        Some(set) => {
            write.claim(Claim::Annotations(set))?;
            write.fetch([space::annotations(set).to_vec(), space::annotation(set, name)])?;
            let head = SetHead::read(write, set)?;
            let head = head.ok_or_else(|| StoreError::corrupt("annotations have no head"))?;
            (Some(head), AnnotationRecord::read(write, set, name)?)
        }
    };
    let now_ms = shared.config.clock.now_ms();
    let last_ms = last.as_ref().map(|last| last.modified_ms);
    let modified_ms = match at_ms {
        // Of two changes of different stores the later one stays, whatever the order in which they arrive.
        Some(at_ms) if last_ms.is_some_and(|last_ms| at_ms <= last_ms) => return Ok(None),
        Some(at_ms) => at_ms,
        // Later than the last one, even if the clock was set back.
        None => now_ms.max(last_ms.map_or(0, |last_ms| last_ms.saturating_add(1))),
    };
    let (is_live, is_tombstone) = match &last {
        None => (false, false),
        Some(last) => (!last.is_deleted(), last.is_deleted()),
    };
    if is_live {
        // A replaced payload is gone for good, as a deleted one: annotations have no versions.
        record.extensions.lock()?.check_removal(now_ms, annotate.bypasses_governance)?;
    }
    let set = match set {
        Some(set) => set,
        None => {
            let set = new_set(shared)?;
            write.claim(Claim::Annotations(&set))?;
            set
        }
    };
    let mut head = head.unwrap_or_else(|| SetHead {
        bucket: bucket.id,
        key: key.as_str().to_owned(),
        stamp: record.stamp,
        count: 0,
        tombstones: 0,
        revision: 0,
    });
    head.revision += 1;
    let annotation = match &annotate.change {
        AnnotationChange::Put(new) => {
            if !is_live {
                if head.count >= ANNOTATIONS_MAX {
                    return Err(StoreError::TooManyAnnotations);
                }
                head.count += 1;
                head.tombstones -= u32::from(is_tombstone).min(head.tombstones);
            }
            let of = (key, &*record);
            let (annotation, stored) = sealed(shared, bucket.id, of, new, modified_ms)?;
            annotation.write(write, (&set, name), &stored)?;
            annotation
        }
        // A tombstone of another store keeps what comes late from being put again.
        AnnotationChange::Delete(_) if !is_live && at_ms.is_none() => return Ok(None),
        AnnotationChange::Delete(_) => {
            let place = space::annotation(&set, name);
            head.count -= u32::from(is_live).min(head.count);
            match record.extensions.replication()?.is_some() {
                false => write.delete(&place)?,
                true => {
                    if !is_tombstone {
                        forget_oldest(write, &set, &mut head)?;
                        head.tombstones += 1;
                    }
                    write.put(&place, &AnnotationRecord::tombstone(modified_ms).encode(&place))?;
                }
            }
            write.delete(&space::payload(&set, name))?;
            last.unwrap_or_else(|| AnnotationRecord::tombstone(modified_ms))
        }
    };
    let is_empty = (head.count, head.tombstones) == (0, 0);
    match is_empty {
        true => write.delete(&space::annotations(&set))?,
        false => head.write(write, &set)?,
    }
    let kept = (!is_empty).then_some(&set);
    record.extensions = std::mem::take(&mut record.extensions).with_annotations(kept);
    Ok(Some(Annotation::new(name, &annotation)))
}

/// Removes the oldest tombstone of a set that has the most it may have.
fn forget_oldest(
    write: &mut Transaction<'_>,
    set: &SetId,
    head: &mut SetHead,
) -> Result<(), StoreError> {
    if head.tombstones < ANNOTATIONS_MAX {
        return Ok(());
    }
    let mut oldest: Option<(u64, Vec<u8>)> = None;
    let mut cursor = space::within(write, &space::annotation(set, ""))?;
    while let Some((place, value)) = cursor.next()? {
        let record = AnnotationRecord::decode(place, value)?;
        let is_older = oldest.as_ref().is_none_or(|(at_ms, _)| record.modified_ms < *at_ms);
        if record.is_deleted() && is_older {
            oldest = Some((record.modified_ms, place.to_vec()));
        }
    }
    drop(cursor);
    if let Some((_, place)) = oldest {
        write.delete(&place)?;
        head.tombstones -= 1;
    }
    Ok(())
}

/// The id of a new set.
pub(super) fn new_set(shared: &Shared) -> Result<SetId, StoreError> {
    let mut set = SetId::default();
    shared.config.random.fill(&mut set)?;
    Ok(set)
}

/// The record of a new annotation, and its payload as it is stored.
fn sealed(
    shared: &Shared,
    bucket: BucketId,
    (key, record): (&ObjectKey, &ObjectRecord),
    new: &NewAnnotation,
    modified_ms: u64,
) -> Result<(AnnotationRecord, Bytes), StoreError> {
    let scheme = record.encryption_scheme()?;
    if scheme == Some(EncryptionScheme::Customer) {
        return Err(no_customer_key());
    }
    let is_long = new.payload.is_empty() || new.payload.len() > ANNOTATION_BYTES_MAX;
    let bytes = u32::try_from(new.payload.len()).ok().filter(|_| !is_long);
    let bytes = bytes.ok_or_else(|| {
        let message = format!("An annotation has 1 to {ANNOTATION_BYTES_MAX} bytes.");
        StoreError::InvalidRequest { message }
    })?;
    let (mut etag, checksum) = (ETag::Md5(new.md5), new.checksum);
    let Some(data) = unlock(shared, bucket, key, record, None)? else {
        let record = AnnotationRecord { bytes, etag, modified_ms, checksum, salt: None };
        return Ok((record, new.payload.clone()));
    };
    let (salt, stored, hidden) = seal(shared, &data, new.name.as_str(), &new.payload, &new.md5)?;
    if scheme.is_some_and(|scheme| scheme.hides_md5()) {
        etag = ETag::Md5(hidden);
    }
    Ok((AnnotationRecord { bytes, etag, modified_ms, checksum, salt: Some(salt) }, stored.into()))
}

/// A payload under a key derived from the data key: its salt, its ciphertext, and an entity tag that does not tell the
/// MD5.
fn seal(
    shared: &Shared,
    data: &EncryptionKey,
    name: &str,
    payload: &[u8],
    md5: &[u8; 16],
) -> Result<([u8; 16], Vec<u8>, [u8; 16]), StoreError> {
    let mut salt = [0; 16];
    shared.config.random.fill(&mut salt)?;
    let key = annotation_key(data, &salt, name);
    Ok((salt, key.seal(payload)?, key.hide_md5(md5)))
}

/// An annotation for an object with another encryption, which decides about its entity tag, too.
pub(super) fn resealed(
    shared: &Shared,
    (name, record, stored): (&str, &AnnotationRecord, Bytes),
    (from, to): (Option<&EncryptionKey>, Option<&ObjectSealing>),
) -> Result<(AnnotationRecord, Bytes), StoreError> {
    let payload = opened(record, name, stored, from)?;
    let mut digests = DigestSet::new(&[]);
    digests.update(&payload);
    let md5 = digests.finish().md5;
    let (tag, salt, stored) = match to {
        None => (md5, None, payload),
        Some(to) => {
            let (salt, stored, hidden) = seal(shared, to.data(), name, &payload, &md5)?;
            let tag = if to.scheme.hides_md5() { hidden } else { md5 };
            (tag, Some(salt), stored.into())
        }
    };
    Ok((AnnotationRecord { etag: ETag::Md5(tag), salt, ..record.clone() }, stored))
}

/// The error for annotations of an object with a key of its client.
pub(super) fn no_customer_key() -> StoreError {
    let message = "Objects encrypted with SSE-C cannot have annotations.".to_owned();
    StoreError::InvalidRequest { message }
}

/// Notes in the head of the set of a new version, if it has one, which version that is.
pub(super) fn adopt(
    write: &mut Transaction<'_>,
    new: &NewVersion,
    (bucket, key, stamp): (BucketId, &ObjectKey, &[u8; 16]),
) -> Result<(), StoreError> {
    let Some(set) = new.extensions.annotations()? else { return Ok(()) };
    write.claim(Claim::Annotations(&set))?;
    let head = SetHead::read(write, &set)?;
    let head = head.ok_or_else(|| StoreError::corrupt("annotations have no head"))?;
    let key = key.as_str().to_owned();
    SetHead { bucket, key, stamp: *stamp, ..head }.write(write, &set)
}

/// Queues the removal of the sets of removed versions.
pub(super) fn release(write: &mut impl Write, sets: &[SetId]) -> Result<bool, StoreError> {
    for set in sets {
        SetDeletion { after_ms: 0 }.write(write, set)?;
    }
    Ok(!sets.is_empty())
}
