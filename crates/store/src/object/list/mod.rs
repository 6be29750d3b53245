//! ListObjects.

#[cfg(test)]
pub(super) mod tests;
pub(crate) mod walk;

use std::fmt::{self, Write as _};
use std::ops::Bound;

use liteio_checksum::{ChecksumAlgorithm, ChecksumType};
use liteio_kv::{GroupedEntry, GroupedRange, Read};

use self::walk::{Grouping, Place, key_text};
use crate::error::StoreError;
use crate::etag::ETag;
use crate::limits::LIST_KEYS_MAX;
use crate::meta::key::successor;
use crate::meta::object::{Listed, ObjectRecord};
use crate::meta::{Owner, Restore, space};
use crate::name::{BucketId, ObjectKey, VersionId};
use crate::process::{Bucket, written_ms};
use crate::store::Store;

/// A query for one page of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListQuery {
    /// Prefix of the keys.
    pub prefix: String,
    /// Keys with this text after the prefix are rolled up into one common prefix, which ends with
    /// it. An empty delimiter means none.
    pub delimiter: Option<String>,
    /// The start of the page.
    pub after: ListStart,
    /// Most keys and common prefixes on the page; never more than [`LIST_KEYS_MAX`].
    pub max: usize,
    /// `true` to read the restores of objects, too.
    pub with_restores: bool,
}

/// The start of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListStart {
    /// At the first key.
    #[default]
    Beginning,
    /// After this key (`start-after`, `marker`). A common prefix that contains the key counts as
    /// shown.
    AfterKey(String),
    /// After the previous page.
    Token(ListToken),
}

/// The end of a page: opaque, URL-safe text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListToken(String);

impl ListToken {
    /// Parses the text of a token.
    ///
    /// # Errors
    /// [`StoreError::InvalidRequest`] for text that is no token of ours.
    pub fn parse(text: &str) -> Result<Self, StoreError> {
        let token = Self(text.to_owned());
        token.place().map(|_| token)
    }

    fn new(place: &Place) -> Self {
        let (kind, place) = match place {
            Place::Key(key) => (BEHIND_KEY, key),
            Place::Prefix(prefix) => (BEHIND_PREFIX, prefix),
        };
        let mut text = String::with_capacity(1 + place.len() * 2);
        text.push(kind);
        for byte in place.bytes() {
            write!(text, "{byte:02x}").expect("a string takes all text");
        }
        Self(text)
    }

    /// The inverse of [`ListToken::new`].
    fn place(&self) -> Result<Place, StoreError> {
        let mut digits = self.0.chars();
        let place = match digits.next() {
            Some(BEHIND_KEY) => Place::Key,
            Some(BEHIND_PREFIX) => Place::Prefix,
            _ => return Err(invalid_token()),
        };
        text_of_digits(digits.as_str()).map(place).ok_or_else(invalid_token)
    }
}

const BEHIND_KEY: char = 'k';
const BEHIND_PREFIX: char = 'p';

fn invalid_token() -> StoreError {
    StoreError::InvalidRequest { message: "the continuation token is not valid".to_owned() }
}

fn text_of_digits(digits: &str) -> Option<String> {
    let digits = digits.as_bytes();
    let value = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let bytes = digits.chunks(2).map(|pair| match *pair {
        [high, low] => Some(value(high)? << 4 | value(low)?),
        _ => None,
    });
    String::from_utf8(bytes.collect::<Option<_>>()?).ok()
}

impl fmt::Display for ListToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A page of a listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListPage {
    /// Objects and common prefixes, in one order.
    pub entries: Vec<ListEntry>,
    /// The start of the next page; `None` on the last page.
    pub next: Option<ListToken>,
    /// The last key or common prefix of the page.
    pub last: Option<String>,
}

/// An entry of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListEntry {
    /// An object.
    Object(ListedObject),
    /// A common prefix.
    Prefix(String),
}

/// An object, or a version of one, as listings show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedObject {
    /// The key.
    pub key: String,
    /// The version id.
    pub version_id: VersionId,
    /// `true` for the newest version of the key, even if that is a delete marker.
    pub is_latest: bool,
    /// The size.
    pub bytes: u64,
    /// Entity tag.
    pub etag: ETag,
    /// Time of the write, in milliseconds since 1970.
    pub modified_ms: u64,
    /// Time at which this store wrote it under its key, which a rename, an import or a replica has later than `modified_ms`.
    pub written_ms: u64,
    /// The storage class; `None` is `STANDARD`.
    pub storage_class: Option<String>,
    /// Its owner; `None` for that of the bucket.
    pub owner: Option<Owner>,
    /// Algorithm and type of the checksum.
    pub checksum: Option<(ChecksumAlgorithm, ChecksumType)>,
    /// Its last restore, if the query asks for restores. It may have expired.
    pub restore: Option<Box<Restore>>,
}

impl Store {
    /// One page of the current objects of a bucket, ordered by the bytes of their keys.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`].
    pub fn list_objects(&self, bucket: &Bucket, query: &ListQuery) -> Result<ListPage, StoreError> {
        let snapshot = self.snapshot()?;
        let page = list(&snapshot, bucket, query)?;
        if page.entries.is_empty() {
            bucket.require(&snapshot)?;
        }
        Ok(page)
    }

    /// Steps over deleted keys from `first` on, up to the next object, so that listings need not:
    /// see [`liteio_kv`] on dead ranges. Of use after many deletions.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if metadata cannot be read.
    pub fn pass_deleted(&self, bucket: &Bucket, first: &ObjectKey) -> Result<(), StoreError> {
        let snapshot = self.snapshot()?;
        let lower = space::current(bucket.id, first.as_str());
        let upper = behind_prefix(bucket.id, "");
        let mut cursor = snapshot.cursor(Bound::Included(&lower), Bound::Excluded(&upper))?;
        cursor.next()?;
        Ok(())
    }
}

/// Reads one page. The cost depends on the entries of the page, not on the keys below its common
/// prefixes.
fn list(from: &impl Read, bucket: &Bucket, query: &ListQuery) -> Result<ListPage, StoreError> {
    let max = query.max.min(LIST_KEYS_MAX);
    let mut page = ListPage::default();
    if max == 0 {
        return Ok(page);
    }
    let bucket = bucket.id;
    let grouping = Grouping::new(&query.prefix, query.delimiter.as_deref());
    let mut place = match &query.after {
        ListStart::Beginning => None,
        ListStart::AfterKey(marker) => Some(grouping.behind(marker)),
        ListStart::Token(token) => Some(token.place()?),
    };
    let mut lower = space::current(bucket, &query.prefix);
    let text = lower.len();
    let upper = behind_prefix(bucket, &query.prefix);
    if let Some(place) = &place {
        lower = behind(bucket, place).max(lower);
    }
    let range = GroupedRange {
        lower: &lower,
        upper: &upper,
        delimiter: grouping.delimiter(),
        text,
        text_end: &[],
        max: max + 1,
    };
    let mut entries = from.grouped(&range)?;
    while let Some(entry) = entries.next()? {
        // A full page ends here, and not at its last entry: only this record proves that more
        // follows.
        if page.entries.len() == max {
            page.next = place.as_ref().map(ListToken::new);
            break;
        }
        match entry {
            GroupedEntry::Group(group) => {
                let common = key_of(group)?;
                page.entries.push(ListEntry::Prefix(common.to_owned()));
                place = Some(Place::Prefix(common.to_owned()));
            }
            GroupedEntry::Pair((place_of_record, record)) => {
                let key = key_of(place_of_record)?;
                let object = Listed::decode(place_of_record, record)?;
                let mut object = ListedObject::new(key, object, true);
                if query.with_restores {
                    let restore = ObjectRecord::decode_restore(place_of_record, record)?;
                    object.restore = restore.map(Box::new);
                }
                page.entries.push(ListEntry::Object(object));
                // The token needs only the last key, so the others are not copied.
                if page.entries.len() == max {
                    place = Some(Place::Key(key.to_owned()));
                }
            }
        }
    }
    page.last = page.entries.last().map(|entry| match entry {
        ListEntry::Object(object) => object.key.clone(),
        ListEntry::Prefix(prefix) => prefix.clone(),
    });
    Ok(page)
}

/// The object key, or the beginning of one, in a record key.
fn key_of(place: &[u8]) -> Result<&str, StoreError> {
    let (_, key) = space::split_current(place)
        .ok_or_else(|| StoreError::corrupt("the key of an object's record"))?;
    key_text(key)
}

/// The first record key that a page after `place` may show.
fn behind(bucket: BucketId, place: &Place) -> Vec<u8> {
    match place {
        Place::Key(key) => {
            let mut bytes = space::current(bucket, key);
            bytes.push(0);
            bytes
        }
        Place::Prefix(prefix) => behind_prefix(bucket, prefix),
    }
}

fn behind_prefix(bucket: BucketId, prefix: &str) -> Vec<u8> {
    successor(&space::current(bucket, prefix)).expect("the tag of the space has a successor")
}

impl ListedObject {
    pub(crate) fn new(key: &str, listed: Listed, is_latest: bool) -> Self {
        Self {
            key: key.to_owned(),
            version_id: listed.version_id(),
            is_latest,
            bytes: listed.bytes,
            etag: listed.etag,
            modified_ms: listed.modified_ms,
            written_ms: written_ms(&listed.stamp),
            storage_class: listed.storage_class,
            owner: listed.owner,
            checksum: listed.checksum.map(|checksum| (checksum.value.algorithm, checksum.kind)),
            restore: None,
        }
    }
}
