//! Records of the log of an index, which several servers keep in the place of slots.
//!
//! ```text
//!  changes `49`:  (1)  (2)   3    4    5    6    7
//!  head `48`:           │              │         └ position: the newest change
//!                       │              └ snapshot: a blob with all vectors as they were then
//!                       └ kept from: those up to here are removed
//! ```
//! Each put or delete of vectors is one commit. Its changes have the next numbers of the index, without
//! gaps, and the random identity of the commit. A [`LogPosition`] has both: a database that has lost its
//! last commits in a failover gives the same numbers again, and not the same identities.

use std::collections::HashSet;

use liteio_kv::{Read, Write};
use serde::{Deserialize, Serialize};

use super::content::Extent;
use super::record::{self, Sealed};
use super::space;
use super::vector_metadata::Metadata;
use crate::error::StoreError;
use crate::name::IndexId;

/// A place in the log of an index: behind the change with this number. The default is its begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LogPosition {
    /// Number of the last change, 0 for none.
    pub(crate) number: u64,
    /// The identity of its commit, which no other commit has.
    pub(crate) commit: [u8; 16],
}

/// The head of the log of an index. An index without changes has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LogHead {
    /// The newest change.
    pub(crate) position: LogPosition,
    /// The changes behind this position are in the log; those up to it may be removed.
    pub(crate) kept_from: LogPosition,
    /// The newest snapshot.
    pub(crate) snapshot: Option<LogSnapshot>,
}

/// A snapshot of the vectors of an index: [entries](Change::entry) in blobs, one after another, of all
/// vectors that no change behind its position puts or deletes, and perhaps of some others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LogSnapshot {
    /// The changes up to this one are in it.
    pub(crate) position: LogPosition,
    /// Number of entries.
    pub(crate) vectors: u64,
    /// Its bytes.
    pub(crate) extents: Vec<Extent>,
}

/// A put or a delete of one vector.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Change {
    /// The key.
    pub(crate) key: String,
    /// The vector that was put; `None` for a delete.
    pub(crate) vector: Option<LoggedVector>,
}

/// A vector in the log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LoggedVector {
    pub(crate) metadata: Metadata,
    pub(crate) elements: Vec<f32>,
}

/// The mirror of an index in the cache of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MirrorRecord {
    /// Everything up to there is in it.
    pub(crate) position: LogPosition,
    /// Time of creation of the index: a database that has lost its last commits may give an id again.
    pub(crate) created_ms: u64,
    /// Number of elements of a vector.
    pub(crate) dimension: u32,
    /// Estimated size, in bytes.
    pub(crate) bytes: u64,
}

const HEAD: &str = "the head of a log of vectors";
const CHANGE: &str = "a change of a vector";
const MIRROR: &str = "the record of a mirror of vectors";
/// Bytes of the length before an entry of a snapshot.
pub(crate) const LENGTH_BYTES: usize = 4;

impl LogHead {
    /// The error of a log that does not have all of its changes.
    pub(crate) fn gap() -> StoreError {
        StoreError::corrupt("changes are missing in the log of an index")
    }

    /// The head of the log of an index; that of an empty log if there is none.
    pub(crate) fn read(from: &impl Read, index: IndexId) -> Result<Self, StoreError> {
        let key = space::vector_log(index);
        let head = from.get(&key)?.map(|value| Self::decode(&key, &value)).transpose()?;
        Ok(head.unwrap_or_default())
    }

    pub(crate) fn decode(key: &[u8], value: &[u8]) -> Result<Self, StoreError> {
        record::split_version(value, 1)?;
        Sealed::open(key, value, HEAD)?.decode(HEAD)
    }

    pub(crate) fn write(&self, to: &mut impl Write, index: IndexId) -> Result<(), StoreError> {
        Ok(to.put(&space::vector_log(index), &self.encode(index))?)
    }

    pub(crate) fn encode(&self, index: IndexId) -> Vec<u8> {
        record::seal(1, &space::vector_log(index), self, &[])
    }

    /// `true` if so many changes are behind the newest snapshot that the next one is due: a quarter of its
    /// vectors at least, so that an index is not written anew too often.
    pub(crate) fn is_snapshot_due(&self, changes_min: u64) -> bool {
        let (number, vectors) =
            self.snapshot.as_ref().map_or((0, 0), |it| (it.position.number, it.vectors));
        self.position.number.saturating_sub(number) >= changes_min.max(vectors / 4).max(1)
    }
}

impl Change {
    /// The value of its row.
    pub(crate) fn encode(&self, place: &[u8], commit: &[u8; 16]) -> Vec<u8> {
        let (metadata, elements) = match &self.vector {
            Some(vector) => (Some(&vector.metadata), bytes_of(&vector.elements)),
            None => (None, Vec::new()),
        };
        record::seal(1, place, &(commit, &self.key, metadata), &elements)
    }

    /// The change in a row, and the identity of its commit.
    pub(crate) fn decode(place: &[u8], value: &[u8]) -> Result<(Self, [u8; 16]), StoreError> {
        record::split_version(value, 1)?;
        let sealed = Sealed::open(place, value, CHANGE)?;
        let (commit, key, metadata): ([u8; 16], String, Option<Metadata>) =
            record::take_all(sealed.fields, CHANGE)?;
        let bytes = sealed.body.verified(CHANGE)?;
        let vector = match metadata {
            Some(metadata) => Some(LoggedVector { metadata, elements: elements_of(bytes)? }),
            None if bytes.is_empty() => None,
            None => return Err(StoreError::corrupt("a deleted vector with elements")),
        };
        Ok((Self { key, vector }, commit))
    }

    /// The last change of each key, in their order.
    pub(crate) fn newest(changes: Vec<Self>) -> Vec<Self> {
        let mut seen = HashSet::new();
        let mut newest: Vec<Self> = changes.into_iter().rev().collect();
        newest.retain(|change| seen.insert(change.key.clone()));
        newest.reverse();
        newest
    }

    /// Checks that a vector has so many elements.
    pub(crate) fn check(&self, dimension: u32) -> Result<(), StoreError> {
        match &self.vector {
            Some(vector) if vector.elements.len() != dimension as usize => {
                let key = &self.key;
                Err(StoreError::corrupt(format!("the vector {key:?} in the log is not whole")))
            }
            _ => Ok(()),
        }
    }

    /// Appends it to a snapshot of its index: the length of the row, and the row.
    pub(crate) fn append_entry(&self, index: IndexId, to: &mut Vec<u8>) {
        let row = self.encode(&space::vector_log(index), &[0; 16]);
        let length = u32::try_from(row.len()).expect("a row is small");
        to.extend_from_slice(&length.to_le_bytes());
        to.extend_from_slice(&row);
    }

    /// Takes the next entry off the front of a part of a snapshot, with the number of its bytes; `None` if
    /// the part ends within it.
    pub(crate) fn take_entry(
        index: IndexId,
        bytes: &[u8],
    ) -> Result<Option<(Self, usize)>, StoreError> {
        let Some((length, rest)) = bytes.split_first_chunk::<LENGTH_BYTES>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*length) as usize;
        let Some(row) = rest.get(..length) else { return Ok(None) };
        let (change, _) = Self::decode(&space::vector_log(index), row)?;
        Ok(Some((change, LENGTH_BYTES + length)))
    }
}

impl MirrorRecord {
    pub(crate) fn decode(key: &[u8], value: &[u8]) -> Result<Self, StoreError> {
        record::split_version(value, 1)?;
        Sealed::open(key, value, MIRROR)?.decode(MIRROR)
    }

    pub(crate) fn write(&self, to: &mut impl Write, index: IndexId) -> Result<(), StoreError> {
        let key = space::mirror(index);
        Ok(to.put(&key, &record::seal(1, &key, self, &[]))?)
    }
}

fn bytes_of(elements: &[f32]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(elements.len() * 4);
    elements.iter().for_each(|element| bytes.extend_from_slice(&element.to_le_bytes()));
    bytes
}

fn elements_of(bytes: &[u8]) -> Result<Vec<f32>, StoreError> {
    let (elements, rest) = bytes.as_chunks();
    match rest {
        [] => Ok(elements.iter().map(|element| f32::from_le_bytes(*element)).collect()),
        _ => Err(StoreError::corrupt("the elements of a vector in the log")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::vector_metadata::{MetadataValue, Scalar};

    fn put(key: &str, elements: &[f32]) -> Change {
        let value = MetadataValue::Scalar(Scalar::Boolean(true));
        let metadata = Metadata(vec![("flag".to_owned(), value)]);
        Change {
            key: key.to_owned(),
            vector: Some(LoggedVector { metadata, elements: elements.to_vec() }),
        }
    }

    #[test]
    fn changes_survive_encoding_and_damage_is_refused() {
        let place = space::vector_change(IndexId(7), 9);
        let deleted = Change { key: "gone".to_owned(), vector: None };
        for change in [put("a", &[1.0, -0.5, f32::MIN_POSITIVE]), put("", &[]), deleted] {
            let row = change.encode(&place, &[5; 16]);
            assert_eq!(Change::decode(&place, &row).expect("own bytes"), (change, [5; 16]));
            for position in 0..row.len() {
                let mut damaged = row.clone();
                damaged[position] ^= 4;
                Change::decode(&place, &damaged).expect_err("damaged");
            }
            Change::decode(&space::vector_change(IndexId(7), 10), &row).expect_err("another place");
        }
    }

    #[test]
    fn entries_of_a_snapshot_are_taken_off_one_by_one() {
        let (one, two) = (put("one", &[1.0]), put("two", &[2.0]));
        let mut bytes = Vec::new();
        one.append_entry(IndexId(7), &mut bytes);
        let first = bytes.len();
        two.append_entry(IndexId(7), &mut bytes);
        let taken = Change::take_entry(IndexId(7), &bytes).expect("whole");
        assert_eq!(taken, Some((one, first)));
        let taken = Change::take_entry(IndexId(7), &bytes[first..]).expect("whole");
        assert_eq!(taken, Some((two, bytes.len() - first)));
        for length in 0..first {
            assert_eq!(Change::take_entry(IndexId(7), &bytes[..length]).expect("a part"), None);
        }
        Change::take_entry(IndexId(8), &bytes).expect_err("of another index");
    }

    #[test]
    fn a_snapshot_is_due_after_enough_changes() {
        let at = |number| LogPosition { number, commit: [1; 16] };
        let mut head = LogHead { position: at(9), ..LogHead::default() };
        assert!(head.is_snapshot_due(9) && !head.is_snapshot_due(10));
        head.snapshot = Some(LogSnapshot { position: at(4), vectors: 20, extents: Vec::new() });
        assert!(head.is_snapshot_due(5) && head.is_snapshot_due(1) && !head.is_snapshot_due(6));
        head.position = at(8);
        assert!(!head.is_snapshot_due(1), "less than a quarter of its vectors");
    }
}
