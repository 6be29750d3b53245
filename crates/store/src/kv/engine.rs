//! One opened redb database with its table.

use std::fmt;
use std::sync::Arc;

use liteio_disk::{Disk, OpenMode};
use parking_lot::Mutex;
use redb::backends::InMemoryBackend;
use redb::{
    Builder, CommitError, Database, DatabaseError, Durability, ReadOnlyTable, ReadableDatabase,
    StorageBackend, StorageError, TableDefinition, TableError, TransactionError, WriteTransaction,
};

use super::KvError;
use super::backend::{FileBackend, Freeze};
use super::log::{Nonce, Operation};
use super::view::Bytes;

/// The key space.
const KEYS: TableDefinition<'_, Bytes, Bytes> = TableDefinition::new("keys");
/// One row, the [`Checkpoint`]: number of the last log record in the tree (8), nonce of the log.
const CHECKPOINT: TableDefinition<'_, (), Bytes> = TableDefinition::new("checkpoint");

/// What the tree knows of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Checkpoint {
    /// Number of the last record that is in the tree.
    pub(super) number: u64,
    /// Nonce of the records that follow.
    pub(super) nonce: Nonce,
}

impl Checkpoint {
    fn encode(&self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..].copy_from_slice(&self.nonce);
        bytes
    }

    fn decode(bytes: &[u8]) -> Result<Self, KvError> {
        let split = bytes.split_first_chunk::<8>();
        let parsed = split.and_then(|(number, nonce)| {
            let number = u64::from_le_bytes(*number);
            Some(Self { number, nonce: nonce.try_into().ok()? })
        });
        parsed.ok_or_else(|| KvError::Corrupt("the checkpoint cannot be read".into()))
    }
}

/// The keys as one commit left them.
pub(super) type ReadTable = ReadOnlyTable<Bytes, Bytes>;

/// An open database. Dropping the last reference closes its file.
pub(super) struct Engine {
    /// What the last commit left, once somebody has read it: to open it takes a third of a lookup. It
    /// never outlives the next commit, whose pages it would keep from being used again. Dropped
    /// before the database.
    newest: Mutex<Option<Arc<ReadTable>>>,
    database: Database,
    freeze: Freeze,
}

impl Engine {
    /// Opens or creates the file `path`. A failed write does not fail it, but freezes it.
    pub(super) fn open(
        disk: &dyn Disk,
        path: &str,
        cache_bytes: usize,
    ) -> Result<Arc<Self>, KvError> {
        let freeze = Freeze::default();
        let file = disk.open(path, OpenMode::CreateOrWrite)?;
        Self::with_backend(FileBackend::new(file, freeze.clone()), freeze, cache_bytes)
    }

    pub(super) fn memory(cache_bytes: usize) -> Result<Arc<Self>, KvError> {
        Self::with_backend(InMemoryBackend::new(), Freeze::default(), cache_bytes)
    }

    fn with_backend(
        backend: impl StorageBackend,
        freeze: Freeze,
        cache_bytes: usize,
    ) -> Result<Arc<Self>, KvError> {
        let database = Builder::new().set_cache_size(cache_bytes).create_with_backend(backend)?;
        Ok(Arc::new(Self { newest: Mutex::new(None), database, freeze }))
    }

    /// The failure that froze the file, if one did.
    pub(super) fn frozen(&self) -> Option<KvError> {
        self.freeze.reason()
    }

    /// Lets the file keep what the last checkpoint left in it. redb, when it is dropped, commits what
    /// it has, but not the number of the log record that belongs to it: the log would be replayed onto
    /// a tree that is newer.
    pub(super) fn close_without_checkpoint(&self) {
        self.freeze.close();
    }

    /// All that is visible now.
    pub(super) fn begin_read(&self) -> Result<Arc<ReadTable>, KvError> {
        // Held while the table is opened: if a commit comes between, it waits here to take it away.
        let mut newest = self.newest.lock();
        if let Some(table) = &*newest {
            return Ok(Arc::clone(table));
        }
        let table = Arc::new(self.database.begin_read()?.open_table(KEYS)?);
        *newest = Some(Arc::clone(&table));
        Ok(table)
    }

    /// Lets go of what is, or is about to be, no longer the newest.
    fn forget_newest(&self) {
        // Ending a read transaction takes locks of redb: not while this one is held.
        let newest = self.newest.lock().take();
        drop(newest);
    }

    /// A transaction whose commit is visible, and durable with the next checkpoint only.
    pub(super) fn begin(&self) -> Result<EngineTransaction<'_>, KvError> {
        self.forget_newest();
        let mut transaction = self.database.begin_write()?;
        transaction
            .set_durability(Durability::None)
            .map_err(|error| KvError::Corrupt(error.to_string()))?;
        Ok(EngineTransaction { engine: self, transaction })
    }

    /// What the tree says of the log; `None` when it was never written.
    pub(super) fn read_checkpoint(&self) -> Result<Option<Checkpoint>, KvError> {
        match self.database.begin_read()?.open_table(CHECKPOINT) {
            Ok(table) => match table.get(())? {
                Some(row) => Checkpoint::decode(row.value()).map(Some),
                None => Ok(None),
            },
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes everything durable: after `Ok` the log may start again.
    ///
    /// With quick repair, so that opening after a crash does not walk the tree: its price is paid
    /// here only, away from the updates.
    pub(super) fn checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), KvError> {
        self.forget_newest();
        let mut transaction = self.database.begin_write()?;
        transaction.set_quick_repair(true);
        transaction.open_table(KEYS)?;
        transaction.open_table(CHECKPOINT)?.insert((), checkpoint.encode().as_slice())?;
        transaction.commit()?;
        self.forget_newest();
        self.frozen().map_or(Ok(()), Err)
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Engine").field("freeze", &self.freeze).finish_non_exhaustive()
    }
}

/// A write transaction of redb.
pub(super) struct EngineTransaction<'e> {
    engine: &'e Engine,
    transaction: WriteTransaction,
}

impl EngineTransaction<'_> {
    pub(super) fn table(&self) -> Result<redb::Table<'_, Bytes, Bytes>, KvError> {
        Ok(self.transaction.open_table(KEYS)?)
    }

    /// Makes the writes visible.
    pub(super) fn commit(self) -> Result<(), KvError> {
        let result = self.transaction.commit();
        self.engine.forget_newest();
        Ok(result?)
    }

    /// Takes all writes back.
    pub(super) fn abort(self) -> Result<(), KvError> {
        Ok(self.transaction.abort()?)
    }
}

/// Does one operation of the log.
pub(super) fn apply(
    table: &mut redb::Table<'_, Bytes, Bytes>,
    operation: Operation<'_>,
) -> Result<(), KvError> {
    match operation {
        Operation::Put { key, value } => drop(table.insert(key, value)?),
        Operation::Delete { key } => drop(table.remove(key)?),
        Operation::Note { .. } | Operation::Mark { .. } => {}
    }
    Ok(())
}

impl From<std::io::Error> for KvError {
    fn from(error: std::io::Error) -> Self {
        use std::io::ErrorKind;
        if liteio_disk::is_poisoned(&error) {
            return Self::Poisoned { reason: error.to_string() };
        }
        match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Self::NoSpace,
            _ => Self::Io(Arc::new(error)),
        }
    }
}

impl From<StorageError> for KvError {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Io(error) => error.into(),
            StorageError::Corrupted(reason) => Self::Corrupt(reason),
            StorageError::DatabaseClosed => Self::Closed,
            other => Self::Io(Arc::new(std::io::Error::other(other))),
        }
    }
}

impl From<TransactionError> for KvError {
    fn from(error: TransactionError) -> Self {
        match error {
            TransactionError::Storage(error) => error.into(),
            other => Self::Io(Arc::new(std::io::Error::other(other))),
        }
    }
}

impl From<CommitError> for KvError {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Storage(error) => error.into(),
            other => Self::Io(Arc::new(std::io::Error::other(other))),
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
