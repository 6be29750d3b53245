//! The state of a file by which a change of it is seen.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The state of a file at one moment: inode, size and time of the last change. A file with another state has been
/// changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

impl FileStamp {
    /// The state of the file now; none of one that is not there.
    pub fn of(path: &Path) -> Option<FileStamp> {
        let about = fs::metadata(path).ok()?;
        let modified = (about.mtime(), about.mtime_nsec());
        Some(FileStamp { inode: about.ino(), bytes: about.len(), modified })
    }
}
