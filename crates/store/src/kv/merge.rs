//! [`Merge`]: one order of keys out of the tree and the tables above it.
//!
//! All sources stand at the same gap between two keys, each with the entry that it would show next in the direction of
//! the last step. The nearest key wins; of several with the same key the newest. A tombstone hides the key beneath.
//! Turning around places all sources at the gap again.

use std::cmp::Ordering;
use std::ops::Bound;

use super::KvError;
use super::cursor::Pair;
use super::engine::{PairGuard, Place, Tree};
use super::layers::Layers;
use super::memtable::{Entries, Entry, Memtable};

/// The merged sources of a cursor.
pub(super) struct Merge<'a> {
    sequence: u64,
    tree: TreeSource<'a>,
    /// Newest first.
    tables: Vec<TableSource<'a>>,
    /// The direction that the sources are placed for; `None` when they have yet to be placed.
    direction: Option<Direction>,
    gap: Gap,
    shown: Shown<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

/// The place between two keys.
#[derive(Debug)]
struct Gap {
    side: Side,
    key: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Start,
    Before,
    Behind,
    End,
}

impl Gap {
    fn set(&mut self, side: Side, key: &[u8]) {
        self.side = side;
        self.key.clear();
        self.key.extend_from_slice(key);
    }
}

/// The pair that the cursor shows.
enum Shown<'a> {
    Nothing,
    Table(Entry<'a>),
    Tree(PairGuard<'a>),
}

struct TreeSource<'a> {
    tree: Tree<'a>,
    /// Behind the pair of `next`, in the direction.
    place: Option<Place<'a>>,
    next: Option<PairGuard<'a>>,
    /// `next` has been shown or passed over.
    is_used: bool,
}

struct TableSource<'a> {
    table: &'a Memtable,
    /// Behind `next`, where the direction is forward.
    entries: Entries<'a>,
    next: Option<Entry<'a>>,
}

impl<'a> Merge<'a> {
    pub(super) fn new(
        layers: &'a Layers,
        tree: Tree<'a>,
        sequence: u64,
        lower: Bound<&[u8]>,
    ) -> Self {
        let tables = layers.undrained().iter().map(|table| TableSource {
            table,
            entries: table.entries(sequence),
            next: None,
        });
        let mut merge = Self {
            sequence,
            tree: TreeSource { tree, place: None, next: None, is_used: true },
            tables: tables.collect(),
            direction: None,
            gap: Gap { side: Side::Start, key: Vec::new() },
            shown: Shown::Nothing,
        };
        merge.go_before(lower);
        merge
    }

    /// Moves before the first key within the bound.
    pub(super) fn go_before(&mut self, bound: Bound<&[u8]>) {
        match bound {
            Bound::Included(key) => self.gap.set(Side::Before, key),
            Bound::Excluded(key) => self.gap.set(Side::Behind, key),
            Bound::Unbounded => self.gap.set(Side::Start, &[]),
        }
        self.direction = None;
    }

    /// Moves behind the last key within the bound.
    pub(super) fn go_behind(&mut self, bound: Bound<&[u8]>) {
        match bound {
            Bound::Included(key) => self.gap.set(Side::Behind, key),
            Bound::Excluded(key) => self.gap.set(Side::Before, key),
            Bound::Unbounded => self.gap.set(Side::End, &[]),
        }
        self.direction = None;
    }

    /// The next pair; `None` if its key `is_above` the range.
    pub(super) fn next(
        &mut self,
        is_above: impl Fn(&[u8]) -> bool,
    ) -> Result<Option<Pair<'_>>, KvError> {
        self.step(Direction::Forward, is_above)
    }

    /// The previous pair; `None` if its key `is_below` the range.
    pub(super) fn previous(
        &mut self,
        is_below: impl Fn(&[u8]) -> bool,
    ) -> Result<Option<Pair<'_>>, KvError> {
        self.step(Direction::Backward, is_below)
    }

    fn step(
        &mut self,
        direction: Direction,
        is_outside: impl Fn(&[u8]) -> bool,
    ) -> Result<Option<Pair<'_>>, KvError> {
        if self.direction != Some(direction) {
            self.place(direction)?;
        }
        loop {
            self.tree.fill(direction)?;
            let Some(nearest) = self.nearest(direction) else { return Ok(None) };
            let entry = match nearest {
                Nearest::Table(index) => self.tables[index].next,
                Nearest::Tree => None,
            };
            let tree_key = self.tree.next.as_ref().map(PairGuard::key);
            let Some(key) = entry.map(|entry| entry.key).or(tree_key) else { return Ok(None) };
            if is_outside(key) {
                return Ok(None);
            }
            let Some(entry) = entry else {
                self.gap.set(side_behind(direction), key);
                self.tree.is_used = true;
                self.shown = self.tree.next.take().map_or(Shown::Nothing, Shown::Tree);
                break;
            };
            if tree_key == Some(key) {
                self.tree.is_used = true;
            }
            for table in &mut self.tables {
                if table.next.is_some_and(|next| next.key == entry.key) {
                    table.advance(direction, self.sequence);
                }
            }
            if entry.value.is_some() {
                self.gap.set(side_behind(direction), entry.key);
                self.shown = Shown::Table(entry);
                break;
            }
        }
        Ok(match &self.shown {
            Shown::Nothing => None,
            Shown::Table(entry) => entry.value.map(|value| (entry.key, value)),
            Shown::Tree(pair) => Some((pair.key(), pair.value())),
        })
    }

    /// The source with the nearest key, the newest of several.
    fn nearest(&self, direction: Direction) -> Option<Nearest> {
        let is_nearer = |key: &[u8], than: &[u8]| match direction {
            Direction::Forward => key.cmp(than) == Ordering::Less,
            Direction::Backward => key.cmp(than) == Ordering::Greater,
        };
        let mut nearest: Option<(Nearest, &[u8])> = None;
        for (index, table) in self.tables.iter().enumerate() {
            if let Some(entry) = table.next
                && nearest.is_none_or(|(_, key)| is_nearer(entry.key, key))
            {
                nearest = Some((Nearest::Table(index), entry.key));
            }
        }
        if let Some(pair) = &self.tree.next
            && nearest.is_none_or(|(_, key)| is_nearer(pair.key(), key))
        {
            return Some(Nearest::Tree);
        }
        nearest.map(|(nearest, _)| nearest)
    }

    /// Places all sources at the gap.
    fn place(&mut self, direction: Direction) -> Result<(), KvError> {
        let key = &self.gap.key[..];
        let tree = self.tree.tree;
        self.tree.place = Some(match self.gap.side {
            Side::Start => tree.lower_bound(Bound::Unbounded)?,
            Side::Before => tree.lower_bound(Bound::Included(key))?,
            Side::Behind => tree.upper_bound(Bound::Included(key))?,
            Side::End => tree.upper_bound(Bound::Unbounded)?,
        });
        self.tree.is_used = true;
        for source in &mut self.tables {
            source.place(direction, &self.gap, self.sequence);
        }
        self.direction = Some(direction);
        Ok(())
    }
}

#[derive(Clone, Copy, Debug)]
enum Nearest {
    Table(usize),
    Tree,
}

fn side_behind(direction: Direction) -> Side {
    match direction {
        Direction::Forward => Side::Behind,
        Direction::Backward => Side::Before,
    }
}

impl TreeSource<'_> {
    /// Reads the next pair if the last one was used.
    fn fill(&mut self, direction: Direction) -> Result<(), KvError> {
        if !self.is_used {
            return Ok(());
        }
        let Some(place) = &mut self.place else { return Ok(()) };
        self.next = None;
        self.next = match direction {
            Direction::Forward => place.next()?,
            Direction::Backward => place.previous()?,
        };
        self.is_used = false;
        Ok(())
    }
}

impl TableSource<'_> {
    fn place(&mut self, direction: Direction, gap: &Gap, sequence: u64) {
        let key = &gap.key[..];
        match direction {
            Direction::Forward => {
                self.entries = match gap.side {
                    Side::Start => self.table.entries(sequence),
                    Side::Before | Side::Behind => self.table.entries_from(key, sequence),
                    Side::End => {
                        self.next = None;
                        return;
                    }
                };
                self.next = self.entries.next();
                if gap.side == Side::Behind && self.next.is_some_and(|next| next.key == key) {
                    self.next = self.entries.next();
                }
            }
            Direction::Backward => {
                self.next = match gap.side {
                    Side::Start => None,
                    Side::Before => self.table.before(key, sequence),
                    Side::Behind => self.table.at_or_before(key, sequence),
                    Side::End => self.table.last(sequence),
                };
            }
        }
    }

    fn advance(&mut self, direction: Direction, sequence: u64) {
        self.next = match (direction, self.next) {
            (Direction::Forward, _) => self.entries.next(),
            (Direction::Backward, Some(next)) => self.table.before(next.key, sequence),
            (Direction::Backward, None) => None,
        };
    }
}
