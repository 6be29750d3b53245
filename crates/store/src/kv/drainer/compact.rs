//! Compaction: space of the tree that nothing uses any more goes back to the disk.
//!
//! redb gives back what is free at the end of its file only. So when more than half of the file is free, the pairs are
//! copied, in order, into a new file, which takes the place of the old one. Updates go on meanwhile: they are in the
//! tables above the tree, which does not change while nothing drains. If so many come that they have to be drained, the
//! copy is given up, and tried again later.
//!
//! ```text
//!  PATH.compact, PATH.compact.sums: copied, synced ──► rename tree ──► sync names ──► rename sums ──► sync names
//! ```
//! The tree and its sums have the same random identity, by which a start finds the sums of a tree that was cut off from
//! them between the two. Snapshots keep the old file open until they end.

use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Drainer;
use crate::kv::KvError;
use crate::kv::engine::{Change, Changes, Checkpoint, Contents, Engine, PairGuard, Place, View};
use crate::kv::home::Home;
use crate::kv::layers::OpenTree;
use crate::kv::shared::Shared;
use crate::random::{RandomSource as _, SystemRandom};

/// Smaller files are not compacted.
const FILE_BYTES_MIN: u64 = 8 << 20;
/// Bytes of the tree for a pair beside those of key and value, and for what is not full in its pages: a half.
const PAIR_OVERHEAD: u64 = 16;
/// Pairs after which a copy looks whether it has to end.
const LOOK_PAIRS: u64 = 1024;
/// A copy that was given up is tried again after this.
const RETRY: Duration = Duration::from_secs(5);

/// State of compactions.
#[derive(Debug, Default)]
pub(super) struct Compaction {
    /// Bytes of the file and of its contents after the last one.
    after: Option<(u64, u64)>,
    given_up: Option<Instant>,
}

/// The path of a tree that is to take the place of the tree `path`.
pub(in crate::kv) fn new_path(path: &str) -> String {
    format!("{path}.compact")
}

/// Removes what an interrupted compaction left.
pub(in crate::kv) fn remove_remains(home: &Home) -> Result<(), KvError> {
    let path = new_path(&home.path);
    home.disk.remove_if_there(&format!("{path}.sums"))?;
    Ok(home.disk.remove_if_there(&path)?)
}

/// All pairs of a view.
struct Pairs<'a> {
    place: Place<'a>,
    shown: Option<PairGuard<'a>>,
    shared: &'a Shared,
    count: u64,
    is_given_up: bool,
}

impl<'a> Pairs<'a> {
    fn of(view: &'a View, shared: &'a Shared) -> Result<Self, KvError> {
        let place = view.tree().lower_bound(Bound::Unbounded)?;
        Ok(Self { place, shown: None, shared, count: 0, is_given_up: false })
    }
}

impl Changes for Pairs<'_> {
    fn next(&mut self) -> Result<Option<Change<'_>>, KvError> {
        self.count += 1;
        if self.count.is_multiple_of(LOOK_PAIRS) && self.shared.drains.is_pressing() {
            self.is_given_up = true;
            return Err(KvError::Closed);
        }
        self.shown = None;
        self.place.next_into(&mut self.shown)?;
        let pair = self.shown.as_ref();
        Ok(pair.map(|pair| Change { key: pair.key(), value: Some(pair.value()) }))
    }
}

impl Drainer {
    /// Compacts the tree if much of its file is free. `false` if that has to be tried again.
    pub(super) fn compact(&mut self, shared: &Shared) -> bool {
        if self.compaction.given_up.is_some_and(|when| when.elapsed() < RETRY) {
            return false;
        }
        self.compaction.given_up = None;
        let result = match self.is_mostly_free(shared) {
            Ok(true) => self.copy(shared),
            Ok(false) => return true,
            Err(error) => Err(error),
        };
        match result {
            Ok(()) => {
                shared.counters.compactions.fetch_add(1, Ordering::Relaxed);
                self.count_tree(&shared.counters);
                true
            }
            // Given up, or there is no space for a copy now.
            Err(KvError::Closed | KvError::NoSpace) => {
                self.compaction.given_up = Some(Instant::now());
                false
            }
            // Whoever reads the damage is told of it. What cannot be read is not copied.
            Err(KvError::Corrupt(_)) => true,
            Err(error) => {
                shared.stop_writing(&error);
                true
            }
        }
    }

    fn is_mostly_free(&mut self, shared: &Shared) -> Result<bool, KvError> {
        let Some(engine) = self.engine.clone() else { return Ok(false) };
        let file_bytes = engine.file_bytes();
        if file_bytes < FILE_BYTES_MIN {
            return Ok(false);
        }
        let contents = match self.checkpoint.contents {
            Some(contents) => contents,
            None => {
                let contents = count(&engine.view()?, shared)?;
                self.checkpoint.contents = Some(contents);
                contents
            }
        };
        let needed = (contents.bytes + contents.pairs * PAIR_OVERHEAD).saturating_mul(2);
        // A copy that is as large as the file gives nothing back.
        let is_news = self.compaction.after.is_none_or(|(file, content)| {
            file_bytes > file.saturating_mul(2) || contents.bytes < content / 2
        });
        Ok(is_news && needed.saturating_mul(2) < file_bytes)
    }

    fn copy(&mut self, shared: &Shared) -> Result<(), KvError> {
        let Some(old) = self.engine.clone() else { return Ok(()) };
        let view = old.view()?;
        let mut pairs = Pairs::of(&view, shared)?;
        let mut identity = [0; 8];
        SystemRandom.fill(&mut identity)?;
        let checkpoint = Checkpoint {
            identity: u64::from_le_bytes(identity),
            contents: Some(Contents::default()),
            ..self.checkpoint.clone()
        };
        let config = &shared.config;
        let Some(home) = &shared.home else {
            let new = Engine::memory(config.engine, config.cache_bytes)?;
            let checkpoint = new.apply(&mut pairs, &checkpoint).map_err(|failure| failure.error)?;
            return self.replace(shared, &old, &new, checkpoint);
        };
        let path = new_path(&home.path);
        remove_remains(home)?;
        let new = Engine::open(config.engine, &home.disk, &path, config.cache_bytes)?;
        let copied = new.apply(&mut pairs, &checkpoint).map_err(|failure| failure.error);
        let is_given_up = pairs.is_given_up;
        let copied = match new.frozen() {
            Some(error) => Err(error),
            None => copied.and_then(|checkpoint| home.sync_names().map(|()| checkpoint)),
        };
        let checkpoint = match copied {
            Ok(checkpoint) => checkpoint,
            Err(error) => {
                new.close_without_checkpoint();
                drop(new);
                // It is removed by the next start, at the latest.
                let _ = remove_remains(home);
                return Err(if is_given_up { KvError::Closed } else { error });
            }
        };
        // Whatever fails from here on: nobody knows which of the two a start would find, but both are whole.
        let disk = &home.disk;
        let replaced = shared.tree_file.as_ref().map_or(Ok(()), |file| {
            file.replace(|| {
                disk.rename(&path, &home.path)?;
                home.sync_names()?;
                disk.rename(&format!("{path}.sums"), &format!("{}.sums", home.path))?;
                home.sync_names()
            })
        });
        if let Err(error) = replaced {
            new.close_without_checkpoint();
            return Err(KvError::Poisoned { reason: error.to_string() });
        }
        self.replace(shared, &old, &new, checkpoint)
    }

    /// Puts the new tree beneath the tables.
    fn replace(
        &mut self,
        shared: &Shared,
        old: &Engine,
        new: &Arc<Engine>,
        checkpoint: Checkpoint,
    ) -> Result<(), KvError> {
        let tree = OpenTree::new(new)?;
        shared.change_layers(|layers| Some(layers.over(tree)));
        old.close_without_checkpoint();
        self.engine = Some(Arc::clone(new));
        let bytes = checkpoint.contents.map_or(0, |contents| contents.bytes);
        self.checkpoint = checkpoint;
        self.compaction.after = Some((new.file_bytes(), bytes));
        Ok(())
    }
}

/// Counts the pairs of a tree of an earlier version.
fn count(view: &View, shared: &Shared) -> Result<Contents, KvError> {
    let mut pairs = Pairs::of(view, shared)?;
    let mut contents = Contents::default();
    while let Some(Change { key, value }) = pairs.next()? {
        contents.count(None, value.map(|value| key.len() + value.len()));
    }
    Ok(contents)
}
