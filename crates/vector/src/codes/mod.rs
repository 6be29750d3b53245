//! Codes: two bits per element of a vector, from which its distance is estimated, grouped by
//! partition.
//!
//! - [`encode`](self::encode), [`second`], [`rotation`], [`centre`]: the code of a vector, and of a
//!   query.
//! - [`segment`], [`table`]: codes in memory, in partitions; a table is a snapshot.
//! - [`scan`]: the kernels that compare a query with codes; [`lowest`]: the k lowest bounds.
//! - [`maker`], [`train`], [`centroids`]: making codes and partitions, step by step.
//! - [`probe`]: the partitions that a query probes.
//! - [`file`]: the file in which they are saved incrementally.
//!
//! ```text
//!            step (background thread)                    publish
//! SlotFile ──────────────────────────► Maker (mutex) ──────────────► Arc<Table> ◄── searches
//!                                          │ save
//!                                          └──────► file of codes
//! ```

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

/// The codes of an index: the published table, which searches use, and the maker, which changes it.
#[derive(Debug)]
pub(crate) struct Codes {
    /// The file of codes; `None` for an index in memory.
    home: Option<Home>,
    published: RwLock<Option<Arc<Table>>>,
    maker: Mutex<Maker>,
    /// `true` once loading the file was tried. Written with `maker` locked, and read without the
    /// lock: training holds the lock for seconds, and queries must not wait for it.
    is_loaded: AtomicBool,
    /// Codes of new vectors made so far.
    made: AtomicU64,
}

/// The location of the file of codes.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) path: String,
}

/// The outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Progress {
    /// There was no work.
    None,
    Some,
    /// Centroids were trained: the partitions are others.
    Trained,
    /// The saved codes were loaded, with these notes.
    Loaded(Notes),
}

impl Codes {
    pub(crate) fn new(home: Option<Home>) -> Self {
        let maker = Mutex::new(Maker::new(PARTITIONS_FROM));
        let (is_loaded, made) = (AtomicBool::new(false), AtomicU64::new(0));
        Self { home, published: RwLock::default(), maker, is_loaded, made }
    }

    /// Sets the number of vectors from which the index is partitioned.
    pub(crate) fn tune(&self, partitions_from: usize) {
        *self.maker.lock() = Maker::new(partitions_from);
    }

    /// The published table; `None` before the first codes.
    pub(crate) fn table(&self) -> Option<Arc<Table>> {
        self.published.read().clone()
    }

    /// Codes of new vectors made since the index was opened.
    pub(crate) fn made(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    /// Loads the saved codes unless that was done before, and returns the notes saved with them:
    /// 0.2 s for a million vectors.
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
        // Set only now: until then queries wait for the lock, since exact comparison of everything
        // takes longer than loading.
        self.is_loaded.store(true, Ordering::Release);
        notes
    }

    fn take_file(&self, maker: &mut Maker, slots: &SlotFile) -> Option<Notes> {
        let loaded = self
            .home
            .as_ref()
            .and_then(|home| file::load(&*home.disk, &home.path, slots.shape(), slots.opened()));
        // The snapshot is taken after the file was read: later commits are among the changed slots.
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

    /// Does one step of the pending work, a few milliseconds long. Only training takes longer; it
    /// polls `is_over`. `grain` is the size of partitions that recent searches favour.
    ///
    /// # Errors
    /// [`VectorError::Io`] or [`VectorError::Corrupt`] if vectors cannot be read. All codes are
    /// made again then.
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
            // The maker may be half way through a change. Every visible vector gets a new code.
            maker.forget();
            self.publish(&maker);
            slots.add_changed(&view.slots().map(|slot| slot.number()).collect());
        }
        let is_idle = result.as_ref().is_ok_and(|progress| *progress == Progress::None);
        // While idle, few changes are worth a save; while busy, the next steps would change the
        // same pages again.
        let share = view.slot_count() as usize / UNSAVED_SHARE;
        let unsaved_max = if is_idle { UNSAVED_MIN.max(share) } else { UNSAVED_MAX };
        if maker.unsaved >= unsaved_max.min(UNSAVED_MAX) {
            let is_trained = matches!(result, Ok(Progress::Trained));
            let notes = if is_trained { NO_NOTES } else { notes };
            // The error is ignored: without the file the next start makes the codes again.
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
            // A new snapshot: the batch may contain vectors younger than the one above.
            let made = maker.encode(&slots.view())?;
            self.made.fetch_add(made, Ordering::Relaxed);
            has_worked = true;
        }
        // Vectors younger than the snapshot above have codes by now, and must not be taken for
        // deleted.
        let view = &slots.view();
        has_worked |= maker.drain(view)?;
        // Not during a batch, which relies on the numbers of partitions. (`has_worked` is set
        // during one.)
        has_worked = has_worked || maker.split(view)?;
        // Also while writers never stop: each overwritten vector leaves a dead entry.
        maker.compact_if_worthwhile(view.vector_count());
        has_worked |= maker.compact(view);
        if has_worked {
            maker.is_changed = true;
            self.publish(maker);
        }
        if maker.is_done() {
            // After publishing, or a concurrent search would find the vectors neither in the codes
            // nor in the changed slots.
            slots.finish_changed();
        }
        Ok(match (has_trained, has_worked) {
            (true, _) => Progress::Trained,
            (_, true) => Progress::Some,
            _ => Progress::None,
        })
    }

    /// Saves the changes to the file.
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
        // The stamp is taken first: every change up to it is among the changed slots or has a code.
        // Taken later, it could cover a change that is in neither.
        let stamp = slots.stamp();
        let stamp_of_all = (!slots.has_changed()).then_some(stamp);
        Ok(maker.save(home, stamp_of_all, stamp.0.file_id, notes)?)
    }
}
