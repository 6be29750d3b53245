//! Errors that end a benchmark or one of its targets. A failed request is not among them: it is
//! counted.

use std::io;
use std::path::PathBuf;

/// An error that ends a benchmark, or one target of it.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The command line is not valid.
    #[error("{0}")]
    Usage(String),
    /// A file or directory of the benchmark itself.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A report that cannot be read.
    #[error("{} is not a report of this program: {reason}", path.display())]
    NotAReport {
        /// Path of the file.
        path: PathBuf,
        /// Reason.
        reason: String,
    },
    /// A target that is not available.
    #[error("{0}")]
    Absent(String),
    /// Anything else that the system refuses.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl BenchError {
    /// An error about a file, for `map_err`.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> BenchError {
        let path = path.into();
        move |source| BenchError::File { path, source }
    }
}
