//! ListParts and ListMultipartUploads.

#[cfg(test)]
mod tests;

use std::ops::Bound;

use liteio_kv::{GroupedEntry, GroupedRange, Read};

use super::{Part, Upload};
use crate::error::StoreError;
use crate::etag::ETag;
use crate::limits::LIST_KEYS_MAX;
use crate::meta::key::{KEY_END, append_escaped, successor};
use crate::meta::space;
use crate::meta::upload::{PartFacts, UploadRecord};
use crate::name::{BucketId, ObjectKey, PartNumber, UploadId};
use crate::object::list::walk::{Grouping, Place, key_text};
use crate::process::Bucket;
use crate::store::Store;

/// A page of parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartPage {
    /// The upload.
    pub upload: Upload,
    /// Its parts, by number.
    pub parts: Vec<Part>,
    /// The last part of the page, if more follow.
    pub next: Option<PartNumber>,
}

/// A query for a page of uploads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListUploadsQuery {
    /// Prefix of the keys.
    pub prefix: String,
    /// The delimiter, as in [`ListQuery`](crate::ListQuery).
    pub delimiter: Option<String>,
    /// Only after this key; with `upload_marker`, also later uploads of this key.
    pub key_marker: Option<String>,
    /// Only after this upload of the key `key_marker`.
    pub upload_marker: Option<String>,
    /// Most uploads and common prefixes on the page; never more than [`LIST_KEYS_MAX`].
    pub max: usize,
}

/// A page of uploads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UploadPage {
    /// Uploads and common prefixes, ordered by key, then by id.
    pub entries: Vec<UploadEntry>,
    /// The markers of the next page; after a common prefix the second one is empty.
    pub next: Option<(String, String)>,
}

/// An entry of a listing of uploads.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all lines are uploads, so a box saves nothing"
)]
pub enum UploadEntry {
    /// An upload.
    Upload(Upload),
    /// A common prefix.
    Prefix(String),
}

impl Store {
    /// One page of at most `max` parts of an upload, with numbers above `after`.
    ///
    /// # Errors
    /// [`StoreError::NoSuchUpload`], [`StoreError::NoSuchBucket`].
    pub fn list_parts(
        &self,
        bucket: &Bucket,
        key: &ObjectKey,
        id: &UploadId,
        after: Option<u16>,
        max: usize,
    ) -> Result<PartPage, StoreError> {
        let snapshot = self.snapshot()?;
        let bucket = bucket.require(&snapshot)?;
        list_parts(&snapshot, bucket, key, id, after, max)
    }

    /// One page of the uploads of a bucket.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`], [`StoreError::InvalidUploadMarker`].
    pub fn list_uploads(
        &self,
        bucket: &Bucket,
        query: &ListUploadsQuery,
    ) -> Result<UploadPage, StoreError> {
        let snapshot = self.snapshot()?;
        let bucket = bucket.require(&snapshot)?;
        list_uploads(&snapshot, bucket, query)
    }
}

fn list_parts(
    from: &impl Read,
    bucket: BucketId,
    key: &ObjectKey,
    id: &UploadId,
    after: Option<u16>,
    max: usize,
) -> Result<PartPage, StoreError> {
    let upload = UploadRecord::require(from, id, bucket, key.as_str())?;
    let upload = upload_of(*id, upload)?;
    let mut page = PartPage { upload, parts: Vec::new(), next: None };
    let max = max.min(LIST_KEYS_MAX);
    if max == 0 {
        return Ok(page);
    }
    let lower = match after {
        Some(after) => Bound::Excluded(space::part(id, after)),
        None => Bound::Included(space::parts(id)),
    };
    let upper = behind_prefix(&space::parts(id));
    let mut cursor = from.cursor(lower.as_ref().map(Vec::as_slice), Bound::Excluded(&upper))?;
    while let Some((key, record)) = cursor.next()? {
        if page.parts.len() == max {
            page.next = page.parts.last().map(|part| part.number);
            break;
        }
        let number = space::split_part(key).and_then(|(_, number)| PartNumber::new(number).ok());
        let number = number.ok_or_else(|| StoreError::corrupt("the number of a part"))?;
        let facts = PartFacts::decode(key, record)?;
        page.parts.push(Part {
            number,
            bytes: facts.bytes,
            etag: ETag::Md5(facts.md5),
            modified_ms: facts.modified_ms,
            checksum: facts.checksum,
        });
    }
    Ok(page)
}

fn list_uploads(
    from: &impl Read,
    bucket: BucketId,
    query: &ListUploadsQuery,
) -> Result<UploadPage, StoreError> {
    let max = query.max.min(LIST_KEYS_MAX);
    let mut page = UploadPage::default();
    if max == 0 {
        return Ok(page);
    }
    let grouping = Grouping::new(&query.prefix, query.delimiter.as_deref());
    let mut lower = space::uploads_prefix(bucket, query.prefix.as_bytes());
    let (text, upper) = (lower.len(), behind_prefix(&lower));
    if let Some(start) = start_of_uploads(from, bucket, &grouping, query)? {
        lower = start.max(lower);
    }
    let mut delimiter = Vec::new();
    append_escaped(grouping.delimiter(), &mut delimiter);
    let range = GroupedRange {
        lower: &lower,
        upper: &upper,
        delimiter: &delimiter,
        text,
        text_end: &KEY_END,
        max: max + 1,
    };
    let mut entries = from.grouped(&range)?;
    let mut last = None;
    while let Some(entry) = entries.next()? {
        if page.entries.len() == max {
            page.next = last;
            break;
        }
        match entry {
            GroupedEntry::Group(group) => {
                let common = space::key_of_uploads(group)
                    .ok_or_else(|| StoreError::corrupt("the key of an upload's entry"))?;
                let common = key_text(&common)?;
                page.entries.push(UploadEntry::Prefix(common.to_owned()));
                last = Some((common.to_owned(), String::new()));
            }
            GroupedEntry::Pair((key, _)) => {
                let (_, key, id) = space::split_upload_by_key(key)
                    .ok_or_else(|| StoreError::corrupt("the key of an upload's entry"))?;
                let key = key_text(&key)?;
                let found = UploadRecord::read(from, &id)?;
                let record = found.ok_or_else(|| StoreError::corrupt("an upload has no record"))?;
                let upload = upload_of(id, record)?;
                page.entries.push(UploadEntry::Upload(upload));
                last = Some((key.to_owned(), id.to_string()));
            }
        }
    }
    Ok(page)
}

/// The lower bound of the entries that the page may show; `None` for the first page.
fn start_of_uploads(
    from: &impl Read,
    bucket: BucketId,
    grouping: &Grouping<'_>,
    query: &ListUploadsQuery,
) -> Result<Option<Vec<u8>>, StoreError> {
    let Some(key) = &query.key_marker else { return Ok(None) };
    let upload = query.upload_marker.as_deref().filter(|upload| !upload.is_empty());
    let upload = upload.map(|text| upload_marker(from, bucket, key, text)).transpose()?;
    Ok(Some(match (grouping.behind(key), upload) {
        (Place::Prefix(prefix), _) => {
            behind_prefix(&space::uploads_prefix(bucket, prefix.as_bytes()))
        }
        (Place::Key(key), None) => behind_prefix(&space::uploads_of(bucket, &key)),
        (Place::Key(key), Some(upload)) => {
            [space::upload_by_key(bucket, &key, &upload), vec![0]].concat()
        }
    }))
}

/// The upload that a page starts after. It may have ended since the last page, but one that is in
/// progress must be of the key `key`.
fn upload_marker(
    from: &impl Read,
    bucket: BucketId,
    key: &str,
    text: &str,
) -> Result<UploadId, StoreError> {
    let invalid = || StoreError::InvalidUploadMarker { upload: text.to_owned() };
    let id = UploadId::parse(text).map_err(|_| invalid())?;
    match UploadRecord::read(from, &id)? {
        Some(upload) if upload.bucket != bucket || upload.key != key => Err(invalid()),
        _ => Ok(id),
    }
}

fn upload_of(id: UploadId, record: UploadRecord) -> Result<Upload, StoreError> {
    let key = ObjectKey::new(record.key.clone());
    let key = key.map_err(|_| StoreError::corrupt("the key of an upload"))?;
    Ok(Upload::new(id, key, record))
}

fn behind_prefix(prefix: &[u8]) -> Vec<u8> {
    successor(prefix).expect("the tag of the space has a successor")
}
