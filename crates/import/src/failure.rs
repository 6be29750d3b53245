//! [`Failure`]: the error of an import.

use liteio_store::StoreError;

/// A failure of an import.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// An item cannot be read or imported, and is skipped for this reason.
    #[error("{0}")]
    LeftOut(String),
    /// An item could not be read now: the newer versions of its key must wait for it.
    #[error("{0}")]
    Unread(String),
    /// The source as a whole failed.
    #[error("{0}")]
    Source(String),
    /// The target failed.
    #[error("{0}")]
    Target(#[from] StoreError),
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::Source(error.to_string())
    }
}
