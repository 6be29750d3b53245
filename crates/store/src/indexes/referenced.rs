//! The slots of an index that committed records reference, in memory.
//!
//! A search works on the slots of one [`Moment`]. Meanwhile a slot may be freed, whose elements the
//! search then does not see. And between a commit and its publication the key space is ahead of the
//! slots. A search detects both and starts again. Under constant writes it would starve, so after
//! some attempts it blocks commits with [`Referenced::hold`].

use std::collections::HashSet;
use std::sync::Arc;

use liteio_vector::{Slot, SlotSet};
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The referenced slots of an index. Each use of a slot adds it once and removes it once, by two
/// commits whose publications may arrive in either order.
#[derive(Debug, Default)]
pub(crate) struct Referenced {
    state: Mutex<State>,
    /// Held for reading from before a commit until its publication.
    commits: RwLock<()>,
}

/// The slots of all vectors at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) slots: Arc<SlotSet>,
    pub(crate) version: Version,
    /// Number of publications so far that freed slots.
    pub(crate) removals: u64,
    /// One past the highest slot ever referenced.
    pub(crate) end: u32,
}

/// Identity of a set of slots. It never repeats, even if the index is closed and opened again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Version {
    opening: u64,
    changes: u64,
}

#[derive(Debug, Default)]
struct State {
    slots: Arc<SlotSet>,
    version: Version,
    /// Number of publications so far that freed slots.
    removals: u64,
    end: u32,
    /// Slots whose removal was published before their addition.
    removed_early: HashSet<Slot>,
}

impl Referenced {
    /// The slots at the opening of an index. `opening` is unique among openings.
    pub(crate) fn new(slots: SlotSet, opening: u64) -> Self {
        let version = Version { opening, changes: 0 };
        let end = slots.iter().last().map_or(0, |slot| slot.number() + 1);
        let state = State { slots: Arc::new(slots), version, end, ..State::default() };
        Self { state: Mutex::new(state), commits: RwLock::default() }
    }

    /// The slots of all vectors at this moment.
    pub(crate) fn now(&self) -> Moment {
        let state = self.state.lock();
        let slots = Arc::clone(&state.slots);
        let State { version, removals, end, .. } = *state;
        Moment { slots, version, removals, end }
    }

    /// Guard of a commit, to hold from before it until its publication.
    pub(crate) fn committing(&self) -> RwLockReadGuard<'_, ()> {
        self.commits.read()
    }

    /// Waits for running commits, and blocks new ones until dropped.
    pub(crate) fn hold(&self) -> RwLockWriteGuard<'_, ()> {
        self.commits.write()
    }

    /// Publishes the changes of a commit at once. Returns the slots to free: neither referenced nor
    /// about to be added.
    pub(crate) fn publish(&self, added: &[Slot], removed: &[Slot]) -> Vec<Slot> {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        // Copies the set only while a search holds the former one.
        let slots = Arc::make_mut(&mut state.slots);
        let mut unused = Vec::new();
        for slot in added {
            state.end = state.end.max(slot.number() + 1);
            // The removal came first. No search has seen the slot, and it is free now.
            match state.removed_early.remove(slot) {
                true => unused.push(*slot),
                false => drop(slots.insert(*slot)),
            }
        }
        for slot in removed {
            // The addition is committed, but its publication is still to come.
            match slots.remove(*slot) {
                true => unused.push(*slot),
                false => drop(state.removed_early.insert(*slot)),
            }
        }
        state.version.changes += 1;
        // A search that finds another count than before may have read a freed slot.
        state.removals += u64::from(!unused.is_empty());
        unused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_may_be_told_in_either_order() {
        let slots = |numbers: &[u32]| numbers.iter().copied().map(Slot::new).collect::<Vec<Slot>>();
        let in_order = Referenced::default();
        assert_eq!(in_order.publish(&slots(&[1]), &[]), []);
        assert_eq!(in_order.publish(&slots(&[2]), &slots(&[1])), slots(&[1]));
        let out_of_order = Referenced::default();
        assert_eq!(out_of_order.publish(&slots(&[2]), &slots(&[1])), []);
        assert_eq!(out_of_order.publish(&slots(&[1]), &[]), slots(&[1]));
        for referenced in [in_order, out_of_order] {
            assert_eq!(referenced.now().slots.iter().collect::<Vec<_>>(), slots(&[2]));
        }
    }
}
