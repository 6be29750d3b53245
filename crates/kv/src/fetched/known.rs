//! [`Known`]: what was fetched.

use std::collections::BTreeMap;

use super::ranges::{Ranges, behind, bounds};
use crate::database::{Answer, Digest, Fetched, Row, Want};
use crate::{Counts, KvError};

/// Rows, the ranges of keys of which all rows are known, and the sums of counters.
#[derive(Debug, Default)]
pub(crate) struct Known {
    rows: BTreeMap<Vec<u8>, Row>,
    ranges: Ranges,
    counters: BTreeMap<Vec<u8>, Counts>,
    /// Number of moments that it has something of.
    moments: usize,
    /// `true` if something that was known has become another.
    is_torn: bool,
}

impl Known {
    /// The row of `key`; `None` if it is not known.
    pub(crate) fn get(&self, key: &[u8]) -> Option<Option<&Row>> {
        self.ranges.end_of(key)?;
        Some(self.rows.get(key))
    }

    /// The version of `key`: 0 without a row.
    pub(crate) fn version(&self, key: &[u8]) -> u64 {
        self.rows.get(key).map_or(0, |row| row.version)
    }

    /// The changes of a counter; `None` if they are not known.
    pub(crate) fn counter(&self, key: &[u8]) -> Option<Counts> {
        self.counters.get(key).copied()
    }

    /// `true` if all of it is of one moment.
    pub(crate) fn is_of_one_moment(&self) -> bool {
        self.moments <= 1
    }

    /// `true` if something that was known has become another since the last call: a run that has read it
    /// is to be repeated.
    pub(crate) fn take_torn(&mut self) -> bool {
        std::mem::take(&mut self.is_torn)
    }

    /// The end of the range that is known from `key` on.
    pub(crate) fn end_of(&self, key: &[u8]) -> Option<Option<&[u8]>> {
        self.ranges.end_of(key)
    }

    /// The begin of the range that is known up to `end`.
    pub(crate) fn begin_of(&self, end: Option<&[u8]>) -> Option<&[u8]> {
        self.ranges.begin_of(end)
    }

    /// The first key in a range that is known.
    pub(crate) fn first(&self, lower: &[u8], upper: Option<&[u8]>) -> Option<&[u8]> {
        self.rows.range::<[u8], _>(bounds(lower, upper)?).next().map(|(key, _)| key.as_slice())
    }

    /// The last key in a range that is known.
    pub(crate) fn last(&self, lower: &[u8], upper: Option<&[u8]>) -> Option<&[u8]> {
        self.rows.range::<[u8], _>(bounds(lower, upper)?).next_back().map(|(key, _)| key.as_slice())
    }

    /// A row that is known, with its key.
    pub(crate) fn pair(&self, key: &[u8]) -> Option<(&[u8], &[u8])> {
        self.rows.get_key_value(key).map(|(key, row)| (key.as_slice(), row.value.as_slice()))
    }

    /// The rows of a range that is known, in short.
    pub(crate) fn digest(&self, lower: &[u8], upper: Option<&[u8]>) -> Digest {
        let mut digest = Digest::default();
        if let Some(range) = bounds(lower, upper) {
            self.rows.range::<[u8], _>(range).for_each(|(_, row)| digest.add(row.version));
        }
        digest
    }

    /// Takes in what was fetched for `wants`. Returns the bytes of each answer.
    pub(crate) fn learn(
        &mut self,
        wants: Vec<Want>,
        fetched: Fetched,
    ) -> Result<Vec<usize>, KvError> {
        self.moments += 1;
        if wants.len() != fetched.answers.len() {
            return Err(nonsense());
        }
        let pairs = wants.into_iter().zip(fetched.answers);
        pairs.map(|(want, answer)| self.learn_one(want, answer)).collect()
    }

    /// Takes in rows of an earlier moment, unless more is known already.
    pub(crate) fn suppose(&mut self, rows: &[(Vec<u8>, Option<Row>)]) {
        self.moments += 1;
        for (key, row) in rows {
            if self.ranges.end_of(key).is_none() {
                self.set(key.clone(), row.clone());
            }
        }
    }

    fn learn_one(&mut self, want: Want, answer: Answer) -> Result<usize, KvError> {
        let mut bytes = 0;
        match (want, answer) {
            (Want::Key(key), Answer::Row(row)) => {
                bytes = key.len() + row.as_ref().map_or(0, |row| row.value.len());
                self.set(key, row);
            }
            (
                Want::Rows { mut lower, mut upper, is_backward, .. },
                Answer::Rows { rows, is_whole },
            ) => {
                if !is_whole {
                    let (last, _) = rows.last().ok_or_else(nonsense)?;
                    match is_backward {
                        false => upper = Some(behind(last)),
                        true => lower = last.clone(),
                    }
                }
                let before = self.take_rows(&lower, upper.as_deref());
                let is_same = |(key, version): &(Vec<u8>, u64)| {
                    rows.binary_search_by(|(other, _)| match is_backward {
                        false => other.cmp(key),
                        true => key.cmp(other),
                    })
                    .is_ok_and(|place| rows[place].1.version == *version)
                };
                self.is_torn |= !before.iter().all(is_same);
                let known_before = before.len();
                let mut found_known = 0;
                for (key, row) in rows {
                    bytes += key.len() + row.value.len();
                    found_known += usize::from(self.ranges.end_of(&key).is_some());
                    self.rows.insert(key, row);
                }
                // A row where none was known to be.
                self.is_torn |= found_known > known_before;
                self.ranges.add(lower, upper);
            }
            (Want::Counter(key), Answer::Counts(counts)) => {
                self.counters.insert(key, counts);
            }
            _ => return Err(nonsense()),
        }
        Ok(bytes)
    }

    /// The row of a key is known from now on.
    fn set(&mut self, key: Vec<u8>, row: Option<Row>) {
        let end = behind(&key);
        match row {
            Some(row) => self.rows.insert(key.clone(), row),
            None => self.rows.remove(&key),
        };
        self.ranges.add(key, Some(end));
    }

    /// Takes out the rows of an earlier moment. Returns their keys and versions.
    fn take_rows(&mut self, lower: &[u8], upper: Option<&[u8]>) -> Vec<(Vec<u8>, u64)> {
        let Some(range) = bounds(lower, upper) else { return Vec::new() };
        let rows = self.rows.range::<[u8], _>(range);
        let rows: Vec<_> = rows.map(|(key, row)| (key.clone(), row.version)).collect();
        rows.iter().for_each(|(key, _)| _ = self.rows.remove(key));
        rows
    }

    /// Takes in rows as they are now, which a commit has found changed. Of all others the `keys` alone
    /// stay known.
    pub(crate) fn changed<'k>(
        &mut self,
        keys: impl IntoIterator<Item = &'k [u8]>,
        changed: Vec<(Vec<u8>, Option<Row>)>,
    ) {
        let mut rows = std::mem::take(&mut self.rows);
        self.ranges.clear();
        self.counters.clear();
        for key in keys {
            self.set(key.to_vec(), rows.remove(key));
        }
        changed.into_iter().for_each(|(key, row)| self.set(key, row));
        self.moments += 1;
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

fn nonsense() -> KvError {
    KvError::Corrupt("the database has answered something else than it was asked".into())
}
