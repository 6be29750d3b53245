//! Epoch-based reclamation: a freed slot is not written again while a view may still read it.
//!
//! Each freeing ends an epoch. A view is counted in the epoch in which it was opened, and may have
//! seen every slot freed in that epoch or later. The oldest epoch with a view is the watermark:
//! slots freed in earlier epochs are released, the others wait.
//!
//! ```text
//!  epoch      0         1         2
//!  views      A         B         C
//!  freed    {1, 2}     {3}
//!  A leaves: the oldest view is B, of epoch 1, so {1, 2} of epoch 0 are released; {3} waits for B.
//! ```

use std::collections::{BTreeMap, VecDeque};

/// Views counted by epoch, and freed slots that wait for them.
#[derive(Debug, Default)]
pub(super) struct Readers {
    /// The current epoch, in which new views are counted.
    epoch: u64,
    /// Number of open views by epoch.
    views: BTreeMap<u64, u64>,
    /// Freed slots with the epoch in which they were freed, oldest first.
    waiting: VecDeque<(u64, Vec<u32>)>,
}

impl Readers {
    /// Counts a view and returns its epoch, for [`Readers::leave`]. Call it before the view reads
    /// the set of live slots.
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

    /// Retires slots. Call it after they were removed from the live set: views opened from now on
    /// must not see them.
    pub(super) fn retire(&mut self, slots: Vec<u32>) {
        if !slots.is_empty() {
            self.waiting.push_back((self.epoch, slots));
            self.epoch += 1;
        }
    }

    /// `true` while retired slots wait for views.
    pub(super) fn has_retired(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Takes the slots freed below the watermark, which no view can read any more.
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
