//! Files that appear whole or not at all.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::place::Local;
use crate::error::Error;

const PREFIX: &str = ".liteio-";
const SUFFIX: &str = ".part";

/// `true` for a name of an unfinished file, or of one that could not be removed.
pub(super) fn is_unfinished(name: &str) -> bool {
    name.strip_prefix(PREFIX)
        .and_then(|it| it.strip_suffix(SUFFIX))
        .is_some_and(|it| it.len() == 16 && it.bytes().all(|it| it.is_ascii_hexdigit()))
}

/// A file under a temporary name beside its target, until it is finished. If it is dropped before,
/// it is removed.
#[derive(Debug)]
pub(crate) struct NewFile {
    file: Option<File>,
    written: PathBuf,
    target: PathBuf,
}

impl NewFile {
    /// Creates the file, and the missing directories above.
    ///
    /// # Errors
    /// There is a directory of this name, a link leads out of the user's directory, or no file can
    /// be made.
    pub(crate) fn create(place: &Local) -> Result<NewFile, Error> {
        let (target, directory) = (place.path(), place.parent());
        directory.make_directory()?;
        let directory = directory.path();
        if target.is_dir() {
            return Err(Error::refused(format!("{} is a directory", target.display())));
        }
        let chance = getrandom::u64()
            .map_err(|error| Error::refused(format!("this system has no randomness: {error}")))?;
        // A short name, however long the target's is.
        let written = directory.join(format!("{PREFIX}{chance:016x}{SUFFIX}"));
        let file = File::create_new(&written).map_err(Error::file(&written))?;
        Ok(NewFile { file: Some(file), written, target: target.to_path_buf() })
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let file = self.file.as_mut().expect("the file is open until it is finished");
        file.write_all(bytes).map_err(Error::file(&self.target))
    }

    /// Renames the file to its target, in place of any file with that name.
    pub(crate) fn finish(mut self) -> Result<(), Error> {
        let file = self.file.take().expect("the file is open until it is finished");
        drop(file);
        std::fs::rename(&self.written, &self.target).map_err(|error| {
            // The drop does not know this name.
            let _ = std::fs::remove_file(&self.written);
            Error::file(&self.target)(error)
        })
    }
}

/// Makes a file or directory, and its name, durable.
///
/// # Errors
/// The system cannot write it.
pub(crate) fn persist(path: &Path) -> Result<(), Error> {
    if !path.is_dir() {
        // Some systems sync only files that were opened for writing.
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
                // Directories that existed before may be closed to the user.
                _ => {}
            }
        }
    }
    Ok(())
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // If even this fails, the name shows that the file is unfinished.
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
        let place = Local::found(&target);
        let mut file = NewFile::create(&place).expect("made");
        file.write(b"half").expect("written");
        let written = file.written.file_name().expect("a name").to_str().expect("text");
        assert!(is_unfinished(written) && !is_unfinished("a.part"), "{written}");
        drop(file);
        assert_eq!(names(), 0);
        let mut file = NewFile::create(&place).expect("made");
        file.write(b"whole").expect("written");
        assert!(!target.exists());
        file.finish().expect("renamed");
        assert_eq!(std::fs::read(&target).expect("read"), b"whole");
        assert_eq!(names(), 1);
        persist(&target).expect("it is there");
        persist(target.parent().expect("a parent")).expect("it is there");
        assert!(persist(&directory.path().join("none")).is_err());
        assert!(NewFile::create(&Local::found(directory.path())).is_err());
    }
}
