//! The readers that this server has open, by the time at which they began.

use std::collections::BTreeMap;
use std::sync::Arc;

use liteio_disk::Clock;
use parking_lot::Mutex;

/// The open readers.
#[derive(Debug, Default)]
pub(crate) struct Readers {
    open: Mutex<Open>,
}

/// Numbers of readers by the time at which they began, in milliseconds since 1970; absent at 0.
#[derive(Debug, Default)]
struct Open {
    /// Sections: from before a snapshot until what it found is kept. They are short.
    sections: BTreeMap<u64, usize>,
    /// Content that is kept while it is read, for as long as a download lasts.
    kept: BTreeMap<u64, usize>,
}

/// A reader, until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenReader {
    readers: Arc<Readers>,
    since_ms: u64,
    /// The monotonic time at which it began.
    began_ms: u64,
    is_kept: bool,
}

impl OpenReader {
    /// `true` if it began before this monotonic time.
    pub(super) fn began_before(&self, monotonic_ms: u64) -> bool {
        self.began_ms < monotonic_ms
    }
}

impl Readers {
    /// Begins a section.
    pub(super) fn section(readers: &Arc<Self>, clock: &dyn Clock) -> OpenReader {
        let (since_ms, began_ms) = (clock.now_ms(), clock.monotonic_ms());
        *readers.open.lock().sections.entry(since_ms).or_default() += 1;
        OpenReader { readers: Arc::clone(readers), since_ms, began_ms, is_kept: false }
    }

    /// Keeps what a section has found. It counts from the begin of the oldest section, since the
    /// caller's own is one of them.
    pub(super) fn keep(readers: &Arc<Self>, clock: &dyn Clock) -> OpenReader {
        let (now_ms, began_ms) = (clock.now_ms(), clock.monotonic_ms());
        let mut open = readers.open.lock();
        let since_ms = open.sections.keys().next().copied().unwrap_or(now_ms);
        *open.kept.entry(since_ms).or_default() += 1;
        OpenReader { readers: Arc::clone(readers), since_ms, began_ms, is_kept: true }
    }

    /// The time at which the oldest one began; `now_ms` if there is none.
    pub(super) fn since_ms(&self, now_ms: u64) -> u64 {
        let open = self.open.lock();
        let oldest = [&open.sections, &open.kept].map(|all| all.keys().next().copied());
        oldest.into_iter().flatten().fold(now_ms, u64::min)
    }
}

impl Drop for OpenReader {
    fn drop(&mut self) {
        let mut open = self.readers.open.lock();
        let all = if self.is_kept { &mut open.kept } else { &mut open.sections };
        if let Some(number) = all.get_mut(&self.since_ms) {
            *number -= 1;
            if *number == 0 {
                all.remove(&self.since_ms);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_reader_counts_until_it_ends() {
        let readers = Arc::<Readers>::default();
        let at = liteio_disk::ManualClock::new;
        assert_eq!(readers.since_ms(9), 9);
        let first = Readers::section(&readers, &at(1));
        let second = Readers::section(&readers, &at(2));
        let kept = Readers::keep(&readers, &at(3));
        drop((first, second));
        // What it found may be what the oldest section found.
        assert_eq!(readers.since_ms(9), 1);
        // A section that begins later does not hand that on.
        let third = Readers::section(&readers, &at(4));
        let later = Readers::keep(&readers, &at(5));
        drop((third, kept));
        assert_eq!(readers.since_ms(9), 4);
        drop(later);
        assert_eq!(readers.since_ms(9), 9);
    }
}
