//! [`Merge`]: the tree and the layers above it, merged in key order.
//!
//! All sources are positioned at the same gap between two keys. Each holds the entry that it would
//! show next in the direction of the last step. The nearest key wins; among equal keys the newest
//! source wins. A tombstone hides the key beneath. Reversing the direction positions all sources at
//! the gap again.

mod heads;
mod upper;

use std::cmp::Ordering;
use std::mem;
use std::ops::Bound;

use self::heads::Heads;
use self::upper::Upper;
use super::KvError;
use super::dead::{DeadRanges, Passing};
use super::engine::{PairGuard, Place, Tree};
use super::layers::{Layers, UpperPair};
use crate::Pair;

/// The merged sources of a cursor.
pub(super) struct Merge<'a> {
    tree: TreeSource<'a>,
    /// Newest first.
    uppers: Vec<Upper<'a>>,
    /// The heads of the uppers, followed by the head of the tree.
    heads: Heads,
    /// The direction in which the sources are positioned; `None` if they are not.
    direction: Option<Direction>,
    gap: Gap,
    shown: Shown<'a>,
    dead: &'a DeadRanges,
    sequence: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Forward,
    Backward,
}

/// A position between two keys.
#[derive(Debug, Default)]
struct Gap {
    side: Side,
    key: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Side {
    #[default]
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
    Upper(UpperPair<'a>),
    /// The pair of the tree, which stays in its source until the next step.
    Tree,
}

struct TreeSource<'a> {
    tree: Tree<'a>,
    /// Behind the pair of `next`, in the current direction.
    place: Option<Place<'a>>,
    next: Option<PairGuard<'a>>,
    /// `next` has been shown or passed over.
    is_used: bool,
}

impl<'a> Merge<'a> {
    /// A merge before the first key within the bound. Most keys begin with `shared`.
    pub(super) fn new(
        layers: &'a Layers,
        tree: Tree<'a>,
        sequence: u64,
        lower: Bound<&[u8]>,
        shared: &[u8],
    ) -> Self {
        let draining = layers.undrained().len().saturating_sub(1).max(1);
        let tables = layers.undrained().iter().enumerate().map(|(number, table)| {
            let reached = layers.reached().filter(|_| number == draining);
            Upper::table(table, sequence, reached)
        });
        let runs = layers.runs().iter().map(|run| Upper::run(run));
        let uppers: Vec<_> = tables.chain(runs).collect();
        let mut merge = Self {
            heads: Heads::new(shared, uppers.len() + 1),
            tree: TreeSource { tree, place: None, next: None, is_used: true },
            uppers,
            direction: None,
            gap: Gap::default(),
            shown: Shown::Nothing,
            dead: layers.dead(),
            sequence,
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
        let stepped = self.try_step(direction, is_outside);
        if stepped.is_err() {
            // After an error the sources may be anywhere, but the gap has not moved: position them
            // again.
            self.direction = None;
        }
        if !stepped? {
            return Ok(None);
        }
        Ok(match &self.shown {
            Shown::Nothing => None,
            Shown::Upper(pair) => {
                let entry = pair.entry();
                entry.value.map(|value| (entry.key, value))
            }
            Shown::Tree => self.tree.next.as_ref().map(|pair| (pair.key(), pair.value())),
        })
    }

    /// `false` if there is no pair in this direction.
    fn try_step(
        &mut self,
        direction: Direction,
        is_outside: impl Fn(&[u8]) -> bool,
    ) -> Result<bool, KvError> {
        if self.direction != Some(direction) {
            let gap = mem::take(&mut self.gap);
            let placed = self.place(direction, &gap);
            self.gap = gap;
            placed?;
        }
        let mut passing = Passing::new(self.dead, self.sequence);
        loop {
            if self.tree.fill(direction)? {
                let key = self.tree.next.as_ref().map(PairGuard::key);
                self.heads.set(self.uppers.len(), key, direction);
            }
            let Some((nearest, is_shared)) = self.nearest(direction) else {
                passing.end(None);
                return Ok(false);
            };
            let index = match nearest {
                Nearest::Upper(index) => index,
                Nearest::Tree => {
                    let Some(pair) = &self.tree.next else { return Ok(false) };
                    passing.end(Some(pair.key()));
                    if is_outside(pair.key()) {
                        return Ok(false);
                    }
                    self.gap.set(side_behind(direction), pair.key());
                    self.tree.is_used = true;
                    self.shown = Shown::Tree;
                    break;
                }
            };
            let Some(pair) = self.uppers[index].pair() else { return Ok(false) };
            let entry = pair.entry();
            if is_outside(entry.key) {
                passing.end(Some(entry.key));
                return Ok(false);
            }
            if is_shared {
                if self.tree.next.as_ref().is_some_and(|next| next.key() == entry.key) {
                    self.tree.is_used = true;
                }
                // Newer sources than `index` do not have the key, or they would have won.
                for source in index..self.uppers.len() {
                    let upper = &mut self.uppers[source];
                    if upper.key() == Some(entry.key) {
                        upper.advance(direction)?;
                        self.heads.set(source, upper.key(), direction);
                    }
                }
            } else {
                let upper = &mut self.uppers[index];
                upper.advance(direction)?;
                self.heads.set(index, upper.key(), direction);
            }
            if entry.value.is_some() {
                passing.end(Some(entry.key));
                self.gap.set(side_behind(direction), entry.key);
                self.shown = Shown::Upper(pair);
                break;
            }
            // A tombstone shows nothing; go on to the next key, or behind all that are known to be
            // dead. The gap stays until there is a pair to show.
            let known = match direction {
                Direction::Forward => passing.step(entry.key).map(|known| known.end),
                Direction::Backward => passing.step_back(entry.key).map(|known| Some(known.start)),
            };
            if let Some(next) = known {
                let side = if next.is_some() { Side::Before } else { Side::End };
                let key = next.map_or_else(Vec::new, Vec::from);
                self.place(direction, &Gap { side, key })?;
            }
        }
        Ok(true)
    }

    /// The source with the nearest key, the newest among equal ones; `true` if several have it.
    #[inline]
    fn nearest(&self, direction: Direction) -> Option<(Nearest, bool)> {
        match self.heads.nearest() {
            heads::Nearest::One(source) if source < self.uppers.len() => {
                Some((Nearest::Upper(source), false))
            }
            heads::Nearest::One(_) => Some((Nearest::Tree, false)),
            heads::Nearest::Unknown => self.nearest_by_key(direction),
        }
    }

    /// Like `nearest`, comparing all bytes of the keys.
    fn nearest_by_key(&self, direction: Direction) -> Option<(Nearest, bool)> {
        let compare = |key: &[u8], with: &[u8]| match direction {
            Direction::Forward => key.cmp(with),
            Direction::Backward => with.cmp(key),
        };
        let (mut nearest, mut is_shared): (Option<(Nearest, &[u8])>, bool) = (None, false);
        let uppers = self.uppers.iter().enumerate();
        let uppers = uppers.map(|(index, upper)| (Nearest::Upper(index), upper.key()));
        let tree = self.tree.next.as_ref().map(PairGuard::key);
        for (source, key) in uppers.chain([(Nearest::Tree, tree)]) {
            let Some(key) = key else { continue };
            match nearest.map_or(Ordering::Less, |(_, nearest)| compare(key, nearest)) {
                Ordering::Less => (nearest, is_shared) = (Some((source, key)), false),
                Ordering::Equal => is_shared = true,
                Ordering::Greater => {}
            }
        }
        nearest.map(|(nearest, _)| (nearest, is_shared))
    }

    /// Positions all sources at a gap.
    fn place(&mut self, direction: Direction, gap: &Gap) -> Result<(), KvError> {
        let key = &gap.key[..];
        let tree = self.tree.tree;
        self.tree.place = Some(match gap.side {
            Side::Start => tree.lower_bound(Bound::Unbounded)?,
            Side::Before => tree.lower_bound(Bound::Included(key))?,
            Side::Behind => tree.upper_bound(Bound::Included(key))?,
            Side::End => tree.upper_bound(Bound::Unbounded)?,
        });
        self.tree.is_used = true;
        for (source, upper) in self.uppers.iter_mut().enumerate() {
            upper.place(direction, gap)?;
            self.heads.set(source, upper.key(), direction);
        }
        self.direction = Some(direction);
        Ok(())
    }
}

#[derive(Clone, Copy, Debug)]
enum Nearest {
    Upper(usize),
    Tree,
}

fn side_behind(direction: Direction) -> Side {
    match direction {
        Direction::Forward => Side::Behind,
        Direction::Backward => Side::Before,
    }
}

impl TreeSource<'_> {
    /// Reads the next pair if the last one was used. `true` if it has changed.
    fn fill(&mut self, direction: Direction) -> Result<bool, KvError> {
        if !self.is_used {
            return Ok(false);
        }
        let Some(place) = &mut self.place else { return Ok(false) };
        self.next = None;
        match direction {
            Direction::Forward => place.next_into(&mut self.next)?,
            Direction::Backward => place.previous_into(&mut self.next)?,
        }
        self.is_used = false;
        Ok(true)
    }
}
