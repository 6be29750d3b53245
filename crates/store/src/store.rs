//! The handle: open, health, close.

use std::sync::Arc;

use liteio_disk::Disk;

use crate::config::StoreConfig;
use crate::error::StoreError;
use crate::stats::StoreStats;

/// An open store. Clones are handles of the same one.
#[derive(Clone, Debug)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {}

/// Whether the store can be written to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreHealth {
    /// It can.
    Ready,
    /// Not until it is opened again: a sync or write failed.
    ReadOnly {
        /// What failed.
        reason: String,
    },
    /// Not until there is space again; deletions work.
    Full,
}

impl Store {
    /// Opens the store that `config` describes.
    ///
    /// # Errors
    /// [`StoreError::InUse`], [`StoreError::NotADataDirectory`], [`StoreError::FormatTooNew`],
    /// [`StoreError::NoSpace`], or why the disk or its content cannot be used.
    pub fn open(config: StoreConfig) -> Result<Self, StoreError> {
        todo!("{config:?}")
    }

    /// Opens the store on `disk`, without threads of its own: [`Store::reclaim`] and [`Store::sweep`]
    /// are up to the caller.
    ///
    /// # Errors
    /// As [`Store::open`].
    pub fn open_on(disk: Arc<dyn Disk>, config: StoreConfig) -> Result<Self, StoreError> {
        todo!("{disk:?} {config:?}")
    }

    /// Finishes what was submitted, stops the threads and closes the files. Later calls fail with
    /// [`StoreError::Closed`].
    pub fn close(&self) {
        todo!("{:?}", self.inner)
    }

    /// Whether the store can be written to.
    #[must_use]
    pub fn health(&self) -> StoreHealth {
        todo!()
    }

    /// Counters since the store was opened.
    #[must_use]
    pub fn stats(&self) -> StoreStats {
        todo!()
    }
}
