//! [`RunCursor`]: a position in a run.

use std::ops::Bound;
use std::sync::Arc;

use super::block::Block;
use super::{KvError, Run};
use crate::memtable::Entry;

/// An entry of a run; it keeps its block in memory.
#[derive(Clone, Debug)]
pub(crate) struct RunPair {
    block: Arc<Block>,
    /// The index of the block, and of the entry in it.
    at: usize,
    entry: usize,
}

impl RunPair {
    pub(super) fn new(block: Arc<Block>, at: usize, entry: usize) -> Self {
        Self { block, at, entry }
    }

    #[inline]
    pub(crate) fn entry(&self) -> Entry<'_> {
        self.block.entry(self.entry)
    }
}

/// A cursor: at an entry, or at no entry past an end.
#[derive(Debug)]
pub(crate) struct RunCursor<'r> {
    run: &'r Run,
    pair: Option<RunPair>,
}

impl<'r> RunCursor<'r> {
    /// A cursor at no entry.
    pub(crate) fn new(run: &'r Run) -> Self {
        Self { run, pair: None }
    }

    #[inline]
    pub(crate) fn pair(&self) -> Option<&RunPair> {
        self.pair.as_ref()
    }

    /// Moves to no entry.
    pub(crate) fn leave(&mut self) {
        self.pair = None;
    }

    /// Moves to the first entry within the bound.
    pub(crate) fn go_to_first(&mut self, lower: Bound<&[u8]>) -> Result<(), KvError> {
        self.pair = None;
        let (Bound::Included(key) | Bound::Excluded(key)) = lower else {
            return self.go_to_start_of(0);
        };
        let Some(at) = self.run.index.find(key) else { return Ok(()) };
        let block = self.run.block(at)?;
        let entry = match (block.find(key), lower) {
            (Ok(found), Bound::Excluded(_)) => found + 1,
            (Ok(place) | Err(place), _) => place,
        };
        // An excluded key may be the last of its block.
        if entry == block.len() {
            return self.go_to_start_of(at + 1);
        }
        self.pair = Some(RunPair::new(block, at, entry));
        Ok(())
    }

    /// Moves to the last entry within the bound.
    pub(crate) fn go_to_last(&mut self, upper: Bound<&[u8]>) -> Result<(), KvError> {
        // Find the first entry beyond the bound, then step back.
        let at = match upper {
            Bound::Unbounded => None,
            Bound::Included(key) | Bound::Excluded(key) => self.run.index.find(key),
        };
        let (Bound::Included(key) | Bound::Excluded(key), Some(at)) = (upper, at) else {
            return self.go_to_end_of(self.run.index.len());
        };
        let block = self.run.block(at)?;
        let behind = match (block.find(key), upper) {
            (Ok(found), Bound::Included(_)) => found + 1,
            (Ok(place) | Err(place), _) => place,
        };
        // No entry of this block is within the bound: the last one before it is.
        if behind == 0 {
            return self.go_to_end_of(at);
        }
        self.pair = Some(RunPair::new(block, at, behind - 1));
        Ok(())
    }

    /// Moves to the next entry.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<(), KvError> {
        let Some(pair) = &mut self.pair else { return Ok(()) };
        pair.entry += 1;
        if pair.entry < pair.block.len() {
            return Ok(());
        }
        let next = pair.at + 1;
        self.go_to_start_of(next)
    }

    /// Moves to the entry before.
    #[inline]
    pub(crate) fn previous(&mut self) -> Result<(), KvError> {
        let Some(pair) = &mut self.pair else { return Ok(()) };
        if pair.entry > 0 {
            pair.entry -= 1;
            return Ok(());
        }
        let at = pair.at;
        self.go_to_end_of(at)
    }

    /// Moves to the first entry of a block, if there is one.
    fn go_to_start_of(&mut self, at: usize) -> Result<(), KvError> {
        self.pair = None;
        if at < self.run.index.len() {
            self.pair = Some(RunPair::new(self.run.block(at)?, at, 0));
        }
        Ok(())
    }

    /// Moves to the last entry before the block `end`.
    fn go_to_end_of(&mut self, end: usize) -> Result<(), KvError> {
        self.pair = None;
        let Some(at) = end.checked_sub(1) else { return Ok(()) };
        let block = self.run.block(at)?;
        let entry = block.len() - 1;
        self.pair = Some(RunPair::new(block, at, entry));
        Ok(())
    }
}
