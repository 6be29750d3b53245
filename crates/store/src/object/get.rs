//! GetObject, HeadObject, GetObjectAttributes.

use std::ops::{Bound, Range};

use liteio_checksum::ChecksumAlgorithm;
use liteio_kv::{Read, Snapshot};

use super::current::{self, Found};
use super::parts::{find_part, read_facts};
use super::reader::{Body, OpenError};
use super::{ObjectReader, ObjectVersion, PartInfo, history, restores, seal};
use crate::encryption::{EncryptionKey, EncryptionScheme};
use crate::error::{DeleteMarker, StoreError};
use crate::limits::LIST_KEYS_MAX;
use crate::meta::content::Content;
use crate::meta::object::Extensions;
use crate::meta::space;
use crate::meta::upload::PartFacts;
use crate::name::{ObjectKey, PartNumber, VersionId};
use crate::precondition::{ConditionResult, RangeCondition, ReadConditions};
use crate::process::{Bucket, Shared};
use crate::range::ByteRange;
use crate::store::Store;

/// The bytes that a read selects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// All bytes.
    #[default]
    Whole,
    /// A range, clipped to the object.
    Range(ByteRange),
    /// One part. An object that was not uploaded in parts has one part.
    Part(PartNumber),
}

/// Access to the bytes of objects in archive classes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ArchiveAccess {
    /// All objects are readable: for the server itself, such as its replication.
    #[default]
    Unrestricted,
    /// As for clients: such an object must be restored first.
    Restored,
}

/// Options of [`Store::get_object`] and [`Store::head_object`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GetOptions {
    /// The customer key, for an object that is encrypted with one.
    pub customer_key: Option<EncryptionKey>,
    /// The version; `None` for the current one.
    pub version: Option<VersionId>,
    /// Conditions on the object, decided before the selection.
    pub conditions: ReadConditions,
    /// The bytes to read.
    pub select: Selection,
    /// The object that a selected range is for. If it is another one, all bytes are read.
    pub range_of: Option<RangeCondition>,
    /// Access to the object if it is archived.
    pub archive: ArchiveAccess,
}

/// An object with the selection of a read, from one snapshot.
#[derive(Clone, Debug)]
pub struct FoundObject {
    /// The object.
    pub object: ObjectVersion,
    /// The selected part, if one was selected.
    pub part: Option<PartInfo>,
    /// `true` if a range was selected and counts.
    pub is_range: bool,
    /// The selected bytes.
    pub range: Range<u64>,
    pub(crate) content: Content,
    /// Identifies the write that made the version.
    pub(crate) stamp: [u8; 16],
    pub(crate) extensions: Extensions,
}

/// An object with a reader of the selected bytes.
#[derive(Debug)]
pub struct OpenedObject {
    /// The object and the selected range.
    pub found: Box<FoundObject>,
    /// The bytes of the range.
    pub reader: ObjectReader,
}

/// A page of the parts of an object, and the object, from one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectPartPage {
    /// The object.
    pub object: ObjectVersion,
    /// The parts by number; empty if the object was not uploaded in parts.
    pub parts: Vec<PartInfo>,
    /// `true` if more parts follow.
    pub is_truncated: bool,
}

/// The failure of a read. It becomes a [`StoreError`] where the object does not matter.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReadError {
    /// The client's copy is still valid by the conditions.
    #[error("not modified")]
    NotModified {
        /// The object, whose headers renew the client's copy.
        object: Box<ObjectVersion>,
    },
    /// Every other failure.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<ReadError> for StoreError {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::NotModified { .. } => Self::NotModified,
            ReadError::Store(error) => error,
        }
    }
}

impl Store {
    /// Finds an object, without its bytes.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`], [`StoreError::NoSuchKey`], [`StoreError::NoSuchVersion`],
    /// [`StoreError::IsDeleteMarker`]; for the customer key, [`StoreError::CustomerKeyRequired`],
    /// [`StoreError::CustomerKeyNotApplicable`] and [`StoreError::WrongCustomerKey`]; for the
    /// conditions, [`ReadError::NotModified`] and [`StoreError::PreconditionFailed`];
    /// [`StoreError::InvalidRange`] or [`StoreError::InvalidPartNumber`] if the object has no such
    /// bytes or part; [`StoreError::Archived`].
    pub fn head_object(
        &self,
        bucket: &Bucket,
        key: &ObjectKey,
        options: &GetOptions,
    ) -> Result<Box<FoundObject>, ReadError> {
        self.read_ahead(|snapshot| FoundObject::find(self.shared(), snapshot, bucket, key, options))
    }

    /// Finds a version (`None`: the current object) for its tags, lock or owner. It needs no
    /// customer key.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`], [`StoreError::NoSuchKey`], [`StoreError::NoSuchVersion`],
    /// [`StoreError::IsDeleteMarker`].
    pub fn find_object(
        &self,
        bucket: &Bucket,
        key: &ObjectKey,
        version: Option<&VersionId>,
    ) -> Result<ObjectVersion, StoreError> {
        let found = self.read_ahead(|snapshot| Ok(find_object(snapshot, bucket, key, version)?));
        let Found { record, is_current } = found?;
        ObjectVersion::new(key.clone(), record, is_current, &bucket.owner)
    }

    /// Opens an object with a reader of the selected bytes. Later writes and deletes do not affect
    /// it.
    ///
    /// # Errors
    /// The errors of [`Store::head_object`]; [`StoreError::KeyMissing`].
    pub fn get_object(
        &self,
        bucket: &Bucket,
        key: &ObjectKey,
        options: &GetOptions,
    ) -> Result<OpenedObject, ReadError> {
        self.open_object(bucket, key, options).inspect_err(|error| {
            if let ReadError::Store(error) = error {
                self.shared().counters.failed_read(error);
            }
        })
    }

    fn open_object(
        &self,
        bucket: &Bucket,
        key: &ObjectKey,
        options: &GetOptions,
    ) -> Result<OpenedObject, ReadError> {
        // Stamp of the last version whose blob was missing, and the error.
        let mut missing: Option<([u8; 16], StoreError)> = None;
        loop {
            // Held until the content is open or kept. The reclaimer waits for it before it
            // deletes content that the snapshot may reference.
            let section = self.shared().cluster.reading();
            let (found, opened) = self.read_ahead(|snapshot| {
                let found = FoundObject::find(self.shared(), snapshot, bucket, key, options)?;
                let data_key = found.data_key(self, bucket, options.customer_key.as_ref())?;
                let body = Body {
                    content: &found.content,
                    bytes: found.object.bytes,
                    data_key: data_key.as_ref(),
                };
                match ObjectReader::open(self, snapshot, body, found.range.clone()) {
                    Err(OpenError::Failed(error)) => Err(error.into()),
                    opened => Ok((found, opened)),
                }
            })?;
            match opened {
                Ok(reader) => {
                    drop(section);
                    return Ok(OpenedObject { found, reader });
                }
                // The object was probably replaced, and its blob deleted, after the snapshot was
                // taken: take a new one. If the new snapshot has the same record, the blob is
                // really missing.
                Err(OpenError::Missing(error)) => match missing.replace((found.stamp, error)) {
                    Some((last, error)) if last == found.stamp => return Err(error.into()),
                    _ => drop(self.forget_ahead()),
                },
                Err(OpenError::Failed(error)) => return Err(error.into()),
            }
        }
    }

    /// An object with at most `max` of its parts after number `after`. Of `options`, only the
    /// version and the customer key are used.
    ///
    /// # Errors
    /// The errors of [`Store::head_object`] without conditions.
    pub fn list_object_parts(
        &self,
        bucket: &Bucket,
        key: &ObjectKey,
        options: &GetOptions,
        after: Option<PartNumber>,
        max: usize,
    ) -> Result<ObjectPartPage, StoreError> {
        let snapshot = self.snapshot()?;
        let record = find_readable(self.shared(), &snapshot, bucket, key, options)?;
        let Found { record, is_current } = record;
        let content = record.content.clone();
        let object = ObjectVersion::new(key.clone(), record, is_current, &bucket.owner)?;
        let mut page = ObjectPartPage { object, parts: Vec::new(), is_truncated: false };
        let (Some((list, _)), Some(_)) = (content.part_list(), page.object.part_count) else {
            return Ok(page);
        };
        let first = after.map_or(1, |after| after.get() + 1);
        let lower = space::part(&list, first);
        let upper = space::part(&list, u16::MAX);
        let mut cursor = snapshot.cursor(Bound::Included(&lower), Bound::Excluded(&upper))?;
        while let Some((key, value)) = cursor.next()? {
            if page.parts.len() >= max.min(LIST_KEYS_MAX) {
                page.is_truncated = true;
                break;
            }
            let number = space::split_part(key).and_then(|(_, it)| PartNumber::new(it).ok());
            let number = number.ok_or_else(|| StoreError::corrupt("a part's key"))?;
            page.parts.push(part_info(number, &PartFacts::decode(key, value)?));
        }
        Ok(page)
    }
}

impl FoundObject {
    /// Boxed, since it passes through several results.
    fn find(
        shared: &Shared,
        snapshot: &Snapshot,
        bucket: &Bucket,
        key: &ObjectKey,
        options: &GetOptions,
    ) -> Result<Box<Self>, ReadError> {
        let Found { record, is_current } = find_readable(shared, snapshot, bucket, key, options)?;
        restores::check(shared, &record, options.archive)?;
        let (stamp, content) = (record.stamp, record.content.clone());
        let extensions = record.extensions.clone();
        let object = ObjectVersion::new(key.clone(), record, is_current, &bucket.owner)?;
        match options.conditions.check(&object.etag, object.modified_ms, &*shared.config.clock) {
            ConditionResult::Proceed => {}
            ConditionResult::NotModified => {
                return Err(ReadError::NotModified { object: Box::new(object) });
            }
            ConditionResult::PreconditionFailed => {
                let condition = options.conditions.precondition_name();
                return Err(StoreError::PreconditionFailed { condition }.into());
            }
        }
        let is_same = |it: &RangeCondition| it.holds(&object.etag, object.modified_ms);
        let is_range = matches!(options.select, Selection::Range(_))
            && options.range_of.as_ref().is_none_or(is_same);
        let (part, range) = match options.select {
            Selection::Range(range) if is_range => (None, range.resolve(object.bytes)?),
            Selection::Whole | Selection::Range(_) => (None, 0..object.bytes),
            Selection::Part(number) => {
                let part = find_part_info(snapshot, &object, &content, number)?;
                let range = part.offset..part.offset + part.bytes;
                (Some(part), range)
            }
        };
        Ok(Box::new(Self { object, part, is_range, range, content, stamp, extensions }))
    }

    /// The algorithm of the object's checksum.
    pub(super) fn checksum_algorithm(&self) -> Option<ChecksumAlgorithm> {
        self.object.checksum.map(|checksum| checksum.value.algorithm)
    }

    /// The data key of the object; `None` if it is not encrypted.
    fn data_key(
        &self,
        store: &Store,
        bucket: &Bucket,
        customer: Option<&EncryptionKey>,
    ) -> Result<Option<EncryptionKey>, StoreError> {
        let Some(encryption) = self.extensions.encryption()? else { return Ok(None) };
        let identity = seal::identity(bucket.id, &self.object.key, &self.stamp, &self.content);
        store.keys().unlock(&encryption, identity, customer).map(Some)
    }
}

/// The part with that number, within its object.
fn find_part_info(
    snapshot: &Snapshot,
    object: &ObjectVersion,
    content: &Content,
    number: PartNumber,
) -> Result<PartInfo, StoreError> {
    match content.part_list() {
        _ if object.part_count.is_none() && number == PartNumber::MIN => {
            Ok(PartInfo { number, bytes: object.bytes, offset: 0, checksum: None })
        }
        _ if object.part_count.is_none() => Err(StoreError::InvalidPartNumber { parts: 1 }),
        Some((list, count)) if u32::from(number.get()) <= count => {
            let part = part_info(number, &read_facts(snapshot, &list, number.get())?);
            // Damaged facts must not select bytes outside of the object.
            let end = part.offset.checked_add(part.bytes);
            match end.is_some_and(|end| end <= object.bytes) {
                true => Ok(part),
                false => Err(StoreError::corrupt("a part is not within its object")),
            }
        }
        Some((_, count)) => Err(StoreError::InvalidPartNumber { parts: count }),
        None => Err(StoreError::InvalidPartNumber { parts: 1 }),
    }
}

fn part_info(number: PartNumber, facts: &PartFacts) -> PartInfo {
    let PartFacts { start, bytes, checksum, .. } = *facts;
    PartInfo { number, bytes, offset: start, checksum }
}

/// The error of a read that found nothing, with the delete marker that hides the object.
fn not_found(snapshot: &Snapshot, bucket: &Bucket, error: StoreError) -> StoreError {
    match bucket.not_found(snapshot, error) {
        StoreError::NoSuchKey { key, marker: None } => {
            match history::newest(snapshot, bucket.id, &key) {
                Ok(newest) => {
                    let marker = newest.map(|(_, listed)| DeleteMarker {
                        version_id: listed.version_id(),
                        modified_ms: listed.modified_ms,
                    });
                    StoreError::NoSuchKey { key, marker }
                }
                Err(error) => error,
            }
        }
        error => error,
    }
}

/// The version, if it is not a delete marker.
pub(super) fn find_object(
    snapshot: &Snapshot,
    bucket: &Bucket,
    key: &ObjectKey,
    version: Option<&VersionId>,
) -> Result<Found, StoreError> {
    let found = current::find(snapshot, bucket, key, version);
    let found = found.map_err(|error| not_found(snapshot, bucket, error))?;
    match found.record.is_delete_marker {
        true => Err(StoreError::IsDeleteMarker { marker: found.record.delete_marker() }),
        false => Ok(found),
    }
}

/// The version, if it is not a delete marker and the client has its key.
fn find_readable(
    shared: &Shared,
    snapshot: &Snapshot,
    bucket: &Bucket,
    key: &ObjectKey,
    options: &GetOptions,
) -> Result<Found, StoreError> {
    let found = find_object(snapshot, bucket, key, options.version.as_ref())?;
    let customer = options.customer_key.as_ref();
    let is_customers = found.record.encryption_scheme()? == Some(EncryptionScheme::Customer);
    // Only a key of the customer can be missing or wrong. The other keys are the store's own.
    if is_customers || customer.is_some() {
        seal::unlock(shared, bucket.id, key, &found.record, customer)?;
    }
    Ok(found)
}

/// The pieces of content that make up `range` of an object, at most one of them inline bytes per
/// part. `None` if there are more than `pieces_max`.
pub(crate) fn pieces(
    snapshot: &Snapshot,
    content: &Content,
    range: &Range<u64>,
    pieces_max: usize,
) -> Result<Option<Vec<Content>>, StoreError> {
    let Content::Parts { list, count, .. } = content else {
        return Ok(Some(vec![super::reader::slice(content, range)]));
    };
    let mut pieces = Vec::new();
    let mut position = range.start;
    let mut number =
        if range.is_empty() { 1 } else { find_part(snapshot, list, *count, position)? };
    while position < range.end {
        if pieces.len() >= pieces_max {
            return Ok(None);
        }
        let part = super::parts::read_part(snapshot, list, number, position)?;
        let end = part.facts.start + part.facts.bytes;
        let within = position - part.facts.start..range.end.min(end) - part.facts.start;
        pieces.push(super::reader::slice(&part.content, &within));
        position = end;
        number += 1;
    }
    Ok(Some(pieces))
}
