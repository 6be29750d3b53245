//! GetObject, HeadObject, GetObjectAttributes.

use std::ops::{Bound, Range};

use liteio_kv::{Read, Snapshot};

use super::current::{self, Found};
use super::parts::{find_part, read_facts};
use super::reader::{Body, OpenError};
use super::{ObjectReader, ObjectVersion, PartInfo, history, seal};
use crate::encryption::{EncryptionKey, EncryptionScheme};
use crate::error::{DeleteMarker, StoreError};
use crate::limits::LIST_KEYS_MAX;
use crate::meta::content::Content;
use crate::meta::object::Extensions;
use crate::meta::space;
use crate::meta::upload::PartFacts;
use crate::name::{ObjectKey, PartNumber, VersionId};
use crate::precondition::{ConditionResult, ReadConditions};
use crate::process::{Bucket, Shared};
use crate::range::ByteRange;
use crate::store::Store;

/// Bytes that a read selects of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// All of them.
    #[default]
    Whole,
    /// Those of a range, as far as the object has them.
    Range(ByteRange),
    /// One part; of an object that was not uploaded in parts, part 1 is all of it.
    Part(PartNumber),
}

/// Options of [`Store::get_object`] and [`Store::head_object`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GetOptions {
    /// The key of the client, for an object that is encrypted with one.
    pub customer_key: Option<EncryptionKey>,
    /// The version; none is the current one.
    pub version: Option<VersionId>,
    /// Conditions on the object, decided before anything is selected.
    pub conditions: ReadConditions,
    /// The bytes to read.
    pub select: Selection,
}

/// An object, and the bytes that a read selects of it. All of it is of one snapshot.
#[derive(Clone, Debug)]
pub struct FoundObject {
    /// The object.
    pub object: ObjectVersion,
    /// The part, if one was selected.
    pub part: Option<PartInfo>,
    /// The selected bytes.
    pub range: Range<u64>,
    pub(crate) content: Content,
    /// Identifies the write that made the version.
    pub(crate) stamp: [u8; 16],
    pub(crate) extensions: Extensions,
}

/// An object whose selected bytes can be read.
#[derive(Debug)]
pub struct OpenedObject {
    /// The object and the selected range.
    pub found: FoundObject,
    /// The bytes of the range.
    pub reader: ObjectReader,
}

/// A page of the parts of an object, and the object, of one snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectPartPage {
    /// The object.
    pub object: ObjectVersion,
    /// Its parts, by number; none of an object that was not uploaded in parts.
    pub parts: Vec<PartInfo>,
    /// More parts follow.
    pub is_truncated: bool,
}

/// Failure of a read. It becomes a [`StoreError`] where the object does not matter.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ReadError {
    /// By the conditions, the client's copy is still valid.
    #[error("not modified")]
    NotModified {
        /// The object, whose headers renew the copy.
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
    /// An object without its bytes.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`], [`StoreError::NoSuchKey`], [`StoreError::NoSuchVersion`],
    /// [`StoreError::IsDeleteMarker`]; for the key of a client, [`StoreError::CustomerKeyRequired`],
    /// [`StoreError::CustomerKeyNotApplicable`] and [`StoreError::WrongCustomerKey`]; for the conditions,
    /// [`ReadError::NotModified`] and [`StoreError::PreconditionFailed`]; [`StoreError::InvalidRange`] or
    /// [`StoreError::InvalidPartNumber`] when the object has no such bytes or part.
    pub fn head_object(
        &self,
        bucket: &Bucket,
        key: &ObjectKey,
        options: &GetOptions,
    ) -> Result<FoundObject, ReadError> {
        FoundObject::find(self.shared(), &self.snapshot()?, bucket, key, options)
    }

    /// A version, or without one the current object, for what is known of it without its bytes: tags, lock,
    /// owner. It needs no key of the client.
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
        let Found { record, is_current } = find_object(&self.snapshot()?, bucket, key, version)?;
        ObjectVersion::new(key.clone(), record, is_current, &bucket.owner)
    }

    /// An object with a reader of the selected bytes. Later writes and deletes do not affect it.
    ///
    /// # Errors
    /// As [`Store::head_object`]; [`StoreError::KeyMissing`].
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
        let mut missing: Option<([u8; 16], StoreError)> = None;
        loop {
            let section = self.shared().pins.section();
            let snapshot = self.snapshot()?;
            let found = FoundObject::find(self.shared(), &snapshot, bucket, key, options)?;
            let data_key = found.data_key(self, bucket, options.customer_key.as_ref())?;
            let body = Body {
                content: &found.content,
                bytes: found.object.bytes,
                data_key: data_key.as_ref(),
            };
            match ObjectReader::open(self, &snapshot, body, found.range.clone()) {
                Ok(reader) => {
                    drop(section);
                    return Ok(OpenedObject { found, reader });
                }
                // The object was probably replaced, and its blob deleted, since the snapshot: take a new
                // one. If it has the same record, the blob is really missing.
                Err(OpenError::Missing(error)) => match missing.replace((found.stamp, error)) {
                    Some((last, error)) if last == found.stamp => return Err(error.into()),
                    _ => {}
                },
                Err(OpenError::Failed(error)) => return Err(error.into()),
            }
        }
    }

    /// An object with its parts behind `after`, at most `max`. Of `options`, the version and the key of the
    /// client count.
    ///
    /// # Errors
    /// As [`Store::head_object`] without conditions.
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
        let Content::Parts { list, .. } = content else { return Ok(page) };
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
    fn find(
        shared: &Shared,
        snapshot: &Snapshot,
        bucket: &Bucket,
        key: &ObjectKey,
        options: &GetOptions,
    ) -> Result<Self, ReadError> {
        let Found { record, is_current } = find_readable(shared, snapshot, bucket, key, options)?;
        let (stamp, content) = (record.stamp, record.content.clone());
        let extensions = record.extensions.clone();
        let object = ObjectVersion::new(key.clone(), record, is_current, &bucket.owner)?;
        match options.conditions.check(&object.etag, object.modified_ms) {
            ConditionResult::Proceed => {}
            ConditionResult::NotModified => {
                return Err(ReadError::NotModified { object: Box::new(object) });
            }
            ConditionResult::PreconditionFailed => {
                let condition = options.conditions.precondition_name();
                return Err(StoreError::PreconditionFailed { condition }.into());
            }
        }
        let (part, range) = match options.select {
            Selection::Whole => (None, 0..object.bytes),
            Selection::Range(range) => (None, range.resolve(object.bytes)?),
            Selection::Part(number) => {
                let part = find_part_info(snapshot, &object, &content, number)?;
                let range = part.offset..part.offset + part.bytes;
                (Some(part), range)
            }
        };
        Ok(Self { object, part, range, content, stamp, extensions })
    }

    /// The key that its bytes are encrypted with, none if they are not.
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

/// The part of that number, within its object.
fn find_part_info(
    snapshot: &Snapshot,
    object: &ObjectVersion,
    content: &Content,
    number: PartNumber,
) -> Result<PartInfo, StoreError> {
    match content {
        Content::Parts { list, count, .. } if u32::from(number.get()) <= *count => {
            let part = part_info(number, &read_facts(snapshot, list, number.get())?);
            let end = part.offset.checked_add(part.bytes);
            match end.is_some_and(|end| end <= object.bytes) {
                true => Ok(part),
                false => Err(StoreError::corrupt("a part is not within its object")),
            }
        }
        Content::Inline(_) | Content::Extents(_) if number == PartNumber::MIN => {
            Ok(PartInfo { number, bytes: object.bytes, offset: 0, checksum: None })
        }
        _ => Err(StoreError::InvalidPartNumber),
    }
}

fn part_info(number: PartNumber, facts: &PartFacts) -> PartInfo {
    let PartFacts { start, bytes, checksum, .. } = *facts;
    PartInfo { number, bytes, offset: start, checksum }
}

/// The error of a read that found nothing, with the delete marker that is in its way.
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

/// The version that is not a delete marker.
fn find_object(
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

/// The version that is not a delete marker, if the client has the key that it is encrypted with.
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
    if is_customers || customer.is_some() {
        seal::unlock(shared, bucket.id, key, &found.record, customer)?;
    }
    Ok(found)
}

/// The pieces of content that make up `range` of an object: at most one of them inline bytes per
/// part. `None` when they are more than `pieces_max`.
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
