//! The frames of a segment that are alive, and the ranges that are dead.

use std::collections::BTreeMap;
use std::mem;

/// The frames of one segment, by their first block.
#[derive(Debug, Default)]
pub(crate) struct Live {
    /// Bit set of the first blocks of living frames.
    starts: Vec<u64>,
    /// Bit set of the first blocks of frames that have died since they were counted.
    died: Vec<u64>,
    /// Number of living frames.
    count: u32,
    /// Number of places that are reserved for frames which are being written.
    pub(crate) unsealed: u32,
    /// `true` if there are bytes of no known frame: with them the segment is never empty, since they
    /// may be a frame whose mark is damaged.
    pub(crate) has_strays: bool,
    /// Dead ranges whose space was not given back: first block and the one behind the last. No two
    /// touch.
    dead: BTreeMap<u16, u32>,
    /// `true` if something died since [`Live::settles`] was asked last.
    is_fresh: bool,
}

impl Live {
    pub(crate) fn insert(&mut self, start: u16) {
        self.count += u32::from(set(&mut self.starts, start));
    }

    pub(crate) fn contains(&self, start: u16) -> bool {
        is_set(&self.starts, start)
    }

    /// `true` if nothing lives, nothing may live, and nothing is being written.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0 && self.unsealed == 0 && !self.has_strays
    }

    /// `true` if the frame has died.
    pub(crate) fn has_died(&self, start: u16) -> bool {
        is_set(&self.died, start)
    }

    /// Lets a frame die, with the space of its `blocks`. Again, or without a frame, it does nothing.
    pub(crate) fn bury(&mut self, start: u16, blocks: u16) {
        if !self.contains(start) {
            return;
        }
        let (word, bit) = position(start);
        self.starts[word] &= !bit;
        self.count -= 1;
        set(&mut self.died, start);
        self.add_dead(start, blocks);
    }

    /// Adds a range to give back.
    pub(crate) fn add_dead(&mut self, start: u16, blocks: u16) {
        if blocks == 0 {
            return;
        }
        self.is_fresh = true;
        let (mut first, mut end) = (start, u32::from(start) + u32::from(blocks));
        // Neighbours are given back with one call.
        if let Some((&before, &before_end)) = self.dead.range(..start).next_back()
            && before_end == u32::from(start)
        {
            first = before;
        }
        if let Ok(behind) = u16::try_from(end)
            && let Some(behind_end) = self.dead.remove(&behind)
        {
            end = behind_end;
        }
        self.dead.insert(first, end);
    }

    /// `true` if ranges are dead, and none has died since the last call.
    pub(crate) fn settles(&mut self) -> bool {
        !mem::take(&mut self.is_fresh) && self.has_dead()
    }

    /// Keeps a range of [`Live::take_dead`] that could not be given back.
    pub(crate) fn put_back_dead(&mut self, start: u16, end: u32) {
        self.dead.insert(start, end);
    }

    pub(crate) fn has_dead(&self) -> bool {
        !self.dead.is_empty()
    }

    pub(crate) fn take_dead(&mut self) -> BTreeMap<u16, u32> {
        mem::take(&mut self.dead)
    }
}

/// Sets a bit; `false` if it was set.
fn set(bits: &mut Vec<u64>, start: u16) -> bool {
    let (word, bit) = position(start);
    if bits.len() <= word {
        bits.resize(word + 1, 0);
    }
    let is_new = bits[word] & bit == 0;
    bits[word] |= bit;
    is_new
}

fn is_set(bits: &[u64], start: u16) -> bool {
    let (word, bit) = position(start);
    bits.get(word).is_some_and(|bits| bits & bit != 0)
}

fn position(start: u16) -> (usize, u64) {
    (usize::from(start) / 64, 1 << (start % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_lives_until_it_is_buried_once() {
        let mut live = Live::default();
        for start in [0, 63, 64, 65_535] {
            live.insert(start);
            live.insert(start);
        }
        assert_eq!(live.count, 4);
        assert!(live.contains(64) && !live.contains(1) && !live.contains(128));
        for _ in 0..2 {
            live.bury(64, 3);
            live.bury(1, 7);
        }
        assert_eq!((live.count, live.has_died(64), live.has_died(1)), (3, true, false));
        assert_eq!(live.take_dead(), BTreeMap::from([(64, 67)]));
        for start in [0, 63, 65_535] {
            assert!(!live.is_empty());
            live.bury(start, 1);
        }
        live.unsealed = 1;
        assert!(!live.is_empty());
        live.unsealed = 0;
        assert!(live.is_empty());
    }

    #[test]
    fn dead_neighbours_become_one_range() {
        let mut live = Live::default();
        for (start, blocks) in [(10, 5), (20, 5), (15, 5), (0, 3), (7, 3), (60_000, 5_536), (3, 0)]
        {
            live.add_dead(start, blocks);
        }
        assert!(live.has_dead() && !live.settles() && live.settles());
        let expected = BTreeMap::from([(0, 3), (7, 25), (60_000, 65_536)]);
        assert_eq!(live.take_dead(), expected);
        assert!(!live.has_dead() && !live.settles());
    }
}
