//! Errors of the key space.

use std::io::{self, ErrorKind};
use std::sync::Arc;

/// An error of the key space.
#[derive(Clone, Debug, thiserror::Error)]
pub enum KvError {
    /// The device is full. Nothing of the update was kept.
    #[error("no space left for metadata: delete objects or add space")]
    NoSpace,
    /// An earlier sync or write failed: nothing is written until the store is opened again.
    #[error("writing has stopped after a failed write: {reason}")]
    Poisoned {
        /// The failure that stopped writing.
        reason: String,
    },
    /// The device failed.
    #[error("metadata could not be read or written: {0}")]
    Io(Arc<io::Error>),
    /// An attachment of an update could not be written. Nothing of the update was kept.
    #[error("what an update notes could not be written: {0}")]
    Attachment(Arc<io::Error>),
    /// The file is damaged, or not ours.
    #[error("metadata is damaged: {0}")]
    Corrupt(String),
    /// A key with its value is too large. Nothing of the update was kept.
    #[error("a key with its value has {bytes} bytes; at most {bytes_max} are allowed")]
    TooLarge {
        /// Bytes of key and value.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// The closure of the update panicked. Nothing of the update was kept.
    #[error("an update panicked: {0}")]
    Panicked(String),
    /// A key that an update reads was not fetched yet. Its closure runs again once it is, whatever it makes
    /// of this error.
    #[error("not fetched yet")]
    NotFetched,
    /// Others have changed what the update reads again and again. Nothing of it was kept. Over a database only.
    #[error("too many updates of the same data at the same time")]
    Busy,
    /// The answer to the commit was lost, and nobody can tell what became of it. Over a database only.
    #[error("it is not known whether the update was kept: {0}")]
    Unsettled(String),
    /// The update reads more than one may. Nothing of it was kept. Over a database only.
    #[error("an update reads {0}")]
    TooMuchRead(String),
    /// Rows of the snapshot have changed since it began with them: read from a new one. Only of
    /// [`Kv::snapshot_of`](crate::Kv::snapshot_of), over a database only.
    #[error("what was read has changed meanwhile")]
    Changed,
    /// The store is closed.
    #[error("the store is closed")]
    Closed,
}

impl KvError {
    /// The error for all later writes after this failure.
    pub(super) fn into_poisoned(self) -> Self {
        match self {
            Self::Poisoned { .. } => self,
            other => Self::Poisoned { reason: other.to_string() },
        }
    }
}

impl From<io::Error> for KvError {
    fn from(error: io::Error) -> Self {
        if liteio_disk::is_poisoned(&error) {
            return Self::Poisoned { reason: error.to_string() };
        }
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::NoSpace,
            _ => Self::Io(Arc::new(error)),
        }
    }
}
