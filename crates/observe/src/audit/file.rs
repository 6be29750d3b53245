//! The file of the audit log: JSON lines, written by a separate thread.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::OFlags;
use tokio::sync::Notify;

use crate::audit::settings::AuditRotation;
use crate::delivery::Queue;

/// Limit of bytes in one write.
const BATCH_BYTES_MAX: usize = 256 << 10;
/// Pause before a failed write is tried again.
const PAUSE: Duration = Duration::from_secs(1);
/// Shortest time between two looks whether the path still leads to the open file.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The file, and its writer thread.
pub(super) struct FileWriter {
    queue: Arc<Queue>,
    wants_new: Arc<AtomicBool>,
    ended: Arc<Notify>,
}

impl FileWriter {
    /// Opens the file for appending. A new file is readable by its owner only.
    ///
    /// # Errors
    /// One line.
    pub(super) fn open(path: &Path, rotation: Option<AuditRotation>) -> Result<FileWriter, String> {
        let file = Lines::open(path);
        let file = file.map_err(|error| {
            format!(
                "the audit file {} cannot be written: {error}: give a path in a directory that exists, and that the \
                 user of the server may write to",
                path.display()
            )
        })?;
        let writing = Writing::new(path, rotation, file);
        let (queue, wants_new) = (Arc::clone(&writing.queue), Arc::clone(&writing.wants_new));
        let ended = Arc::new(Notify::new());
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

    /// Requests to reopen the file before the next entry.
    pub(super) fn reopen(&self) {
        self.wants_new.store(true, Ordering::Relaxed);
        self.queue.call();
    }

    /// Waits for the thread to end, after the queue was closed.
    pub(super) async fn ended(&self, time: Duration) {
        let _ = tokio::time::timeout(time, self.ended.notified()).await;
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// A file opened for appending lines.
struct Lines {
    file: File,
    /// The last line is torn: its writer died in the middle. The next entry starts on a new line.
    is_torn: bool,
}

impl Lines {
    fn open(path: &Path) -> io::Result<Lines> {
        // Non-blocking, because opening or writing a pipe without a reader would block the start,
        // or the thread, forever.
        let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
        let mut options = OpenOptions::new();
        options.create(true).append(true).mode(0o600).custom_flags(flags);
        let file = options.open(path)?;
        let is_torn = last_byte(path, &file).is_some_and(|byte| byte != b'\n');
        Ok(Lines { file, is_torn })
    }

    /// Writes some of the bytes of whole lines, after ending a torn line.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_torn {
            self.file.write_all(b"\n")?;
            self.is_torn = false;
        }
        self.file.write(bytes)
    }

    /// Size of a regular file; 0 for anything else.
    fn bytes(&self) -> u64 {
        let metadata = self.file.metadata();
        metadata.ok().filter(Metadata::is_file).map_or(0, |metadata| metadata.len())
    }

    /// `true` for a regular file that is no longer at its path, or of which nobody can tell: moved away or deleted, perhaps from
    /// a directory that this process cannot enter any more.
    fn is_displaced(&self, path: &Path) -> bool {
        let metadata = self.file.metadata().ok().filter(Metadata::is_file);
        let Some(open) = metadata else { return false };
        match std::fs::metadata(path) {
            Ok(named) => (named.dev(), named.ino()) != (open.dev(), open.ino()),
            Err(_) => true,
        }
    }

    /// `true` for a file without a name: nobody would read what is written to it.
    fn is_deleted(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| metadata.nlink() == 0)
    }
}

/// The last byte of a regular file, if it is readable and not empty.
fn last_byte(path: &Path, file: &File) -> Option<u8> {
    let metadata = file.metadata().ok().filter(Metadata::is_file)?;
    let last = metadata.len().checked_sub(1)?;
    let mut byte = [0];
    File::open(path).ok()?.read_exact_at(&mut byte, last).ok()?;
    Some(byte[0])
}

/// The state of the writer thread.
struct Writing {
    path: PathBuf,
    rotation: Option<AuditRotation>,
    /// File size from which the next entry goes to a new file.
    rotates_at: u64,
    file: Lines,
    queue: Arc<Queue>,
    wants_new: Arc<AtomicBool>,
    /// The path could not be opened anew: entries go to the former file as long as that has a name.
    is_stale: bool,
    /// Time of the last look whether the path leads to the open file.
    looked: Option<Instant>,
}

impl Writing {
    fn new(path: &Path, rotation: Option<AuditRotation>, file: Lines) -> Writing {
        Writing {
            path: path.to_owned(),
            rotation,
            rotates_at: rotation.map_or(u64::MAX, |rotation| rotation.bytes),
            file,
            queue: Arc::default(),
            wants_new: Arc::default(),
            is_stale: false,
            looked: None,
        }
    }

    fn run(mut self) {
        // A batch is never split between two files.
        let batch_bytes =
            usize::try_from(self.rotates_at).unwrap_or(usize::MAX).min(BATCH_BYTES_MAX);
        loop {
            self.queue.wait();
            self.reopen();
            let lines = self.queue.take(usize::MAX, batch_bytes);
            if lines.is_empty() {
                if self.queue.is_closed() {
                    return;
                }
                continue;
            }
            let bytes = lines.concat();
            self.rotate_before(bytes.len() as u64);
            if !self.write(&bytes) {
                return;
            }
            self.queue.done();
        }
    }

    /// Writes entries, with retries; false if the queue is closed before they are written.
    fn write(&mut self, bytes: &[u8]) -> bool {
        let mut written = 0;
        loop {
            let result = match self.is_stale && self.file.is_deleted() {
                true => Err(io::ErrorKind::NotFound.into()),
                false => self.file.write(&bytes[written..]),
            };
            match result {
                Ok(more) => {
                    written += more;
                    if !self.is_stale && self.queue.note_failing(false) {
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
                        // After a reopen, the new file must start with a whole entry.
                        let before = &bytes[..written];
                        written =
                            before.iter().rposition(|byte| *byte == b'\n').map_or(0, |it| it + 1);
                    }
                }
            }
        }
    }

    /// Rotates the file if it would get too large. It ends with a whole line.
    fn rotate_before(&mut self, more: u64) {
        let Some(rotation) = self.rotation else { return };
        let bytes = self.file.bytes();
        if bytes == 0 || bytes.saturating_add(more) <= self.rotates_at {
            return;
        }
        let rotated = rotation.rotate(&self.path, &self.file.file);
        match rotated.and_then(|()| Lines::open(&self.path)) {
            Ok(file) => {
                self.file = file;
                self.rotates_at = rotation.bytes;
            }
            Err(error) => {
                // Rotation failed: entries continue in the open file, and the next attempt comes
                // one file size later.
                self.rotates_at = bytes.saturating_add(rotation.bytes);
                tracing::error!(path = %self.path.display(), %error, "the audit file cannot be rotated: it grows");
            }
        }
    }

    /// Reopens the file, if requested or if another program has moved or deleted it. If that fails, the target counts as
    /// failing, the next entry tries again, and the old file stays in use while it has a name.
    fn reopen(&mut self) -> bool {
        if !self.wants_new.swap(false, Ordering::Relaxed) && !self.finds_displaced() {
            return false;
        }
        match Lines::open(&self.path) {
            Ok(file) => {
                self.file = file;
                self.is_stale = false;
                true
            }
            Err(error) => {
                self.wants_new.store(true, Ordering::Relaxed);
                self.is_stale = true;
                if self.queue.note_failing(true) {
                    tracing::error!(path = %self.path.display(), %error, "the audit file cannot be opened anew");
                }
                false
            }
        }
    }

    /// `true` if a look, where one is due, finds that the path does not lead to the open file.
    fn finds_displaced(&mut self) -> bool {
        if self.looked.is_some_and(|looked| looked.elapsed() < LOOK_EVERY) {
            return false;
        }
        self.looked = Some(Instant::now());
        self.file.is_displaced(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use bytes::Bytes;

    use super::*;

    #[test]
    fn entries_that_have_waited_for_each_other_make_no_file_too_large() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("audit.log");
        let file = Lines::open(&path).expect("opened");
        let writing = Writing::new(&path, Some(AuditRotation { bytes: 100, kept: 3 }), file);
        let lines: Vec<Bytes> =
            (10..18).map(|at| format!("an entry of 33 bytes, number {at}.\n").into()).collect();
        lines.iter().for_each(|line| writing.queue.push(line));
        writing.queue.close();
        writing.run();
        for (name, expected) in [(".2", &lines[..3]), (".1", &lines[3..6]), ("", &lines[6..])] {
            let file = directory.path().join(format!("audit.log{name}"));
            assert_eq!(fs::read(file).expect("there"), expected.concat(), "{name}");
        }
    }

    #[test]
    fn entries_go_to_the_path_after_its_file_was_moved_or_deleted_without_a_signal() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("audit.log");
        let moved = directory.path().join("audit.log.old");
        for is_deleted in [false, true] {
            let writing = Writing::new(&path, None, Lines::open(&path).expect("opened"));
            match is_deleted {
                true => fs::remove_file(&path).expect("deleted"),
                false => fs::rename(&path, &moved).expect("moved"),
            }
            writing.queue.push(&Bytes::from_static(b"{}\n"));
            writing.queue.close();
            writing.run();
            assert_eq!(fs::read_to_string(&path).expect("made anew"), "{}\n");
        }
        assert_eq!(fs::read_to_string(&moved).expect("moved"), "");
    }

    #[test]
    fn a_path_that_cannot_be_looked_at_is_told_and_tried_again() {
        let directory = tempfile::tempdir().expect("a directory");
        let (logs, away) = (directory.path().join("logs"), directory.path().join("away"));
        fs::create_dir(&logs).expect("made");
        let path = logs.join("audit.log");
        let mut writing = Writing::new(&path, None, Lines::open(&path).expect("opened"));
        // Permissions do not bind root, so another error than that of a missing file: this is no directory.
        fs::rename(&logs, &away).expect("moved");
        fs::write(&logs, "").expect("made");
        assert!(!writing.reopen() && writing.queue.is_failing());
        fs::remove_file(&logs).expect("removed");
        fs::rename(&away, &logs).expect("moved back");
        assert!(writing.reopen());
    }

    #[test]
    fn a_path_that_cannot_be_opened_is_told_and_tried_again() {
        let directory = tempfile::tempdir().expect("a directory");
        let (logs, away) = (directory.path().join("logs"), directory.path().join("away"));
        fs::create_dir(&logs).expect("made");
        let path = logs.join("audit.log");
        let mut writing = Writing::new(&path, None, Lines::open(&path).expect("opened"));
        fs::rename(&logs, &away).expect("moved");
        // Like the signal.
        writing.wants_new.store(true, Ordering::Relaxed);
        assert!(!writing.reopen() && writing.queue.is_failing());
        assert!(writing.write(b"1\n") && writing.queue.is_failing());
        assert_eq!(fs::read_to_string(away.join("audit.log")).expect("there"), "1\n");
        // Without a name the entries wait: closed, so that the write does not.
        fs::remove_file(away.join("audit.log")).expect("deleted");
        writing.queue.close();
        assert!(!writing.write(b"2\n"));
        fs::create_dir(&logs).expect("made");
        assert!(writing.reopen());
        assert!(writing.write(b"2\n") && !writing.queue.is_failing());
        assert_eq!(fs::read_to_string(&path).expect("there"), "2\n");
    }

    /// A file that is reopened during a failing write is torn, by the death of another writer or by
    /// this write.
    #[test]
    fn a_file_that_is_opened_anew_between_two_attempts_keeps_a_torn_line_apart() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("audit.log");
        fs::write(&path, "{\"half of a li").expect("written");
        let full = Lines::open(Path::new("/dev/full")).expect("a device");
        let mut writing = Writing::new(&path, None, full);
        // Like the signal, which ends the pause after the first attempt.
        writing.wants_new.store(true, Ordering::Relaxed);
        writing.queue.call();
        assert!(writing.write(b"{}\n"));
        assert_eq!(fs::read_to_string(&path).expect("text"), "{\"half of a li\n{}\n");
    }
}
