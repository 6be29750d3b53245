//! The files of a key space: creating them, and opening them with recovery from the log.

use std::io::ErrorKind;
use std::ops::RangeInclusive;
use std::sync::Arc;

use liteio_disk::{Disk, OpenMode};

use super::engine::{Checkpoint, Engine, Table};
use super::log::{DroppedTail, Ending, Log, Operation, Round, is_unreadable};
use super::{Attachments, KvConfig, KvError};

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
        let round = Round::new(0)?;
        engine.checkpoint(&Checkpoint { round, log_bytes: log.durable_bytes() })?;
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

/// The findings of opening a key space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// The end of the log that was not replayed: a record that was torn by a crash, or was damaged, which
    /// cannot be told from it.
    pub dropped: Option<DroppedTail>,
    /// Numbers of damaged records that [`KvConfig::salvage`] passed over.
    pub passed_over: Vec<RangeInclusive<u64>>,
}

/// The occasion on which a tree is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occasion {
    /// A start, perhaps after a crash, which may have torn the end of the log and damaged attachments.
    Start,
    /// There was no crash: the log ends with the record `number`, and all attachments are synced.
    Return { number: u64 },
}

/// Opens the tree and brings it up to date with the log. A failed write leaves it frozen.
pub(super) fn open_engine(
    home: &Home,
    log: &mut Log,
    config: &KvConfig,
    occasion: Occasion,
) -> Result<(Arc<Engine>, Recovery), KvError> {
    let engine = Engine::open(config.engine, &home.disk, &home.path, config.cache_bytes)?;
    let recovery = match recover(&engine, home, log, config, occasion) {
        Ok(recovery) => recovery,
        Err(error) => {
            engine.close_without_checkpoint();
            return Err(error);
        }
    };
    // Known from here on, so that a start which finds less of it knows that the log was cut.
    log.sync_length()?;
    // Also when there was nothing to replay: at `Durability::Os` a power cut may leave whole records
    // behind a torn one. Under a new nonce they never verify.
    // A number of its own: an older copy of the tree, of before this start, would have the same, and none of
    // the records that follow would verify under its nonce.
    let round = Round::new(log.number() + 1)?;
    match engine.checkpoint(&Checkpoint { round, log_bytes: log.durable_bytes() }) {
        Ok(()) => log.start(&round),
        // Frozen: the log keeps what the file does not have.
        Err(_) if engine.frozen().is_some() => {}
        Err(error) => return Err(error),
    }
    Ok((engine, recovery))
}

/// Applies the records that the tree does not have, and syncs their attachments: the checkpoint that
/// follows makes the records durable.
fn recover(
    engine: &Engine,
    home: &Home,
    log: &mut Log,
    config: &KvConfig,
    occasion: Occasion,
) -> Result<Recovery, KvError> {
    let Some(Checkpoint { round, log_bytes }) = engine.read_checkpoint()? else {
        return Err(KvError::Corrupt(format!("{} is not a tree of ours", home.path)));
    };
    let log_path = home.log_path();
    let refused = |what: String| {
        KvError::Corrupt(format!(
            "{what} Nothing was changed, and nothing is written before this is decided: copy the directory, \
             then restore it from a backup, or run `liteio repair` to keep what can be read."
        ))
    };
    let mut recovery = Recovery::default();
    if !config.salvage {
        // If it cannot be read, the replay says so.
        let (bytes, first) = (log.file_bytes(), log.first_number().unwrap_or(0));
        if bytes < log_bytes {
            let what = format!("{log_path} was cut: it has {bytes} of at least {log_bytes} bytes.");
            return Err(refused(what));
        }
        if first > round.number + 1 {
            return Err(refused(format!(
                "{log_path} begins at byte 0 with record {first}, but {} ends with record {}: one of them is damaged, \
                 or an older copy.",
                home.path, round.number,
            )));
        }
    }
    let mut marked = round.number;
    let salvage = config.salvage;
    let read_mark = |_, operation: Operation<'_>| {
        if let Operation::Mark { number } = operation {
            marked = marked.max(number);
        }
        Ok(true)
    };
    recovery.passed_over = log.replay(&round, salvage, read_mark, |_| Ok(()))?;
    let whole = (log.number(), log.bytes());
    let dropped_path = format!("{log_path}.dropped");
    if let Occasion::Return { number } = occasion {
        log.expect_whole(&log_path, number)?;
    } else {
        recovery.dropped = match log.ending()? {
            Ending::Orderly => None,
            Ending::Damaged { tail, durable } if !salvage => {
                return Err(refused(format!(
                    "Record {} of {log_path} at byte {} is damaged, because records up to {durable} were \
                     durable when a later one was written.",
                    tail.number, tail.position,
                )));
            }
            Ending::Torn(mut tail) | Ending::Damaged { mut tail, .. } => {
                log.keep(&*home.disk, &dropped_path, &mut tail)?;
                Some(tail)
            }
        };
    }
    // Attachments noted behind the last mark may never have been synced, although their records reached
    // the device. The first that is not whole, and whose contents the log does not hold, ends the
    // replay: later records may build on it.
    let attachments = config.attachments.as_deref().filter(|_| occasion == Occasion::Start);
    let is_whole = |record, operation: Operation<'_>| match (operation, attachments) {
        (Operation::Note { attachment, contents }, Some(attachments)) if record > marked => {
            match attachments.recover(attachment, contents) {
                Err(error) if salvage && is_unreadable(&error) => Ok(false),
                recovered => Ok(recovered?),
            }
        }
        _ => Ok(true),
    };
    let group = engine.begin()?;
    {
        let mut table = group.table()?;
        log.replay(&round, salvage, is_whole, |operation| apply(&mut table, operation))?;
    }
    group.commit()?;
    if let Some(mut tail) = log.rest(whole) {
        // With what was torn behind it, whose copy is at the same path.
        if let Some(torn) = &recovery.dropped {
            tail.bytes = torn.position + torn.bytes - tail.position;
            tail.newest = tail.newest.max(torn.newest);
        }
        log.keep(&*home.disk, &dropped_path, &mut tail)?;
        recovery.dropped = Some(tail);
    }
    attachments.map_or(Ok(()), Attachments::sync)?;
    Ok(recovery)
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
