//! redb: a B-tree with copy-on-write pages in one file of a [`Disk`], or in memory.

mod backend;
mod error;
mod sums;
mod view;

use std::fmt;
use std::sync::Arc;

use liteio_disk::{Disk, DiskFile, OpenMode};
use parking_lot::Mutex;
use redb::backends::InMemoryBackend;
use redb::{
    Builder, Database, Durability, ReadableDatabase, StorageBackend, TableDefinition, TableError,
    WriteTransaction,
};

use self::backend::{FileBackend, Freeze};
use self::error::{EndsQuietly, guarded};
use self::sums::Sums;
use self::view::{Bytes, ReadTable};
use super::Checkpoint;
use crate::kv::KvError;

pub(crate) use self::view::{PairGuard, Place, Table, Tree, Value, View};

/// The key space.
const KEYS: TableDefinition<'_, Bytes, Bytes> = TableDefinition::new("keys");
/// One row: the [`Checkpoint`].
const CHECKPOINT: TableDefinition<'_, (), Bytes> = TableDefinition::new("checkpoint");

/// An open database. Dropping the last reference closes its file.
pub(crate) struct Engine {
    /// The table as of the last commit, cached by the first view of it: opening it costs a third of a
    /// lookup. It is dropped at the next commit, because it would keep replaced pages from being used
    /// again, and before the database.
    newest: Mutex<Option<Arc<EndsQuietly<ReadTable>>>>,
    database: EndsQuietly<Database>,
    /// `None` in memory.
    sums: Option<Arc<Sums>>,
    freeze: Freeze,
}

impl Engine {
    /// Opens or creates the file `path`, with its sums in `path.sums`. A failed write does not fail it, but
    /// freezes it.
    pub(crate) fn open(disk: &dyn Disk, path: &str, cache_bytes: usize) -> Result<Self, KvError> {
        let sums_path = format!("{path}.sums");
        let file = disk.open(path, OpenMode::CreateOrWrite)?;
        if file.is_empty()? {
            let sums = Sums::create(disk, &sums_path, &*file, 0)?;
            return Self::with_file(file, Some(sums), Freeze::default(), cache_bytes);
        }
        let mut newest = 0;
        let mut failure = None;
        if let Some(sums) = Sums::load(disk, &sums_path)? {
            newest = sums.newest_known();
            match Self::with_file(file, Some(sums), Freeze::default(), cache_bytes) {
                Ok(engine) if engine.is_with_its_sums()? => return Ok(engine),
                Ok(engine) => engine.close_without_checkpoint(),
                Err(error) => failure = Some(error),
            }
        }
        // They are missing, damaged, or not of this tree. Or the tree is damaged.
        let number = match check(disk, path, cache_bytes) {
            Ok(number) if number >= newest => number,
            Ok(number) => {
                return Err(KvError::Corrupt(format!(
                    "{path} is older than the files beside it: it ends with record {number}, and record \
                     {newest} was in it once. Put back the copy that belongs to them, or all of an older \
                     copy of the directory"
                )));
            }
            Err(error) => return Err(failure.unwrap_or(error)),
        };
        let file = disk.open(path, OpenMode::Write)?;
        let sums = Sums::create(disk, &sums_path, &*file, number)?;
        Self::with_file(file, Some(sums), Freeze::default(), cache_bytes)
    }

    fn with_file(
        file: Box<dyn DiskFile>,
        sums: Option<Sums>,
        freeze: Freeze,
        cache_bytes: usize,
    ) -> Result<Self, KvError> {
        let sums = sums.map(Arc::new);
        let backend = FileBackend::new(file, sums.clone(), freeze.clone())?;
        let mut engine = Self::with_backend(backend, freeze, cache_bytes)?;
        engine.sums = sums;
        Ok(engine)
    }

    pub(crate) fn memory(cache_bytes: usize) -> Result<Self, KvError> {
        Self::with_backend(InMemoryBackend::new(), Freeze::default(), cache_bytes)
    }

    fn with_backend(
        backend: impl StorageBackend,
        freeze: Freeze,
        cache_bytes: usize,
    ) -> Result<Self, KvError> {
        let mut builder = Builder::new();
        builder.set_cache_size(cache_bytes);
        let database = guarded(|| builder.create_with_backend(backend))?;
        let database = EndsQuietly::new(database);
        Ok(Self { newest: Mutex::new(None), database, sums: None, freeze })
    }

    /// `false` if the sums are of another checkpoint than that of the tree.
    fn is_with_its_sums(&self) -> Result<bool, KvError> {
        let number = self.read_checkpoint()?.map_or(0, |checkpoint| checkpoint.round.number);
        Ok(self.sums.as_ref().is_none_or(|sums| sums.are_of(number)))
    }

    /// The failure that froze the file, if one did.
    pub(crate) fn frozen(&self) -> Option<KvError> {
        self.freeze.reason()
    }

    /// Keeps redb from writing when it is dropped. It would commit what it has without the number of
    /// the log record that belongs to it, and the log would be replayed onto a newer tree.
    pub(crate) fn close_without_checkpoint(&self) {
        self.freeze.close();
    }

    /// Everything committed so far.
    pub(crate) fn view(&self) -> Result<View, KvError> {
        // Held while the table is opened. A commit meanwhile waits for the lock before it clears the
        // table, so no stale one is kept.
        let mut newest = self.newest.lock();
        if let Some(table) = &*newest {
            return Ok(View(Arc::clone(table)));
        }
        let table = guarded(|| {
            let transaction = self.database.begin_read()?;
            Ok::<_, KvError>(Arc::new(EndsQuietly::new(transaction.open_table(KEYS)?)))
        })?;
        *newest = Some(Arc::clone(&table));
        Ok(View(table))
    }

    /// Drops the cached table, before and after every commit.
    fn forget_newest(&self) {
        // Ending a read transaction takes locks of redb: not while this one is held.
        let newest = self.newest.lock().take();
        drop(newest);
    }

    /// A write transaction whose commit is visible at once and durable with the next checkpoint.
    pub(crate) fn begin(&self) -> Result<Batch<'_>, KvError> {
        self.forget_newest();
        let mut transaction = guarded(|| self.database.begin_write())?;
        transaction
            .set_durability(Durability::None)
            .map_err(|error| KvError::Corrupt(error.to_string()))?;
        Ok(Batch { engine: self, transaction: EndsQuietly::new(transaction) })
    }

    /// The row of the checkpoint; `None` in a new file.
    pub(crate) fn read_checkpoint(&self) -> Result<Option<Checkpoint>, KvError> {
        guarded(|| match self.database.begin_read()?.open_table(CHECKPOINT) {
            Ok(table) => match table.get(())? {
                Some(row) => Checkpoint::decode(row.value()).map(Some),
                None => Ok(None),
            },
            Err(TableError::TableDoesNotExist(_)) => Ok(None),
            Err(error) => Err(KvError::from(error)),
        })
    }

    /// A two-phase commit with both of redb's syncs.
    ///
    /// With quick repair, so that opening after a crash does not walk the tree. It makes a durable
    /// commit dearer, and checkpoints are the only ones: no update waits for the difference.
    pub(crate) fn checkpoint(&self, checkpoint: &Checkpoint) -> Result<(), KvError> {
        self.forget_newest();
        self.sums.iter().for_each(|sums| sums.begin(checkpoint.round.number));
        guarded(|| {
            let mut transaction = self.database.begin_write()?;
            transaction.set_quick_repair(true);
            transaction.open_table(KEYS)?;
            transaction.open_table(CHECKPOINT)?.insert((), checkpoint.encode().as_slice())?;
            Ok::<_, KvError>(transaction.commit()?)
        })?;
        self.forget_newest();
        self.frozen().map_or(Ok(()), Err)?;
        self.sums.iter().for_each(|sums| sums.finish(checkpoint.round.number));
        Ok(())
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Engine").field("freeze", &self.freeze).finish_non_exhaustive()
    }
}

/// Lets redb read and check all of the file, without a change in it. Returns the number of its checkpoint.
fn check(disk: &dyn Disk, path: &str, cache_bytes: usize) -> Result<u64, KvError> {
    let freeze = Freeze::default();
    freeze.close();
    let file = disk.open(path, OpenMode::Read)?;
    let mut engine = Engine::with_file(file, None, freeze, cache_bytes)?;
    match guarded(|| engine.database.check_integrity())? {
        true => engine.read_checkpoint()?.map(|checkpoint| checkpoint.round.number),
        false => None,
    }
    .ok_or_else(|| KvError::Corrupt(format!("{path} is damaged: it does not pass its own check")))
}

/// A write transaction of redb.
pub(crate) struct Batch<'e> {
    engine: &'e Engine,
    transaction: EndsQuietly<WriteTransaction>,
}

impl Batch<'_> {
    pub(crate) fn table(&self) -> Result<Table<'_>, KvError> {
        guarded(|| self.transaction.open_table(KEYS).map(Table))
    }

    /// Makes the writes visible.
    pub(crate) fn commit(self) -> Result<(), KvError> {
        let result = guarded(|| self.transaction.into_inner().commit());
        self.engine.forget_newest();
        result
    }

    /// Takes all writes back.
    pub(crate) fn abort(self) -> Result<(), KvError> {
        guarded(|| self.transaction.into_inner().abort())
    }
}
