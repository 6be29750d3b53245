//! [`FileStamp`]: detects changes of a file.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The state of a file at one moment: inode, size, and the times of the last change of its content and of its owner or mode. If
/// the state differs, the file has changed, or may be read by others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl FileStamp {
    /// The present state of the file; `None` if it does not exist.
    pub fn of(path: &Path) -> Option<FileStamp> {
        let about = fs::metadata(path).ok()?;
        let modified = (about.mtime(), about.mtime_nsec());
        let changed = (about.ctime(), about.ctime_nsec());
        Some(FileStamp { inode: about.ino(), bytes: about.len(), modified, changed })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_file_whose_mode_is_changed_has_another_stamp() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("tls.key");
        fs::write(&path, "a key").expect("written");
        let before = FileStamp::of(&path);
        let begun = Instant::now();
        // Times of files go by the ticks of the system.
        while FileStamp::of(&path) == before {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("set");
            assert!(begun.elapsed() < Duration::from_secs(60), "{before:?}");
        }
    }
}
