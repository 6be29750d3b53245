//! Codes: two bits for each element of a vector, from which its distance can be estimated, by partition.
//!
//! - [`encode`](self::encode), [`second`], [`rotation`], [`centre`]: the code of a vector, and of a query.
//! - [`segment`], [`table`]: codes in memory, in partitions; a table is a snapshot.
//! - [`lowest`]: the lowest bounds of many.
//! - [`maker`], [`train`], [`centroids`]: making codes and partitions, step by step.
//! - [`probe`]: which partitions a query probes.
//! - [`file`](self::file): the file in which they are saved as they come.

mod centre;
mod centroids;
mod encode;
mod file;
mod lowest;
mod maker;
mod probe;
mod rotation;
mod scan;
mod second;
mod segment;
mod table;
mod train;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use liteio_disk::Disk;
use parking_lot::{Mutex, RwLock};

pub(crate) use centroids::Finder;
pub(crate) use encode::{QueryCode, QueryScratch};
pub(crate) use file::Notes;
pub(crate) use lowest::Lowest;
pub(crate) use maker::Grain;
pub(crate) use probe::{PROBES_MIN, Probe};
pub(crate) use scan::{Bounds, Scanner};
pub(crate) use second::{BitCounter, bound as second_bound};
pub(crate) use segment::{SEGMENT, Segment};
pub(crate) use table::{Partition, Table};

use self::file::NO_NOTES;
use self::maker::Maker;
use crate::error::VectorError;
use crate::limits::{
    BATCH_MAX, EXACT_CANDIDATES_MAX, PARTITIONS_FROM, UNSAVED_MAX, UNSAVED_MIN, UNSAVED_SHARE,
};
use crate::slots::{SlotFile, View};

/// The codes of an index: the table that searches use, and the maker that changes it.
#[derive(Debug)]
pub(crate) struct Codes {
    /// `None` in memory.
    home: Option<Home>,
    published: RwLock<Option<Arc<Table>>>,
    maker: Mutex<Maker>,
    /// `true` once the file was looked for. Changed with `maker` locked, and read without: training holds that
    /// lock for seconds, and queries must not wait for it.
    is_loaded: AtomicBool,
    /// Codes of new vectors made so far.
    made: AtomicU64,
}

/// The place of the file of codes.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) path: String,
}

/// The part of the work that a step has done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Progress {
    /// There was none.
    None,
    Some,
    /// There are other partitions.
    Trained,
    /// The codes that were saved are there, with the notes that were.
    Loaded(Notes),
}

impl Codes {
    pub(crate) fn new(home: Option<Home>) -> Self {
        let maker = Mutex::new(Maker::new(PARTITIONS_FROM));
        let (is_loaded, made) = (AtomicBool::new(false), AtomicU64::new(0));
        Self { home, published: RwLock::default(), maker, is_loaded, made }
    }

    /// Sets the number of vectors from which there are partitions.
    pub(crate) fn tune(&self, partitions_from: usize) {
        *self.maker.lock() = Maker::new(partitions_from);
    }

    /// The codes as they are; `None` before there are any.
    pub(crate) fn table(&self) -> Option<Arc<Table>> {
        self.published.read().clone()
    }

    /// The number of codes of new vectors that were made since the index was opened.
    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    /// Reads the codes that were saved, if nobody has yet: an index of a million vectors in 0.2 s. The notes that
    /// were saved with them, if there were codes.
    pub(crate) fn load(&self, slots: &SlotFile) -> Option<Notes> {
        if self.is_loaded() {
            return None;
        }
        let mut maker = self.maker.lock();
        // Another thread may have loaded them while this one waited for the lock.
        if self.is_loaded() { None } else { self.load_to(&mut maker, slots) }
    }

    fn is_loaded(&self) -> bool {
        self.is_loaded.load(Ordering::Acquire)
    }

    fn load_to(&self, maker: &mut Maker, slots: &SlotFile) -> Option<Notes> {
        let notes = self.take_file(maker, slots);
        // Only now: until then others wait, because comparing everything takes longer than loading.
        self.is_loaded.store(true, Ordering::Release);
        notes
    }

    fn take_file(&self, maker: &mut Maker, slots: &SlotFile) -> Option<Notes> {
        let loaded = self
            .home
            .as_ref()
            .and_then(|home| file::load(&*home.disk, &home.path, slots.shape(), slots.opened()));
        // After the file was read: what is committed from here on is among the changed slots.
        let view = slots.view();
        let Some(loaded) = loaded else {
            slots.add_changed(&view.slots().map(|slot| slot.number()).collect());
            return None;
        };
        let notes = loaded.notes;
        slots.add_changed(&maker.take(loaded, &view));
        self.publish(maker);
        Some(notes)
    }

    fn publish(&self, maker: &Maker) {
        *self.published.write() = maker.table.clone().map(Arc::new);
    }

    /// Does a part of the work that there is, some milliseconds long, but for training, which asks `is_over`
    /// now and then. `grain` is what searches have shown to be better.
    ///
    /// # Errors
    /// [`VectorError::Io`] or [`VectorError::Corrupt`] if vectors cannot be read. All codes are made anew
    /// then.
    pub(crate) fn step(
        &self,
        slots: &SlotFile,
        notes: Notes,
        grain: Grain,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Progress, VectorError> {
        let mut maker = self.maker.lock();
        if slots.slot_count() as usize <= EXACT_CANDIDATES_MAX {
            return Ok(Progress::None);
        }
        if !self.is_loaded() {
            let loaded = self.load_to(&mut maker, slots);
            return Ok(loaded.map_or(Progress::Some, Progress::Loaded));
        }
        let view = slots.view();
        let result = self.step_of(&mut maker, slots, &view, grain, is_over);
        if result.is_err() {
            maker.forget();
            self.publish(&maker);
            slots.add_changed(&view.slots().map(|slot| slot.number()).collect());
        }
        let is_idle = result.as_ref().is_ok_and(|progress| *progress == Progress::None);
        let share = view.slot_count() as usize / UNSAVED_SHARE;
        let unsaved_max = if is_idle { UNSAVED_MIN.max(share) } else { UNSAVED_MAX };
        if maker.unsaved >= unsaved_max.min(UNSAVED_MAX) {
            let is_trained = matches!(result, Ok(Progress::Trained));
            let notes = if is_trained { NO_NOTES } else { notes };
            // Without the file the next opening makes the codes again.
            let _ = self.save_to(&mut maker, slots, notes);
        }
        result
    }

    fn step_of(
        &self,
        maker: &mut Maker,
        slots: &SlotFile,
        view: &View,
        grain: Grain,
        is_over: &dyn Fn() -> bool,
    ) -> Result<Progress, VectorError> {
        let mut has_worked = false;
        let mut has_trained = false;
        if maker.is_done() {
            has_trained = maker.train(view, grain, is_over)?;
            has_worked = has_trained;
            if maker.table.is_some() {
                maker.begin(slots.take_changed(BATCH_MAX));
            }
        }
        if !maker.is_done() {
            // Not the view from above: these may be younger.
            let made = maker.encode(&slots.view())?;
            self.made.fetch_add(made, Ordering::Relaxed);
            has_worked = true;
        }
        // What is younger than the view from above has a code now, and must not be taken for gone.
        let view = &slots.view();
        has_worked |= maker.drain(view)?;
        // Not during a batch, which counts on the numbers of partitions.
        has_worked = has_worked || maker.split(view)?;
        // Also beside writers that never stop: each vector that they overwrite leaves an entry.
        maker.compact_if_worthwhile(view.vector_count());
        has_worked |= maker.compact(view);
        if has_worked {
            maker.is_changed = true;
            self.publish(maker);
        }
        if maker.is_done() {
            // After their codes are published, or a search would find them in neither.
            slots.finish_changed();
        }
        Ok(match (has_trained, has_worked) {
            (true, _) => Progress::Trained,
            (_, true) => Progress::Some,
            _ => Progress::None,
        })
    }

    /// Writes what has changed since to the file.
    ///
    /// # Errors
    /// The error of the disk.
    pub(crate) fn save(&self, slots: &SlotFile, notes: Notes) -> Result<(), VectorError> {
        let mut maker = self.maker.lock();
        if maker.is_changed {
            self.save_to(&mut maker, slots, notes)?;
        }
        Ok(())
    }

    fn save_to(
        &self,
        maker: &mut Maker,
        slots: &SlotFile,
        notes: Notes,
    ) -> Result<(), VectorError> {
        let Some(home) = &self.home else { return Ok(()) };
        // The stamp comes first: changes up to it are among the changed slots, or have codes.
        let stamp = slots.stamp();
        let stamp_of_all = (!slots.has_changed()).then_some(stamp);
        Ok(maker.save(home, stamp_of_all, stamp.0.file_id, notes)?)
    }
}
