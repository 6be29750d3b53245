//! When a freed slot may be written again: not while anyone can still read it.

use std::collections::{BTreeMap, VecDeque};

/// Counts views by the epoch in which they were opened, and keeps freed slots until all views that
/// may have seen them are gone. Every freeing begins an epoch.
#[derive(Debug, Default)]
pub(super) struct Readers {
    epoch: u64,
    views: BTreeMap<u64, u64>,
    waiting: VecDeque<(u64, Vec<u32>)>,
}

impl Readers {
    /// To be called before a view looks at anything. The result goes to [`Readers::leave`].
    pub(super) fn enter(&mut self) -> u64 {
        *self.views.entry(self.epoch).or_insert(0) += 1;
        self.epoch
    }

    pub(super) fn leave(&mut self, epoch: u64) {
        if let Some(count) = self.views.get_mut(&epoch) {
            *count -= 1;
            if *count == 0 {
                self.views.remove(&epoch);
            }
        }
    }

    /// Takes slots that no view opened later can see.
    pub(super) fn retire(&mut self, slots: Vec<u32>) {
        if !slots.is_empty() {
            self.waiting.push_back((self.epoch, slots));
            self.epoch += 1;
        }
    }

    /// Whether slots wait.
    pub(super) fn has_retired(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Slots that nobody can read any more.
    pub(super) fn released(&mut self) -> Vec<u32> {
        let oldest = self.views.first_key_value().map(|(epoch, _)| *epoch);
        let mut released = Vec::new();
        while let Some((epoch, _)) = self.waiting.front() {
            if oldest.is_some_and(|oldest| oldest <= *epoch) {
                break;
            }
            if let Some((_, slots)) = self.waiting.pop_front() {
                released.extend(slots);
            }
        }
        released
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_waits_for_the_views_that_may_have_seen_it_and_for_no_others() {
        let mut readers = Readers::default();
        let before = readers.enter();
        readers.retire(vec![1, 2]);
        let between = readers.enter();
        readers.retire(vec![3]);
        let after = readers.enter();
        assert!(readers.released().is_empty());
        readers.leave(before);
        assert_eq!(readers.released(), [1, 2]);
        readers.leave(between);
        assert_eq!(readers.released(), [3]);
        readers.leave(after);
        assert!(readers.released().is_empty() && readers.views.is_empty());
    }
}
