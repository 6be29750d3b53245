//! [`History`]: a ring of the latest numbered entries, with waiting for new ones.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tokio::sync::watch;

/// Limit of kept entries.
const ENTRIES_MAX: usize = 10_000;
/// Limit of kept bytes: a client may send heads of many kilobytes.
const BYTES_MAX: usize = 32 << 20;

/// An event or request in a space.
pub trait Happened {
    fn space(&self) -> &str;

    /// Approximate size in memory, in bytes.
    fn bytes(&self) -> usize;
}

/// The ring of the latest entries.
#[derive(Debug)]
pub struct History<T> {
    kept: Mutex<Kept<T>>,
    /// The number of the next entry, watched by waiting clients.
    next: watch::Sender<u64>,
}

#[derive(Debug)]
struct Kept<T> {
    next: u64,
    entries: VecDeque<(u64, T)>,
    bytes: usize,
}

impl<T> Default for History<T> {
    fn default() -> History<T> {
        let kept = Mutex::new(Kept { next: 1, entries: VecDeque::new(), bytes: 0 });
        History { kept, next: watch::Sender::new(1) }
    }
}

impl<T: Happened + Clone> History<T> {
    /// Adds an entry, unless its space is closed (reset or deleted). The flag is read under the
    /// lock: a space is closed before [`History::forget`], so no entry of it can be added
    /// afterwards.
    pub(super) fn add(&self, entry: T, is_closed: &AtomicBool) {
        let next = {
            let mut kept = self.kept.lock();
            if is_closed.load(Ordering::Relaxed) {
                return;
            }
            kept.bytes += entry.bytes();
            while kept.entries.len() >= ENTRIES_MAX || kept.bytes > BYTES_MAX {
                let Some((_, oldest)) = kept.entries.pop_front() else { break };
                kept.bytes -= oldest.bytes();
            }
            let number = kept.next;
            kept.entries.push_back((number, entry));
            kept.next += 1;
            kept.next
        };
        self.next.send_replace(next);
    }

    /// Removes the entries of a space.
    pub(super) fn forget(&self, space: &str) {
        let mut kept = self.kept.lock();
        kept.entries.retain(|(_, entry)| entry.space() != space);
        kept.bytes = kept.entries.iter().map(|(_, entry)| entry.bytes()).sum();
    }

    /// The entries from the number `since` on that `wants` accepts, the oldest first, at most
    /// `max`; and the number after the last one examined.
    pub(super) fn since(
        &self,
        since: u64,
        max: usize,
        mut wants: impl FnMut(&T) -> bool,
    ) -> (Vec<(u64, T)>, u64) {
        let kept = self.kept.lock();
        let mut found = Vec::new();
        for (number, entry) in kept.entries.iter().skip_while(|(number, _)| *number < since) {
            if found.len() == max {
                return (found, *number);
            }
            if wants(entry) {
                found.push((*number, entry.clone()));
            }
        }
        (found, kept.next)
    }

    /// A receiver that is notified of new entries.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.next.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY_BYTES: u64 = 1 << 32;
    static OPEN: AtomicBool = AtomicBool::new(false);

    impl Happened for u64 {
        fn space(&self) -> &str {
            if self.is_multiple_of(2) { "even" } else { "odd" }
        }

        fn bytes(&self) -> usize {
            if *self >= MANY_BYTES { 5 << 20 } else { 8 }
        }
    }

    #[test]
    fn the_last_are_kept_and_pages_go_on_where_they_ended() {
        let history = History::default();
        (0..10_005).for_each(|entry: u64| history.add(entry, &OPEN));
        let (first, next) = history.since(0, 2, |_| true);
        assert_eq!((first, next), (vec![(6, 5), (7, 6)], 8));
        history.forget("odd");
        let (rest, next) = history.since(next, 2, |_| true);
        assert_eq!((rest, next), (vec![(9, 8), (11, 10)], 13));
        let (none, next) = history.since(next, 5, |entry| *entry > 20_000);
        assert_eq!((none, next), (vec![], 10_006));
    }

    #[test]
    fn many_bytes_are_not_kept() {
        let history = History::default();
        (0..10).for_each(|entry: u64| history.add(MANY_BYTES + entry, &OPEN));
        let first = |history: &History<u64>| history.since(0, 1, |_| true).0[0].1 - MANY_BYTES;
        assert_eq!(first(&history), 4, "six of them are 30 MiB");
        history.forget("odd");
        (10..13).for_each(|entry: u64| history.add(MANY_BYTES + entry, &OPEN));
        assert_eq!(first(&history), 4, "what was forgotten counts no more");
        history.add(MANY_BYTES + 13, &OPEN);
        assert_eq!(first(&history), 6);
        history.add(MANY_BYTES + 14, &AtomicBool::new(true));
        assert_eq!(history.since(0, 10, |_| true).1, 15, "its space is closed");
    }
}
