//! GetObject, HeadObject, GetObjectAttributes.

use std::ops::{Bound, Range};

use super::current::{self, Found};
use super::parts::{find_part, read_facts};
use super::reader::OpenError;
use super::{ObjectReader, ObjectVersion, PartInfo};
use crate::bucket::Bucket;
use crate::error::StoreError;
use crate::kv::{Read, Snapshot};
use crate::limits::LIST_KEYS_MAX;
use crate::meta::content::Content;
use crate::meta::space;
use crate::meta::upload::PartFacts;
use crate::name::{ObjectKey, PartNumber, VersionId};
use crate::store::Store;

/// The bytes of an object to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadSelection {
    /// All of it.
    Whole,
    /// These bytes, which it must have.
    Range(Range<u64>),
    /// One part; of an object that was not uploaded in parts, part 1 is all of it.
    Part(PartNumber),
    /// Nothing.
    Nothing,
}

impl Store {
    /// An object without its bytes.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`], [`StoreError::NoSuchKey`], [`StoreError::NoSuchVersion`],
    /// [`StoreError::MethodNotAllowed`].
    pub fn head_object(
        &self,
        bucket: &Bucket,
        key: &ObjectKey,
        version: Option<&VersionId>,
    ) -> Result<ObjectVersion, StoreError> {
        Ok(find_readable(&self.snapshot()?, bucket, key, version)?.0)
    }

    /// An object with a reader of what `select` chooses after seeing it. `select` may be asked twice,
    /// when the object is replaced at this very moment.
    ///
    /// # Errors
    /// As [`Store::head_object`], what `select` says, and [`StoreError::InvalidRange`] or
    /// [`StoreError::InvalidPartNumber`] when the object has no such bytes or part.
    pub fn get_object(
        &self,
        bucket: &Bucket,
        key: &ObjectKey,
        version: Option<&VersionId>,
        select: &dyn Fn(&ObjectVersion) -> Result<ReadSelection, StoreError>,
    ) -> Result<(ObjectVersion, ReadSelection, ObjectReader), StoreError> {
        let opened = self.open_object(bucket, key, version, select)?;
        Ok((opened.object, opened.selection, opened.reader))
    }

    pub(crate) fn open_object(
        &self,
        bucket: &Bucket,
        key: &ObjectKey,
        version: Option<&VersionId>,
        select: &dyn Fn(&ObjectVersion) -> Result<ReadSelection, StoreError>,
    ) -> Result<OpenedObject, StoreError> {
        let mut missing: Option<([u8; 16], StoreError)> = None;
        loop {
            let section = self.shared().pins.section();
            let snapshot = self.snapshot()?;
            let (object, content, stamp) = find_readable(&snapshot, bucket, key, version)?;
            let selection = select(&object)?;
            let range = resolve(&snapshot, &object, &content, &selection)?;
            match ObjectReader::open(self, &snapshot, &content, range) {
                Ok(reader) => {
                    drop(section);
                    return Ok(OpenedObject { object, selection, reader, content, stamp });
                }
                // Replaced and deleted since the snapshot: look again. The same record a second time
                // says that its blob really is missing.
                Err(OpenError::Missing(error)) => match missing.replace((stamp, error)) {
                    Some((last, error)) if last == stamp => return Err(error),
                    _ => {}
                },
                Err(OpenError::Failed(error)) => return Err(error),
            }
        }
    }

    /// The object and the part of it that `number` names, for a HEAD with a part number.
    ///
    /// # Errors
    /// As [`Store::head_object`]; [`StoreError::InvalidPartNumber`] when it has no such part.
    pub fn object_part(
        &self,
        bucket: &Bucket,
        key: &ObjectKey,
        version: Option<&VersionId>,
        number: PartNumber,
    ) -> Result<(ObjectVersion, PartInfo), StoreError> {
        let snapshot = self.snapshot()?;
        let (object, content, _) = find_readable(&snapshot, bucket, key, version)?;
        let part = match content {
            Content::Parts { list, count, .. } => {
                if u32::from(number.get()) > count {
                    return Err(StoreError::InvalidPartNumber);
                }
                part_info(number, &read_facts(&snapshot, &list, number.get())?)
            }
            Content::Inline(_) | Content::Extents(_) if number == PartNumber::MIN => {
                PartInfo { number, bytes: object.bytes, offset: 0, checksum: None }
            }
            Content::Inline(_) | Content::Extents(_) => return Err(StoreError::InvalidPartNumber),
        };
        Ok((object, part))
    }

    /// The parts behind `after` of an object that was uploaded in parts, at most `max`; none of any
    /// other object.
    ///
    /// # Errors
    /// As [`Store::head_object`].
    pub fn list_object_parts(
        &self,
        bucket: &Bucket,
        key: &ObjectKey,
        version: Option<&VersionId>,
        after: Option<PartNumber>,
        max: usize,
    ) -> Result<Vec<PartInfo>, StoreError> {
        let snapshot = self.snapshot()?;
        let (_, content, _) = find_readable(&snapshot, bucket, key, version)?;
        let Content::Parts { list, .. } = content else { return Ok(Vec::new()) };
        let first = after.map_or(1, |after| after.get() + 1);
        let lower = space::part(&list, first);
        let upper = space::part(&list, u16::MAX);
        let mut cursor = snapshot.cursor(Bound::Included(&lower), Bound::Excluded(&upper))?;
        let mut parts = Vec::new();
        while parts.len() < max.min(LIST_KEYS_MAX)
            && let Some((key, value)) = cursor.next()?
        {
            let number = space::split_part(key).and_then(|(_, it)| PartNumber::new(it).ok());
            let number = number.ok_or_else(|| StoreError::corrupt("a part's key"))?;
            parts.push(part_info(number, &PartFacts::decode(key, value)?));
        }
        Ok(parts)
    }
}

/// The answer of [`Store::open_object`].
#[derive(Debug)]
pub(crate) struct OpenedObject {
    pub(crate) object: ObjectVersion,
    pub(crate) selection: ReadSelection,
    pub(crate) reader: ObjectReader,
    pub(crate) content: Content,
    /// Names this very write.
    pub(crate) stamp: [u8; 16],
}

fn part_info(number: PartNumber, facts: &PartFacts) -> PartInfo {
    let PartFacts { start, bytes, checksum, .. } = *facts;
    PartInfo { number, bytes, offset: start, checksum }
}

fn find_readable(
    snapshot: &Snapshot,
    bucket: &Bucket,
    key: &ObjectKey,
    version: Option<&VersionId>,
) -> Result<(ObjectVersion, Content, [u8; 16]), StoreError> {
    let found = current::find(snapshot, bucket, key, version);
    let Found { record, is_current, .. } =
        found.map_err(|error| bucket.not_found(snapshot, error))?;
    if record.is_delete_marker {
        return Err(StoreError::MethodNotAllowed);
    }
    let stamp = record.stamp;
    let content = record.content.clone();
    let object = ObjectVersion::new(key.clone(), record, is_current, &bucket.owner);
    Ok((object, content, stamp))
}

/// The bytes that `selection` means.
fn resolve(
    snapshot: &Snapshot,
    object: &ObjectVersion,
    content: &Content,
    selection: &ReadSelection,
) -> Result<Range<u64>, StoreError> {
    match selection {
        ReadSelection::Whole => Ok(0..object.bytes),
        ReadSelection::Nothing => Ok(0..0),
        ReadSelection::Range(range) if range.start <= range.end && range.end <= object.bytes => {
            Ok(range.clone())
        }
        ReadSelection::Range(_) => Err(StoreError::InvalidRange { object_bytes: object.bytes }),
        ReadSelection::Part(number) => match content {
            Content::Parts { list, count, .. } if u32::from(number.get()) <= *count => {
                let facts = read_facts(snapshot, list, number.get())?;
                let end = facts.start.checked_add(facts.bytes);
                match end.filter(|&end| end <= object.bytes) {
                    Some(end) => Ok(facts.start..end),
                    None => Err(StoreError::corrupt("a part is not within its object")),
                }
            }
            Content::Inline(_) | Content::Extents(_) if *number == PartNumber::MIN => {
                Ok(0..object.bytes)
            }
            _ => Err(StoreError::InvalidPartNumber),
        },
    }
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
