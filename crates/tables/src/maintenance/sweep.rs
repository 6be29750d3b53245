//! Files below the location of a table that nothing names: noted when that is seen first, deleted when it was so for long.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use liteio_iceberg::TableMetadata;
use liteio_iceberg::maintenance::Policy;
use liteio_store::limits::{CHANGED_TOGETHER, UNREFERENCED_PAGE};
use liteio_store::precondition::{ETagText, EtagCondition};
use liteio_store::tables::{
    CatalogChanges, CatalogError, Sighting, Table, TableSettings, Unreferenced,
};
use liteio_store::{
    Bucket, BucketId, DeleteTarget, ListEntry, ListQuery, ListStart, ListedObject, ObjectKey,
    StoreError,
};

use super::config::Removal;
use super::files::references_of;
use super::survey::{Survey, prefix_of};
use super::walk::{Failure, Pass};
use crate::limits::{COMMIT_ATTEMPTS, PURGE_PAGE};
use crate::metadata::read;
use crate::place::is_own;

/// A file that readers of a table without a catalog look for. No metadata name it.
const VERSION_HINT: &str = "/metadata/version-hint.text";

/// The reason for which files of a table are never deleted, if there is one.
pub(crate) fn refusal(
    bucket: &Bucket,
    settings: &TableSettings,
    location: &str,
) -> Option<&'static str> {
    // There may be anything at a place that a client has named, and nobody has allowed him to delete it.
    (!is_own(bucket, settings, location)).then_some(
        "A client has chosen the location of the table, so files there may belong to something else.",
    )
}

/// The end of an attempt.
#[derive(PartialEq, Eq)]
enum Swept {
    /// It has looked at all files.
    All,
    /// The table was changed meanwhile.
    Changed,
}

/// The outcome of the deletion of objects.
struct Deleted {
    /// All of them, as far as they were as listed.
    is_all: bool,
    /// At least one.
    is_some: bool,
}

/// The target of a deletion of an object, unless it was written since it was listed.
pub(super) fn unchanged(object: &ListedObject) -> Result<DeleteTarget, StoreError> {
    let mut target = DeleteTarget::new(ObjectKey::new(object.key.as_str())?, None);
    let tag = ETagText::strong(&object.etag.to_string());
    target.conditions.if_match = Some(EtagCondition::Matches(vec![tag]));
    let modified_s = i64::try_from(object.modified_ms / 1000).unwrap_or(i64::MAX);
    target.conditions.if_match_modified_s = Some(modified_s);
    Ok(target)
}

/// The failure of a table whose files are not deleted, since catalogs change too often.
fn busy() -> Failure {
    let message =
        "Other commits came each time before the files were deleted; the next run tries it again.";
    Failure::OfTable(message.to_owned())
}

impl Pass<'_> {
    /// Deletes the files of a table that nothing has named for long enough. `places` gets the prefix of its files. After a
    /// commit all is decided again on the new state. `None` if the table is gone or has no files yet.
    pub(super) fn sweep(
        &self,
        bucket: &Arc<Bucket>,
        table: &Table,
        survey: &mut Survey,
        removal: Removal,
        places: &mut BTreeSet<(BucketId, String)>,
    ) -> Result<Option<()>, Failure> {
        for _ in 0..COMMIT_ATTEMPTS {
            let Some((table, settings)) = self.current(bucket, table)? else { return Ok(None) };
            if self.try_sweep(bucket, (&table, &settings), survey, removal, places)? == Swept::All {
                return Ok(Some(()));
            }
        }
        Err(busy())
    }

    fn try_sweep(
        &self,
        bucket: &Arc<Bucket>,
        (table, settings): (&Table, &TableSettings),
        survey: &mut Survey,
        removal: Removal,
        places: &mut BTreeSet<(BucketId, String)>,
    ) -> Result<Swept, Failure> {
        let location = &table.location;
        let (metadata, _) = read::<TableMetadata>(self.store, bucket, location)?;
        let prefix = prefix_of(bucket, metadata.location())?;
        if refusal(bucket, settings, metadata.location()).is_some() {
            return Ok(Swept::All);
        }
        places.insert((bucket.id, prefix.clone()));
        // Files of such a table may be those of others.
        if Policy::of(&metadata, Policy::DEFAULT)?.is_none() {
            return Ok(Swept::All);
        }
        // It names the table that cannot be read, of which there may be several.
        survey.check(bucket, &table.name, &prefix)?;
        let references = references_of(self.store, bucket, (&metadata, location))?;
        let mut query =
            ListQuery { prefix: prefix.clone(), max: PURGE_PAGE, ..ListQuery::default() };
        let mut attempts = 0;
        loop {
            self.check_stop()?;
            survey.look_at_changes(self)?;
            // A later state may name again what this one does not.
            let changed = survey.changes().location_of(bucket.id, &table.name);
            if changed.is_some_and(|changed| changed != *location) {
                return Ok(Swept::Changed);
            }
            survey.check(bucket, &table.name, &prefix)?;
            let is_named = |key: &str| {
                let location = format!("s3://{}/{key}", bucket.name);
                let is_hint = key.len() == prefix.len() + VERSION_HINT.len() - 1
                    && key.ends_with(VERSION_HINT);
                is_hint || references.contains(&location) || survey.names(&location)
            };
            let page = self.store.list_objects(bucket, &query)?;
            let objects = page.entries.into_iter().filter_map(|entry| match entry {
                // A key with a slash at its end is a folder that somebody has made, no file of a table.
                ListEntry::Object(object) if !object.key.ends_with('/') => Some(object),
                ListEntry::Object(_) | ListEntry::Prefix(_) => None,
            });
            let objects: Vec<_> = objects.collect();
            let due = self.note_page(bucket, &objects, removal, &is_named)?;
            let others = survey.others_of(&bucket.owner.id);
            let deleted = self.delete(bucket, table, &due, (survey.changes(), &others))?;
            if !deleted.is_all {
                // Another table has changed: the page is decided once more. While files are deleted in between, that ends.
                attempts = if deleted.is_some { 0 } else { attempts + 1 };
                match attempts < COMMIT_ATTEMPTS {
                    true => continue,
                    false => return Err(busy()),
                }
            }
            match page.next {
                Some(next) => query.after = ListStart::Token(next),
                None => return Ok(Swept::All),
            }
            attempts = 0;
        }
    }

    /// Notes which objects of a page nothing names, and returns those that are due.
    fn note_page<'o>(
        &self,
        bucket: &Bucket,
        objects: &'o [ListedObject],
        removal: Removal,
        is_named: &dyn Fn(&str) -> bool,
    ) -> Result<Vec<&'o ListedObject>, Failure> {
        let keys = objects.iter().map(|object| ObjectKey::new(object.key.as_str()));
        let keys = keys.collect::<Result<Vec<_>, _>>().map_err(StoreError::from)?;
        let sightings = self.store.sightings(bucket, &keys)?;
        let days = removal.unreferenced_days.saturating_add(removal.noncurrent_days);
        let day_ms = self.store.lifecycle_day_ms();
        let (kept_ms, most_ms) = (days.saturating_mul(day_ms), day_ms.saturating_add(day_ms / 4));
        let (mut due, mut notes) = (Vec::new(), Vec::new());
        for (object, sighting) in objects.iter().zip(sightings) {
            let (sighting, is_noted) = match sighting {
                Ok(sighting) => (sighting, sighting.is_some()),
                Err(error) => {
                    self.tell(&format!("{}/{}", bucket.name, object.key), &error.into());
                    (None, true)
                }
            };
            if is_named(&object.key) {
                if is_noted {
                    notes.push((bucket.id, object.key.clone(), None));
                }
                continue;
            }
            let seen = match sighting {
                // A pass begins up to a quarter of a day late.
                Some(sighting) => sighting.again(self.now_ms, object.modified_ms, most_ms),
                None => Sighting::first(self.now_ms),
            };
            if seen.age_ms() >= kept_ms {
                due.push(object);
            }
            if sighting != Some(seen) {
                notes.push((bucket.id, object.key.clone(), Some(seen)));
            }
        }
        self.note_all(notes)?;
        Ok(due)
    }

    /// Deletes objects as a client does: in a bucket with versioning that leaves delete markers. Ends early if a table or
    /// view has changed in another way than `known`, but in the buckets `others`.
    fn delete(
        &self,
        bucket: &Arc<Bucket>,
        table: &Table,
        objects: &[&ListedObject],
        (known, others): (&Arc<CatalogChanges>, &Arc<HashSet<BucketId>>),
    ) -> Result<Deleted, Failure> {
        let delete = |few: &[&ListedObject]| {
            let targets = few.iter().map(|it| unchanged(it)).collect::<Result<Vec<_>, _>>()?;
            Ok::<_, StoreError>(self.store.delete_unreferenced(bucket, targets, known, others))
        };
        // All are under way before the first is waited for, so that they share their syncs.
        let pending = objects.chunks(CHANGED_TOGETHER).map(|few| Ok((few, delete(few)?)));
        let pending = pending.collect::<Result<Vec<_>, StoreError>>()?;
        let (mut notes, mut bytes, mut is_all, mut failure) = (Vec::new(), 0, true, None);
        for (few, deleted) in pending {
            match deleted.wait() {
                Ok(outcomes) => {
                    let deleted = few.iter().zip(outcomes).filter(|(_, outcome)| outcome.is_ok());
                    notes.extend(deleted.map(|(object, _)| {
                        bytes += object.bytes;
                        (bucket.id, object.key.clone(), None)
                    }));
                }
                Err(StoreError::Catalog(CatalogError::Changed { .. })) => is_all = false,
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        let is_some = !notes.is_empty();
        if is_some {
            self.counts.files_deleted.fetch_add(notes.len() as u64, Ordering::Relaxed);
            self.counts.bytes_deleted.fetch_add(bytes, Ordering::Relaxed);
            tracing::info!(bucket = %bucket.name, table = %table.name, files = notes.len(), bytes,
                "files that the table does not name were deleted");
        }
        self.note_all(notes)?;
        match failure {
            Some(error) => Err(error.into()),
            None => Ok(Deleted { is_all, is_some }),
        }
    }

    /// Forgets notes of files that are gone, or below no prefix of `places`.
    pub(super) fn tidy(&self, places: &BTreeSet<(BucketId, String)>) -> Result<(), StoreError> {
        let mut buckets = std::collections::HashMap::new();
        let mut are_all_known = true;
        self.each_bucket(&mut |bucket| {
            match bucket {
                Ok(bucket) => _ = buckets.insert(bucket.id, Arc::clone(bucket)),
                Err(_) => are_all_known = false,
            }
            Ok(())
        })?;
        // Notes of a bucket that cannot be read stay.
        if !are_all_known {
            return Ok(());
        }
        let mut after: Option<Unreferenced> = None;
        loop {
            self.check_stop()?;
            let mut page = self.store.walk_unreferenced(after.as_ref())?;
            let mut notes = Vec::new();
            for noted in &page {
                let mut above = noted.key.match_indices('/').map(|(at, _)| &noted.key[..=at]);
                let is_in_place =
                    above.any(|above| places.contains(&(noted.bucket, above.to_owned())));
                let is_there = match buckets.get(&noted.bucket).filter(|_| is_in_place) {
                    Some(bucket) => self.has_object(bucket, &noted.key)?,
                    None => false,
                };
                if !is_there {
                    notes.push((noted.bucket, noted.key.clone(), None));
                }
            }
            self.note_all(notes)?;
            match page.pop() {
                Some(last) => after = Some(last),
                None => return Ok(()),
            }
        }
    }

    fn has_object(&self, bucket: &Bucket, key: &str) -> Result<bool, StoreError> {
        match self.store.find_object(bucket, &ObjectKey::new(key)?, None) {
            Ok(_) => Ok(true),
            Err(StoreError::NoSuchKey { .. } | StoreError::IsDeleteMarker { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn note_all(&self, notes: Vec<(BucketId, String, Option<Sighting>)>) -> Result<(), StoreError> {
        for some in notes.chunks(UNREFERENCED_PAGE) {
            self.store.note_unreferenced(some.to_vec()).wait()?;
        }
        Ok(())
    }
}
