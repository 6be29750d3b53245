//! Counting the objects of buckets without a usage row: an older program created them, or the row
//! was damaged.
//!
//! ```text
//! records of a bucket:   |--- counted ---|------- not counted yet -------|
//!                                    counted_to
//! a write here:           updates the row    leaves the row alone
//! ```
//! A step counts one page of records in a transaction and advances `counted_to`. So every record is
//! counted once, by the step or by its writer. The page is read from a snapshot just before, so
//! that the transaction, which blocks other writes, finds it in memory.

use std::ops::Bound;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use liteio_kv::{Read, Write as _};

use super::buckets;
use crate::error::StoreError;
use crate::meta::bucket::BucketRecord;
use crate::meta::claim::Claim;
use crate::meta::key::successor;
use crate::meta::object::Listed;
use crate::meta::space;
use crate::meta::usage::UsageRecord;
use crate::name::{BucketId, BucketName};
use crate::pending::Committed;
use crate::process::{Background, Calls, Job};
use crate::store::{Inner, Store};

/// Records per step: a transaction of some 100 µs.
const PAGE: usize = 256;
/// Rest between steps, as a multiple of the step's duration.
const RESTS: u32 = 1;
/// Delay before the thread asks again whether it may count.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(1);

impl Store {
    /// Starts a thread that counts the buckets without usage, if there are any. It ends once they
    /// are counted.
    pub(crate) fn start_usage(&self) -> Result<(), StoreError> {
        // On an error (a damaged bucket record) the thread starts and ends at once: the buckets are
        // counted after a repair.
        if self.uncounted().is_ok_and(|uncounted| uncounted.is_empty()) {
            return Ok(());
        }
        let calls = Arc::new(Calls::<()>::default());
        let weak: Weak<Inner> = Arc::downgrade(&self.inner);
        let thread = thread::Builder::new().name("liteio-usage".to_owned());
        let thread = thread.spawn({
            let calls = Arc::clone(&calls);
            move || {
                while let Some(inner) = weak.upgrade() {
                    match Store::of(inner).into_job(Job::Usage) {
                        // Another server counts, until this one takes over.
                        Ok(None) | Err(_) => {}
                        Ok(Some(store)) => match store.count_at_rest(&calls) {
                            Err(StoreError::Suspended { .. }) => {}
                            // Another error is ignored: the next start tries again.
                            _ => return,
                        },
                    }
                    if calls.pause(LOOK_AGAIN_AFTER).is_err() {
                        return;
                    }
                }
            }
        })?;
        *self.inner.usage.lock() = Some(Background::new(calls, thread));
        Ok(())
    }

    /// Counts all buckets without a complete usage row, on the calling thread. An open store does
    /// so on a thread of its own.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if metadata cannot be read; the errors of a
    /// write; [`StoreError::Suspended`] if another server does this.
    pub fn count_usage(&self) -> Result<(), StoreError> {
        self.must_do(Job::Usage)?.count_usage_with(&mut || Ok(()))
    }

    /// Counts with rests, until the thread must stop.
    fn count_at_rest(&self, calls: &Calls<()>) -> Result<(), StoreError> {
        let mut worked = Instant::now();
        self.count_usage_with(&mut || {
            // This thread has the last handle: the store is being dropped.
            if Arc::strong_count(&self.inner) == 1 {
                return Err(StoreError::Closed);
            }
            calls.pause(worked.elapsed() * RESTS)?;
            worked = Instant::now();
            Ok(())
        })
    }

    fn count_usage_with(
        &self,
        rest: &mut dyn FnMut() -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut failure = None;
        for (name, id) in self.uncounted()? {
            loop {
                match self.count_page(&name, id) {
                    Ok(true) => rest()?,
                    Ok(false) => break,
                    Err(
                        error @ (StoreError::Closed
                        | StoreError::Poisoned { .. }
                        | StoreError::Suspended { .. }),
                    ) => return Err(error),
                    Err(error) => {
                        failure.get_or_insert(error);
                        break;
                    }
                }
            }
        }
        failure.map_or(Ok(()), Err)
    }

    fn uncounted(&self) -> Result<Vec<(BucketName, BucketId)>, StoreError> {
        let snapshot = self.snapshot()?;
        let all = buckets(&snapshot)?.into_iter();
        let mut all: Vec<_> = all.map(|(name, id, _)| (name, id)).collect();
        let mut result = Ok(());
        all.retain(|(_, id)| match UsageRecord::read(&snapshot, *id) {
            Ok(row) => row.is_none_or(|row| row.counted_to.is_some()),
            Err(error) => {
                result = Err(error);
                false
            }
        });
        result.map(|()| all)
    }

    /// Counts a page of records of a bucket. `false` if it was the last page, or the bucket is
    /// gone.
    fn count_page(&self, name: &BucketName, id: BucketId) -> Result<bool, StoreError> {
        let snapshot = self.snapshot()?;
        let row = UsageRecord::read(&snapshot, id)?;
        // The result is dropped: this only brings the page into memory, outside of the transaction.
        step(&snapshot, id, row.unwrap_or_else(|| beginning(id)))?;
        drop(snapshot);
        let name = name.clone();
        let counted = self.update(move |write, _| {
            // The page must not change until the position behind it is written.
            write.claim(Claim::BucketAlone(id))?;
            let is_there = BucketRecord::read(write, &name)?.is_some_and(|found| found.id == id);
            if !is_there {
                return Ok(Committed::new(false));
            }
            let before = UsageRecord::read(write, id)?;
            let is_begun = before.is_some();
            let row = step(write, id, before.unwrap_or_else(|| beginning(id)))?;
            match is_begun {
                true => row.replace(write, id)?,
                false => row.write(write, id)?,
            }
            Ok(Committed::new(row.counted_to.is_some()))
        });
        counted.wait()
    }

    /// Discards the usage of a bucket, and counts it again.
    pub(crate) fn recount(&self, name: &BucketName, id: BucketId) -> Result<(), StoreError> {
        let forgotten = self.update(move |write, _| {
            write.end_counter(&space::usage(id))?;
            Ok(Committed::new(()))
        });
        forgotten.wait()?;
        while self.count_page(name, id)? {}
        Ok(())
    }
}

fn beginning(id: BucketId) -> UsageRecord {
    UsageRecord { counted_to: Some(space::current_of(id)), ..UsageRecord::default() }
}

/// Adds the next page of records to a row, unless it is complete.
fn step(from: &impl Read, id: BucketId, mut row: UsageRecord) -> Result<UsageRecord, StoreError> {
    let mut left = PAGE;
    for space in [space::current_of(id), space::history_prefix(id, b"")] {
        let Some(counted_to) = row.counted_to.clone() else { break };
        let end = successor(&space).unwrap_or_default();
        if counted_to >= end {
            continue;
        }
        let lower = counted_to.max(space);
        let mut cursor = from.cursor(Bound::Excluded(&lower), Bound::Excluded(&end))?;
        while let Some((place, value)) = cursor.next()? {
            // A damaged record does not count: a repair removes it, or a backup replaces it.
            if let Ok(listed) = Listed::decode(place, value) {
                row.usage.add(place, (listed.bytes, listed.is_delete_marker));
            }
            left -= 1;
            if left == 0 {
                row.counted_to = Some(place.to_vec());
                return Ok(row);
            }
        }
        row.counted_to = Some(end);
    }
    row.counted_to = None;
    Ok(row)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::name::ObjectKey;
    use crate::repair::{RepairReport, repair};
    use crate::{
        BodyOptions, Bucket, DeleteTarget, NewBucket, Owner, StoreConfig, Usage, Versioning,
    };

    fn new() -> (Store, Arc<Bucket>) {
        let store = Store::open(StoreConfig::memory()).expect("opens");
        let name = BucketName::new("bucket").expect("a name");
        let new = NewBucket::new(name.clone(), Owner::default(), String::new());
        store.create_bucket(new).wait().expect("new");
        let bucket = store.bucket(&name).expect("there");
        store.set_versioning(&bucket, Versioning::Enabled).wait().expect("set");
        (store.clone(), store.bucket(&name).expect("there"))
    }

    fn put(store: &Store, bucket: &Arc<Bucket>, number: usize) {
        let key = ObjectKey::new(format!("{number:04}")).expect("a key");
        let mut body = store.begin_body(BodyOptions::default()).expect("body");
        body.write(&vec![1; number % 7]).expect("write");
        let body = body.finish().expect("staged");
        store.put_object(bucket, key, body, Default::default()).wait().expect("put");
    }

    fn delete(store: &Store, bucket: &Arc<Bucket>, number: usize) {
        let key = ObjectKey::new(format!("{number:04}")).expect("a key");
        store.delete_object(bucket, DeleteTarget::new(key, None)).wait().expect("delete");
    }

    fn write_row(store: &Store, id: BucketId, value: Option<Vec<u8>>) {
        let written = store.update(move |write, _| {
            match &value {
                Some(value) => write.put(&space::usage(id), value)?,
                None => write.delete(&space::usage(id))?,
            }
            Ok(Committed::new(()))
        });
        written.wait().expect("written");
    }

    fn usage(store: &Store, bucket: &Bucket) -> (Usage, bool) {
        let found = store.bucket_usage(bucket).expect("readable");
        (found.usage, found.is_complete)
    }

    fn damage(store: &Store) -> Vec<String> {
        let report = store.verify(&mut |_| {}).expect("verify");
        report.damaged.into_iter().map(|damage| damage.what).collect()
    }

    #[test]
    fn a_bucket_is_counted_while_others_write_to_it() {
        let (store, bucket) = new();
        const KEYS: usize = 3 * PAGE / 2;
        for number in 0..KEYS {
            put(&store, &bucket, number);
            put(&store, &bucket, number);
        }
        let counted = usage(&store, &bucket);
        assert_eq!((counted.0.objects, counted.0.versions), (KEYS as u64, 2 * KEYS as u64));
        write_row(&store, bucket.id, None);
        assert_eq!(usage(&store, &bucket), (Usage::default(), false));
        let mut steps = 0;
        while store.count_page(&bucket.name, bucket.id).expect("counted") {
            // Before and behind the place of the counting, wherever that is.
            for number in [0, KEYS / 2, KEYS - 1, KEYS + steps] {
                put(&store, &bucket, number);
                delete(&store, &bucket, number + 1);
            }
            assert!(!usage(&store, &bucket).1);
            assert_eq!(damage(&store), Vec::<String>::new());
            steps += 1;
        }
        assert!(steps >= 3, "{steps}");
        assert!(usage(&store, &bucket).1);
        assert_eq!(damage(&store), Vec::<String>::new(), "it is compared with a count");
    }

    #[test]
    fn a_wrong_or_damaged_row_is_found_and_counted_again() {
        let (store, bucket) = new();
        put(&store, &bucket, 6);
        let right = usage(&store, &bucket);
        let wrong =
            UsageRecord { usage: Usage { objects: 9, ..right.0 }, ..UsageRecord::default() };
        let wrong = {
            let place = space::usage(bucket.id);
            crate::meta::record::seal(1, &place, &wrong, &[])
        };
        for (row, words) in
            [(wrong, "its usage says 9 objects"), (vec![1, 2, 3], "the usage of a bucket")]
        {
            write_row(&store, bucket.id, Some(row));
            put(&store, &bucket, 6);
            let found = damage(&store);
            assert!(matches!(&found[..], [one] if one.contains(words)), "{found:?}");
            let mut report = RepairReport::default();
            repair(&store, &mut report, &mut |_| {}).expect("repairs");
            assert_eq!((report.mended.len(), report.left.len()), (1, 0), "{report:?}");
            assert_eq!(damage(&store), Vec::<String>::new());
            assert!(usage(&store, &bucket).1);
        }
        assert_eq!(usage(&store, &bucket).0.versions, 3);
    }

    #[test]
    fn a_bucket_that_is_deleted_meanwhile_is_counted_no_more() {
        let (store, bucket) = new();
        write_row(&store, bucket.id, None);
        store.delete_bucket(&bucket).wait().expect("empty");
        assert!(!store.count_page(&bucket.name, bucket.id).expect("nothing to do"));
        let row = UsageRecord::read(&store.snapshot().expect("snapshot"), bucket.id);
        assert_eq!(row.expect("readable"), None);
    }
}
