//! [`Comparison`]: the difference between a store and a base of its primary.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::ops::Bound;

use liteio_kv::{Change, Cursor, Read as _, Snapshot, changes};

use super::net::{NetChanges, is_local};
use crate::backup::{BackupBlob, blobs_of};
use crate::error::StoreError;
use crate::meta::space;
use crate::meta::vector::VectorRecord;
use crate::store::Store;

/// Compares a standby with a base, chunk by chunk, and collects what differs: the way to a state
/// that no chain of segments leads to.
#[derive(Debug)]
pub struct Comparison {
    snapshot: Snapshot,
    differences: NetChanges,
    /// The last compared key.
    after: Option<Vec<u8>>,
}

impl Store {
    /// Begins to compare the store with a base.
    ///
    /// # Errors
    /// The errors of a read.
    pub fn compare(&self) -> Result<Comparison, StoreError> {
        let differences = NetChanges::default();
        Ok(Comparison { snapshot: self.snapshot()?, differences, after: None })
    }
}

impl Comparison {
    /// Bytes of what differs so far.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.differences.bytes()
    }

    /// Compares the next chunk: pairs in the order of their keys, and the elements of those that are
    /// vectors. Returns the blobs that differing values name.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] for bytes that are no chunk; the errors of a read.
    pub fn chunk(&mut self, chunk: &[u8]) -> Result<HashSet<BackupBlob>, StoreError> {
        let Self { snapshot, differences, after } = self;
        let mut elements = HashMap::new();
        let mut pairs = Vec::new();
        for change in changes(chunk) {
            match change? {
                Change::Put { key, value } if key.starts_with(space::ALL_ELEMENTS) => {
                    elements.insert(key, value);
                }
                Change::Put { key, value } => pairs.push((key, value)),
                Change::Delete { .. } => {
                    return Err(StoreError::corrupt("a chunk of a base removes a pair"));
                }
            }
        }
        let mut blobs = HashSet::new();
        let Some((last, _)) = pairs.last() else { return Ok(blobs) };
        let mut own = Own::new(snapshot, after.as_deref(), Some(last))?;
        for (key, value) in &pairs {
            if !own.has_until(key, differences)?.is_some_and(|own| is_same(key, &own, value)) {
                differences.set(key, Some(value));
                blobs.extend(blobs_of(key, value).unwrap_or_default());
                if let Some(row) = elements_row(key, value)
                    && let Some(elements) = elements.get(&row[..])
                {
                    differences.elements.insert(row, elements.to_vec());
                }
            }
        }
        *after = Some(last.to_vec());
        Ok(blobs)
    }

    /// Ends the comparison. The result is complete with the records behind the base.
    ///
    /// # Errors
    /// The errors of a read.
    pub fn end(self) -> Result<NetChanges, StoreError> {
        let Self { snapshot, mut differences, after } = self;
        let mut own = Own::new(&snapshot, after.as_deref(), None)?;
        own.remove_rest(&mut differences)?;
        Ok(differences)
    }
}

/// The pairs of the standby in the range of a chunk.
struct Own<'a> {
    cursor: Cursor<'a>,
    /// The next one, if it was read already.
    next: Option<(Vec<u8>, Vec<u8>)>,
}

impl<'a> Own<'a> {
    fn new(
        snapshot: &'a Snapshot,
        after: Option<&[u8]>,
        last: Option<&[u8]>,
    ) -> Result<Self, StoreError> {
        let lower = after.map_or(Bound::Unbounded, Bound::Excluded);
        let upper = last.map_or(Bound::Unbounded, Bound::Included);
        Ok(Self { cursor: snapshot.cursor(lower, upper)?, next: None })
    }

    /// The value of `key`, if there is one. Pairs before it are removed.
    fn has_until(
        &mut self,
        key: &[u8],
        differences: &mut NetChanges,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        while let Some((own, value)) = self.take()? {
            match (*own).cmp(key) {
                Ordering::Less => differences.set(&own, None),
                Ordering::Equal => return Ok(Some(value)),
                Ordering::Greater => {
                    self.next = Some((own, value));
                    return Ok(None);
                }
            }
        }
        Ok(None)
    }

    fn remove_rest(&mut self, differences: &mut NetChanges) -> Result<(), StoreError> {
        while let Some((own, _)) = self.take()? {
            differences.set(&own, None);
        }
        Ok(())
    }

    fn take(&mut self) -> Result<Option<(Vec<u8>, Vec<u8>)>, StoreError> {
        if let Some(next) = self.next.take() {
            return Ok(Some(next));
        }
        while let Some((key, value)) = self.cursor.next()? {
            if !is_local(key) {
                return Ok(Some((key.to_vec(), value.to_vec())));
            }
        }
        Ok(None)
    }
}

/// `true` if a pair is the same at both. The slots of vectors are not.
fn is_same(key: &[u8], own: &[u8], other: &[u8]) -> bool {
    if !key.starts_with(space::ALL_VECTORS) {
        return own == other;
    }
    match (VectorRecord::decode(own), VectorRecord::decode(other)) {
        (Ok(own), Ok(other)) => own.crc == other.crc && own.metadata == other.metadata,
        _ => own == other,
    }
}

/// The row with the elements of a vector.
fn elements_row(key: &[u8], value: &[u8]) -> Option<Vec<u8>> {
    let (index, _) = key.starts_with(space::ALL_VECTORS).then(|| space::split_vector(key))??;
    Some(space::elements(index, VectorRecord::slot_of(value).ok()?))
}
