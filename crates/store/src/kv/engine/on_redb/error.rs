//! Errors of redb as those of the key space.

use std::io;
use std::sync::Arc;

use redb::{CommitError, DatabaseError, StorageError, TableError, TransactionError};

use crate::kv::KvError;

impl From<StorageError> for KvError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Io(error) => error.into(),
            StorageError::Corrupted(reason) => Self::Corrupt(reason),
            StorageError::DatabaseClosed => Self::Closed,
            other => Self::Io(Arc::new(io::Error::other(other))),
        }
    }
}

impl From<TransactionError> for KvError {
    fn from(error: TransactionError) -> Self {
        match error {
            TransactionError::Storage(error) => error.into(),
            other => Self::Io(Arc::new(io::Error::other(other))),
        }
    }
}

impl From<CommitError> for KvError {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Storage(error) => error.into(),
            other => Self::Io(Arc::new(io::Error::other(other))),
        }
    }
}

impl From<TableError> for KvError {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Storage(error) => error.into(),
            other => Self::Corrupt(other.to_string()),
        }
    }
}

impl From<DatabaseError> for KvError {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::Storage(error) => error.into(),
            other => Self::Corrupt(other.to_string()),
        }
    }
}
