//! [`Upper`]: a layer above the tree as a source of a [`Merge`](super::Merge).

use std::ops::Bound;

use super::{Direction, Gap, Side};
use crate::KvError;
use crate::layers::UpperPair;
use crate::memtable::{Entries, Entry, Memtable};
use crate::run::{Run, RunCursor};

/// A source, at the entry that it would show next.
pub(super) enum Upper<'a> {
    Table(Box<Table<'a>>),
    Run(RunCursor<'a>),
}

/// A memtable as a source.
pub(super) struct Table<'a> {
    table: &'a Memtable,
    sequence: u64,
    /// Shows only entries behind this key: see [`Layers::reached`](crate::layers::Layers::reached).
    behind: Option<&'a [u8]>,
    /// The entries after `next`, if the direction is forward.
    entries: Option<Entries<'a>>,
    next: Option<Entry<'a>>,
}

impl<'a> Upper<'a> {
    /// A table as seen by a reader at `sequence`, limited to entries behind a key if one is given.
    pub(super) fn table(table: &'a Memtable, sequence: u64, behind: Option<&'a [u8]>) -> Self {
        Self::Table(Box::new(Table { table, sequence, behind, entries: None, next: None }))
    }

    pub(super) fn run(run: &'a Run) -> Self {
        Self::Run(RunCursor::new(run))
    }

    /// The key that this source would show next.
    #[inline]
    pub(super) fn key(&self) -> Option<&[u8]> {
        match self {
            Self::Table(table) => table.next.map(|next| next.key),
            Self::Run(cursor) => cursor.pair().map(|pair| pair.entry().key),
        }
    }

    /// The entry that this source would show next.
    #[inline]
    pub(super) fn pair(&self) -> Option<UpperPair<'a>> {
        match self {
            Self::Table(table) => table.next.map(UpperPair::Table),
            Self::Run(cursor) => cursor.pair().cloned().map(UpperPair::Run),
        }
    }

    /// Positions the source at the entry beside the gap.
    pub(super) fn place(&mut self, direction: Direction, gap: &Gap) -> Result<(), KvError> {
        match self {
            Self::Table(table) => table.place(direction, gap),
            Self::Run(cursor) => return place_in_run(cursor, direction, gap),
        }
        Ok(())
    }

    /// Moves to the next entry in the direction.
    #[inline]
    pub(super) fn advance(&mut self, direction: Direction) -> Result<(), KvError> {
        match (self, direction) {
            (Self::Table(table), _) => table.advance(direction),
            (Self::Run(cursor), Direction::Forward) => cursor.next()?,
            (Self::Run(cursor), Direction::Backward) => cursor.previous()?,
        }
        Ok(())
    }
}

impl<'a> Table<'a> {
    fn place(&mut self, direction: Direction, gap: &Gap) {
        let (key, sequence) = (&gap.key[..], self.sequence);
        match direction {
            Direction::Forward => {
                let (mut side, mut key) = (gap.side, key);
                if let Some(behind) = self.behind
                    && (side == Side::Start || side != Side::End && key <= behind)
                {
                    (side, key) = (Side::Behind, behind);
                }
                let entries = self.entries.insert(match side {
                    Side::Start => self.table.entries(sequence),
                    Side::Before | Side::Behind => self.table.entries_from(key, sequence),
                    Side::End => {
                        self.next = None;
                        return;
                    }
                });
                self.next = entries.next();
                if side == Side::Behind && self.next.is_some_and(|next| next.key == key) {
                    self.next = entries.next();
                }
            }
            Direction::Backward => {
                let next = match gap.side {
                    Side::Start => None,
                    Side::Before => self.table.before(key, sequence),
                    Side::Behind => self.table.at_or_before(key, sequence),
                    Side::End => self.table.last(sequence),
                };
                self.show_before(next);
            }
        }
    }

    #[inline]
    fn advance(&mut self, direction: Direction) {
        match (direction, self.next) {
            (Direction::Forward, _) => {
                self.next = self.entries.as_mut().and_then(Iterator::next);
            }
            (Direction::Backward, Some(next)) => {
                self.show_before(self.table.before(next.key, self.sequence));
            }
            (Direction::Backward, None) => {}
        }
    }

    /// Shows an entry in backward direction, unless the tree has it already.
    fn show_before(&mut self, next: Option<Entry<'a>>) {
        self.next = next.filter(|next| self.behind.is_none_or(|behind| next.key > behind));
    }
}

fn place_in_run(
    cursor: &mut RunCursor<'_>,
    direction: Direction,
    gap: &Gap,
) -> Result<(), KvError> {
    let key = &gap.key[..];
    match (direction, gap.side) {
        (Direction::Forward, Side::Start) => cursor.go_to_first(Bound::Unbounded),
        (Direction::Forward, Side::Before) => cursor.go_to_first(Bound::Included(key)),
        (Direction::Forward, Side::Behind) => cursor.go_to_first(Bound::Excluded(key)),
        (Direction::Backward, Side::Before) => cursor.go_to_last(Bound::Excluded(key)),
        (Direction::Backward, Side::Behind) => cursor.go_to_last(Bound::Included(key)),
        (Direction::Backward, Side::End) => cursor.go_to_last(Bound::Unbounded),
        (Direction::Forward, Side::End) | (Direction::Backward, Side::Start) => {
            cursor.leave();
            Ok(())
        }
    }
}
