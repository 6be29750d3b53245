//! redb: a B-tree with copy-on-write pages in one file of a [`Disk`], or in memory.

mod backend;
mod error;
mod gather;
mod memory;
mod sums;
#[cfg(test)]
mod tests;
mod view;

use std::fmt;
use std::sync::Arc;

use liteio_disk::{Disk, DiskFile, OpenMode};
use redb::{Builder, Database, ReadableDatabase, StorageBackend, TableDefinition, TableError};

use self::backend::{FileBackend, Freeze, Size};
use self::error::{EndsQuietly, guarded};
use self::memory::MemoryBackend;
use self::sums::Sums;
use self::view::Bytes;
use super::{ApplyError, Change, Changes, Checkpoint, NoChanges, compacted_path};
use crate::KvError;

pub use self::error::silence_panics_of_damage;
pub(crate) use self::view::{PairGuard, Place, Tree, Value, View};

/// The key space.
const KEYS: TableDefinition<'_, Bytes, Bytes> = TableDefinition::new("keys");
/// One row: the [`Checkpoint`].
const CHECKPOINT: TableDefinition<'_, (), Bytes> = TableDefinition::new("checkpoint");

/// An open database. Dropping the last reference closes its file.
pub(crate) struct Engine {
    database: EndsQuietly<Database>,
    /// `None` in memory.
    sums: Option<Arc<Sums>>,
    freeze: Freeze,
    size: Size,
}

/// The path of the checksum file of the tree `path`.
fn sums_path(path: &str) -> String {
    format!("{path}.sums")
}

impl Engine {
    /// Makes the file `path` with this checkpoint and no pairs, durable when this returns. The caller gives it its
    /// name only then, so redb's eleven syncs of file and checksums until it is closed are one.
    pub(crate) fn create(
        disk: &dyn Disk,
        path: &str,
        cache_bytes: usize,
        checkpoint: &Checkpoint,
    ) -> Result<(), KvError> {
        let file = disk.open(path, OpenMode::CreateOrWrite)?;
        let sums = Sums::create(disk, &sums_path(path), &*file, 0, 0)?;
        let freeze = Freeze::default();
        freeze.sync_later();
        let engine = Self::with_file(file, Some(sums), freeze.clone(), cache_bytes)?;
        let sums = engine.sums.clone();
        engine.apply(&mut NoChanges, checkpoint).map_err(|failure| failure.error)?;
        // redb writes when it is closed, too.
        drop(engine);
        freeze.reason().map_or(Ok(()), Err)?;
        let file = disk.open(path, OpenMode::Write)?;
        file.start_writeback(0, file.len()?);
        sums.map_or(Ok(()), |sums| sums.sync())?;
        Ok(file.sync_data()?)
    }

    /// Opens or creates the file `path`, with its checksums in `path.sums`. A failed write does not
    /// fail the call, but freezes the file.
    pub(crate) fn open(disk: &dyn Disk, path: &str, cache_bytes: usize) -> Result<Self, KvError> {
        let own_sums = sums_path(path);
        let file = disk.open(path, OpenMode::CreateOrWrite)?;
        if file.is_empty()? {
            let sums = Sums::create(disk, &own_sums, &*file, 0, 0)?;
            return Self::with_file(file, Some(sums), Freeze::default(), cache_bytes);
        }
        drop(file);
        let mut newest = 0;
        let mut failure = None;
        // The second candidate is the sums of a compacted tree, if a crash came before they were
        // renamed.
        let compacted_sums = sums_path(&compacted_path(path));
        for its_sums in [&own_sums, &compacted_sums] {
            let Some(sums) = Sums::load(disk, its_sums)? else { continue };
            let file = disk.open(path, OpenMode::Write)?;
            let done = sums.newest_known();
            let opened = Self::with_file(file, Some(sums), Freeze::default(), cache_bytes);
            // With the sums of another tree every page seems to be damaged, the checkpoint
            // included.
            let opened = opened.and_then(|engine| {
                let is_with_its_sums = engine.is_with_its_sums();
                Ok((is_with_its_sums.inspect_err(|_| engine.close_without_checkpoint())?, engine))
            });
            match opened {
                Ok((true, engine)) => {
                    if its_sums != &own_sums {
                        disk.rename(its_sums, &own_sums)?;
                        disk.sync_dir(path.rsplit_once('/').map_or("", |(parent, _)| parent))?;
                    }
                    return Ok(engine);
                }
                Ok((false, engine)) => {
                    // Only the sums of this very tree prove that it is older than they are.
                    if engine.has_the_identity_of_its_sums()? {
                        newest = newest.max(done);
                    }
                    engine.close_without_checkpoint();
                }
                Err(error) => failure = Some(error),
            }
        }
        // No sums match: they are missing, damaged, or of another tree, or the tree itself is
        // damaged. Let redb check the whole tree before new sums are derived from it.
        let checkpoint = match check(disk, path, cache_bytes) {
            Ok(checkpoint) => checkpoint,
            Err(error) => return Err(failure.unwrap_or(error)),
        };
        let number = checkpoint.round.number;
        if number < newest {
            return Err(KvError::Corrupt(format!(
                "{path} is older than the files beside it: it ends with record {number}, and record \
                 {newest} was in it once. Put back the copy that belongs to them, or all of an older \
                 copy of the directory"
            )));
        }
        let file = disk.open(path, OpenMode::Write)?;
        let sums = Sums::create(disk, &own_sums, &*file, number, checkpoint.identity)?;
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
        let size = backend.size();
        let mut engine = Self::with_backend(backend, freeze, size, cache_bytes)?;
        engine.sums = sums;
        Ok(engine)
    }

    pub(crate) fn memory(cache_bytes: usize) -> Result<Self, KvError> {
        let backend = MemoryBackend::default();
        let size = backend.size();
        Self::with_backend(backend, Freeze::default(), size, cache_bytes)
    }

    fn with_backend(
        backend: impl StorageBackend,
        freeze: Freeze,
        size: Size,
        cache_bytes: usize,
    ) -> Result<Self, KvError> {
        let mut builder = Builder::new();
        builder.set_cache_size(cache_bytes);
        let database = guarded(|| builder.create_with_backend(backend))?;
        let database = EndsQuietly::new(database);
        Ok(Self { database, sums: None, freeze, size })
    }

    /// `false` if the sums belong to another checkpoint than the tree.
    fn is_with_its_sums(&self) -> Result<bool, KvError> {
        let checkpoint = self.read_checkpoint()?;
        let (number, identity) =
            checkpoint.map_or((0, 0), |checkpoint| (checkpoint.round.number, checkpoint.identity));
        Ok(self.sums.as_ref().is_none_or(|sums| sums.are_of(number, identity)))
    }

    fn has_the_identity_of_its_sums(&self) -> Result<bool, KvError> {
        let identity = self.read_checkpoint()?.map_or(0, |checkpoint| checkpoint.identity);
        Ok(self.sums.as_ref().is_none_or(|sums| sums.identity() == identity))
    }

    /// The failure that froze the file, if one did.
    pub(crate) fn frozen(&self) -> Option<KvError> {
        self.freeze.reason()
    }

    /// Keeps redb from writing when it is dropped.
    pub(crate) fn close_without_checkpoint(&self) {
        self.freeze.close();
    }

    /// Everything applied so far.
    pub(crate) fn view(&self) -> Result<View, KvError> {
        guarded(|| {
            let transaction = self.database.begin_read()?;
            match transaction.open_table(KEYS) {
                Ok(table) => Ok(View::new(Some(table))),
                Err(TableError::TableDoesNotExist(_)) => Ok(View::new(None)),
                Err(error) => Err(KvError::from(error)),
            }
        })
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

    /// One transaction, with a two-phase commit and both of redb's syncs.
    ///
    /// Quick repair is on, so that opening after a crash does not walk the tree. It makes a commit
    /// dearer, but no update waits for these commits.
    pub(crate) fn apply(
        &self,
        changes: &mut dyn Changes,
        checkpoint: &Checkpoint,
    ) -> Result<Checkpoint, ApplyError> {
        let mut checkpoint = checkpoint.clone();
        let Checkpoint { round, identity, .. } = checkpoint;
        self.sums.iter().for_each(|sums| sums.begin(round.number, identity));
        let mut transaction = EndsQuietly::new(guarded(|| self.database.begin_write())?);
        transaction.set_quick_repair(true);
        {
            let mut table =
                EndsQuietly::new(guarded(|| transaction.open_table(KEYS).map_err(KvError::from))?);
            while let Some(Change { key, value }) = changes.next()? {
                let before = guarded(|| {
                    Ok::<_, KvError>(match value {
                        Some(value) => table.insert(key, value)?.map(|old| old.value().len()),
                        None => table.remove(key)?.map(|old| old.value().len()),
                    })
                });
                let before = before
                    .map_err(|error| ApplyError { error, key: Some(key.to_vec()) })?
                    .map(|bytes| key.len() + bytes);
                let after = value.map(|value| key.len() + value.len());
                checkpoint.contents.iter_mut().for_each(|it| it.count(before, after));
            }
        }
        guarded(|| {
            transaction.open_table(CHECKPOINT)?.insert((), checkpoint.encode().as_slice())?;
            Ok::<_, KvError>(())
        })?;
        guarded(|| transaction.into_inner().commit())?;
        self.frozen().map_or(Ok(()), Err)?;
        self.sums.iter().for_each(|sums| sums.finish(checkpoint.round.number));
        Ok(checkpoint)
    }

    /// Bytes of the file.
    pub(crate) fn file_bytes(&self) -> u64 {
        self.size.bytes()
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Engine").field("freeze", &self.freeze).finish_non_exhaustive()
    }
}

/// Has redb read and check the whole file without changing it. Returns its checkpoint.
pub(super) fn check(
    disk: &dyn Disk,
    path: &str,
    cache_bytes: usize,
) -> Result<Checkpoint, KvError> {
    let freeze = Freeze::default();
    freeze.close();
    let file = disk.open(path, OpenMode::Read)?;
    let mut engine = Engine::with_file(file, None, freeze, cache_bytes)?;
    match guarded(|| engine.database.check_integrity())? {
        true => engine.read_checkpoint()?,
        false => None,
    }
    .ok_or_else(|| KvError::Corrupt(format!("{path} is damaged: it does not pass its own check")))
}
