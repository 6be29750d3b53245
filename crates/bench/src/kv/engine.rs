//! The interface of key-value engines.

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use super::data::{Key, Value};
pub use crate::worker::{Failure, NoSuchThing};

/// Cache size of every rival that has such a setting. LiteIO keeps its default. All other settings
/// are the defaults of the engine.
pub const CACHE_BYTES: usize = 256 << 20;

/// Durability of a put or transaction.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Synced {
    /// No wait for the disk. Such a put survives at most the end of the process; some engines
    /// guarantee not even that.
    No,
    /// The put survives a power cut once it has returned, as far as the engine can guarantee that.
    Each,
}

/// Bytes that a process has written to the files of an engine.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Written {
    /// Bytes of the log.
    pub log_bytes: u64,
    /// Bytes of all other files.
    pub tree_bytes: u64,
}

/// Visitor of the keys and values of a scan.
pub type Show<'a> = &'a mut dyn FnMut(&[u8], &[u8]);

/// An open engine. All methods may be called by many threads at once. They fail if the engine does.
pub trait Engine: Send + Sized + Sync {
    /// Opens the engine in a directory, and creates missing files.
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

    /// Appends the value of `key` to `value`. It reads the state of this call, not one kept from an
    /// earlier call. `false` if there is no value.
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

    /// Closes the engine in order: it writes now whatever it has not written yet.
    fn close(self) -> Result<(), Failure> {
        Ok(())
    }
}
