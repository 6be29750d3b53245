//! Files that no table names, with the time for which that was seen. Maintenance of tables notes and deletes them;
//! which files these are is decided above.

use std::ops::Bound;
use std::sync::Arc;

use liteio_kv::{Read as _, Write as _};

use crate::error::StoreError;
use crate::limits::UNREFERENCED_PAGE;
use crate::meta::key::successor;
use crate::meta::space;
use crate::meta::table::UnreferencedRecord;
use crate::name::{BucketId, ObjectKey};
use crate::pending::{Committed, Pending};
use crate::process::Bucket;
use crate::store::Store;

/// A noted file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreferenced {
    /// The bucket, which may have been deleted.
    pub bucket: BucketId,
    /// The key of the object, which may have been deleted.
    pub key: String,
}

/// Looks at a file that have all found no table that names it.
///
/// Its age is what passed between them, as far as a server was there to look: of each interval no more counts than one that
/// looks regularly can have. So a server that was off, or whose clock jumps, finds a file hardly older than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    first_ms: u64,
    last_ms: u64,
    observed_ms: u64,
}

impl Sighting {
    /// The first look.
    #[must_use]
    pub fn first(now_ms: u64) -> Self {
        Self { first_ms: now_ms, last_ms: now_ms, observed_ms: 0 }
    }

    /// The same with one more look, at most `most_ms` of whose distance to the one before count, and nothing if the clock was
    /// set back. A file that was written after the first look is another one, which is seen for the first time. So is one
    /// that was seen first at a time that is yet to come, since nobody knows whether it was written since.
    #[must_use]
    pub fn again(self, now_ms: u64, modified_ms: u64, most_ms: u64) -> Self {
        if modified_ms > self.first_ms || self.first_ms > now_ms {
            return Self::first(now_ms);
        }
        let passed_ms = now_ms.saturating_sub(self.last_ms).min(most_ms);
        let observed_ms = self.observed_ms.saturating_add(passed_ms);
        Self { last_ms: now_ms, observed_ms, ..self }
    }

    /// The time for which no table has named the file, in milliseconds.
    #[must_use]
    pub fn age_ms(self) -> u64 {
        self.observed_ms
    }
}

impl From<Sighting> for UnreferencedRecord {
    fn from(Sighting { first_ms, last_ms, observed_ms }: Sighting) -> Self {
        Self { first_ms, last_ms, observed_ms }
    }
}

impl From<UnreferencedRecord> for Sighting {
    fn from(UnreferencedRecord { first_ms, last_ms, observed_ms }: UnreferencedRecord) -> Self {
        Self { first_ms, last_ms, observed_ms }
    }
}

impl Store {
    /// The notes of files of a bucket, in the order of `keys`. One that cannot be read is an error of its own: the file counts
    /// as one that was never noted.
    ///
    /// # Errors
    /// [`StoreError::Io`] if metadata cannot be read.
    pub fn sightings(
        &self,
        bucket: &Bucket,
        keys: &[ObjectKey],
    ) -> Result<Vec<Result<Option<Sighting>, StoreError>>, StoreError> {
        let snapshot = self.snapshot()?;
        let places: Vec<_> =
            keys.iter().map(|key| space::unreferenced(bucket.id, key.as_str())).collect();
        snapshot.fetch(&places)?;
        let sighting = |place: &Vec<u8>| {
            let value = snapshot.get(place)?;
            let decoded = value.map(|value| UnreferencedRecord::decode(place, &value)).transpose();
            Ok(decoded.map(|record| record.map(Sighting::from)))
        };
        places.iter().map(sighting).collect()
    }

    /// A page of the noted files of all buckets, after the one given, in the order of bucket ids and keys. The last page is
    /// empty.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if metadata cannot be read.
    pub fn walk_unreferenced(
        &self,
        after: Option<&Unreferenced>,
    ) -> Result<Vec<Unreferenced>, StoreError> {
        let snapshot = self.snapshot()?;
        let mut from = space::ALL_UNREFERENCED.to_vec();
        if let Some(Unreferenced { bucket, key }) = after {
            from = space::unreferenced(*bucket, key);
            from.push(0);
        }
        let upper = successor(space::ALL_UNREFERENCED);
        let upper = upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut cursor = snapshot.cursor(Bound::Included(&from), upper)?;
        let mut page = Vec::new();
        while let Some((place, _)) = cursor.next()?
            && page.len() < UNREFERENCED_PAGE
        {
            let (bucket, key) = space::split_unreferenced(place)
                .ok_or_else(|| StoreError::corrupt("the key of a file that no table names"))?;
            page.push(Unreferenced { bucket, key: key.to_owned() });
        }
        Ok(page)
    }

    /// Notes looks at files, or with `None` that they are named or gone.
    pub fn note_unreferenced(
        &self,
        files: Vec<(BucketId, String, Option<Sighting>)>,
    ) -> Pending<()> {
        let files = Arc::new(files);
        self.update_freeing(move |write, _| {
            for (bucket, key, sighting) in &*files {
                let place = space::unreferenced(*bucket, key);
                match *sighting {
                    None => write.delete(&place)?,
                    Some(sighting) => {
                        let record = UnreferencedRecord::from(sighting);
                        write.put(&place, &record.encode(&place))?;
                    }
                }
            }
            Ok(Committed::new(()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_between_regular_looks_counts() {
        const DAY: u64 = 1000;
        let of = |looks: &[u64]| {
            let (first, more) = looks.split_first().expect("a look");
            let again = |seen: Sighting, now: &u64| seen.again(*now, 0, DAY + DAY / 4);
            more.iter().fold(Sighting::first(*first), again).age_ms()
        };
        assert_eq!(of(&[5000]), 0);
        assert_eq!(of(&[5000, 6000, 7010, 8000]), 3000);
        // The server was off for weeks, or the clock has jumped.
        assert_eq!(of(&[5000, 500_000]), 1250);
        assert_eq!(of(&[5000, 500_000, 501_000]), 2250);
        // Two looks one after the other are no two days.
        assert_eq!(of(&[5000, 5001, 5002]), 2);
        // A clock that was set back.
        assert_eq!(of(&[5000, 6000, 5500]), 1000);
        assert_eq!(of(&[5000, 6000, 5500, 6500]), 2000);
        assert_eq!(of(&[5000, 6000, 4500, 5500]), 1000);
    }

    #[test]
    fn a_file_that_is_written_again_is_another_one() {
        let seen = Sighting::first(5000).again(6000, 4999, 1000);
        assert_eq!(seen.age_ms(), 1000);
        assert_eq!(seen.again(7000, 5500, 1000), Sighting::first(7000));
    }
}
