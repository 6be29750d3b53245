//! Usage of a bucket: the numbers of its objects and versions, and their bytes.
//!
//! Every transaction that adds or removes a version also writes the row of its bucket, so the row
//! is right after a crash. A bucket that was made by a program without such rows is counted in the
//! background, in the order of the keys of its records, while others write to it:
//!
//! ```text
//!            first step            steps: a page of records each            end of the last page
//!  no row ──────────────► counted up to a place ──────────────────► ... ──────────────────────► complete
//!                           │
//!                           └ a change at a place up to there is added to the row. One behind it is not: the
//!                             counting will come to it
//! ```

use liteio_kv::{Read, Write};
use serde::{Deserialize, Serialize};

use super::object::ObjectRecord;
use super::record::Sealed;
use super::{record, space};
use crate::error::StoreError;
use crate::name::BucketId;

/// Figures of a bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Number of current objects.
    pub objects: u64,
    /// Number of versions, including current ones and delete markers.
    pub versions: u64,
    /// Number of delete markers among them.
    pub delete_markers: u64,
    /// Bytes of the bodies of all versions, as clients read them.
    pub bytes: u64,
}

impl Usage {
    /// Adds the version at `place`.
    pub(crate) fn add(&mut self, place: &[u8], (bytes, is_delete_marker): (u64, bool)) {
        self.objects += u64::from(space::split_current(place).is_some());
        self.versions += 1;
        self.delete_markers += u64::from(is_delete_marker);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Removes the version at `place`. A count that is too small already, which only damage can
    /// cause, stays at zero. A verification finds it.
    fn remove(&mut self, place: &[u8], (bytes, is_delete_marker): (u64, bool)) {
        let is_current = space::split_current(place).is_some();
        self.objects = self.objects.saturating_sub(u64::from(is_current));
        self.versions = self.versions.saturating_sub(1);
        self.delete_markers = self.delete_markers.saturating_sub(u64::from(is_delete_marker));
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

/// The row of a bucket.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UsageRecord {
    pub(crate) usage: Usage,
    /// Place up to which the records of the bucket are counted; `None` if all are.
    pub(crate) counted_to: Option<Vec<u8>>,
}

impl UsageRecord {
    /// The row of a bucket; `None` if it is missing, because the count has not begun, or damaged.
    pub(crate) fn read(from: &impl Read, bucket: BucketId) -> Result<Option<Self>, StoreError> {
        let place = space::usage(bucket);
        let Some(bytes) = from.get(&place)? else { return Ok(None) };
        match Self::decode(&place, &bytes) {
            // A damaged row says nothing about the objects, which can be counted again.
            Err(StoreError::Corrupt { .. }) => Ok(None),
            row => row.map(Some),
        }
    }

    pub(crate) fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        let (_, _) = record::split_version(bytes, VERSION)?;
        Sealed::open(place, bytes, WHAT)?.decode(WHAT)
    }

    pub(crate) fn write(&self, to: &mut impl Write, bucket: BucketId) -> Result<(), StoreError> {
        let place = space::usage(bucket);
        Ok(to.put(&place, &record::seal(VERSION, &place, self, &[]))?)
    }

    /// `true` if the row includes a record at `place`.
    pub(crate) fn covers(&self, place: &[u8]) -> bool {
        self.counted_to.as_ref().is_none_or(|counted| place <= counted.as_slice())
    }
}

/// The changes of one operation to the row of a bucket. A transaction may have several operations.
#[derive(Debug)]
pub(crate) struct UsageChange {
    bucket: BucketId,
    row: Row,
}

/// The row. The first change reads it, because an earlier operation of the transaction may have
/// written it.
#[derive(Debug)]
enum Row {
    Unread,
    Missing,
    Changed(UsageRecord),
}

impl UsageChange {
    pub(crate) fn new(bucket: BucketId) -> Self {
        Self { bucket, row: Row::Unread }
    }

    /// Counts `record`, which is written to `place`.
    pub(crate) fn added(
        &mut self,
        from: &impl Read,
        place: &[u8],
        record: &ObjectRecord,
    ) -> Result<(), StoreError> {
        // A place behind the counted part is counted when the background count comes to it.
        if let Some(row) = self.row(from)?.filter(|row| row.covers(place)) {
            row.usage.add(place, (record.bytes, record.is_delete_marker));
        }
        Ok(())
    }

    /// Takes `record` out of the count, which was at `place`.
    pub(crate) fn removed(
        &mut self,
        from: &impl Read,
        place: &[u8],
        record: &ObjectRecord,
    ) -> Result<(), StoreError> {
        if let Some(row) = self.row(from)?.filter(|row| row.covers(place)) {
            row.usage.remove(place, (record.bytes, record.is_delete_marker));
        }
        Ok(())
    }

    /// Writes the row, at the end of the operation.
    pub(crate) fn write(&mut self, to: &mut impl Write) -> Result<(), StoreError> {
        // `Unread` from here on: a later operation of the transaction must read the row written
        // here.
        match std::mem::replace(&mut self.row, Row::Unread) {
            Row::Changed(row) => row.write(to, self.bucket),
            Row::Unread | Row::Missing => Ok(()),
        }
    }

    fn row(&mut self, from: &impl Read) -> Result<Option<&mut UsageRecord>, StoreError> {
        if matches!(self.row, Row::Unread) {
            self.row = UsageRecord::read(from, self.bucket)?.map_or(Row::Missing, Row::Changed);
        }
        Ok(match &mut self.row {
            Row::Changed(row) => Some(row),
            Row::Unread | Row::Missing => None,
        })
    }
}

const VERSION: u8 = 1;
const WHAT: &str = "the usage of a bucket";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_survives_encoding_and_damage_is_refused() {
        let usage = Usage { objects: 3, versions: 900, delete_markers: 1, bytes: 1 << 50 };
        for counted_to in [None, Some(b"place".to_vec())] {
            let row = UsageRecord { usage, counted_to };
            let place = space::usage(BucketId(7));
            let encoded = record::seal(VERSION, &place, &row, &[]);
            assert_eq!(UsageRecord::decode(&place, &encoded).expect("own bytes"), row);
            for bit in 0..encoded.len() * 8 {
                let mut damaged = encoded.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                UsageRecord::decode(&place, &damaged).expect_err("damaged");
            }
            UsageRecord::decode(&space::usage(BucketId(8)), &encoded).expect_err("of another");
        }
    }
}
