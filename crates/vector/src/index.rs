//! [`VectorIndex`]: a slot file with the derived codes for fast search.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use liteio_disk::{Disk, Durability};
use parking_lot::Mutex;

use crate::codes::{Codes, Grain, Home, Progress};
use crate::config::Shape;
use crate::error::VectorError;
use crate::limits::{CODES_DIMENSION_MIN, EXACT_VECTORS_MIN, PARTITIONS_FROM, WORK_PER_SAMPLE};
use crate::measure;
use crate::recall::{Due, Origin, Recall, Steering};
use crate::search::{Found, Neighbour, Search, search_coded, search_exactly};
use crate::slots::{SlotFile, View, directory_of};
use crate::worker::{self, Work};

/// Vectors and the search for nearest neighbours.
///
/// On a disk an index is two files: `PATH.slots` with the vectors, and `PATH.codes`, which is
/// derived from them. The latter may be missing, old or damaged; it is then made again.
///
/// ```text
/// append, commit ──► SlotFile ──► changed slots ──► worker: codes, partitions ──► PATH.codes
/// search ──► few candidates, or short vectors: compare exactly
///        └─► else: slots without a code exactly, the others by codes (`Steering`: how many)
/// ```
#[derive(Debug)]
pub struct VectorIndex {
    inner: Arc<Inner>,
}

/// The state shared with the background thread.
#[derive(Debug)]
struct Inner {
    slots: SlotFile,
    codes: Codes,
    steering: Steering,
    /// Entries scanned by searches since the last sample was taken.
    work: AtomicU64,
    /// A query that waits to be answered exactly, as a sample of recall.
    sample: Mutex<Option<Vec<f32>>>,
    /// Number of the index's own vectors that were used as queries for measurements.
    samples: AtomicUsize,
    is_closing: AtomicBool,
    /// `true` if the caller's thread does the background work, as on the simulated disk.
    is_inline: bool,
}

/// Settings that only tests change.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Tuning {
    /// Number of vectors from which an index is partitioned.
    pub partitions_from: usize,
}

impl Default for Tuning {
    fn default() -> Self {
        Self { partitions_from: PARTITIONS_FROM }
    }
}

impl VectorIndex {
    /// Creates an empty index at `path` (without a suffix). It is durable when this returns.
    ///
    /// # Errors
    /// The errors of [`SlotFile::create`].
    pub fn create(disk: Arc<dyn Disk>, path: &str, shape: Shape) -> Result<Self, VectorError> {
        let slots = SlotFile::create(&*disk, &slots_path(path), shape)?;
        Ok(Self::with(slots, Some(Home { disk, path: codes_path(path) })))
    }

    /// Opens the index at `path`. This is quick: codes are loaded, or made again, by
    /// [`VectorIndex::prepare`] or the first search.
    ///
    /// # Errors
    /// The errors of [`SlotFile::open`].
    pub fn open(disk: Arc<dyn Disk>, path: &str, shape: Shape) -> Result<Self, VectorError> {
        let slots = SlotFile::open(&*disk, &slots_path(path), shape)?;
        Ok(Self::with(slots, Some(Home { disk, path: codes_path(path) })))
    }

    /// An empty index in memory, without files.
    ///
    /// # Errors
    /// The errors of [`SlotFile::in_memory`].
    pub fn in_memory(shape: Shape) -> Result<Self, VectorError> {
        Ok(Self::with(SlotFile::in_memory(shape)?, None))
    }

    fn with(slots: SlotFile, home: Option<Home>) -> Self {
        let is_inline = slots.is_simulated();
        let inner = Inner {
            slots,
            codes: Codes::new(home),
            steering: Steering::default(),
            work: AtomicU64::new(0),
            sample: Mutex::default(),
            samples: AtomicUsize::new(0),
            is_closing: AtomicBool::new(false),
            is_inline,
        };
        Self { inner: Arc::new(inner) }
    }

    /// The same index with other settings. Call it before the index has codes.
    #[doc(hidden)]
    #[must_use]
    pub fn tuned(self, tuning: Tuning) -> Self {
        self.inner.codes.tune(tuning.partitions_from);
        self
    }

    /// Deletes the files of the index at `path`, which must not be open. Missing files are no
    /// error.
    ///
    /// # Errors
    /// [`VectorError::Io`] or [`VectorError::Poisoned`].
    pub fn remove(disk: &dyn Disk, path: &str) -> Result<(), VectorError> {
        let codes_path = codes_path(path);
        // Earlier versions wrote new codes to a temporary name first.
        // The vectors go last: should the process end in between, `remove` can be repeated.
        for path in [format!("{codes_path}.new"), codes_path, slots_path(path)] {
            match disk.remove(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                result => result?,
            }
        }
        Ok(disk.sync_dir(directory_of(path))?)
    }

    /// The slot file: everything but searching.
    #[must_use]
    pub fn slots(&self) -> &SlotFile {
        &self.inner.slots
    }

    /// Starts making codes and partitions of committed vectors in the background, and saving both.
    /// Until then searches compare vectors without a code exactly. A search starts this work, too;
    /// calling this after a commit only starts it earlier.
    pub fn prepare_soon(&self) {
        if self.inner.has_codes() {
            self.inner.begin();
        }
    }

    /// Does all background work on the calling thread and returns when it is done. While others
    /// write, it returns once the vectors committed before the call have codes; otherwise it might
    /// never return.
    ///
    /// # Errors
    /// [`VectorError::Io`] or [`VectorError::Corrupt`] if vectors cannot be read. Damaged codes are
    /// no error; they are made again.
    pub fn prepare(&self) -> Result<(), VectorError> {
        self.inner.prepare(|| {})
    }

    /// Saves codes and partitions that are not in the file yet, so that the next opening need not
    /// make them. It commits with [`Durability::Fsync`](crate::Durability) first. The codes
    /// themselves are never synced, and missing codes are not made. Has no effect on an index in
    /// memory.
    ///
    /// # Errors
    /// The errors of the commit and of writing. Without the file the next opening makes the codes
    /// again.
    pub fn save_codes(&self) -> Result<(), VectorError> {
        if !self.inner.has_codes() {
            return Ok(());
        }
        self.inner.slots.commit(Durability::Fsync)?;
        self.inner.codes.save(&self.inner.slots, self.inner.steering.notes())
    }

    /// Number of partitions; 0 before there are codes.
    #[must_use]
    pub fn partitions(&self) -> usize {
        self.inner.codes.table().map_or(0, |table| table.count())
    }

    /// Codes compared by searches since the last sample of recall.
    #[doc(hidden)]
    #[must_use]
    pub fn scanned(&self) -> u64 {
        self.inner.work.load(Ordering::Relaxed)
    }

    /// `true` while codes or partitions are made in the background, or recall is measured.
    #[must_use]
    pub fn is_preparing(&self) -> bool {
        worker::is_busy(&self.inner)
    }

    /// `false` while so many vectors lack a code that comparing them dominates a search. Loads the
    /// saved codes, as a search does. `true` for vectors too short for codes.
    #[must_use]
    pub fn has_most_codes(&self) -> bool {
        if !self.inner.has_codes() {
            return true;
        }
        self.inner.load();
        let (finished, all) = self.inner.slots.changes();
        all - finished <= EXACT_VECTORS_MIN as u64
    }

    /// The measured recall of searches: the background thread answers an occasional query exactly.
    /// `None` before there are enough samples.
    #[must_use]
    pub fn recall(&self) -> Option<Recall> {
        self.inner.steering.recall()
    }

    /// The nearest neighbours of a vector, nearest first. Distances are exact. A search by codes
    /// may miss neighbours: it finds 99 % and more of them on average.
    ///
    /// Only vectors in `view` are found. Vectors freed meanwhile may be missing.
    ///
    /// # Errors
    /// [`VectorError::WrongLength`], [`VectorError::NotFinite`], [`VectorError::ZeroLength`] for
    /// the query; [`VectorError::TooManyNeighbours`]; [`VectorError::DamagedVector`] if a compared
    /// vector is not the appended one; [`VectorError::Io`] or [`VectorError::Corrupt`] if vectors
    /// cannot be read, or the file is damaged or truncated.
    pub fn search(&self, view: &View, search: &Search<'_>) -> Result<Vec<Neighbour>, VectorError> {
        Ok(self.find(view, search)?.neighbours)
    }

    /// [`VectorIndex::search`] for an owner that records the CRC of every vector. It also returns
    /// the compared vectors that the index cannot verify itself; the owner verifies them by
    /// [`View::compare`].
    ///
    /// # Errors
    /// The errors of [`VectorIndex::search`].
    pub fn find(&self, view: &View, search: &Search<'_>) -> Result<Found, VectorError> {
        search.check(view)?;
        self.inner.slots.check()?;
        if search.neighbours == 0 || search.is_exact(view) {
            return search_exactly(view, search);
        }
        if self.inner.slots.has_changed() || self.inner.codes.table().is_none() {
            self.inner.begin();
        }
        if self.inner.codes.table().is_none() {
            // Loading is quicker than comparing everything. Codes that must be made again are not
            // waited for.
            self.inner.load();
        }
        let found = self.inner.find(view, search)?;
        if self.inner.take_sample(view, search) {
            self.inner.begin();
        }
        Ok(found)
    }
}

impl Drop for VectorIndex {
    fn drop(&mut self) {
        self.inner.is_closing.store(true, Ordering::Relaxed);
        worker::end(&self.inner);
    }
}

impl Inner {
    /// `true` if vectors are long enough for codes.
    fn has_codes(&self) -> bool {
        self.slots.shape().dimension() >= CODES_DIMENSION_MIN
    }

    fn begin(self: &Arc<Self>) {
        if self.is_inline {
            // The error is ignored: a search meets it again and returns it.
            let _ = self.prepare(|| {});
        } else {
            worker::begin(self);
        }
    }

    fn find(&self, view: &View, search: &Search<'_>) -> Result<Found, VectorError> {
        // The set of slots without a code is read before the table. A vector that gets a code in
        // between is in both, and is compared once: codes of slots in the set are skipped. In the
        // other order a vector could be in neither.
        let without_code = self.slots.changed();
        let Some(table) = self.codes.table() else { return search_exactly(view, search) };
        let vectors = table.entries();
        let probe = |allowed| self.steering.probe(search.neighbours, allowed, vectors);
        search_coded(view, search, &table, probe, &without_code, &self.work)
    }

    /// Takes the query as a sample to be answered exactly, if searches have done enough work since
    /// the last one; `true` if it did.
    fn take_sample(&self, view: &View, search: &Search<'_>) -> bool {
        let least = u64::from(view.slot_count()) * WORK_PER_SAMPLE;
        if self.work.load(Ordering::Relaxed) < least {
            return false;
        }
        self.work.store(0, Ordering::Relaxed);
        *self.sample.lock() = Some(search.query.to_vec());
        true
    }

    fn load(&self) {
        if let Some(notes) = self.codes.load(&self.slots) {
            self.steering.take_notes(notes);
        }
    }

    /// [`VectorIndex::prepare`]; calls `each` after every step.
    fn prepare(&self, mut each: impl FnMut()) -> Result<(), VectorError> {
        if self.has_codes() {
            // Only the saved codes tell which are missing.
            self.load();
        }
        // Changes are finished in order, so `finished >= owed` covers every change committed before
        // this call. `all > owed` means that others write meanwhile.
        let (_, owed) = self.slots.changes();
        while self.try_step()? {
            each();
            let (finished, all) = self.slots.changes();
            if finished >= owed && all > owed {
                break;
            }
        }
        Ok(())
    }

    fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Relaxed)
    }

    fn try_step(&self) -> Result<bool, VectorError> {
        if !self.has_codes() {
            return Ok(false);
        }
        let notes = self.steering.notes();
        let grain = match self.steering.leaves_nothing_out() {
            true => Grain::Coarse,
            false => Grain::Fine,
        };
        match self.codes.step(&self.slots, notes, grain, &|| self.is_closing())? {
            Progress::Loaded(notes) => {
                self.steering.take_notes(notes);
                Ok(true)
            }
            Progress::Trained => {
                self.steering.restart();
                Ok(true)
            }
            Progress::Some => Ok(true),
            Progress::None => self.measure(),
        }
    }

    /// Takes one measurement that is due; `false` if there is none.
    fn measure(&self) -> Result<bool, VectorError> {
        let Some(table) = self.codes.table() else { return Ok(false) };
        let sample = self.sample.lock().take();
        let due = self.steering.due(table.entries(), self.codes.made());
        if sample.is_none() && due == Due::Nothing {
            return Ok(false);
        }
        let view = self.slots.view();
        // A client's query is the better sample; else a vector of the index serves as the query.
        let (own, query) = match sample {
            Some(query) => (None, query),
            None => {
                let nth = self.samples.fetch_add(1, Ordering::Relaxed);
                match measure::nth_vector(&view, nth)? {
                    Some((slot, vector)) => (Some(slot), vector),
                    None => return Ok(false),
                }
            }
        };
        // Calibration: excesses of the partitions that have the neighbours. A client's query always
        // serves it, too.
        if table.count() > 1 && (own.is_none() || due == Due::Calibration) {
            let without_code = self.slots.changed();
            let found = measure::excesses(&view, &table, &without_code, &query, own)?;
            self.steering.calibrate(found);
        } else if own.is_some() && due == Due::Calibration {
            self.steering.calibrate(Default::default());
        }
        // Recall: the answer of an ordinary search against the exact one.
        if own.is_none() || due == Due::Recall {
            let find = |search: &Search<'_>| Ok(self.find(&view, search)?.neighbours);
            let recalls = measure::recalls(&view, &query, own, &|| self.is_closing(), find)?;
            if let Some(recalls) = recalls {
                let origin = if own.is_none() { Origin::Query } else { Origin::Stored };
                self.steering.measured(recalls, origin);
            }
        }
        Ok(!self.is_closing())
    }
}

impl Work for Inner {
    fn step(&self) -> bool {
        // The error is ignored: a search meets it again and returns it.
        !self.is_closing() && self.try_step().unwrap_or(false)
    }
}

fn slots_path(path: &str) -> String {
    format!("{path}.slots")
}

fn codes_path(path: &str) -> String {
    format!("{path}.codes")
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::VecDeque;

    use super::*;
    use crate::codes::SEGMENT;
    use crate::distance::Kernels;
    use crate::metric::Metric;
    use crate::slot::{Slot, SlotSet};

    /// Vectors of which no two are equal.
    fn vectors(count: usize, first: usize) -> Vec<f32> {
        let element = |number: usize| ((number * 7_919) % 10_007) as f32 - 5_000.0;
        (first * 256..(first + count) * 256).map(element).collect()
    }

    /// Vectors near one of 64 centres, in turn.
    fn clustered(count: usize, first: usize) -> Vec<f32> {
        let vector = |index: usize| {
            let centre = move |element| ((index % 64 * 3_137 + element) * 7_919) % 10_007;
            let noise = move |element| (index * 13 + element * 7) % 101;
            (0..256).map(move |element| (centre(element) + noise(element)) as f32)
        };
        (first..first + count).flat_map(vector).collect()
    }

    #[test]
    fn a_writer_that_never_stops_does_not_keep_prepare_from_its_end() {
        let shape = Shape::new(256, Metric::Cosine).expect("valid");
        let index = VectorIndex::in_memory(shape).expect("made");
        let mut written = 0;
        let mut write = |count| {
            index.slots().append_many(&vectors(count, written)).expect("appended");
            index.slots().commit(Durability::Os).expect("committed");
            written += count;
        };
        write(5_000);
        let mut steps = 0;
        index
            .inner
            .prepare(|| {
                steps += 1;
                assert!(steps < 100, "as long as vectors come");
                write(600);
            })
            .expect("prepared");
        let (finished, _) = index.slots().changes();
        assert!(finished >= 5_000, "{finished}");
    }

    /// Without the codes that a crash or damage has taken, training comes first: it holds the lock
    /// of the maker, which a query would wait for, here for ever.
    #[test]
    fn queries_are_answered_while_centroids_are_trained() {
        let shape = Shape::new(256, Metric::Cosine).expect("valid");
        let index = VectorIndex::in_memory(shape).expect("made");
        index.slots().append_many(&vectors(5_000, 0)).expect("appended");
        index.slots().commit(Durability::Os).expect("committed");
        assert!(index.inner.try_step().expect("looked for a file"));
        let view = index.slots().view();
        let query = vectors(1, 77);
        let search = Search::new(&query, 10);
        let exact = view.search_exactly(&search).expect("found");
        let answers = Cell::new(0);
        let answer_one = || {
            assert_eq!(index.search(&view, &search).expect("found"), exact);
            answers.set(answers.get() + 1);
            false
        };
        let notes = index.inner.steering.notes();
        let slots = &index.inner.slots;
        let done = index.inner.codes.step(slots, notes, Grain::Fine, &answer_one).expect("done");
        assert_eq!(done, Progress::Trained);
        assert!(answers.get() > 0, "asked while it trained");
    }

    /// Else all of them move when there are as many codes as vectors were trained with.
    #[test]
    fn vectors_that_come_faster_than_codes_are_trained_with_before_they_get_codes() {
        let shape = Shape::new(256, Metric::Euclidean).expect("valid");
        let tuning = Tuning { partitions_from: 1_024 };
        let index = VectorIndex::in_memory(shape).expect("made").tuned(tuning);
        let append = |count, first| {
            index.slots().append_many(&clustered(count, first)).expect("appended");
            index.slots().commit(Durability::Os).expect("committed");
        };
        let (codes, slots) = (&index.inner.codes, &index.inner.slots);
        let step = || {
            let notes = index.inner.steering.notes();
            codes.step(slots, notes, Grain::Fine, &|| false).expect("done")
        };
        append(4_000, 0);
        index.prepare().expect("prepared");
        append(3_900, 4_000);
        assert_eq!(step(), Progress::Some, "not twice as many");
        while step() != Progress::None {}
        append(4_000, 7_900);
        assert_eq!(step(), Progress::Trained, "before any of their codes is made");
    }

    /// A batch finds the partition of a vector some steps before it makes its code.
    #[test]
    fn vectors_that_are_replaced_before_their_codes_are_made_get_those_of_their_own_partition() {
        let shape = Shape::new(256, Metric::Euclidean).expect("valid");
        let tuning = Tuning { partitions_from: 1_024 };
        let index = VectorIndex::in_memory(shape).expect("made").tuned(tuning);
        // One by one: many at once would not be written to freed slots.
        let append = |count, first| -> Vec<Slot> {
            let vectors = clustered(count, first);
            let append = |vector| index.slots().append(vector).expect("appended").slot;
            let slots = vectors.chunks(256).map(append).collect();
            index.slots().commit(Durability::Fsync).expect("committed");
            slots
        };
        let mut used: VecDeque<Slot> = append(4_000, 0).into();
        // Slots of the last two durable commits are not written again.
        used.extend(append(1, 4_000));
        used.extend(append(1, 4_001));
        let mut next = 4_002;
        let replace = || {
            if next < 6_002 {
                // The ones whose partitions were found first.
                let old: Vec<Slot> = used.drain(..200).collect();
                index.slots().free(&old).expect("freed");
                let new = append(200, next);
                assert!(new == old, "in the same slots");
                used.extend(new);
                next += 200;
            }
            let view = index.slots().view();
            let query = clustered(1, next - 1);
            let search = Search::new(&query, 1);
            let exact = view.search_exactly(&search).expect("found");
            assert_eq!(index.inner.find(&view, &search).expect("found").neighbours, exact);
        };
        index.inner.prepare(replace).expect("prepared");
        index.prepare().expect("prepared");
        assert_eq!(next, 6_002, "replaced while codes were made");
        let (table, view) = (index.inner.codes.table().expect("made"), index.slots().view());
        let (mut rotated, mut entries, mut elsewhere) = (Vec::new(), SlotSet::new(), 0);
        for (_, partition) in table.all() {
            for slot in partition.slots().map(Slot::new).filter(|slot| view.contains(*slot)) {
                assert!(!entries.contains(slot), "one entry each");
                entries.insert(slot);
                table.encoder.rotate(&view.vector(slot).expect("read"), &mut rotated);
                let square = |centroid: &[f32]| Kernels::best().square(&rotated, centroid);
                let nearest =
                    table.all().map(|(_, it)| square(&it.centroid)).fold(f64::MAX, f64::min);
                elsewhere += usize::from(square(&partition.centroid) > nearest);
            }
        }
        // Where many are missed, an index gets few large partitions, of which searches look at all.
        assert!(table.count() > 32, "{} partitions", table.count());
        assert_eq!(entries.count(), 4_002);
        assert!(elsewhere < 100, "{elsewhere} are not in the nearest partition, or nearly so");
    }

    #[test]
    fn a_writer_that_never_stops_leaves_no_entries_behind() {
        let shape = Shape::new(256, Metric::Cosine).expect("valid");
        let index = VectorIndex::in_memory(shape).expect("made");
        let mut used: VecDeque<Slot> = VecDeque::new();
        for round in 0..200 {
            let written = index.slots().append_many(&vectors(500, round * 500)).expect("appended");
            used.extend(written.iter().map(|written| written.slot));
            index.slots().commit(Durability::Os).expect("committed");
            if used.len() > 3_000 {
                let old: Vec<Slot> = used.drain(..500).collect();
                index.slots().free(&old).expect("freed");
            }
            index.inner.try_step().expect("a step");
            let table = index.inner.codes.table();
            let segments = table.iter().flat_map(|table| table.all());
            let places: usize = segments.map(|(_, it)| it.segments.len() * SEGMENT).sum();
            assert!(places < 12_000, "{places} places in round {round}");
        }
    }
}
