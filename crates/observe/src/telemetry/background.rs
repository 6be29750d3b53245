//! Asynchronous log output: requests append to a buffer, a separate thread writes it.
//!
//! ```text
//!          line                 first line, or an urgent one       written
//!  request ────► buffer (bounded) ────────────────────────► thread ───────► standard error
//!                  │ full: dropped and counted                 └ pauses, so that lines gather
//! ```
//!
//! A request never waits for the reader of the log. A killed process loses the lines of the last
//! [`PAUSE`]; an orderly exit loses none.

use std::io::{self, Write};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// Limit of buffered bytes, some 5,000 lines.
const WAITING_BYTES_MAX: usize = 1 << 20;
/// Interval in which lines are collected for one write: short enough for human readers, and a
/// hundred wake-ups a second instead of one per request.
const PAUSE: Duration = Duration::from_millis(10);
/// Longest wait at a flush, and at exit, for a reader that has stalled.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// Starts the thread that writes to `output`. Lines are accepted until the guard is dropped, which
/// waits until all lines are written.
///
/// # Errors
/// The thread cannot be started.
pub(super) fn start(output: impl Write + Send + 'static) -> io::Result<(LineWriter, LogGuard)> {
    let queue = Arc::new(Queue::default());
    let lines = Arc::clone(&queue);
    thread::Builder::new().name("log".to_owned()).spawn(move || lines.write_to(output))?;
    Ok((LineWriter { queue: Arc::clone(&queue) }, LogGuard { queue }))
}

/// Appends lines to the buffer.
#[derive(Clone, Debug)]
pub(super) struct LineWriter {
    queue: Arc<Queue>,
}

impl<'writer> MakeWriter<'writer> for LineWriter {
    type Writer = Line<'writer>;

    fn make_writer(&'writer self) -> Line<'writer> {
        Line { queue: &self.queue, is_urgent: false }
    }

    fn make_writer_for(&'writer self, metadata: &Metadata<'_>) -> Line<'writer> {
        // Warnings and errors are written at once, so that they are visible even if the process
        // crashes.
        Line { queue: &self.queue, is_urgent: *metadata.level() <= Level::WARN }
    }
}

/// The writer of one line, which the formatter fills in a single write.
#[derive(Debug)]
pub(super) struct Line<'writer> {
    queue: &'writer Queue,
    is_urgent: bool,
}

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.queue.append(line, self.is_urgent);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Flushes the buffer when dropped. Later lines are lost.
#[derive(Debug)]
#[must_use = "lines are written until this is dropped"]
pub struct LogGuard {
    queue: Arc<Queue>,
}

impl LogGuard {
    /// Waits until all lines so far are written, at most [`FLUSH_TIMEOUT`].
    pub fn flush(&self) {
        self.queue.flush(FLUSH_TIMEOUT);
    }
}

impl Drop for LogGuard {
    fn drop(&mut self) {
        self.queue.close(FLUSH_TIMEOUT);
    }
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    /// Wakes the thread.
    wake: Condvar,
    /// Notified after each write, and when the thread has ended.
    written: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    lines: Vec<u8>,
    /// The thread has taken lines, and writes them.
    is_writing: bool,
    /// Lines dropped because of a full buffer since the last report.
    dropped: u64,
    state: State,
    /// Ends the pause early.
    is_urgent: bool,
    is_closing: bool,
}

/// The state of the thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// The thread is writing or pausing, and will look at the buffer again without a wake-up.
    #[default]
    Busy,
    /// The thread waits for a line.
    Idle,
    Ended,
}

impl Queue {
    fn append(&self, line: &[u8], is_urgent: bool) {
        let mut waiting = self.waiting.lock();
        if waiting.lines.len() + line.len() > WAITING_BYTES_MAX {
            waiting.dropped += 1;
            return;
        }
        waiting.lines.extend_from_slice(line);
        // Ends the pause well before the buffer is full.
        let is_urgent = is_urgent || waiting.lines.len() > WAITING_BYTES_MAX / 4;
        if waiting.state == State::Idle || (is_urgent && !waiting.is_urgent) {
            waiting.is_urgent |= is_urgent;
            waiting.state = State::Busy;
            drop(waiting);
            self.wake.notify_one();
        }
    }

    /// The thread's loop, until the queue is closed and empty.
    fn write_to(&self, mut output: impl Write) {
        let mut lines = Vec::new();
        loop {
            let mut waiting = self.waiting.lock();
            while waiting.lines.is_empty() && !waiting.is_closing {
                waiting.state = State::Idle;
                self.wake.wait(&mut waiting);
            }
            if waiting.lines.is_empty() {
                waiting.state = State::Ended;
                self.written.notify_all();
                return;
            }
            waiting.state = State::Busy;
            waiting.is_urgent = false;
            waiting.is_writing = true;
            lines.clear();
            std::mem::swap(&mut waiting.lines, &mut lines);
            let dropped = std::mem::take(&mut waiting.dropped);
            drop(waiting);
            // If standard error fails, the failure cannot be reported anywhere.
            let _ = output.write_all(&lines).and_then(|()| output.flush());
            if dropped > 0 {
                tracing::warn!(
                    dropped,
                    "log lines were dropped: the reader of the log had stalled"
                );
            }
            let pause_end = Instant::now() + PAUSE;
            let mut waiting = self.waiting.lock();
            waiting.is_writing = false;
            self.written.notify_all();
            while !waiting.is_urgent && !waiting.is_closing {
                if self.wake.wait_until(&mut waiting, pause_end).timed_out() {
                    break;
                }
            }
        }
    }

    fn flush(&self, timeout: Duration) {
        self.wait(timeout, |waiting| {
            // Ends the pause. Lines that come meanwhile are waited for, too.
            waiting.is_urgent |= !waiting.lines.is_empty();
            waiting.lines.is_empty() && !waiting.is_writing
        });
    }

    fn close(&self, timeout: Duration) {
        self.wait(timeout, |waiting| {
            waiting.is_closing = true;
            waiting.state == State::Ended
        });
    }

    /// Wakes the thread, and waits until `is_over`, which may tell the thread something.
    fn wait(&self, timeout: Duration, is_over: impl Fn(&mut Waiting) -> bool) {
        let end = Instant::now() + timeout;
        let mut waiting = self.waiting.lock();
        while !is_over(&mut waiting) {
            self.wake.notify_one();
            if self.written.wait_until(&mut waiting, end).timed_out() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// An output that blocks until it is released.
    struct Stalled {
        /// Hears of every write before it waits.
        entered: mpsc::Sender<()>,
        go_on: mpsc::Receiver<()>,
        read: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Stalled {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.entered.send(());
            // The other side is gone: writes are not held back any more.
            let _ = self.go_on.recv();
            self.read.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    struct Log {
        writer: LineWriter,
        guard: LogGuard,
        entered: mpsc::Receiver<()>,
        go_on: mpsc::Sender<()>,
        read: Arc<Mutex<Vec<u8>>>,
    }

    fn stalled() -> Log {
        let (heard, entered) = mpsc::channel();
        let (sender, go_on) = mpsc::channel();
        let read = Arc::new(Mutex::new(Vec::new()));
        let output = Stalled { entered: heard, go_on, read: Arc::clone(&read) };
        let (writer, guard) = start(output).expect("a thread");
        Log { writer, guard, entered, go_on: sender, read }
    }

    #[test]
    fn every_line_is_written_before_the_end_in_order() {
        let Log { writer, guard, go_on, read, .. } = stalled();
        drop(go_on);
        let mut expected = Vec::new();
        for number in 0..10_000 {
            let line = format!("line {number}\n");
            writer.make_writer().write_all(line.as_bytes()).expect("taken");
            expected.extend_from_slice(line.as_bytes());
        }
        drop(guard);
        assert!(*read.lock() == expected);
    }

    #[test]
    fn a_flush_waits_for_lines_that_are_taken_and_not_for_the_pause() {
        let Log { writer, guard, entered, go_on, read } = stalled();
        // Nothing is to be written.
        guard.flush();
        writer.make_writer().write_all(b"taken\n").expect("taken");
        entered.recv().expect("the thread writes");
        writer.make_writer().write_all(b"waiting\n").expect("taken");
        guard.queue.flush(Duration::ZERO);
        assert!(read.lock().is_empty(), "the reader has stalled");
        drop(go_on);
        guard.flush();
        assert_eq!(*read.lock(), b"taken\nwaiting\n");
    }

    #[test]
    fn lines_beyond_the_bound_are_dropped_and_counted_while_the_reader_stalls() {
        let Log { writer, guard, entered, go_on, read } = stalled();
        let line = [b'x'; 1 << 10];
        let lines = 3 * WAITING_BYTES_MAX / line.len();
        writer.make_writer().write_all(&line).expect("taken");
        // From now on the thread is in its first write, and takes neither lines nor the count of those that were dropped.
        entered.recv().expect("the thread writes");
        for _ in 1..lines {
            writer.make_writer().write_all(&line).expect("taken");
        }
        let dropped = writer.queue.waiting.lock().dropped;
        drop(go_on);
        drop(guard);
        let written = read.lock().len() / line.len();
        // The buffer, and the line that the thread had already taken.
        assert_eq!(written, WAITING_BYTES_MAX / line.len() + 1);
        assert_eq!(written as u64 + dropped, lines as u64);
    }

    #[test]
    fn a_reader_that_never_comes_back_does_not_hold_up_the_end() {
        let Log { writer, guard, go_on, .. } = stalled();
        writer.make_writer().write_all(b"line\n").expect("taken");
        guard.queue.close(Duration::ZERO);
        assert!(writer.queue.waiting.lock().state != State::Ended);
        drop(go_on);
        drop(guard);
        assert!(writer.queue.waiting.lock().state == State::Ended);
    }
}
