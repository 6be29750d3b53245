//! ListObjectVersions.

#[cfg(test)]
mod tests;

use std::ops::Bound;

use liteio_kv::{Grouped, GroupedEntry, GroupedRange, Read};

use super::ListedObject;
use super::history::null_stamp;
use super::list::walk::{Grouping, Place, key_text};
use crate::error::StoreError;
use crate::limits::LIST_KEYS_MAX;
use crate::meta::key::{KEY_END, append_escaped, successor};
use crate::meta::object::{Listed, ObjectRecord};
use crate::meta::{Restore, space};
use crate::name::{BucketId, VersionId};
use crate::process::Bucket;
use crate::store::Store;

/// A query for one page of versions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListVersionsQuery {
    /// Prefix of the keys.
    pub prefix: String,
    /// The delimiter, as in [`ListQuery`](super::ListQuery).
    pub delimiter: Option<String>,
    /// Only after this key; with `version_marker`, after that version of it.
    pub key_marker: Option<String>,
    /// Only after this version of the key `key_marker`.
    pub version_marker: Option<VersionId>,
    /// Most versions, delete markers and common prefixes on the page; never more than
    /// [`LIST_KEYS_MAX`].
    pub max: usize,
    /// `true` to read the restores of versions, too.
    pub with_restores: bool,
}

/// A page of versions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VersionPage {
    /// Versions and common prefixes, ordered by key, newest first within a key.
    pub entries: Vec<VersionEntry>,
    /// The markers of the next page; `None` on the last page.
    pub next: Option<(String, Option<VersionId>)>,
}

/// An entry of a listing of versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionEntry {
    /// A version with bytes.
    Version(ListedObject),
    /// A delete marker.
    DeleteMarker(ListedObject),
    /// A common prefix.
    Prefix(String),
}

impl Store {
    /// One page of the versions of a bucket.
    ///
    /// # Errors
    /// [`StoreError::NoSuchBucket`].
    pub fn list_versions(
        &self,
        bucket: &Bucket,
        query: &ListVersionsQuery,
    ) -> Result<VersionPage, StoreError> {
        let snapshot = self.snapshot()?;
        let page = list(&snapshot, bucket, query)?;
        if page.entries.is_empty() {
            bucket.require(&snapshot)?;
        }
        Ok(page)
    }
}

fn list(
    from: &impl Read,
    bucket: &Bucket,
    query: &ListVersionsQuery,
) -> Result<VersionPage, StoreError> {
    let max = query.max.min(LIST_KEYS_MAX);
    let mut page = VersionPage::default();
    if max == 0 {
        return Ok(page);
    }
    let grouping = Grouping::new(&query.prefix, query.delimiter.as_deref());
    // The key whose newest version was listed: its further versions are not the latest.
    let mut seen = None;
    let start = match (&query.key_marker, &query.version_marker) {
        (None, _) => None,
        (Some(key), None) => Some(Start::behind(bucket.id, &grouping.behind(key))),
        (Some(key), Some(version)) => match grouping.behind(key) {
            Place::Key(key) => match stamp_of(from, bucket, &key, version)? {
                Some(stamp) => {
                    // The version of the marker may have been deleted since the last page, with all
                    // newer ones: then the next version is the latest.
                    let current = current_stamp(from, bucket.id, &key)?;
                    let newest = newest_stamp(from, bucket.id, &key)?;
                    let newest = current.into_iter().chain(newest).min();
                    let start = Start::behind_version(bucket.id, &key, &stamp, current);
                    seen = newest.is_some_and(|newest| newest <= stamp).then_some(key);
                    Some(start)
                }
                // The version `null` of the marker is gone, and with it the position. Start the key
                // again: versions may be listed twice, but none is skipped.
                None => Some(Start::of_key(bucket.id, &key)),
            },
            prefix @ Place::Prefix(_) => Some(Start::behind(bucket.id, &prefix)),
        },
    };
    let mut walk = Walk::new(from, bucket.id, (&query.prefix, &grouping), start, max + 1)?;
    let mut last = None;
    while let Some(next) = walk.take()? {
        if page.entries.len() == max {
            page.next = last;
            break;
        }
        let Version { key, listed } = match next {
            Next::Version(version) => version,
            Next::Prefix(common) => {
                last = Some((common.clone(), None));
                page.entries.push(VersionEntry::Prefix(common));
                continue;
            }
        };
        let is_latest = seen.as_ref() != Some(&key);
        let is_delete_marker = listed.is_delete_marker;
        let restore = match query.with_restores && !is_delete_marker {
            true => restore_of(from, bucket, &key, &listed)?,
            false => None,
        };
        let object = ListedObject::new(&key, listed, is_latest);
        let object = ListedObject { restore: restore.map(Box::new), ..object };
        last = Some((key.clone(), Some(object.version_id)));
        seen = Some(key);
        page.entries.push(match is_delete_marker {
            true => VersionEntry::DeleteMarker(object),
            false => VersionEntry::Version(object),
        });
    }
    Ok(page)
}

/// The last restore of a listed version.
fn restore_of(
    from: &impl Read,
    bucket: &Bucket,
    key: &str,
    listed: &Listed,
) -> Result<Option<Restore>, StoreError> {
    let (current, history) =
        (space::current(bucket.id, key), space::history(bucket.id, key, &listed.stamp));
    for place in [current, history] {
        if let Some(record) = from.get(&place)?
            && Listed::decode(&place, &record)?.stamp == listed.stamp
        {
            return ObjectRecord::decode_restore(&place, &record);
        }
    }
    Ok(None)
}

/// The stamp of a version, which is its position within its key. `None` for a missing version
/// `null`.
fn stamp_of(
    from: &impl Read,
    bucket: &Bucket,
    key: &str,
    version: &VersionId,
) -> Result<Option<[u8; 16]>, StoreError> {
    if let VersionId::Id(stamp) = version {
        return Ok(Some(*stamp));
    }
    let place = space::current(bucket.id, key);
    if let Some(record) = from.get(&place)? {
        let listed = Listed::decode(&place, &record)?;
        if listed.is_null {
            return Ok(Some(listed.stamp));
        }
    }
    null_stamp(from, bucket.id, bucket.is_version_1, key)
}

/// The stamp of the current object of a key.
fn current_stamp(
    from: &impl Read,
    bucket: BucketId,
    key: &str,
) -> Result<Option<[u8; 16]>, StoreError> {
    let place = space::current(bucket, key);
    let record = from.get(&place)?;
    record.map(|record| Ok(Listed::decode(&place, &record)?.stamp)).transpose()
}

/// The stamp of the newest version in the history of a key.
fn newest_stamp(
    from: &impl Read,
    bucket: BucketId,
    key: &str,
) -> Result<Option<[u8; 16]>, StoreError> {
    let prefix = space::history_of(bucket, key);
    let mut cursor =
        from.cursor(Bound::Included(&prefix), Bound::Excluded(&next_prefix(&prefix)))?;
    let newest = cursor.next()?.map(|(place, _)| place.strip_prefix(&*prefix));
    let stamp = newest.map(|stamp| stamp.and_then(|stamp| stamp.try_into().ok()));
    stamp
        .map(|it| it.ok_or_else(|| StoreError::corrupt("the key of a version's record")))
        .transpose()
}

/// The first record keys that a page may show, of current objects and of the history.
struct Start {
    current: Vec<u8>,
    history: Vec<u8>,
}

impl Start {
    fn behind(bucket: BucketId, place: &Place) -> Self {
        match place {
            Place::Key(key) => Self {
                current: behind_key(bucket, key),
                history: next_prefix(&space::history_of(bucket, key)),
            },
            Place::Prefix(prefix) => Self {
                current: next_prefix(&space::current(bucket, prefix)),
                history: next_prefix(&space::history_prefix(bucket, prefix.as_bytes())),
            },
        }
    }

    fn of_key(bucket: BucketId, key: &str) -> Self {
        Self { current: space::current(bucket, key), history: space::history_of(bucket, key) }
    }

    /// Behind the version `stamp` of a key whose current object has the stamp `current`.
    fn behind_version(
        bucket: BucketId,
        key: &str,
        stamp: &[u8; 16],
        current: Option<[u8; 16]>,
    ) -> Self {
        let mut history = space::history(bucket, key, stamp);
        history.push(0);
        // Later versions have smaller stamps.
        match current.is_some_and(|current| current > *stamp) {
            true => Self { current: space::current(bucket, key), history },
            false => Self { current: behind_key(bucket, key), history },
        }
    }
}

fn behind_key(bucket: BucketId, key: &str) -> Vec<u8> {
    let mut place = space::current(bucket, key);
    place.push(0);
    place
}

/// A version that was read but not listed yet.
struct Version {
    key: String,
    listed: Listed,
}

/// An entry that was read but not listed yet.
#[expect(clippy::large_enum_variant, reason = "nearly all are versions: a box would cost them")]
enum Next {
    Version(Version),
    Prefix(String),
}

impl Next {
    /// Its place among the entries of both walks. No version has a key below a prefix.
    fn order(&self) -> (&str, [u8; 16]) {
        match self {
            Self::Version(version) => (&version.key, version.listed.stamp),
            Self::Prefix(prefix) => (prefix, [0; 16]),
        }
    }
}

/// A merge of current objects and history, ordered by key, then by stamp (newest first).
struct Walk<'a> {
    current: Grouped<'a>,
    history: Grouped<'a>,
    next_current: Option<Next>,
    next_history: Option<Next>,
}

impl<'a> Walk<'a> {
    fn new(
        from: &'a impl Read,
        bucket: BucketId,
        (prefix, grouping): (&str, &Grouping<'_>),
        start: Option<Start>,
        max: usize,
    ) -> Result<Self, StoreError> {
        let begin = space::current(bucket, prefix);
        let history_begin = space::history_prefix(bucket, prefix.as_bytes());
        let start = start
            .unwrap_or_else(|| Start { current: begin.clone(), history: history_begin.clone() });
        let mut escaped = Vec::new();
        append_escaped(grouping.delimiter(), &mut escaped);
        let range = GroupedRange {
            lower: &start.current.max(begin.clone()),
            upper: &next_prefix(&begin),
            delimiter: grouping.delimiter(),
            text: begin.len(),
            text_end: &[],
            max,
        };
        let mut current = from.grouped(&range)?;
        let range = GroupedRange {
            lower: &start.history.max(history_begin.clone()),
            upper: &next_prefix(&history_begin),
            delimiter: &escaped,
            text: history_begin.len(),
            text_end: &KEY_END,
            max,
        };
        let mut history = from.grouped(&range)?;
        let next_current = read_current(&mut current)?;
        let next_history = read_history(&mut history)?;
        Ok(Self { current, history, next_current, next_history })
    }

    fn take(&mut self) -> Result<Option<Next>, StoreError> {
        let is_current = match (&self.next_current, &self.next_history) {
            (Some(Next::Prefix(current)), Some(Next::Prefix(history))) if current == history => {
                self.next_history = read_history(&mut self.history)?;
                true
            }
            (Some(current), Some(history)) => current.order() <= history.order(),
            (current, _) => current.is_some(),
        };
        if is_current {
            let next = read_current(&mut self.current)?;
            Ok(std::mem::replace(&mut self.next_current, next))
        } else {
            let next = read_history(&mut self.history)?;
            Ok(std::mem::replace(&mut self.next_history, next))
        }
    }
}

fn read_current(entries: &mut Grouped<'_>) -> Result<Option<Next>, StoreError> {
    let damaged = || StoreError::corrupt("the key of an object's record");
    match entries.next()? {
        None => Ok(None),
        Some(GroupedEntry::Group(group)) => {
            let (_, prefix) = space::split_current(group).ok_or_else(damaged)?;
            Ok(Some(Next::Prefix(key_text(prefix)?.to_owned())))
        }
        Some(GroupedEntry::Pair((place, record))) => {
            let (_, key) = space::split_current(place).ok_or_else(damaged)?;
            let listed = Listed::decode(place, record)?;
            let key = key_text(key)?.to_owned();
            Ok(Some(Next::Version(Version { key, listed })))
        }
    }
}

fn read_history(entries: &mut Grouped<'_>) -> Result<Option<Next>, StoreError> {
    let damaged = || StoreError::corrupt("the key of a version's record");
    match entries.next()? {
        None => Ok(None),
        Some(GroupedEntry::Group(group)) => {
            let prefix = space::key_of_history(group).ok_or_else(damaged)?;
            Ok(Some(Next::Prefix(key_text(&prefix)?.to_owned())))
        }
        Some(GroupedEntry::Pair((place, record))) => {
            let (_, key, stamp) = space::split_history(place).ok_or_else(damaged)?;
            let listed = Listed::decode(place, record)?;
            if listed.stamp != stamp {
                return Err(StoreError::corrupt("a version's record belongs to another key"));
            }
            let key = key_text(&key)?.to_owned();
            Ok(Some(Next::Version(Version { key, listed })))
        }
    }
}

fn next_prefix(prefix: &[u8]) -> Vec<u8> {
    successor(prefix).expect("the tag of the space has a successor")
}
