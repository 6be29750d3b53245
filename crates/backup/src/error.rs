//! [`Error`]: a failure of a backup.

use liteio_store::StoreError;

use crate::seal::SealError;
use crate::target::TargetError;

/// A failure to write, read or restore a backup. Each message is one line.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The target.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// An object cannot be opened.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The backup lacks something that it must have.
    #[error("{0}")]
    Damaged(String),
    /// The backup, or the request, is not what it has to be: one line that says what to change.
    #[error("{0}")]
    Refused(String),
    /// There are no random bytes for an object, or it is too long.
    #[error("an object of the backup cannot be made: {0}")]
    Sealing(String),
    /// The caller has asked to stop.
    #[error("stopped")]
    Stopped,
}

impl Error {
    /// `true` if the target has an object, and fails to read it.
    pub(crate) fn is_unreadable(&self) -> bool {
        matches!(self, Self::Target(TargetError::Unreadable { .. }))
    }

    /// `true` for an answer that stays the same until the user changes something.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_) | Self::Target(TargetError::Refused(_)))
    }
}

/// `true` for an error that says nothing about other blobs: not for a lack of descriptors or memory, which passes.
pub(crate) fn is_of_one_blob(error: &StoreError) -> bool {
    const EIO: i32 = 5;
    match error {
        StoreError::Corrupt { .. } | StoreError::FormatTooNew { .. } => true,
        StoreError::Io(error) => error.raw_os_error() == Some(EIO),
        _ => false,
    }
}
