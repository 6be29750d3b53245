//! File rotation: the file becomes `FILE.1`, the previous `FILE.1` becomes `FILE.2`, and so on.
//!
//! Each step is one rename, the oldest file first. A crash between two steps leaves a gap in the
//! numbers but no partial file, and the next rotation fills the gap.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::audit::settings::AuditRotation;

impl AuditRotation {
    /// Moves the file at `path` away, and deletes files beyond the number to keep. Does nothing if
    /// `path` is another file than `open`: something else has rotated it.
    ///
    /// # Errors
    /// The errors of the renames. Files that were not moved keep their names.
    pub(super) fn rotate(&self, path: &Path, open: &File) -> io::Result<()> {
        if !is_same(path, open)? {
            return Ok(());
        }
        let is_there = |number: u32| numbered(path, number).symlink_metadata().is_ok();
        let gap = (1..self.kept).find(|number| !is_there(*number)).unwrap_or(self.kept);
        for number in (1..gap).rev() {
            fs::rename(numbered(path, number), numbered(path, number + 1))?;
        }
        fs::rename(path, numbered(path, 1))?;
        // The number to keep may be smaller than before.
        let surplus = (self.kept + 1..).take_while(|number| is_there(*number));
        for number in surplus {
            fs::remove_file(numbered(path, number))?;
        }
        Ok(())
    }
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

fn is_same(path: &Path, open: &File) -> io::Result<bool> {
    let named = match path.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        named => named?,
    };
    let open = open.metadata()?;
    Ok((named.dev(), named.ino()) == (open.dev(), open.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names and contents of the files in a directory.
    fn found(directory: &Path) -> Vec<(String, String)> {
        let entries = fs::read_dir(directory).expect("readable").map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (name, fs::read_to_string(path).expect("text"))
        });
        let mut found: Vec<_> = entries.collect();
        found.sort();
        found
    }

    fn check(before: &[(&str, &str)], kept: u32, after: &[(&str, &str)]) {
        let directory = tempfile::tempdir().expect("a directory");
        for (name, contents) in before {
            fs::write(directory.path().join(name), contents).expect("written");
        }
        let path = directory.path().join("log");
        let open = File::open(&path).expect("there");
        AuditRotation { bytes: 1, kept }.rotate(&path, &open).expect("rotated");
        let found = found(directory.path());
        let found: Vec<_> = found.iter().map(|(name, text)| (&**name, &**text)).collect();
        assert_eq!(found, after);
    }

    #[test]
    fn files_move_up_and_the_oldest_ones_go() {
        check(&[("log", "c")], 2, &[("log.1", "c")]);
        check(&[("log", "c"), ("log.1", "b")], 2, &[("log.1", "c"), ("log.2", "b")]);
        let full = [("log", "d"), ("log.1", "c"), ("log.2", "b")];
        check(&full, 2, &[("log.1", "d"), ("log.2", "c")]);
        check(&full, 1, &[("log.1", "d")]);
    }

    #[test]
    fn after_an_end_between_two_renames_nothing_is_lost() {
        let gap = [("log", "e"), ("log.1", "d"), ("log.3", "b")];
        check(&gap, 3, &[("log.1", "e"), ("log.2", "d"), ("log.3", "b")]);
        check(&[("log", "e"), ("log.2", "d")], 3, &[("log.1", "e"), ("log.2", "d")]);
    }

    #[test]
    fn a_file_that_somebody_else_has_moved_is_left_to_them() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("log");
        fs::write(&path, "old").expect("written");
        let open = File::open(&path).expect("there");
        fs::rename(&path, directory.path().join("moved")).expect("moved");
        let rotation = AuditRotation { bytes: 1, kept: 2 };
        rotation.rotate(&path, &open).expect("nothing to do");
        fs::write(&path, "of others").expect("written");
        rotation.rotate(&path, &open).expect("nothing to do");
        let expected = [("log", "of others"), ("moved", "old")];
        assert_eq!(found(directory.path()), expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }
}
