//! [`MergedRuns`]: the entries of several runs in one order of keys.

use std::collections::BTreeSet;
use std::ops::Bound;

use crate::KvError;
use crate::engine::{Change, Changes};
use crate::run::{Run, RunCursor, RunPair};

/// The newest entry of each key.
pub(crate) struct MergedRuns<'r> {
    /// The cursors, the newest run first.
    cursors: Vec<RunCursor<'r>>,
    without: &'r BTreeSet<Vec<u8>>,
    shown: Option<RunPair>,
    /// Maximum number of entries still to be returned.
    left: usize,
}

impl<'r> MergedRuns<'r> {
    /// All entries within the bound except some keys. The runs are passed newest first.
    pub(crate) fn new(
        runs: impl Iterator<Item = &'r Run>,
        lower: Bound<&[u8]>,
        without: &'r BTreeSet<Vec<u8>>,
    ) -> Result<Self, KvError> {
        let cursors = runs.map(|run| {
            let mut cursor = RunCursor::new(run);
            cursor.go_to_first(lower).map(|()| cursor)
        });
        let cursors = cursors.collect::<Result<_, _>>()?;
        Ok(Self { cursors, without, shown: None, left: usize::MAX })
    }

    /// The same entries, at most `entries` of them.
    pub(crate) fn take(self, entries: usize) -> Self {
        Self { left: entries, ..self }
    }

    /// The key of the last returned entry.
    pub(crate) fn last_key(&self) -> Option<&[u8]> {
        self.shown.as_ref().map(|shown| shown.entry().key)
    }

    /// `true` if no entry is left.
    pub(crate) fn is_at_end(&self) -> bool {
        self.cursors.iter().all(|cursor| cursor.pair().is_none())
    }

    /// Moves past the next entry, and shows it.
    fn step(&mut self) -> Result<bool, KvError> {
        let heads = self.cursors.iter().filter_map(RunCursor::pair);
        // `min_by` returns the first of equal minima, which is the entry of the newest run.
        let Some(nearest) = heads.min_by(|a, b| a.entry().key.cmp(b.entry().key)) else {
            return Ok(false);
        };
        let nearest = nearest.clone();
        let key = nearest.entry().key;
        // All runs step over the key, so that its older entries are not returned later.
        for cursor in &mut self.cursors {
            if cursor.pair().is_some_and(|pair| pair.entry().key == key) {
                cursor.next()?;
            }
        }
        self.shown = Some(nearest);
        Ok(true)
    }
}

impl Changes for MergedRuns<'_> {
    fn next(&mut self) -> Result<Option<Change<'_>>, KvError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        loop {
            if !self.step()? {
                return Ok(None);
            }
            let is_left_out = self.last_key().is_some_and(|key| self.without.contains(key));
            if !is_left_out {
                break;
            }
        }
        let entry = self.shown.as_ref().map(RunPair::entry);
        Ok(entry.map(|entry| Change { key: entry.key, value: entry.value }))
    }
}
