//! The files of a key space: creating them, and opening them with recovery from the log.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::ops::RangeInclusive;
use std::sync::Arc;

use liteio_disk::{Disk, Durability, OpenMode};

use crate::committer::sync_attachments;
use crate::drain::Frozen;
use crate::drainer::{Drainer, TableChanges, compact};
use crate::engine::{Changes, Checkpoint, Engine, NoChanges};
use crate::layers::{Layers, OpenTree};
use crate::log::{
    self, DroppedTail, Ending, LOG_FILES, Log, Operation, Round, Version, is_unreadable,
};
use crate::memtable::{Entry, MEMTABLE_BYTES_MAX, Memtable, hash};
use crate::run::{self, Damaged, Run};
use crate::{KvConfig, KvError};

/// Bytes of the first log file that are preallocated; the rest grows on use. More would slow down
/// the first start.
const PREALLOCATED_BYTES: u64 = 1 << 20;
/// The same for the second file, which is not used at first.
const PREALLOCATED_OTHER_BYTES: u64 = 1 << 16;

/// The location of a key space on its disk.
pub(super) struct Home {
    pub(super) disk: Arc<dyn Disk>,
    /// The tree.
    pub(super) path: String,
}

impl Home {
    /// `true` if the tree has its final name. Then the log exists, too, because it is created
    /// first. A key space of an earlier version has only the first log file.
    pub(super) fn exists(&self) -> Result<bool, KvError> {
        let tree = self.has(&self.path)?;
        let [log_path, _] = log::paths(&self.path);
        if tree && !self.has(&log_path)? {
            return Err(KvError::Corrupt(format!("{log_path} is missing")));
        }
        Ok(tree)
    }

    fn has(&self, path: &str) -> Result<bool, KvError> {
        match self.disk.open(path, OpenMode::Read) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(KvError::from(error)),
        }
    }

    /// The disk, and the path of the tree.
    pub(super) fn place(&self) -> (&dyn Disk, &str) {
        (&*self.disk, &self.path)
    }

    /// Makes the names of the files durable.
    pub(super) fn sync_names(&self) -> Result<(), KvError> {
        Ok(self.disk.sync_dir(self.parent())?)
    }

    /// The directory of the files.
    fn parent(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(parent, _)| parent)
    }

    /// Creates the log and the tree. The tree gets its final name last, so that an interrupted
    /// creation starts again.
    pub(super) fn create(&self, config: &KvConfig) -> Result<(), KvError> {
        let mut log = Log::open(&*self.disk, &self.path, config.log_bytes)?;
        if log.has_records()? {
            return Err(KvError::Corrupt(format!("{} is missing, its log is not", self.path)));
        }
        // All files are written before the first is synced: on a journaling file system one commit then serves all.
        // The second log file is not empty, so that its removal is detected: the first checkpoint records its size.
        let bytes = |most: u64| config.log_bytes.min(most);
        let log_bytes = log.make(bytes(PREALLOCATED_BYTES), bytes(PREALLOCATED_OTHER_BYTES))?;
        let new_path = format!("{}.new", self.path);
        self.disk.remove_if_there(&new_path)?;
        let round = Round::new(0)?;
        let checkpoint = Checkpoint::new(round, log_bytes);
        Engine::create(config.engine, &self.disk, &new_path, config.cache_bytes, &checkpoint)?;
        log.sync_made()?;
        // The names are synced before the rename: the log must exist if the tree does.
        self.sync_names()?;
        let sums = |path: &str| format!("{path}.sums");
        match self.disk.rename(&sums(&new_path), &sums(&self.path)) {
            // This engine has no checksum file.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            result => result?,
        }
        self.disk.rename(&new_path, &self.path)?;
        self.sync_names()
    }
}

/// The findings of opening a key space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// The end of the log that was not replayed: a record torn by a crash, or damaged, which cannot
    /// be distinguished.
    pub dropped: Option<DroppedTail>,
    /// Numbers of damaged records that [`KvConfig::salvage`] passed over.
    pub passed_over: Vec<RangeInclusive<u64>>,
    /// Damaged blocks of runs, of about 4 KiB each, that [`KvConfig::salvage`] passed over.
    pub lost_blocks: u64,
}

/// An open key space.
pub(super) struct Opened {
    pub(super) log: Log,
    pub(super) layers: Layers,
    pub(super) drainer: Drainer,
    /// The older of two tables that the log held, if both were in use.
    pub(super) frozen: Option<Frozen>,
    /// The sequence of the newest write.
    pub(super) sequence: u64,
    /// The newest record in the log with an attachment that no mark covers. It is durable, and the log does not say
    /// so yet: the next start would look for the attachment again, which may be removed by then.
    pub(super) unmarked: Option<u64>,
    pub(super) recovery: Recovery,
}

/// Opens the files, creating them if they do not exist. Updates that the tree lacks are in tables
/// afterwards; after an unclean shutdown they are in the tree or in runs.
pub(super) fn open(home: &Home, config: &KvConfig) -> Result<Opened, KvError> {
    if !home.exists()? {
        home.create(config)?;
    }
    let [_, second] = log::paths(&home.path);
    let is_new = !home.has(&second)?;
    let mut log = Log::open(&*home.disk, &home.path, config.log_bytes)?;
    if is_new {
        home.sync_names()?;
    }
    if config.durability == Durability::Os {
        log.expect_small_writes();
    }
    let engine = Engine::open(config.engine, &home.disk, &home.path, config.cache_bytes)?;
    compact::remove_remains(home)?;
    let opened = replay(&engine, home, &mut log, config).and_then(|mut replayed| {
        let runs = open_runs(&engine, home, config, &mut replayed)?;
        settle(&engine, home, log, runs, replayed)
    });
    opened.inspect_err(|_| engine.close_without_checkpoint())
}

/// Opens the runs, newest first, and removes the files of runs that the checkpoint does not name.
/// With salvage, a damaged run is rewritten without its unreadable blocks.
fn open_runs(
    engine: &Engine,
    home: &Home,
    config: &KvConfig,
    replayed: &mut Replayed,
) -> Result<Vec<Arc<Run>>, KvError> {
    let damaged = if config.salvage { Damaged::PassOver } else { Damaged::Refuse };
    let mut checkpoint = replayed.checkpoint.clone();
    let mut runs = Vec::new();
    // The checkpoint lists the oldest run first.
    for place in 0..checkpoint.runs.len() {
        let name = checkpoint.runs[place];
        let (mut run, lost) = Run::open(&*home.disk, &home.path, name, damaged)?;
        if lost > 0 {
            let entries = run.entries()?;
            let (number, count) = (checkpoint.next_run(), entries.len() as u64);
            let entries = entries.iter().map(|(key, value)| Entry { key, value: value.as_deref() });
            run = run::write(Some(home.place()), number, entries, count, |_| ())?;
            checkpoint.runs[place] = run.name();
            replayed.recovery.lost_blocks += lost;
        }
        runs.insert(0, Arc::new(run));
    }
    if checkpoint != replayed.checkpoint {
        // The new names must be durable before the checkpoint refers to them; the old files are
        // removed only after it.
        home.sync_names()?;
        replayed.checkpoint = engine.apply_whole(&mut NoChanges, &checkpoint)?;
    }
    remove_unnamed_runs(home, &replayed.checkpoint)?;
    Ok(runs)
}

/// Removes the files of runs that the checkpoint does not name.
fn remove_unnamed_runs(home: &Home, checkpoint: &Checkpoint) -> Result<(), KvError> {
    let (parent, prefix) = (home.parent(), run::path_prefix(&home.path));
    for entry in home.disk.list(parent)? {
        let path = match parent {
            "" => entry.name,
            parent => format!("{parent}/{}", entry.name),
        };
        // A file with any other suffix is not ours.
        let number: Option<u64> = path.strip_prefix(&prefix).and_then(|rest| rest.parse().ok());
        let is_named = |number| checkpoint.runs.iter().any(|run| run.number == number);
        if number.is_some_and(|number| !is_named(number)) && !entry.is_dir {
            home.disk.remove_if_there(&path)?;
        }
    }
    Ok(())
}

/// The updates found in the log.
struct Replayed {
    checkpoint: Checkpoint,
    /// The tables, by index of the log file.
    tables: [Memtable; LOG_FILES],
    /// The last record of each file, and the last sequence in it.
    ends: [(u64, u64); LOG_FILES],
    unmarked: Option<u64>,
    recovery: Recovery,
    is_orderly: bool,
}

/// Reads the records that the tree lacks, and syncs them with their attachments.
fn replay(
    engine: &Engine,
    home: &Home,
    log: &mut Log,
    config: &KvConfig,
) -> Result<Replayed, KvError> {
    let Some(checkpoint) = engine.read_checkpoint()? else {
        return Err(KvError::Corrupt(format!("{} is not a LiteIO tree", home.path)));
    };
    let round = checkpoint.round;
    let refused = |what: String| {
        KvError::Corrupt(format!(
            "{what} Nothing was changed, and nothing is written before this is decided: copy the directory, \
             then restore it from a backup, or run `liteio repair` to keep what can be read."
        ))
    };
    let mut recovery = Recovery::default();
    if !config.salvage {
        log.check(&round, checkpoint.log_bytes).map_err(refused)?;
    }
    log.set_durable_bytes(checkpoint.log_bytes);
    let mut marked = round.number;
    // First pass: find the end of the log and the last mark. The second pass needs both.
    let salvage = config.salvage;
    let read_mark = |_, operation: Operation<'_>| {
        if let Operation::Mark { number } = operation {
            marked = marked.max(number);
        }
        Ok(true)
    };
    recovery.passed_over = log.replay(&round, salvage, read_mark, |_, _, _| Ok(()))?;
    let whole = log.ends();
    let dropped_path = format!("{}.log.dropped", home.path);
    let (ending, torn) = log.ending()?;
    recovery.dropped = match ending {
        Ending::Orderly => None,
        Ending::Damaged { tail, durable } if !salvage => {
            return Err(refused(format!(
                "Record {} of {} at byte {} is damaged, because records up to {durable} were \
                 durable when a later one was written.",
                tail.number, tail.path, tail.position,
            )));
        }
        Ending::Torn(mut tail) | Ending::Damaged { mut tail, .. } => {
            log.keep(&*home.disk, &dropped_path, &torn, &mut tail)?;
            Some(tail)
        }
    };
    // Attachments noted after the last mark may never have been synced, although their records
    // reached the device. The first one that is not whole, and whose contents the log does not
    // hold, ends the replay: later records may build on it.
    let attachments = config.attachments.as_deref();
    let mut unmarked = None;
    let is_whole = |record, operation: Operation<'_>| match (operation, attachments) {
        (Operation::Note { attachment, contents }, Some(attachments)) if record > marked => {
            unmarked = Some(record);
            match attachments.recover(attachment, contents) {
                Err(error) if salvage && is_unreadable(&error) => Ok(false),
                recovered => Ok(recovered?),
            }
        }
        _ => Ok(true),
    };
    let tables = std::array::from_fn(|_| Memtable::new());
    let mut ends = [(0, 0); LOG_FILES];
    let mut sequence = 0;
    log.replay(&round, salvage, is_whole, |file, number, operation| {
        let is_write = apply(&tables[file], operation, sequence + 1)?;
        sequence += u64::from(is_write);
        ends[file] = (number, sequence);
        Ok(())
    })?;
    if let Some((mut tail, parts)) = log.rest(&whole, &torn) {
        // Includes the torn part behind it, whose copy at the same path is replaced.
        tail.newest = tail.newest.max(recovery.dropped.map_or(0, |torn| torn.newest));
        log.keep(&*home.disk, &dropped_path, &parts, &mut tail)?;
        recovery.dropped = Some(tail);
    }
    // Recovered attachments and replayed records become durable before any new update builds on
    // them.
    sync_attachments(config.attachments.as_ref())?;
    let is_orderly = recovery.dropped.is_none() && !salvage && round.version == Version::Current;
    if log.number() > round.number {
        log.sync_replayed()?;
    }
    Ok(Replayed { checkpoint, tables, ends, unmarked, recovery, is_orderly })
}

/// Applies one log operation. `true` if it is a write.
fn apply(table: &Memtable, operation: Operation<'_>, sequence: u64) -> Result<bool, KvError> {
    let (key, value) = match operation {
        Operation::Put { key, value } => (key, Some(value)),
        Operation::Delete { key } => (key, None),
        Operation::Note { .. } | Operation::Mark { .. } => return Ok(false),
    };
    let bytes = key.len() + value.map_or(0, <[u8]>::len);
    let place = table.insert(key, hash(key), value, sequence);
    place.map(|_| true).ok_or(KvError::TooLarge { bytes, bytes_max: MEMTABLE_BYTES_MAX })
}

/// Builds the layers from the replayed tables.
fn settle(
    engine: &Arc<Engine>,
    home: &Home,
    mut log: Log,
    mut runs: Vec<Arc<Run>>,
    replayed: Replayed,
) -> Result<Opened, KvError> {
    let Replayed { mut checkpoint, tables, ends, unmarked, recovery, is_orderly } = replayed;
    let newest = log.current();
    let older = (newest + 1) % LOG_FILES;
    let sequence = ends[newest].1.max(ends[older].1);
    let has_older = !tables[older].is_empty();
    let log_bytes = log.durable_bytes();
    let frozen =
        has_older.then_some(Frozen { number: ends[older].0, log_bytes, sequence: ends[older].1 });
    // Clean log: keep the tables and continue the round; nothing has to be written before the first
    // update.
    if is_orderly {
        let mut undrained: Vec<_> = tables.into_iter().map(Arc::new).collect();
        undrained.swap(0, newest);
        undrained.truncate(1 + usize::from(has_older));
        let layers = Layers::new(OpenTree::new(engine)?, runs, undrained, 0);
        let drainer = Drainer::new(Arc::clone(engine), checkpoint);
        return Ok(Opened { log, layers, drainer, frozen, sequence, unmarked, recovery });
    }
    // Whole records may lie behind a torn one; a new nonce keeps them from ever verifying. The new
    // round also gets a record number of its own: with the same number, an older copy of the tree,
    // from before this start, would match the round, but the records that follow would not verify
    // under its nonce.
    let round = Round::new(log.number() + 1)?;
    checkpoint.log_bytes = log_bytes;
    let mut drain = |table: &Memtable, round: Round| {
        checkpoint.round = round;
        let none = BTreeSet::new();
        let mut changes = TableChanges { entries: table.entries(u64::MAX), without: &none };
        // Where runs exist the table must become a run, too: pairs newer than a run must not be
        // placed beneath it.
        let changes: &mut dyn Changes = if runs.is_empty() {
            &mut changes
        } else {
            if !table.is_empty() {
                let (entries, count) = (table.entries(u64::MAX), table.writes());
                let number = checkpoint.next_run();
                let run = run::write(Some(home.place()), number, entries, count, |_| ())?;
                home.sync_names()?;
                checkpoint.runs.push(run.name());
                runs.insert(0, Arc::new(run));
            }
            &mut NoChanges
        };
        checkpoint = engine.apply_whole(changes, &checkpoint)?;
        Ok::<_, KvError>(())
    };
    // The older table keeps the old round: if this is interrupted, the newer file is replayed
    // again.
    if let Some(frozen) = frozen {
        drain(&tables[older], Round { number: frozen.number, ..log.round() })?;
    }
    drain(&tables[newest], round)?;
    log.start(&round);
    let table = Arc::new(Memtable::new());
    let layers = Layers::new(OpenTree::new(engine)?, runs, vec![table], sequence);
    let drainer = Drainer::new(Arc::clone(engine), checkpoint);
    // The new round has no notes.
    Ok(Opened { log, layers, drainer, frozen: None, sequence, unmarked: None, recovery })
}
