//! Purges: the files of dropped tables, which are deleted after the table has gone.
//!
//! ```text
//! drop_table_at ──► the table goes, a row of the purge comes ──► objects, page by page ──► end_purge
//!                                 crash: the row is still there ──► maintenance ──┘
//! ```
//!
//! The row is written in the transaction of the drop, so what was told to a client is finished after a crash, too.

use std::ops::Bound;

use liteio_kv::{Read as _, Write as _};

use crate::error::StoreError;
use crate::limits::PURGES_PAGE;
use crate::meta::key::successor;
use crate::meta::space;
use crate::meta::table::PurgeRecord;
use crate::name::BucketId;
use crate::pending::{Committed, Pending};
use crate::store::Store;

/// The files of a dropped table, which are still to be deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Purge {
    /// The bucket, which may have been deleted.
    pub bucket: BucketId,
    /// The prefix of the keys of the objects.
    pub prefix: String,
    /// Namespace and name of the table, with dots between them.
    pub table: String,
    /// Time at which it began, in milliseconds since 1970. Objects written since belong to something else.
    pub began_ms: u64,
}

/// Purges of a walk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PurgePage {
    /// The purges, in the order of buckets and prefixes.
    pub purges: Vec<Purge>,
    /// Buckets and prefixes of those whose records cannot be read.
    pub unreadable: Vec<(BucketId, String)>,
    /// The place of the next page, if there is one.
    pub next: Option<(BucketId, String)>,
}

impl Purge {
    /// The row, with its key.
    pub(super) fn row(&self) -> (Vec<u8>, Vec<u8>) {
        let place = space::purge(self.bucket, &self.prefix);
        let record = PurgeRecord { table: self.table.clone(), began_ms: self.began_ms };
        let value = record.encode(&place);
        (place, value)
    }
}

impl Store {
    /// A page of the purges that have not ended, behind a place.
    ///
    /// # Errors
    /// [`StoreError::Io`] if metadata cannot be read.
    pub fn walk_purges(&self, after: Option<&(BucketId, String)>) -> Result<PurgePage, StoreError> {
        let snapshot = self.snapshot()?;
        let mut from = space::ALL_PURGES.to_vec();
        if let Some((bucket, prefix)) = after {
            from = space::purge(*bucket, prefix);
            from.push(0);
        }
        let upper = successor(space::ALL_PURGES);
        let upper = upper.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        let mut cursor = snapshot.cursor(Bound::Included(&from), upper)?;
        let (mut page, mut rows) = (PurgePage::default(), 0);
        while let Some((place, value)) = cursor.next()? {
            let (bucket, prefix) = space::split_purge(place)
                .ok_or_else(|| StoreError::corrupt("the key of a purge"))?;
            let prefix = prefix.to_owned();
            rows += 1;
            if rows == PURGES_PAGE {
                page.next = Some((bucket, prefix.clone()));
            }
            match PurgeRecord::decode(place, value) {
                Ok(PurgeRecord { table, began_ms }) => {
                    page.purges.push(Purge { bucket, prefix, table, began_ms });
                }
                Err(_) => page.unreadable.push((bucket, prefix)),
            }
            if rows == PURGES_PAGE {
                break;
            }
        }
        Ok(page)
    }

    /// Notes that all objects of a purge are deleted. A later one with the same prefix stays.
    pub fn end_purge(&self, purge: Purge) -> Pending<()> {
        self.update_freeing(move |write, _| {
            let (place, value) = purge.row();
            if write.get(&place)?.is_some_and(|found| *found == value[..]) {
                write.delete(&place)?;
            }
            Ok(Committed::new(()))
        })
    }
}
