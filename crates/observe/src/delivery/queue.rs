//! [`Queue`]: the bounded queue of entries for one target.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::{Condvar, Mutex};
use tokio::sync::Notify;

/// Limit of queued bytes per target, some ten thousand entries. Further entries are lost.
const WAITING_BYTES_MAX: usize = 16 << 20;

/// The entries for one target, in order.
#[derive(Default)]
pub struct Queue {
    lines: Mutex<Lines>,
    /// Wakes a waiting thread.
    changed: Condvar,
    /// Wakes a waiting task.
    notify: Notify,
    lost: AtomicU64,
    is_failing: AtomicBool,
}

#[derive(Default)]
struct Lines {
    waiting: VecDeque<Bytes>,
    bytes: usize,
    /// Entries that were taken but not acknowledged by the target yet, with their bytes.
    taken: usize,
    taken_bytes: usize,
    is_closed: bool,
    /// The consumer was called, even if there are no entries.
    is_called: bool,
}

impl Queue {
    /// Queues an entry, or counts it as lost. Never waits.
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

    /// Wakes the consumer.
    pub fn call(&self) {
        self.lines.lock().is_called = true;
        self.wake();
    }

    /// Stops accepting entries.
    pub fn close(&self) {
        self.lines.lock().is_closed = true;
        self.wake();
    }

    fn wake(&self) {
        self.changed.notify_all();
        // `notify_one` stores a permit if no task is waiting yet, so no wake-up is lost.
        self.notify.notify_one();
    }

    /// True once no more entries are accepted.
    pub fn is_closed(&self) -> bool {
        self.lines.lock().is_closed
    }

    /// Takes entries up to these limits, at least one if the queue is not empty. They count as
    /// queued until they are [done](Queue::done).
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

    /// Acknowledges the entries taken last.
    pub fn done(&self) {
        let mut lines = self.lines.lock();
        (lines.taken, lines.taken_bytes) = (0, 0);
    }

    /// Counts the entries taken last as lost.
    pub(crate) fn lose(&self) {
        let mut lines = self.lines.lock();
        self.lost.fetch_add(lines.taken as u64, Ordering::Relaxed);
        (lines.taken, lines.taken_bytes) = (0, 0);
    }

    /// Puts the entries taken last back to the front.
    pub(crate) fn put_back(&self, taken: &[Bytes]) {
        let mut lines = self.lines.lock();
        lines.bytes += lines.taken_bytes;
        taken.iter().rev().for_each(|line| lines.waiting.push_front(line.clone()));
        (lines.taken, lines.taken_bytes) = (0, 0);
    }

    /// Blocks until there are entries, the queue is closed, or [`Queue::call`]; true in the last
    /// case.
    pub fn wait(&self) -> bool {
        let mut lines = self.lines.lock();
        while lines.waiting.is_empty() && !lines.is_closed && !lines.is_called {
            self.changed.wait(&mut lines);
        }
        std::mem::take(&mut lines.is_called)
    }

    /// Blocks for this time, or until the queue is closed or [`Queue::call`]; true in the last
    /// case.
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

    /// Waits until the queue may have entries or may be closed.
    pub async fn changed(&self) {
        self.notify.notified().await;
    }

    /// Records if the target is failing; true if that changed.
    pub(crate) fn note_failing(&self, is_failing: bool) -> bool {
        self.is_failing.swap(is_failing, Ordering::Relaxed) != is_failing
    }

    pub(crate) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    /// Number of entries that are not delivered yet.
    pub fn waiting(&self) -> u64 {
        let lines = self.lines.lock();
        (lines.waiting.len() + lines.taken) as u64
    }

    /// Number of entries lost since the start.
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
