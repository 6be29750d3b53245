//! Emptying the whole store, for tests. It takes the same steps as deletions by clients, so that a
//! crash leaves a store with fewer buckets, never a damaged one.

use std::sync::Arc;

use liteio_kv::Write as _;

use crate::bucket::{Emptying, ListBuckets};
use crate::error::StoreError;
use crate::meta::space;
use crate::pending::{Committed, Pending};
use crate::store::Store;
use crate::vectors::{ListIndexes, ListVectorBuckets, VectorBucket};

/// Buckets emptied at a time.
const BUCKETS_AT_ONCE: usize = 256;
/// Passes over the remaining buckets. Buckets that clients keep creating beyond them belong to the
/// time after the reset.
const PASSES_MAX: usize = 100;

impl Store {
    /// Removes all buckets with their contents (also objects under retention or legal hold), all
    /// vector buckets, all entries about users, and all queued events. For tests: no event is sent,
    /// and open readers continue to their end.
    ///
    /// # Errors
    /// The errors of the disk; [`StoreError::Corrupt`] if metadata cannot be read. Part of the data
    /// may be gone then.
    pub fn reset(&self) -> Result<(), StoreError> {
        self.remove_buckets()?;
        self.remove_vector_buckets()?;
        for target in self.outbox_state()?.queues.into_keys() {
            self.drop_events(&target)?;
        }
        self.remove_settings()
    }

    fn remove_buckets(&self) -> Result<(), StoreError> {
        let query = ListBuckets { max: BUCKETS_AT_ONCE, ..ListBuckets::default() };
        for _ in 0..PASSES_MAX {
            let mut left = Vec::new();
            for listed in self.list_buckets(&query)?.buckets {
                let bucket = unless_gone(self.bucket(&listed.name))?;
                left.extend(bucket.map(|bucket| Emptying::new(bucket, None)));
            }
            if left.is_empty() {
                break;
            }
            while !left.is_empty() {
                // Submitted together, so that they share a group commit.
                let steps: Vec<_> = left.drain(..).map(|emptying| self.empty(emptying)).collect();
                for step in steps {
                    left.extend(unless_gone(step.wait())?.flatten());
                }
            }
        }
        Ok(())
    }

    fn remove_vector_buckets(&self) -> Result<(), StoreError> {
        let query = ListVectorBuckets { max: BUCKETS_AT_ONCE, ..ListVectorBuckets::default() };
        for _ in 0..PASSES_MAX {
            let buckets = self.list_vector_buckets(&query)?.buckets;
            if buckets.is_empty() {
                break;
            }
            let mut deletions = Vec::new();
            for bucket in &buckets {
                deletions.extend(self.delete_indexes(bucket)?);
            }
            wait_for_all(deletions)?;
            wait_for_all(buckets.iter().map(|bucket| self.delete_vector_bucket(bucket)).collect())?;
        }
        Ok(())
    }

    /// Deletes one page of indexes.
    fn delete_indexes(&self, bucket: &VectorBucket) -> Result<Vec<Pending<()>>, StoreError> {
        let query = ListIndexes { max: BUCKETS_AT_ONCE, ..ListIndexes::default() };
        let page = unless_gone(self.list_indexes(bucket, &query))?;
        let indexes = page.map(|page| page.indexes).unwrap_or_default();
        Ok(indexes.iter().map(|index| self.delete_index(index)).collect())
    }

    /// Removes entries about users, and the progress of lifecycle rules, which may have run by
    /// another clock.
    fn remove_settings(&self) -> Result<(), StoreError> {
        let mut places = vec![space::LIFECYCLE_KEY.to_vec()];
        self.walk(&self.snapshot()?, space::ALL_IDENTITIES, &mut |place, _| {
            places.push(place.to_vec());
            Ok(())
        })?;
        let places: Arc<[Vec<u8>]> = places.into();
        let removed = self.update_freeing(move |write, _| {
            places.iter().try_for_each(|place| write.delete(place))?;
            Ok(Committed::new(()))
        });
        removed.wait()
    }
}

/// Waits for deletions. A bucket that is gone, or is not empty again, is no error: the next pass
/// handles it.
fn wait_for_all(deletions: Vec<Pending<()>>) -> Result<(), StoreError> {
    for deletion in deletions {
        match unless_gone(deletion.wait()) {
            Ok(_) | Err(StoreError::VectorBucketNotEmpty { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// `None` if the thing was deleted by someone else meanwhile.
fn unless_gone<T>(result: Result<T, StoreError>) -> Result<Option<T>, StoreError> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(
            StoreError::NoSuchBucket { .. }
            | StoreError::NoSuchVectorBucket { .. }
            | StoreError::NoSuchIndex { .. },
        ) => Ok(None),
        Err(error) => Err(error),
    }
}
