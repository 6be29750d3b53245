//! ListObjectVersions.

#[cfg(test)]
mod tests;

use std::ops::Bound;

use liteio_kv::{Cursor, Read};

use super::ListedObject;
use super::history::null_stamp;
use super::list::walk::{Grouping, Place, key_text};
use crate::error::StoreError;
use crate::limits::LIST_KEYS_MAX;
use crate::meta::key::successor;
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
    let mut walk = Walk::new(from, bucket.id, &query.prefix)?;
    // The key whose newest version was listed: its further versions are not the latest.
    let mut seen = None;
    match (&query.key_marker, &query.version_marker) {
        (None, _) => walk.fill()?,
        (Some(key), None) => walk.go_behind(&grouping.behind(key))?,
        (Some(key), Some(version)) => match grouping.behind(key) {
            Place::Key(key) => match stamp_of(from, bucket, &key, version)? {
                Some(stamp) => {
                    // The version of the marker may have been deleted since the last page, with all
                    // newer ones: then the next version is the latest.
                    walk.go_to_key(&key)?;
                    let has_newer = walk.newest_of(&key).is_some_and(|newest| newest <= stamp);
                    walk.go_behind_version(&key, &stamp)?;
                    seen = has_newer.then_some(key);
                }
                // The version `null` of the marker is gone, and with it the position. Start the key
                // again: versions may be listed twice, but none is skipped.
                None => walk.go_to_key(&key)?,
            },
            prefix @ Place::Prefix(_) => walk.go_behind(&prefix)?,
        },
    }
    let mut last = None;
    while let Some(version) = walk.take()? {
        if page.entries.len() == max {
            page.next = last;
            break;
        }
        if let Some(common) = grouping.common_prefix(&version.key) {
            walk.go_behind(&Place::Prefix(common.to_owned()))?;
            page.entries.push(VersionEntry::Prefix(common.to_owned()));
            last = Some((common.to_owned(), None));
            continue;
        }
        let is_latest = seen.as_ref() != Some(&version.key);
        let is_delete_marker = version.listed.is_delete_marker;
        let Version { key, listed } = version;
        let restore = match query.with_restores && !is_delete_marker {
            true => restore_of(from, bucket, &key, &listed)?,
            false => None,
        };
        let object = ListedObject::new(&key, listed, is_latest, &bucket.owner);
        let object = ListedObject { restore, ..object };
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

/// A version that was read but not listed yet.
struct Version {
    key: String,
    listed: Listed,
}

/// A merge of current objects and history, ordered by key, then by stamp (newest first).
struct Walk<'a> {
    bucket: BucketId,
    current: Cursor<'a>,
    history: Cursor<'a>,
    next_current: Option<Version>,
    next_history: Option<Version>,
}

impl<'a> Walk<'a> {
    /// Positions both cursors before the prefix. Call `fill` or a `go_…` method before the first
    /// `take`.
    fn new(from: &'a impl Read, bucket: BucketId, prefix: &str) -> Result<Self, StoreError> {
        let over = |lower: &[u8]| {
            from.cursor(Bound::Included(lower), Bound::Excluded(&next_prefix(lower)))
        };
        Ok(Self {
            bucket,
            current: over(&space::current(bucket, prefix))?,
            history: over(&space::history_prefix(bucket, prefix.as_bytes()))?,
            next_current: None,
            next_history: None,
        })
    }

    fn take(&mut self) -> Result<Option<Version>, StoreError> {
        let is_current = match (&self.next_current, &self.next_history) {
            (Some(current), Some(history)) => {
                (&current.key, current.listed.stamp) <= (&history.key, history.listed.stamp)
            }
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

    fn go_behind(&mut self, place: &Place) -> Result<(), StoreError> {
        match place {
            Place::Key(key) => {
                self.current.seek(&[space::current(self.bucket, key), vec![0]].concat())?;
                self.history.seek(&next_prefix(&space::history_of(self.bucket, key)))?;
            }
            Place::Prefix(prefix) => {
                self.current.seek(&next_prefix(&space::current(self.bucket, prefix)))?;
                let history = space::history_prefix(self.bucket, prefix.as_bytes());
                self.history.seek(&next_prefix(&history))?;
            }
        }
        self.fill()
    }

    fn go_to_key(&mut self, key: &str) -> Result<(), StoreError> {
        self.current.seek(&space::current(self.bucket, key))?;
        self.history.seek(&space::history_of(self.bucket, key))?;
        self.fill()
    }

    /// The stamp of the newest version of `key`, after [`Walk::go_to_key`]. Newer stamps are smaller.
    fn newest_of(&self, key: &str) -> Option<[u8; 16]> {
        let next = [&self.next_current, &self.next_history].into_iter().flatten();
        next.filter(|version| version.key == key).map(|version| version.listed.stamp).min()
    }

    fn go_behind_version(&mut self, key: &str, stamp: &[u8; 16]) -> Result<(), StoreError> {
        self.current.seek(&space::current(self.bucket, key))?;
        self.history.seek(&space::history(self.bucket, key, stamp))?;
        self.fill()?;
        let is_behind = |version: &Version| version.key != key || version.listed.stamp > *stamp;
        if !self.next_current.as_ref().is_none_or(is_behind) {
            self.next_current = read_current(&mut self.current)?;
        }
        if !self.next_history.as_ref().is_none_or(is_behind) {
            self.next_history = read_history(&mut self.history)?;
        }
        Ok(())
    }

    fn fill(&mut self) -> Result<(), StoreError> {
        self.next_current = read_current(&mut self.current)?;
        self.next_history = read_history(&mut self.history)?;
        Ok(())
    }
}

fn read_current(cursor: &mut Cursor<'_>) -> Result<Option<Version>, StoreError> {
    let Some((place, record)) = cursor.next()? else { return Ok(None) };
    let (_, key) = space::split_current(place)
        .ok_or_else(|| StoreError::corrupt("the key of an object's record"))?;
    let listed = Listed::decode(place, record)?;
    Ok(Some(Version { key: key_text(key)?.to_owned(), listed }))
}

fn read_history(cursor: &mut Cursor<'_>) -> Result<Option<Version>, StoreError> {
    let Some((place, record)) = cursor.next()? else { return Ok(None) };
    let (_, key, stamp) = space::split_history(place)
        .ok_or_else(|| StoreError::corrupt("the key of a version's record"))?;
    let listed = Listed::decode(place, record)?;
    if listed.stamp != stamp {
        return Err(StoreError::corrupt("a version's record belongs to another key"));
    }
    Ok(Some(Version { key: key_text(&key)?.to_owned(), listed }))
}

fn next_prefix(prefix: &[u8]) -> Vec<u8> {
    successor(prefix).expect("the tag of the space has a successor")
}
