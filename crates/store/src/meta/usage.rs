//! Usage of a bucket: the numbers of its objects and versions, and their bytes.
//!
//! Every transaction that adds or removes a version also adds to the counter of its bucket, so it
//! is right after a crash. The counter is one row, of which such a transaction knows nothing: it
//! reads none of it. A bucket that was made by a program without such rows is counted in the
//! background, in the order of the keys of its records, while others write to it:
//!
//! ```text
//!            first step            steps: a page of records each            end of the last page
//!  no row ──────────────► counted up to a place ──────────────────► ... ──────────────────────► complete
//!                           │
//!                           └ a change at a place up to there is added to the row. One behind it is not: the
//!                             counting will come to it
//! ```

use liteio_kv::{CountChange, Counted, CounterRow, Counts, Read, Write};
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
        let is_current = space::split_current(place).is_some();
        self.change(of_version(is_current, is_delete_marker, bytes));
    }

    /// Applies a change. A count that is too small already, which only damage can cause, stays at
    /// zero. A verification finds it.
    fn change(&mut self, Counts([objects, versions, delete_markers, bytes]): Counts) {
        self.objects = self.objects.saturating_add_signed(objects);
        self.versions = self.versions.saturating_add_signed(versions);
        self.delete_markers = self.delete_markers.saturating_add_signed(delete_markers);
        self.bytes = self.bytes.saturating_add_signed(bytes);
    }

    fn counts(&self) -> Counts {
        let Self { objects, versions, delete_markers, bytes } = *self;
        Counts([objects, versions, delete_markers, bytes].map(saturated))
    }
}

impl From<Counts> for Usage {
    fn from(counts: Counts) -> Self {
        let mut usage = Self::default();
        usage.change(counts);
        usage
    }
}

/// A version, as a change of the usage.
fn of_version(is_current: bool, is_delete_marker: bool, bytes: u64) -> Counts {
    Counts([i64::from(is_current), 1, i64::from(is_delete_marker), saturated(bytes)])
}

fn saturated(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
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
        <Self as CounterRow>::decode(&place, &bytes)
    }

    pub(crate) fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        let (_, _) = record::split_version(bytes, VERSION)?;
        Sealed::open(place, bytes, WHAT)?.decode(WHAT)
    }

    /// Begins the counter with this row.
    pub(crate) fn write(&self, to: &mut impl Write, bucket: BucketId) -> Result<(), StoreError> {
        Ok(to.set_counter(&space::usage(bucket), self)?)
    }

    /// Writes the row anew, and keeps what others have added since it was written: rows may be kept apart
    /// from the changes.
    pub(crate) fn replace(&self, to: &mut impl Write, bucket: BucketId) -> Result<(), StoreError> {
        let place = space::usage(bucket);
        Ok(to.put(&place, &self.encode(&place))?)
    }

    /// `true` if the row includes a record at `place`.
    pub(crate) fn covers(&self, place: &[u8]) -> bool {
        self.counted_to.as_ref().is_none_or(|counted| place <= counted.as_slice())
    }
}

impl CounterRow for UsageRecord {
    type Error = StoreError;

    fn decode(place: &[u8], bytes: &[u8]) -> Result<Option<Self>, StoreError> {
        match Self::decode(place, bytes) {
            // A damaged row says nothing about the objects, which can be counted again.
            Err(StoreError::Corrupt { .. }) => Ok(None),
            row => row.map(Some),
        }
    }

    fn encode(&self, place: &[u8]) -> Vec<u8> {
        record::seal(VERSION, place, self, &[])
    }

    fn counted(&self) -> Counted {
        Counted { counts: self.usage.counts(), is_complete: self.counted_to.is_none() }
    }

    fn change(&mut self, change: &CountChange<'_>) -> bool {
        // A place behind the counted part is counted when the background count comes to it.
        let is_covered = self.covers(change.at);
        if is_covered {
            self.usage.change(change.counts);
        }
        is_covered
    }
}

/// The changes of one operation to the usage of a bucket: what it does to the current object of its
/// key, and to versions in the history of the key.
#[derive(Debug)]
pub(crate) struct UsageChange {
    bucket: BucketId,
    current: Counts,
    history: Vec<(Vec<u8>, Counts)>,
}

impl UsageChange {
    pub(crate) fn new(bucket: BucketId) -> Self {
        Self { bucket, current: Counts::NONE, history: Vec::new() }
    }

    /// Counts `record`, which is written to the place of the current object.
    pub(crate) fn added_current(&mut self, record: &ObjectRecord) {
        self.current += of_record(record, true);
    }

    /// Takes `record` out of the count, which was at the place of the current object.
    pub(crate) fn removed_current(&mut self, record: &ObjectRecord) {
        self.current += -of_record(record, true);
    }

    /// Counts `record`, which is written to `place` in the history.
    pub(crate) fn added(&mut self, place: Vec<u8>, record: &ObjectRecord) {
        self.history.push((place, of_record(record, false)));
    }

    /// Takes `record` out of the count, which was at `place` in the history.
    pub(crate) fn removed(&mut self, place: Vec<u8>, record: &ObjectRecord) {
        self.history.push((place, -of_record(record, false)));
    }

    /// Adds the changes to the counter, at the end of the operation. `current` is the place of the
    /// current object.
    pub(crate) fn write(&mut self, to: &mut impl Write, current: &[u8]) -> Result<(), StoreError> {
        let change = CountChange { at: current, counts: std::mem::take(&mut self.current) };
        let place = space::usage(self.bucket);
        if self.history.is_empty() {
            return match change.counts {
                Counts::NONE => Ok(()),
                _ => to.add::<UsageRecord>(&place, &[change]),
            };
        }
        let history = self.history.iter();
        let history = history.map(|(place, counts)| CountChange { at: place, counts: *counts });
        let changes: Vec<_> = [change].into_iter().chain(history).collect();
        to.add::<UsageRecord>(&place, &changes)?;
        self.history.clear();
        Ok(())
    }
}

fn of_record(record: &ObjectRecord, is_current: bool) -> Counts {
    of_version(is_current, record.is_delete_marker, record.bytes)
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
