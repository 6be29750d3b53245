//! A file of the audit log: lines of JSON, written by a thread of its own.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::OFlags;
use tokio::sync::Notify;

use crate::delivery::Queue;

/// Bytes of one write.
const BATCH_BYTES_MAX: usize = 256 << 10;
/// The time between two attempts to write what could not be written.
const PAUSE: Duration = Duration::from_secs(1);

/// A file, and the thread that writes it.
pub(super) struct FileWriter {
    queue: Arc<Queue>,
    wants_new: Arc<AtomicBool>,
    ended: Arc<Notify>,
}

impl FileWriter {
    /// Opens a file, whose end entries are added to. One that is new is readable for its owner alone.
    ///
    /// # Errors
    /// One line.
    pub(super) fn open(path: &Path) -> Result<FileWriter, String> {
        let file = open(path);
        let file = file.map_err(|error| {
            format!("the audit file {} cannot be written: {error}", path.display())
        })?;
        let queue = Arc::new(Queue::default());
        let (wants_new, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()));
        let writing = Writing {
            path: path.to_owned(),
            file,
            queue: Arc::clone(&queue),
            wants_new: Arc::clone(&wants_new),
        };
        let end = Arc::clone(&ended);
        let thread = std::thread::Builder::new().name("audit".to_owned()).spawn(move || {
            writing.run();
            end.notify_one();
        });
        thread
            .map_err(|error| format!("the thread of the audit file cannot be started: {error}"))?;
        Ok(FileWriter { queue, wants_new, ended })
    }

    pub(super) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Opens the file anew before the next entry.
    pub(super) fn reopen(&self) {
        self.wants_new.store(true, Ordering::Relaxed);
        self.queue.call();
    }

    /// Waits for the end of the thread, after the queue was closed.
    pub(super) async fn ended(&self, time: Duration) {
        let _ = tokio::time::timeout(time, self.ended.notified()).await;
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        self.queue.close();
    }
}

fn open(path: &Path) -> io::Result<File> {
    // A pipe that nobody reads must not hold up the start, nor the thread for ever.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    OpenOptions::new().create(true).append(true).mode(0o600).custom_flags(flags).open(path)
}

/// The file, in the hands of its thread.
struct Writing {
    path: PathBuf,
    file: File,
    queue: Arc<Queue>,
    wants_new: Arc<AtomicBool>,
}

impl Writing {
    fn run(mut self) {
        loop {
            self.queue.wait();
            self.reopen();
            let lines = self.queue.take(usize::MAX, BATCH_BYTES_MAX);
            if lines.is_empty() {
                if self.queue.is_closed() {
                    return;
                }
                continue;
            }
            if !self.write(&lines.concat()) {
                return;
            }
            self.queue.done();
        }
    }

    /// Writes entries, however often that fails; `false` if the queue is closed before they are written.
    fn write(&mut self, bytes: &[u8]) -> bool {
        let mut written = 0;
        loop {
            match self.file.write(&bytes[written..]) {
                Ok(more) => {
                    written += more;
                    if self.queue.note_failing(false) {
                        tracing::info!(path = %self.path.display(), "the audit file is written again");
                    }
                    if written == bytes.len() {
                        return true;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    if self.queue.note_failing(true) {
                        tracing::error!(path = %self.path.display(), %error, "the audit file cannot be written: entries wait");
                    }
                    if self.queue.is_closed() {
                        return false;
                    }
                    self.queue.pause(PAUSE);
                    if self.reopen() {
                        // Another file begins with a whole entry.
                        let before = &bytes[..written];
                        written =
                            before.iter().rposition(|byte| *byte == b'\n').map_or(0, |it| it + 1);
                    }
                }
            }
        }
    }

    /// Opens the file anew, if that is wanted. The old one stays in use while it cannot be.
    fn reopen(&mut self) -> bool {
        if !self.wants_new.swap(false, Ordering::Relaxed) {
            return false;
        }
        match open(&self.path) {
            Ok(file) => {
                self.file = file;
                true
            }
            Err(error) => {
                tracing::error!(path = %self.path.display(), %error, "the audit file cannot be opened anew");
                false
            }
        }
    }
}
