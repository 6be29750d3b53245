//! [`DeadRanges`]: ranges without a living key, which cursors pass at once.
//!
//! A deleted key stays as a tombstone until the drain. A listing after a million deletions would
//! step over all of them, and so would each one after it. So a cursor that passes many tombstones
//! in a row notes their range, and later ones go to its end. Mostly the first one is the writer's
//! own: see [`Learner`](crate::learner::Learner).
//!
//! # Consistency
//! A range holds for readers that see at least what the cursor saw which noted it. A put within a
//! range cuts it when the put is staged, before anyone can see it. While a cursor passes tombstones
//! it *watches* what is behind the first of them: a put there cuts the range that it will note. A
//! put that was staged between the cursor's snapshot and its watch would be missed, so no watch
//! begins after one.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

/// Tombstones in a row after which a cursor looks for a range, and begins to watch. Tests use few
/// keys.
const STEPS: u32 = if cfg!(test) { 2 } else { 64 };
/// Number of ranges; further ones replace the first.
const RANGES_MAX: usize = 64;

/// The dead ranges of a key space.
#[derive(Default)]
pub(super) struct DeadRanges {
    /// The sequence of the last staged put.
    staged: AtomicU64,
    /// Number of ranges and watches: without any, a put needs no lock.
    interests: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By their first keys; none touches another.
    ranges: BTreeMap<Box<[u8]>, Range>,
    watched: Vec<Watched>,
    next_watch: u64,
}

/// A range without a living key, for readers at `sequence` or later.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Range {
    /// The key behind it; `None` if it has no end.
    end: Option<Box<[u8]>>,
    sequence: u64,
}

struct Watched {
    number: u64,
    start: Box<[u8]>,
    /// The first key that was put at or behind the start.
    end: Option<Box<[u8]>>,
}

impl State {
    /// The range that has `key`.
    fn range_of(&self, key: &[u8]) -> Option<(&[u8], &Range)> {
        let upto = (Bound::Unbounded, Bound::Included(key));
        let (start, range) = self.ranges.range::<[u8], _>(upto).next_back()?;
        is_before(key, range.end.as_deref()).then_some((start, range))
    }

    /// Cuts what has `key`.
    fn cut(&mut self, key: &[u8]) {
        for watched in self.watched.iter_mut().filter(|watched| key >= &*watched.start) {
            if is_before(key, watched.end.as_deref()) {
                watched.end = Some(key.into());
            }
        }
        let Some((start, range)) = self.range_of(key) else { return };
        let (start, behind) = (Box::<[u8]>::from(start), range.clone());
        self.ranges.remove(&start);
        let after: Box<[u8]> = [key, &[0]].concat().into();
        if is_before(&after, behind.end.as_deref()) {
            self.ranges.insert(after, behind.clone());
        }
        if &*start < key && self.ranges.len() < RANGES_MAX {
            self.ranges.insert(start, Range { end: Some(key.into()), ..behind });
        }
    }

    /// Adds a range, joined with those that it touches.
    fn add(&mut self, start: Box<[u8]>, range: Range) {
        let (mut start, mut range) = (start, range);
        if !is_before(&start, range.end.as_deref()) {
            return;
        }
        let upto = match &range.end {
            Some(end) => Bound::Included(&**end),
            None => Bound::Unbounded,
        };
        let touching: Vec<Box<[u8]>> = self
            .ranges
            .range::<[u8], _>((Bound::Unbounded, upto))
            .rev()
            .take_while(|(_, other)| other.end.as_deref().is_none_or(|end| end >= &*start))
            .map(|(start, _)| start.clone())
            .collect();
        for other_start in touching {
            let Some(other) = self.ranges.remove(&other_start) else { continue };
            range.sequence = range.sequence.max(other.sequence);
            range.end = match (range.end, other.end) {
                (Some(one), Some(other)) => Some(one.max(other)),
                _ => None,
            };
            start = start.min(other_start);
        }
        if self.ranges.len() >= RANGES_MAX {
            self.ranges.pop_first();
        }
        self.ranges.insert(start, range);
    }
}

fn is_before(key: &[u8], end: Option<&[u8]>) -> bool {
    end.is_none_or(|end| key < end)
}

impl DeadRanges {
    /// Notes that a put is staged with this sequence. The caller is the only writer.
    #[inline]
    pub(super) fn staged(&self, key: &[u8], sequence: u64) {
        // Stores, then loads; `DeadRanges::watch` does the reverse. With `SeqCst` one of them sees
        // the other.
        self.staged.store(sequence, Ordering::SeqCst);
        if self.interests.load(Ordering::SeqCst) > 0 {
            self.change(|state| state.cut(key));
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock();
        let changed = change(&mut state);
        self.interests.store(state.ranges.len() + state.watched.len(), Ordering::SeqCst);
        changed
    }

    /// Begins to watch the keys from `start` on, for a cursor at `sequence`.
    fn watch(&self, start: &[u8], sequence: u64) -> Option<Watch<'_>> {
        let number = self.change(|state| {
            state.next_watch += 1;
            let number = state.next_watch;
            state.watched.push(Watched { number, start: start.into(), end: None });
            number
        });
        let watch = Watch { dead: self, number };
        (self.staged.load(Ordering::SeqCst) <= sequence).then_some(watch)
    }
}

impl fmt::Debug for DeadRanges {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let interests = self.interests.load(Ordering::Relaxed);
        formatter.debug_struct("DeadRanges").field("interests", &interests).finish_non_exhaustive()
    }
}

/// A watch; dropped, it ends.
struct Watch<'d> {
    dead: &'d DeadRanges,
    number: u64,
}

impl Watch<'_> {
    /// Notes that no key lives from the start of the watch up to `end`.
    fn learn(self, end: Option<&[u8]>, sequence: u64) {
        self.dead.change(|state| {
            let Some(at) = state.watched.iter().position(|it| it.number == self.number) else {
                return;
            };
            let watched = state.watched.swap_remove(at);
            let end = match (end, watched.end) {
                (Some(end), Some(put)) if *end < *put => Some(end.into()),
                (Some(end), None) => Some(end.into()),
                (_, put) => put,
            };
            state.add(watched.start, Range { end, sequence });
        });
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.dead.change(|state| state.watched.retain(|it| it.number != self.number));
    }
}

/// One walk of a cursor over tombstones, from one living key to the next.
pub(super) struct Passing<'d> {
    dead: &'d DeadRanges,
    sequence: u64,
    steps: u32,
    watch: Option<Watch<'d>>,
}

impl<'d> Passing<'d> {
    /// A walk of a cursor at `sequence`.
    #[inline]
    pub(super) fn new(dead: &'d DeadRanges, sequence: u64) -> Self {
        Self { dead, sequence, steps: 0, watch: None }
    }

    /// Steps forward over the tombstone of `key`. The known range that the key is in, if any.
    #[inline]
    pub(super) fn step(&mut self, key: &[u8]) -> Option<Known> {
        self.steps += 1;
        if self.steps.is_multiple_of(STEPS) { self.look(key) } else { None }
    }

    /// Steps back over the tombstone of `key`. The known range that the key is in, if any. The way
    /// back notes nothing.
    #[inline]
    pub(super) fn step_back(&mut self, key: &[u8]) -> Option<Known> {
        self.steps += 1;
        if self.steps.is_multiple_of(STEPS) { self.known(key) } else { None }
    }

    #[cold]
    fn look(&mut self, key: &[u8]) -> Option<Known> {
        let known = self.known(key);
        // A transaction sees what may be rolled back: it notes nothing.
        if self.watch.is_none() && self.sequence < u64::MAX {
            let start = known.as_ref().map_or(key, |known| &known.start);
            self.watch = self.dead.watch(start, self.sequence);
        }
        known
    }

    #[cold]
    fn known(&self, key: &[u8]) -> Option<Known> {
        let state = self.dead.state.lock();
        let (start, range) = state.range_of(key)?;
        (range.sequence <= self.sequence)
            .then(|| Known { start: start.into(), end: range.end.clone() })
    }

    /// Ends the walk at the next key; `None` at the end of all keys.
    #[inline]
    pub(super) fn end(&mut self, next: Option<&[u8]>) {
        if let Some(watch) = self.watch.take() {
            watch.learn(next, self.sequence);
        }
    }
}

/// A dead range, without a living key.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// Its first key.
    pub(super) start: Box<[u8]>,
    /// The key behind it; `None` if it has no end.
    pub(super) end: Option<Box<[u8]>>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn ranges(dead: &DeadRanges) -> Vec<(String, Option<String>)> {
        let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
        let state = dead.state.lock();
        let ranges = state.ranges.iter();
        ranges.map(|(start, range)| (text(start), range.end.as_deref().map(text))).collect()
    }

    fn pass(dead: &DeadRanges, sequence: u64, keys: &[&str], next: Option<&str>) {
        let mut passing = Passing::new(dead, sequence);
        for key in keys {
            let _ = passing.step(key.as_bytes());
        }
        passing.end(next.map(str::as_bytes));
    }

    /// The range that has `key`, the same on both ways.
    fn range_of(dead: &DeadRanges, sequence: u64, key: &str) -> Option<(String, Option<String>)> {
        let mut passing = Passing::new(dead, sequence);
        let known = (0..STEPS).find_map(|_| passing.step(key.as_bytes()));
        let mut passing = Passing::new(dead, sequence);
        assert_eq!((0..STEPS).find_map(|_| passing.step_back(key.as_bytes())), known);
        let text = |bytes: Box<[u8]>| bytes.escape_ascii().to_string();
        known.map(|known| (text(known.start), known.end.map(text)))
    }

    #[test]
    fn a_range_is_passed_by_readers_that_see_its_deletions() {
        let dead = DeadRanges::default();
        pass(&dead, 7, &["a"], Some("b"));
        assert_eq!(ranges(&dead), [], "one tombstone is no range");
        pass(&dead, 7, &["a", "b", "c"], Some("m"));
        let range = Some(("b".into(), Some("m".into())));
        assert_eq!(range_of(&dead, 7, "b"), range);
        assert_eq!(range_of(&dead, u64::MAX, "c"), range);
        assert_eq!(range_of(&dead, 6, "c"), None);
        assert_eq!(range_of(&dead, 7, "a"), None);
        assert_eq!(range_of(&dead, 7, "m"), None);
    }

    #[test]
    fn ranges_that_touch_are_joined() {
        let dead = DeadRanges::default();
        pass(&dead, 1, &["a", "b"], Some("d"));
        pass(&dead, 2, &["f", "g"], Some("h"));
        pass(&dead, 3, &["d", "d"], Some("e"));
        assert_eq!(ranges(&dead), [("b".into(), Some("e".into())), ("g".into(), Some("h".into()))]);
        assert_eq!(range_of(&dead, 2, "b"), None, "the newer reader saw more");
        pass(&dead, 4, &["c", "c"], None);
        assert_eq!(ranges(&dead), [("b".into(), None)]);
        pass(&dead, 4, &["x", "x"], Some("y"));
        assert_eq!(ranges(&dead), [("b".into(), None)]);
    }

    #[test]
    fn a_put_cuts_ranges_and_watches() {
        let dead = DeadRanges::default();
        pass(&dead, 1, &["b", "b"], Some("m"));
        dead.staged(b"a", 2);
        dead.staged(b"m", 3);
        assert_eq!(ranges(&dead), [("b".into(), Some("m".into()))]);
        dead.staged(b"d", 4);
        let cut = [("b".into(), Some("d".into())), ("d\\x00".into(), Some("m".into()))];
        assert_eq!(ranges(&dead), cut);
        dead.staged(b"b", 5);
        assert_eq!(ranges(&dead)[0], ("b\\x00".into(), Some("d".into())));

        let dead = DeadRanges::default();
        let mut passing = Passing::new(&dead, 9);
        assert!(passing.step(b"a").is_none() && passing.step(b"b").is_none());
        for (sequence, key) in [(10, "f"), (11, "d"), (12, "e"), (13, "a")] {
            dead.staged(key.as_bytes(), sequence);
        }
        passing.end(Some(b"k"));
        assert_eq!(ranges(&dead), [("b".into(), Some("d".into()))]);
    }

    #[test]
    fn nothing_is_noted_after_a_put_that_the_cursor_does_not_see() {
        let dead = DeadRanges::default();
        dead.staged(b"c", 8);
        pass(&dead, 7, &["a", "b"], Some("m"));
        assert_eq!(ranges(&dead), []);
        pass(&dead, 8, &["a", "b"], Some("c"));
        assert_eq!(ranges(&dead), [("b".into(), Some("c".into()))]);
        // A cursor that ends with an error notes nothing, and watches no longer.
        let mut passing = Passing::new(&dead, 9);
        let _ = (passing.step(b"x"), passing.step(b"y"));
        drop(passing);
        assert_eq!(dead.interests.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn any_changes_leave_true_ranges() {
        // Keys are numbers; `living` is what the ranges must not have.
        let mut random = 1_u64;
        let mut below = |bound: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random % bound) as u8
        };
        let dead = DeadRanges::default();
        let mut living = BTreeSet::new();
        for sequence in 1..5_000 {
            let key = below(200);
            if below(3) == 0 {
                living.insert(key);
                dead.staged(&[key], sequence);
            } else {
                living.remove(&key);
                let next = living.range(key..).next().copied();
                let mut passing = Passing::new(&dead, sequence);
                let _ = (passing.step(&[key]), passing.step(&[key]));
                passing.end(next.as_ref().map(std::slice::from_ref));
            }
            let state = dead.state.lock();
            assert!(state.ranges.len() <= RANGES_MAX && state.watched.is_empty());
            let mut behind: Option<&Range> = None;
            for (start, range) in &state.ranges {
                assert!(behind.is_none_or(|it| it.end.as_deref().is_some_and(|end| end < start)));
                let is_in =
                    |key: &u8| [*key][..] >= **start && is_before(&[*key], range.end.as_deref());
                assert_eq!(living.iter().find(|key| is_in(key)), None, "in {start:?} {range:?}");
                behind = Some(range);
            }
        }
    }
}
