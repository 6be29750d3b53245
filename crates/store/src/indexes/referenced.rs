//! Which slots of an index belong to a vector.
//!
//! A search sees the slots of one moment, but not the elements of those that were given back while it
//! ran, and between a commit and its publication the key space is ahead of the slots. Whoever searched
//! notices both, and searches again. Should others never stop replacing vectors,
//! [`Referenced::hold`] stops them for the time of a search.

use std::collections::HashSet;
use std::sync::Arc;

use liteio_vector::{Slot, SlotSet};
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The slots that committed records name, in memory. A slot is added and removed once between two
/// uses, by the writers of the two commits, who may come in either order.
#[derive(Debug, Default)]
pub(crate) struct Referenced {
    state: Mutex<State>,
    /// Read from before a commit until its publication.
    commits: RwLock<()>,
}

/// The slots of all vectors at one moment.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    pub(crate) slots: Arc<SlotSet>,
    pub(crate) version: Version,
    /// Number of times that slots had been given back.
    pub(crate) removals: u64,
    /// All of the slots, and all that ever were, are below.
    pub(crate) end: u32,
}

/// Another one for every set of slots, also when an index was closed and opened again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Version {
    opening: u64,
    changes: u64,
}

#[derive(Debug, Default)]
struct State {
    slots: Arc<SlotSet>,
    version: Version,
    /// Number of times that slots were given back.
    removals: u64,
    end: u32,
    /// Removed by a commit whose predecessor has not yet added them.
    removed_early: HashSet<Slot>,
}

impl Referenced {
    /// The slots at the opening of an index, whose number is no other opening's.
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

    /// To be held from before a commit until it is published.
    pub(crate) fn committing(&self) -> RwLockReadGuard<'_, ()> {
        self.commits.read()
    }

    /// Waits for the commits under way, and keeps others from beginning, until dropped.
    pub(crate) fn hold(&self) -> RwLockWriteGuard<'_, ()> {
        self.commits.write()
    }

    /// Tells what a commit has changed, all at once. Returns the slots that nobody needs any more.
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
