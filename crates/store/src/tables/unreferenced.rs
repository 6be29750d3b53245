//! Files that no table names, with the time at which that was seen first. Maintenance of tables notes and deletes them;
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
    /// Time at which no table named it first, in milliseconds since 1970.
    pub since_ms: u64,
}

impl Store {
    /// The times noted for files of a bucket, in the order of `keys`.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if metadata cannot be read.
    pub fn unreferenced_since(
        &self,
        bucket: &Bucket,
        keys: &[ObjectKey],
    ) -> Result<Vec<Option<u64>>, StoreError> {
        let snapshot = self.snapshot()?;
        let places: Vec<_> =
            keys.iter().map(|key| space::unreferenced(bucket.id, key.as_str())).collect();
        snapshot.fetch(&places)?;
        let since = |place: &Vec<u8>| match snapshot.get(place)? {
            Some(value) => Ok(Some(UnreferencedRecord::decode(place, &value)?.since_ms)),
            None => Ok(None),
        };
        places.iter().map(since).collect()
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
        if let Some(Unreferenced { bucket, key, .. }) = after {
            from = space::unreferenced(*bucket, key);
            from.push(0);
        }
        let upper = successor(space::ALL_UNREFERENCED);
        let upper = upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut cursor = snapshot.cursor(Bound::Included(&from), upper)?;
        let mut page = Vec::new();
        while let Some((place, value)) = cursor.next()?
            && page.len() < UNREFERENCED_PAGE
        {
            let (bucket, key) = space::split_unreferenced(place)
                .ok_or_else(|| StoreError::corrupt("the key of a file that no table names"))?;
            let UnreferencedRecord { since_ms } = UnreferencedRecord::decode(place, value)?;
            page.push(Unreferenced { bucket, key: key.to_owned(), since_ms });
        }
        Ok(page)
    }

    /// Notes the times of files, or with `None` that they are named or gone.
    pub fn note_unreferenced(&self, files: Vec<(BucketId, String, Option<u64>)>) -> Pending<()> {
        let files = Arc::new(files);
        self.update_freeing(move |write, _| {
            for (bucket, key, since_ms) in &*files {
                let place = space::unreferenced(*bucket, key);
                match since_ms {
                    None => write.delete(&place)?,
                    Some(since_ms) => {
                        let record = UnreferencedRecord { since_ms: *since_ms };
                        write.put(&place, &record.encode(&place))?;
                    }
                }
            }
            Ok(Committed::new(()))
        })
    }
}
