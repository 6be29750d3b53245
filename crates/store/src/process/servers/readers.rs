//! The readers that this server has open, by the time at which they began.

use std::collections::BTreeMap;
use std::sync::Arc;

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
    is_kept: bool,
}

impl Readers {
    /// Begins a section.
    pub(super) fn section(readers: &Arc<Self>, now_ms: u64) -> OpenReader {
        *readers.open.lock().sections.entry(now_ms).or_default() += 1;
        OpenReader { readers: Arc::clone(readers), since_ms: now_ms, is_kept: false }
    }

    /// Keeps what a section has found. It counts from the begin of the oldest section, since the
    /// caller's own is one of them.
    pub(super) fn keep(readers: &Arc<Self>, now_ms: u64) -> OpenReader {
        let mut open = readers.open.lock();
        let since_ms = open.sections.keys().next().copied().unwrap_or(now_ms);
        *open.kept.entry(since_ms).or_default() += 1;
        OpenReader { readers: Arc::clone(readers), since_ms, is_kept: true }
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
        assert_eq!(readers.since_ms(9), 9);
        let first = Readers::section(&readers, 1);
        let second = Readers::section(&readers, 2);
        let kept = Readers::keep(&readers, 3);
        drop((first, second));
        // What it found may be what the oldest section found.
        assert_eq!(readers.since_ms(9), 1);
        // A section that begins later does not hand that on.
        let third = Readers::section(&readers, 4);
        let later = Readers::keep(&readers, 5);
        drop((third, kept));
        assert_eq!(readers.since_ms(9), 4);
        drop(later);
        assert_eq!(readers.since_ms(9), 9);
    }
}
