//! [`FileStamp`]: detects changes of a file.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The state of a file at one moment: inode, size and time of the last change. If the state
/// differs, the file has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

impl FileStamp {
    /// The present state of the file; `None` if it does not exist.
    pub fn of(path: &Path) -> Option<FileStamp> {
        let about = fs::metadata(path).ok()?;
        let modified = (about.mtime(), about.mtime_nsec());
        Some(FileStamp { inode: about.ino(), bytes: about.len(), modified })
    }
}
