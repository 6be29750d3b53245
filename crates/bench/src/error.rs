//! What can go wrong in a benchmark as a whole. A failed request is no such thing: it is counted.

use std::io;
use std::path::PathBuf;

/// Why a benchmark, or one target of it, cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// The command line makes no sense.
    #[error("{0}")]
    Usage(String),
    /// A file or directory of the benchmark itself.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A report that cannot be read.
    #[error("{} is not a report of this program: {reason}", path.display())]
    NotAReport {
        /// Which file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// A target that does not start, or does not do what the benchmark needs.
    #[error("{target}: {reason}")]
    Target {
        /// Its name.
        target: String,
        /// What it did.
        reason: String,
    },
    /// Anything else that the system refuses.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl BenchError {
    /// An error about a file, for `map_err`.
    pub fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> BenchError {
        let path = path.into();
        move |source| BenchError::File { path, source }
    }

    /// An error about a target.
    pub fn target(target: &str, reason: impl ToString) -> BenchError {
        BenchError::Target { target: target.to_owned(), reason: reason.to_string() }
    }
}
