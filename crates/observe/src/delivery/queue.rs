//! [`Queue`]: entries that wait for one target.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

/// Bytes that wait for one target: some ten thousand entries. Those beyond are lost.
const WAITING_BYTES_MAX: usize = 16 << 20;

/// Entries that wait for one target, in order.
#[derive(Default)]
pub struct Queue {
    lines: Mutex<Lines>,
    /// For a thread that waits.
    changed: Condvar,
    /// For a task that waits.
    notify: Notify,
    lost: AtomicU64,
    is_failing: AtomicBool,
}

#[derive(Default)]
struct Lines {
    waiting: VecDeque<Bytes>,
    bytes: usize,
    /// Entries that were taken, and are not given to the target yet, with their bytes.
    taken: usize,
    taken_bytes: usize,
    is_closed: bool,
    /// Somebody wants to be heard, whether there are entries or not.
    is_called: bool,
}

impl Queue {
    /// Adds an entry, or counts it as lost. Waits for nothing.
    pub fn push(&self, line: &Bytes) {
        {
            let mut lines = self.lines.lock();
            let bytes = lines.bytes + lines.taken_bytes + line.len();
            if bytes > WAITING_BYTES_MAX || lines.is_closed {
                self.lost.fetch_add(1, Ordering::Relaxed);
                return;
            }
            lines.bytes += line.len();
            lines.waiting.push_back(line.clone());
        }
        self.wake();
    }

    /// Wakes who waits for entries.
    pub fn call(&self) {
        self.lines.lock().is_called = true;
        self.wake();
    }

    /// No entry is added any more.
    pub fn close(&self) {
        self.lines.lock().is_closed = true;
        self.wake();
    }

    fn wake(&self) {
        self.changed.notify_all();
        // Remembered for a task that does not wait yet.
        self.notify.notify_one();
    }

    /// `true` once no more entries are accepted.
    pub fn is_closed(&self) -> bool {
        self.lines.lock().is_closed
    }

    /// Takes up to so many entries and bytes, at least one if there is any. They wait until they are
    /// [done](Queue::done).
    pub fn take(&self, lines_max: usize, bytes_max: usize) -> Vec<Bytes> {
        let mut lines = self.lines.lock();
        let (mut taken, mut bytes) = (Vec::new(), 0);
        while let Some(line) = lines.waiting.front() {
            if taken.len() >= lines_max || (!taken.is_empty() && bytes + line.len() > bytes_max) {
                break;
            }
            bytes += line.len();
            taken.extend(lines.waiting.pop_front());
        }
        lines.bytes -= bytes;
        (lines.taken, lines.taken_bytes) = (taken.len(), bytes);
        taken
    }

    /// The target has those that were taken last.
    pub fn done(&self) {
        let mut lines = self.lines.lock();
        (lines.taken, lines.taken_bytes) = (0, 0);
    }

    /// Counts those that were taken last as lost: the target will never have them.
    pub(crate) fn lose(&self) {
        let mut lines = self.lines.lock();
        self.lost.fetch_add(lines.taken as u64, Ordering::Relaxed);
        (lines.taken, lines.taken_bytes) = (0, 0);
    }

    /// Puts those that were taken last back in front of the others.
    pub(crate) fn put_back(&self, taken: &[Bytes]) {
        let mut lines = self.lines.lock();
        lines.bytes += lines.taken_bytes;
        taken.iter().rev().for_each(|line| lines.waiting.push_front(line.clone()));
        (lines.taken, lines.taken_bytes) = (0, 0);
    }

    /// Blocks until there are entries, the queue is closed, or somebody calls, and tells if somebody did.
    pub fn wait(&self) -> bool {
        let mut lines = self.lines.lock();
        while lines.waiting.is_empty() && !lines.is_closed && !lines.is_called {
            self.changed.wait(&mut lines);
        }
        std::mem::take(&mut lines.is_called)
    }

    /// Blocks for some time, or until the queue is closed or somebody calls, and tells if somebody did.
    pub(crate) fn pause(&self, time: Duration) -> bool {
        let mut lines = self.lines.lock();
        let deadline = std::time::Instant::now() + time;
        while !lines.is_closed && !lines.is_called {
            if self.changed.wait_until(&mut lines, deadline).timed_out() {
                break;
            }
        }
        std::mem::take(&mut lines.is_called)
    }

    /// Waits until there may be more entries, or the queue may be closed.
    pub async fn changed(&self) {
        self.notify.notified().await;
    }

    /// Notes whether the target takes entries, and tells if that is new.
    pub(crate) fn note_failing(&self, is_failing: bool) -> bool {
        self.is_failing.swap(is_failing, Ordering::Relaxed) != is_failing
    }

    pub(crate) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    /// Entries that the target does not have yet.
    pub fn waiting(&self) -> u64 {
        let lines = self.lines.lock();
        (lines.waiting.len() + lines.taken) as u64
    }

    /// Number of entries that were lost since the start.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_counts_what_it_loses_and_has_room_again() {
        let queue = Queue::default();
        let line = Bytes::from(vec![b'x'; WAITING_BYTES_MAX / 4]);
        (0..6).for_each(|_| queue.push(&line));
        assert_eq!((queue.waiting(), queue.lost()), (4, 2));
        assert_eq!(queue.take(3, usize::MAX).len(), 3);
        queue.push(&line);
        assert_eq!((queue.waiting(), queue.lost()), (4, 3), "what was taken still waits");
        queue.done();
        queue.push(&line);
        assert_eq!((queue.waiting(), queue.lost()), (2, 3));
        assert_eq!(queue.take(9, 1).len(), 1, "at least one");
        queue.close();
        queue.push(&line);
        assert_eq!(queue.lost(), 4);
        queue.lose();
        assert_eq!((queue.waiting(), queue.lost()), (1, 5));
    }

    #[test]
    fn what_is_put_back_keeps_its_place() {
        let queue = Queue::default();
        let lines = ["a", "b", "c"].map(Bytes::from);
        lines.iter().for_each(|line| queue.push(line));
        let taken = queue.take(2, usize::MAX);
        queue.put_back(&taken);
        assert_eq!(queue.waiting(), 3);
        assert_eq!(queue.take(9, usize::MAX), lines);
        queue.done();
        assert_eq!((queue.waiting(), queue.lines.lock().bytes), (0, 0));
    }
}
