//! Opens files of a source safely: a pipe would block forever, a symbolic link may lead out of the
//! source.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

/// Opens a regular file for reading. Never follows a link, never blocks.
///
/// # Errors
/// [`io::ErrorKind::InvalidInput`] if it is not a regular file, and the errors of the system.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let no_file = || io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file");
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = opened.map_err(|error| {
        let is_link = rustix::io::Errno::from_io_error(&error) == Some(rustix::io::Errno::LOOP);
        if is_link { no_file() } else { error }
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(no_file()) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn pipes_links_and_directories_are_no_files() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("file"), b"x").expect("written");
        symlink("file", path("link")).expect("linked");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, path("pipe"), rustix::fs::FileType::Fifo, mode, 0)
            .expect("made");
        open(&path("file")).expect("a file");
        for name in ["link", "pipe", "."] {
            let error = open(&path(name)).expect_err(name);
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{name}: {error}");
        }
        let error = open(&path("nowhere")).expect_err("nothing");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
