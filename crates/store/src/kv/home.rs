//! The files of a key space: creating them, and opening them with recovery from the log.

use std::io::ErrorKind;
use std::sync::Arc;

use liteio_disk::{Disk, OpenMode};

use super::engine::{Checkpoint, Engine, Table};
use super::log::{Log, Operation, new_nonce};
use super::{Attachments, KvConfig, KvError};
use crate::Durability;

/// Bytes of the log that are written in advance; the rest grows as it is used. More would make the
/// first start slower.
const PREALLOCATED_BYTES: u64 = 1 << 20;

/// The place of a key space on its disk.
pub(super) struct Home {
    pub(super) disk: Arc<dyn Disk>,
    /// The tree.
    pub(super) path: String,
}

impl Home {
    pub(super) fn log_path(&self) -> String {
        format!("{}.log", self.path)
    }

    /// `true` if the tree has its final name. The log exists then, too: it is created first.
    pub(super) fn exists(&self) -> Result<bool, KvError> {
        let exists = |path: &str| match self.disk.open(path, OpenMode::Read) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(KvError::from(error)),
        };
        let tree = exists(&self.path)?;
        if tree && !exists(&self.log_path())? {
            return Err(KvError::Corrupt(format!("{} is missing", self.log_path())));
        }
        Ok(tree)
    }

    /// Creates both files. The tree gets its final name last, so that an interrupted creation starts
    /// again.
    pub(super) fn create(&self, config: &KvConfig) -> Result<(), KvError> {
        let mut log = Log::open(&*self.disk, &self.log_path(), config.log_bytes)?;
        if log.has_records()? {
            return Err(KvError::Corrupt(format!("{} is missing, its log is not", self.path)));
        }
        log.preallocate(config.log_bytes.min(PREALLOCATED_BYTES))?;
        let new_path = format!("{}.new", self.path);
        match self.disk.remove(&new_path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let engine = Engine::open(config.engine, &self.disk, &new_path, config.cache_bytes)?;
        let in_order = config.durability == Durability::Fsync;
        engine.checkpoint(&Checkpoint { number: 0, nonce: new_nonce()?, in_order })?;
        drop(engine);
        let parent = self.path.rsplit_once('/').map_or("", |(parent, _)| parent);
        self.disk.sync_dir(parent)?;
        let sums = |path: &str| format!("{path}.sums");
        match self.disk.rename(&sums(&new_path), &sums(&self.path)) {
            // An engine without them.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            result => result?,
        }
        self.disk.rename(&new_path, &self.path)?;
        self.disk.sync_dir(parent)?;
        Ok(())
    }
}

/// Opens the tree and brings it up to date with the log. A failed write leaves it frozen. `attachments`
/// are those that a crash may have damaged.
pub(super) fn open_engine(
    home: &Home,
    log: &mut Log,
    config: &KvConfig,
    attachments: Option<&dyn Attachments>,
) -> Result<Arc<Engine>, KvError> {
    let engine = Engine::open(config.engine, &home.disk, &home.path, config.cache_bytes)?;
    let replayed = replay(&engine, home, log, attachments);
    if let Err(error) = replayed {
        engine.close_without_checkpoint();
        return Err(error);
    }
    // Also when there was nothing to replay: at `Durability::Os` a power cut may leave whole records
    // behind a torn one. Under a new nonce they never verify.
    let in_order = config.durability == Durability::Fsync;
    let checkpoint = Checkpoint { number: log.number(), nonce: new_nonce()?, in_order };
    match engine.checkpoint(&checkpoint) {
        Ok(()) => log.start(checkpoint.nonce, checkpoint.number),
        // Frozen: the log keeps what the file does not have.
        Err(_) if engine.frozen().is_some() => {}
        Err(error) => return Err(error),
    }
    Ok(engine)
}

/// Applies the records that the tree does not have, and syncs their attachments: the checkpoint that
/// follows makes the records durable.
fn replay(
    engine: &Engine,
    home: &Home,
    log: &mut Log,
    attachments: Option<&dyn Attachments>,
) -> Result<(), KvError> {
    let Some(Checkpoint { number, nonce, in_order }) = engine.read_checkpoint()? else {
        return Err(KvError::Corrupt(format!("{} is not a tree of ours", home.path)));
    };
    let mut marked = number;
    let read_mark = |_, operation: Operation<'_>| {
        if let Operation::Mark { number } = operation {
            marked = marked.max(number);
        }
        Ok(true)
    };
    log.replay(nonce, number, read_mark, |_| Ok(()))?;
    if in_order && let Some(damage) = log.find_damage()? {
        return Err(KvError::Corrupt(format!(
            "record {} of {} at byte {} is damaged, because record {} behind it at byte {} is whole. \
             Nothing was changed, and nothing is written before this is decided: copy the directory, \
             then restore it from a backup or another copy.",
            damage.number,
            home.log_path(),
            damage.position,
            damage.whole_number,
            damage.whole_position,
        )));
    }
    // Attachments noted behind the last mark may never have been synced, although their records reached
    // the device. The first that is not whole, and whose contents the log does not hold, ends the
    // replay: later records may build on it.
    let is_whole = |record, operation: Operation<'_>| match (operation, attachments) {
        (Operation::Note { attachment, contents }, Some(attachments)) if record > marked => {
            Ok(attachments.recover(attachment, contents)?)
        }
        _ => Ok(true),
    };
    let group = engine.begin()?;
    {
        let mut table = group.table()?;
        log.replay(nonce, number, is_whole, |operation| apply(&mut table, operation))?;
    }
    group.commit()?;
    Ok(attachments.map_or(Ok(()), Attachments::sync)?)
}

/// Applies one operation of the log.
fn apply(table: &mut Table<'_>, operation: Operation<'_>) -> Result<(), KvError> {
    match operation {
        Operation::Put { key, value } => drop(table.insert(key, value)?),
        Operation::Delete { key } => drop(table.remove(key)?),
        Operation::Note { .. } | Operation::Mark { .. } => {}
    }
    Ok(())
}
