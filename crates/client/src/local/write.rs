//! Files that appear whole or not at all.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::error::Error;

const PREFIX: &str = ".liteio-";
const SUFFIX: &str = ".part";

/// The name of a file that is not finished, or that nobody could remove any more.
pub(super) fn is_unfinished(name: &str) -> bool {
    name.strip_prefix(PREFIX)
        .and_then(|it| it.strip_suffix(SUFFIX))
        .is_some_and(|it| it.len() == 16 && it.bytes().all(|it| it.is_ascii_hexdigit()))
}

/// A file under a name of its own beside its target, until it is finished. Dropped before, it is removed.
#[derive(Debug)]
pub(crate) struct NewFile {
    file: Option<File>,
    written: PathBuf,
    target: PathBuf,
}

impl NewFile {
    /// Makes the directories above, too.
    ///
    /// # Errors
    /// There is a directory of this name, or no file can be made.
    pub(crate) fn create(target: &Path) -> Result<NewFile, Error> {
        if target.is_dir() {
            return Err(Error::refused(format!("{} is a directory", target.display())));
        }
        let directory = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        std::fs::create_dir_all(directory).map_err(Error::file(directory))?;
        let chance = getrandom::u64()
            .map_err(|error| Error::refused(format!("this system has no randomness: {error}")))?;
        // Short, however long the name of the target is.
        let written = directory.join(format!("{PREFIX}{chance:016x}{SUFFIX}"));
        let file = File::create_new(&written).map_err(Error::file(&written))?;
        Ok(NewFile { file: Some(file), written, target: target.to_path_buf() })
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let file = self.file.as_mut().expect("the file is open until it is finished");
        file.write_all(bytes).map_err(Error::file(&self.target))
    }

    /// Gives the file its name, in place of any that had it.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        let file = self.file.take().expect("the file is open until it is finished");
        drop(file);
        std::fs::rename(&self.written, &self.target).map_err(|error| {
            // Dropping does not know it any more.
            let _ = std::fs::remove_file(&self.written);
            Error::file(&self.target)(error)
        })
    }
}

/// Returns when a file, or a directory, and its name would outlast a loss of power.
///
/// # Errors
/// The system cannot write it.
pub(crate) fn persist(path: &Path) -> Result<(), Error> {
    if !path.is_dir() {
        // Some systems do this only for those who may write.
        let file = File::options().write(true).open(path).map_err(Error::file(path))?;
        file.sync_all().map_err(Error::file(path))?;
    }
    // Windows opens no directories.
    #[cfg(unix)]
    {
        let absolute = std::path::absolute(path).map_err(Error::file(path))?;
        for (above, directory) in absolute.ancestors().skip(1).enumerate() {
            match File::open(directory).and_then(|it| it.sync_all()) {
                Err(error) if above == 0 => return Err(Error::file(directory)(error)),
                // Those that were not made for this file may be closed to the user.
                _ => {}
            }
        }
    }
    Ok(())
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // If even this fails, the name tells what it is.
            let _ = std::fs::remove_file(&self.written);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_when_it_is_finished() {
        let directory = tempfile::tempdir().expect("a directory");
        let target = directory.path().join("a").join("x".repeat(255));
        let names = || std::fs::read_dir(target.parent().expect("a parent")).expect("read").count();
        let mut file = NewFile::create(&target).expect("made");
        file.write(b"half").expect("written");
        let written = file.written.file_name().expect("a name").to_str().expect("text");
        assert!(is_unfinished(written) && !is_unfinished("a.part"), "{written}");
        drop(file);
        assert_eq!(names(), 0);
        let mut file = NewFile::create(&target).expect("made");
        file.write(b"whole").expect("written");
        assert!(!target.exists());
        file.finish().expect("renamed");
        assert_eq!(std::fs::read(&target).expect("read"), b"whole");
        assert_eq!(names(), 1);
        persist(&target).expect("it is there");
        persist(target.parent().expect("a parent")).expect("it is there");
        assert!(persist(&directory.path().join("none")).is_err());
        assert!(NewFile::create(directory.path()).is_err());
    }
}
