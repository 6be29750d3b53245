//! [`MergedRuns`]: one order of keys out of several runs.

use std::collections::BTreeSet;
use std::ops::Bound;

use crate::KvError;
use crate::engine::{Change, Changes};
use crate::run::{Run, RunCursor, RunPair};

/// The newest entry of each key.
pub(crate) struct MergedRuns<'r> {
    /// Those of the newest run first.
    cursors: Vec<RunCursor<'r>>,
    without: &'r BTreeSet<Vec<u8>>,
    shown: Option<RunPair>,
    /// Entries that it shows at most.
    left: usize,
}

impl<'r> MergedRuns<'r> {
    /// All within the bound but those of some keys, of runs in order, the newest first.
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

    /// The same, but no more than `entries`.
    pub(crate) fn take(self, entries: usize) -> Self {
        Self { left: entries, ..self }
    }

    /// The last key that it has shown.
    pub(crate) fn last_key(&self) -> Option<&[u8]> {
        self.shown.as_ref().map(|shown| shown.entry().key)
    }

    /// `true` if there are no more.
    pub(crate) fn is_at_end(&self) -> bool {
        self.cursors.iter().all(|cursor| cursor.pair().is_none())
    }

    /// Steps behind the next entry, which is shown.
    fn step(&mut self) -> Result<bool, KvError> {
        let heads = self.cursors.iter().filter_map(RunCursor::pair);
        // Of several with the same key the first, which is the newest.
        let Some(nearest) = heads.min_by(|a, b| a.entry().key.cmp(b.entry().key)) else {
            return Ok(false);
        };
        let nearest = nearest.clone();
        let key = nearest.entry().key;
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
