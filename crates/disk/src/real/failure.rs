//! System errors with the operation and the path that failed.

use std::error::Error;
use std::fmt;
use std::io;

/// Adds `operation` and `path` to an error and keeps its kind: `open meta.redb: Input/output
/// error`.
pub(super) fn failed<E: Into<io::Error>>(
    operation: &'static str,
    path: &str,
) -> impl FnOnce(E) -> io::Error {
    move |error| {
        let source: io::Error = error.into();
        let path = if path.is_empty() { "the data directory" } else { path };
        io::Error::new(source.kind(), Failure { operation, path: path.into(), source })
    }
}

#[derive(Debug)]
struct Failure {
    operation: &'static str,
    /// Relative to the root of the disk.
    path: Box<str>,
    source: io::Error,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}: {}", self.operation, self.path, self.source)
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.source)
    }
}
