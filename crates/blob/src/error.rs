//! [`BlobError`].

use std::io;
use std::sync::Arc;

use liteio_disk::{Disk, is_poisoned};

use super::BlobId;

/// An error of writing or reading a blob.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BlobError {
    /// No blob has this id. If a record references it, that is damage.
    #[error("blob {id} is missing")]
    NotFound {
        /// The missing one.
        id: BlobId,
    },
    /// The stored bytes are not the written ones.
    #[error("blob {id} is damaged: {what}")]
    Corrupt {
        /// The damaged one.
        id: BlobId,
        /// The fault.
        what: &'static str,
    },
    /// The blob was written by a newer version of the program.
    #[error("blob {id} has format {found}; this program knows formats up to {known}")]
    FormatTooNew {
        /// The blob.
        id: BlobId,
        /// Its format.
        found: u16,
        /// The newest format of this program.
        known: u16,
    },
    /// The device is full. Nothing of the blob is kept.
    #[error("no space left for a blob")]
    NoSpace,
    /// An earlier sync has failed: nothing is written until the disk is opened again.
    #[error("writing has stopped after a failed sync: {reason}")]
    Poisoned {
        /// The failure.
        reason: String,
    },
    /// The blob is only in a backup, which cannot be read.
    #[error("{reason}")]
    Elsewhere {
        /// The blob.
        id: BlobId,
        /// The cause, and advice.
        reason: String,
    },
    /// The service or the network file system that has the blobs refuses, or does not answer at the moment.
    /// One or two sentences say what to do. Nothing follows about the blob.
    #[error("{reason}")]
    Unavailable {
        /// The cause, and advice.
        reason: String,
    },
    /// The device failed.
    #[error("a blob could not be read or written: {0}")]
    Io(Arc<io::Error>),
}

impl BlobError {
    /// Translates a failed write, link, removal or sync on `disk`.
    pub(super) fn from_write(disk: &dyn Disk, error: io::Error) -> Self {
        if is_poisoned(&error) || disk.health().is_poisoned() {
            // The first failure explains the later ones.
            let reason = disk.health().reason().map_or_else(|| error.to_string(), str::to_owned);
            return BlobError::Poisoned { reason };
        }
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => BlobError::NoSpace,
            _ => BlobError::Io(Arc::new(error)),
        }
    }

    /// Translates a failed open or read of `id`.
    pub(super) fn from_read(id: BlobId, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => BlobError::NotFound { id },
            // Another machine has deleted or replaced the file while this one had it open, or the server of
            // the file system was restarted. It does not tell which.
            io::ErrorKind::StaleNetworkFileHandle => {
                let reason = format!(
                    "The network file system has lost the open file of blob {id} (ESTALE): repeat the request."
                );
                BlobError::Unavailable { reason }
            }
            _ => BlobError::Io(Arc::new(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_handle_says_nothing_about_the_blob() {
        let id = BlobId([1; 16]);
        let stale = io::Error::from(io::ErrorKind::StaleNetworkFileHandle);
        let error = BlobError::from_read(id, stale);
        let BlobError::Unavailable { reason } = &error else { panic!("{error}") };
        assert!(reason.contains("repeat"), "{reason}");
    }
}
