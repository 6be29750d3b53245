//! The memory for reading ahead, shared by all readers of a store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Chunks that wait for one reader: 4 MiB.
const PER_READER_MAX: u64 = 16;

/// Chunks that may wait for readers, beyond the one that each has.
#[derive(Clone, Debug)]
pub(super) struct Ahead(Arc<AtomicU64>);

impl Ahead {
    pub(super) fn new(chunks: u64) -> Self {
        Self(Arc::new(AtomicU64::new(chunks)))
    }

    /// Room for up to `wanted` chunks: one, and a share of those that are left, so that something is always left
    /// for the next reader.
    pub(super) fn grant(&self, wanted: u64) -> Granted {
        let wanted = wanted.clamp(1, PER_READER_MAX) - 1;
        let mut shared = 0;
        let take = |left: u64| {
            shared = wanted.min(left / 8);
            Some(left - shared)
        };
        // The closure always has a value.
        let _ = self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, take);
        Granted { ahead: self.clone(), shared }
    }

    #[cfg(test)]
    pub(super) fn left(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// Room for chunks, until it is dropped.
#[derive(Debug)]
pub(super) struct Granted {
    ahead: Ahead,
    shared: u64,
}

impl Granted {
    /// Number of chunks, at least 1.
    pub(super) fn chunks(&self) -> usize {
        1 + self.shared as usize
    }
}

impl Drop for Granted {
    fn drop(&mut self) {
        self.ahead.0.fetch_add(self.shared, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reader_gets_some_and_all_comes_back() {
        let ahead = Ahead::new(64);
        let granted: Vec<Granted> = (0..100).map(|_| ahead.grant(u64::MAX)).collect();
        assert!(granted.iter().all(|it| (1..=16).contains(&it.chunks())));
        assert!(granted[0].chunks() > granted[99].chunks());
        let extra: u64 = granted.iter().map(|it| it.chunks() as u64 - 1).sum();
        assert_eq!(extra + ahead.left(), 64);
        drop(granted);
        assert_eq!(ahead.left(), 64);
        assert_eq!(ahead.grant(1).chunks(), 1);
    }
}
