//! The decrypted blocks that readers of short pieces keep.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::limits::BLOCKS_KEPT_MAX;

/// A counter of kept blocks, at most [`BLOCKS_KEPT_MAX`] (a semaphore that never waits). Clones
/// share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeptBlocks(Arc<AtomicUsize>);

/// A permit to keep one block, returned when dropped.
#[derive(Debug)]
pub(crate) struct KeptBlock(KeptBlocks);

impl KeptBlocks {
    /// A permit, unless all are taken.
    pub(crate) fn take(&self) -> Option<KeptBlock> {
        let another = |kept| (kept < BLOCKS_KEPT_MAX).then_some(kept + 1);
        let taken = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, another);
        taken.is_ok().then(|| KeptBlock(self.clone()))
    }
}

impl Drop for KeptBlock {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_blocks_are_kept_than_the_limit() {
        let blocks = KeptBlocks::default();
        let mut kept: Vec<_> = std::iter::from_fn(|| blocks.take()).collect();
        assert_eq!(kept.len(), BLOCKS_KEPT_MAX);
        kept.pop();
        assert!(blocks.take().is_some() && blocks.take().is_some(), "each was dropped again");
    }
}
