//! An archive entry, and the errors of reading archives.

use std::io;

/// An entry.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Directory,
}

pub(super) fn cut_off() -> String {
    "the archive is cut off".to_owned()
}

/// Describes an error of reading an archive.
pub(super) fn damaged(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => cut_off(),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            format!("the archive is damaged: {error}")
        }
        _ => error.to_string(),
    }
}
