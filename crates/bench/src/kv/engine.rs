//! The interface of key-value engines.

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use super::data::{Key, Value};
pub use crate::worker::{Failure, NoSuchThing};

/// Memory for the cache of every rival that has such a setting. LiteIO has its default. All other settings are
/// those that the engine comes with.
pub const CACHE_BYTES: usize = 256 << 20;

/// The wait of a put, or a transaction, for the disk.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Synced {
    /// Nothing waits for the disk. What a put then survives differs: the end of the process, or not
    /// even that.
    No,
    /// It survives a power cut once it returned, as far as the engine can do that.
    Each,
}

/// Bytes written by a process to the files of an engine.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Written {
    /// To its log.
    pub log_bytes: u64,
    /// To all other files.
    pub tree_bytes: u64,
}

/// The reader of the keys and values of a scan.
pub type Show<'a> = &'a mut dyn FnMut(&[u8], &[u8]);

/// An open engine. All methods may be called by many threads at once, and fail when the engine does.
pub trait Engine: Send + Sized + Sync {
    /// Opens it in a directory, creating what is not there.
    fn open(directory: &Path, sync: Synced) -> Result<Self, Failure>;

    /// Sets `key` to `value` in a transaction of its own.
    fn put(&self, key: &Key, value: &Value) -> Result<(), Failure> {
        self.put_all(&[(*key, *value)])
    }

    /// Puts all pairs in one transaction.
    /// Fails with [`NoSuchThing`] when it has no transactions.
    fn put_all(&self, pairs: &[(Key, Value)]) -> Result<(), Failure>;

    /// Puts all pairs, each in a transaction of its own, without waiting for one before the next.
    /// Fails with [`NoSuchThing`] when it only has puts that wait.
    fn put_ahead(&self, _pairs: &[(Key, Value)]) -> Result<(), Failure> {
        Err(NoSuchThing("its puts return only when they are done").into())
    }

    /// Appends the value of `key` to `value`, on a state of its own, not on one kept from an earlier
    /// call. `false` if there is none.
    fn get(&self, key: &Key, value: &mut Vec<u8>) -> Result<bool, Failure>;

    /// Shows up to `count` entries in the order of their keys, from the first that is not below
    /// `from`. Every value is read.
    /// Fails with [`NoSuchThing`] when it has no order.
    fn scan(&self, from: &Key, count: usize, show: Show<'_>) -> Result<(), Failure>;

    /// Puts all pairs in one transaction.
    /// Fails with [`NoSuchThing`] when it is not asked for values of any length.
    fn put_large(&self, _pairs: &[(Key, Vec<u8>)]) -> Result<(), Failure> {
        Err(NoSuchThing("not measured").into())
    }

    /// Deletes all keys in one transaction.
    /// Fails with [`NoSuchThing`] when it is not asked to delete.
    fn delete_all(&self, _keys: &[Key]) -> Result<(), Failure> {
        Err(NoSuchThing("not measured").into())
    }

    /// Bytes that this process has written to its files; `None` when it does not count them.
    fn written() -> Option<Written> {
        None
    }

    /// Ends it in order. What it did not write yet it writes now.
    fn close(self) -> Result<(), Failure> {
        Ok(())
    }
}
