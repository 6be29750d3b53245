//! The slots of an index that committed records reference, in memory.
//!
//! A search works on the slots of one [`Moment`]. It does not see the elements of slots that are freed
//! while it runs, and between a commit and its publication the key space is ahead of these slots. A
//! search detects both and starts again. Under constant writes it would starve, so after some attempts it
//! blocks commits with [`Referenced::hold`].

use std::collections::HashSet;
use std::sync::Arc;

use liteio_vector::{Slot, SlotSet};
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The referenced slots. Each use of a slot adds it once and removes it once, by two commits, whose
/// publications may arrive in either order.
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
    /// Publications so far that freed slots.
    pub(crate) removals: u64,
    /// One past the highest slot ever referenced.
    pub(crate) end: u32,
}

/// Identifies a set of slots. Never repeats, even if the index is closed and opened again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Version {
    opening: u64,
    changes: u64,
}

#[derive(Debug, Default)]
struct State {
    slots: Arc<SlotSet>,
    version: Version,
    /// Publications so far that freed slots.
    removals: u64,
    end: u32,
    /// Slots whose removal was published before their addition.
    removed_early: HashSet<Slot>,
}

impl Referenced {
    /// The slots at the opening of an index; `opening` is unique among openings.
    pub(crate) fn new(slots: SlotSet, opening: u64) -> Self {
        let version = Version { opening, changes: 0 };
        let end = slots.iter().last().map_or(0, |slot| slot.number() + 1);
        let state = State { slots: Arc::new(slots), version, end, ..State::default() };
        Self { state: Mutex::new(state), commits: RwLock::default() }
    }

    /// The slots of all vectors, now.
    pub(crate) fn now(&self) -> Moment {
        let state = self.state.lock();
        let slots = Arc::clone(&state.slots);
        let State { version, removals, end, .. } = *state;
        Moment { slots, version, removals, end }
    }

    /// Guard to hold from before a commit until its publication.
    pub(crate) fn committing(&self) -> RwLockReadGuard<'_, ()> {
        self.commits.read()
    }

    /// Waits for running commits, and blocks new ones until dropped.
    pub(crate) fn hold(&self) -> RwLockWriteGuard<'_, ()> {
        self.commits.write()
    }

    /// Publishes the changes of a commit at once. Returns the slots that are neither referenced nor about
    /// to be added: they can be freed.
    pub(crate) fn publish(&self, added: &[Slot], removed: &[Slot]) -> Vec<Slot> {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let slots = Arc::make_mut(&mut state.slots);
        let mut unused = Vec::new();
        for slot in added {
            state.end = state.end.max(slot.number() + 1);
            match state.removed_early.remove(slot) {
                true => unused.push(*slot),
                false => drop(slots.insert(*slot)),
            }
        }
        for slot in removed {
            match slots.remove(*slot) {
                true => unused.push(*slot),
                false => drop(state.removed_early.insert(*slot)),
            }
        }
        state.version.changes += 1;
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
