//! Purges that their requests did not end, since the server crashed or an object could not be deleted.
//!
//! Only objects that were written before a purge began are deleted: those its sender was allowed to delete. He may have lost
//! that right since, which changes nothing: the table is gone, and he was told that its files go, too.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use liteio_store::tables::Purge;
use liteio_store::{Bucket, ListEntry, ListQuery, ListStart, ListedObject, StoreError};

use super::sweep::unchanged;
use super::walk::{Failure, Pass};
use crate::limits::{CLOCKS_DIFFER_MS, PURGE_PAGE};
use crate::warehouse::key_of;

impl Pass<'_> {
    /// Ends the purges that began at a time or later.
    ///
    /// # Errors
    /// The store is closed, or another server has taken over; metadata that are about no single purge cannot be read.
    pub(super) fn end_purges(&self, since_ms: u64) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            self.check_stop()?;
            let page = self.store.walk_purges(after.as_ref())?;
            for (_, prefix) in &page.unreadable {
                let message = "The record of the purge cannot be read: its files stay.".to_owned();
                self.tell(prefix, &Failure::OfTable(message));
            }
            let due = page.purges.into_iter().filter(|purge| purge.began_ms >= since_ms);
            self.end_all(due.collect())?;
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    fn end_all(&self, purges: Vec<Purge>) -> Result<(), StoreError> {
        if purges.is_empty() {
            return Ok(());
        }
        let (mut buckets, mut are_all_known) = (HashMap::new(), true);
        self.each_bucket(&mut |bucket| {
            match bucket {
                Ok(bucket) => _ = buckets.insert(bucket.id, Arc::clone(bucket)),
                Err(_) => are_all_known = false,
            }
            Ok(())
        })?;
        for purge in purges {
            let ended = match buckets.get(&purge.bucket) {
                // The clock was set back: what was written since cannot be told apart.
                Some(_) if purge.began_ms > self.now_ms.saturating_add(CLOCKS_DIFFER_MS) => Ok(()),
                Some(bucket) => self.delete_purged(bucket, &purge),
                None if are_all_known => Ok(()),
                // It may be the one that cannot be read.
                None => continue,
            };
            match ended {
                Ok(()) => self.store.end_purge(purge).wait()?,
                Err(Failure::Stop(error)) => return Err(error),
                Err(failure) => self.tell(&format!("the purge of {}", purge.table), &failure),
            }
        }
        Ok(())
    }

    /// Deletes the objects of a purge, unless a table or view has been put there since.
    fn delete_purged(&self, bucket: &Arc<Bucket>, purge: &Purge) -> Result<(), Failure> {
        let is_below =
            |at: &str| key_of(bucket, at).is_ok_and(|key| key.starts_with(&purge.prefix));
        let (prefix, max) = (purge.prefix.clone(), PURGE_PAGE);
        let mut query = ListQuery { prefix, max, ..ListQuery::default() };
        let mut failure = None;
        loop {
            self.check_stop()?;
            if self.store.find_table(bucket, &|_, _, at| is_below(at))?.is_some() {
                return Ok(());
            }
            let page = self.store.list_objects(bucket, &query)?;
            let objects = page.entries.into_iter().filter_map(|entry| match entry {
                // The time of the source outlives a rename, an import and replication.
                ListEntry::Object(object)
                    if object.written_ms.max(object.modified_ms) < purge.began_ms =>
                {
                    Some(object)
                }
                ListEntry::Object(_) | ListEntry::Prefix(_) => None,
            });
            // Objects that cannot be deleted keep no others.
            match self.delete_page(bucket, purge, &objects.collect::<Vec<_>>()) {
                Err(Failure::OfTable(reason)) => failure = failure.or(Some(reason)),
                deleted => deleted?,
            }
            match page.next {
                Some(next) => query.after = ListStart::Token(next),
                None => return failure.map_or(Ok(()), |reason| Err(Failure::OfTable(reason))),
            }
        }
    }

    fn delete_page(
        &self,
        bucket: &Arc<Bucket>,
        purge: &Purge,
        objects: &[ListedObject],
    ) -> Result<(), Failure> {
        if objects.is_empty() {
            return Ok(());
        }
        let targets = objects.iter().map(unchanged).collect::<Result<Vec<_>, _>>()?;
        let (mut deleted, mut bytes, mut failure) = (0, 0, None);
        for (object, outcome) in
            objects.iter().zip(self.store.delete_objects(bucket, targets).wait()?)
        {
            match outcome {
                Ok(_) => {
                    deleted += 1;
                    bytes += object.bytes;
                }
                // It was deleted or written meanwhile.
                Err(StoreError::PreconditionFailed { .. } | StoreError::NoSuchKey { .. }) => {}
                // It stays, as its lock demands.
                Err(error @ StoreError::ObjectLocked) => {
                    self.tell(&format!("{}/{}", bucket.name, object.key), &error.into());
                }
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        self.counts.files_deleted.fetch_add(deleted, Ordering::Relaxed);
        self.counts.bytes_deleted.fetch_add(bytes, Ordering::Relaxed);
        tracing::info!(bucket = %bucket.name, table = purge.table, files = deleted, bytes,
            "files of a dropped table were deleted, which its purge had left");
        failure.map_or(Ok(()), |error| Err(error.into()))
    }
}
