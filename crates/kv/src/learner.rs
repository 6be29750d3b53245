//! [`Learner`]: the writer looks for dead ranges around some of the keys that it deletes, so that no
//! listing has to step over them first.

use std::cell::Cell;
use std::mem;
use std::ops::Bound;

use crate::KvError;
use crate::layers::Layers;
use crate::merge::Merge;

/// The writer looks around one of so many deleted keys. A prime number: a deleted object takes several
/// rows with it, always in the same order, and each kind must have its turn.
const INTERVAL: u32 = if cfg!(test) { 3 } else { 1021 };
/// Maximum number of keys that a look passes in each direction: the next update waits for it, a few
/// milliseconds at most. A later look jumps over the known part of a longer range, and goes on there.
const STEPS_MAX: u32 = 4096;
/// The neighbours of a key mostly differ from it in its last bytes.
const OWN_BYTES: usize = 8;

/// The state of the looks.
#[derive(Debug, Default)]
pub(super) struct Learner {
    /// Deleted keys since the last one that was noted.
    deleted: u32,
    /// The key to look at next.
    key: Vec<u8>,
    is_due: bool,
}

impl Learner {
    /// Notes that `key` is deleted.
    #[inline]
    pub(super) fn deleted(&mut self, key: &[u8]) {
        self.deleted += 1;
        if self.deleted == INTERVAL {
            (self.deleted, self.is_due) = (0, true);
            self.key.clear();
            self.key.extend_from_slice(key);
        }
    }

    /// Looks for the dead range around the key that was noted last, if there is one. The caller is the
    /// only writer, and everything that it has written is published with `sequence`, so that no put can
    /// come between the look and its note.
    #[inline]
    pub(super) fn look(&mut self, layers: &Layers, sequence: u64) {
        if mem::take(&mut self.is_due) {
            // The read that needs a damaged page tells of it.
            let _ = self.pass(layers, sequence);
        }
    }

    #[cold]
    fn pass(&self, layers: &Layers, sequence: u64) -> Result<(), KvError> {
        let shared = &self.key[..self.key.len().saturating_sub(OWN_BYTES)];
        let mut merge =
            Merge::new(layers, layers.tree()?, sequence, Bound::Excluded(&self.key), shared);
        let (passed, reached) = (Cell::new(0), Cell::new(None));
        let is_far = |key: &[u8]| {
            passed.set(passed.get() + 1);
            let is_far = passed.get() > STEPS_MAX;
            if is_far {
                reached.set(Some(key.to_vec()));
            }
            is_far
        };
        let living = merge.previous(is_far)?.map(|(key, _)| key.to_vec());
        let before = living.or_else(|| reached.take());
        merge.go_before(before.as_deref().map_or(Bound::Unbounded, Bound::Excluded));
        passed.set(0);
        // The merge notes what it passes on the way forward.
        merge.next(is_far)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kv, KvConfig, Write as _};

    const COUNT: u32 = 3_000;

    fn delete(kv: &Kv, number: u32) {
        let update = kv.update(move |write| write.delete(&number.to_be_bytes()));
        update.wait().expect("deleted");
    }

    /// The number of keys that the first cursor steps over in a key space from which all was deleted in
    /// this order, but for a key at each end.
    fn steps(order: impl Iterator<Item = u32>) -> u32 {
        let kv = Kv::memory(KvConfig::default()).expect("opens");
        for number in 0..=COUNT + 1 {
            let update = kv.update(move |write| write.put(&number.to_be_bytes(), b"value"));
            update.wait().expect("put");
        }
        order.for_each(|number| delete(&kv, number));
        let (layers, steps) = (kv.shared().layers().expect("open"), Cell::new(0));
        let tree = layers.tree().expect("open");
        let all = Bound::Unbounded;
        let mut merge = Merge::new(&layers, tree, u64::from(COUNT) * 4, all, &[]);
        let count = |_: &[u8]| {
            steps.set(steps.get() + 1);
            false
        };
        for living in [0, COUNT + 1] {
            let (key, _) = merge.next(count).expect("readable").expect("a pair");
            assert_eq!(key, living.to_be_bytes());
        }
        assert!(merge.next(count).expect("readable").is_none());
        steps.get()
    }

    #[test]
    fn no_order_of_deletions_leaves_many_dead_keys_to_the_first_cursor() {
        let ascending = steps(1..=COUNT);
        let descending = steps((1..=COUNT).rev());
        let by_two = steps((1..=COUNT / 2).flat_map(|it| [it, COUNT / 2 + it]));
        // Each is deleted once, since the factor has no common divisor with the number.
        let scattered = steps((0..COUNT).map(|it| it * 1_009 % COUNT + 1));
        let few = 8 * INTERVAL;
        for steps in [ascending, descending, by_two, scattered] {
            assert!(steps < few, "{ascending} {descending} {by_two} {scattered}");
        }
    }
}
