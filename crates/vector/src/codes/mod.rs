//! Codes: a bit for each element of a vector, from which its distance can be estimated.

mod centre;
mod chunk;
mod encode;
mod file;
mod refine;
mod rotation;
mod scan;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::RwLock;

pub(crate) use chunk::CHUNK_SLOTS;
pub(crate) use encode::QueryCode;
pub(crate) use file::{Loaded, new_path};
pub(crate) use refine::Dot;
pub(crate) use scan::{Bounds, Masks, Scanner};

use self::centre::{Centre, SAMPLE_MAX};
use self::chunk::{Chunk, Code};
use self::encode::Encoder;
use crate::config::Shape;
use crate::error::VectorError;
use crate::slots::{Reader, View};

/// The growth in slots after which the centre is checked again.
const GROWTH_MAX: usize = 16;

/// The codes of all slots. Scans and changes may come from many threads at once.
#[derive(Debug)]
pub(crate) struct Codes {
    encoder: Encoder,
    chunks: RwLock<Vec<Arc<RwLock<Chunk>>>>,
    /// Slots when the centre was last checked.
    slots_at_start: AtomicUsize,
}

impl Codes {
    /// Codes with a centre computed from some of the vectors in `view`. No vector has a code yet.
    ///
    /// # Errors
    /// [`VectorError::Io`] or [`VectorError::Corrupt`] if vectors cannot be read.
    pub(crate) fn for_vectors_of(view: &View) -> Result<Self, VectorError> {
        let centre = Centre::of(view)?.elements;
        Ok(Self::with_centre(view.shape(), centre, view.slot_count() as usize))
    }

    fn with_centre(shape: Shape, centre: Vec<f32>, slots_at_start: usize) -> Self {
        let encoder = Encoder::new(shape, centre);
        let slots_at_start = AtomicUsize::new(slots_at_start);
        Self { encoder, chunks: RwLock::default(), slots_at_start }
    }

    /// `true` if codes with another centre would be better: there are many more vectors than when this one
    /// was computed, and they lie far from it. Making all codes again takes 10 µs a vector, and the memory
    /// of the old codes in addition.
    ///
    /// # Errors
    /// [`VectorError::Io`] or [`VectorError::Corrupt`] if vectors cannot be read.
    pub(crate) fn are_outgrown(&self, view: &View) -> Result<bool, VectorError> {
        let slots = view.slot_count() as usize;
        let slots_at_start = self.slots_at_start.load(Ordering::Relaxed);
        if slots <= slots_at_start.max(SAMPLE_MAX).saturating_mul(GROWTH_MAX) {
            return Ok(false);
        }
        if !Centre::of(view)?.is_near(self.encoder.centre()) {
            return Ok(true);
        }
        self.slots_at_start.store(slots, Ordering::Relaxed);
        Ok(false)
    }

    pub(crate) fn query(&self, vector: &[f32]) -> Option<QueryCode> {
        self.encoder.query(vector)
    }

    /// Makes the codes of the visible vectors in `slots`.
    ///
    /// # Errors
    /// [`VectorError::Io`] or [`VectorError::Corrupt`] if a vector cannot be read.
    pub(crate) fn encode(
        &self,
        view: &View,
        slots: impl Iterator<Item = u32>,
    ) -> Result<(), VectorError> {
        Reader::new(view).read_all(slots, |slot, vector| {
            self.set(slot as usize, &self.encoder.encode(vector));
        })
    }

    /// The chunk that begins at slot `index * CHUNK_SLOTS`, if any vector in it has a code.
    pub(crate) fn chunk(&self, index: usize) -> Option<Arc<RwLock<Chunk>>> {
        self.chunks.read().get(index).cloned()
    }

    fn push(&self, chunk: Chunk) {
        self.chunks.write().push(Arc::new(RwLock::new(chunk)));
    }

    fn new_chunk(&self) -> Chunk {
        Chunk::new(self.encoder.words(), self.encoder.refined_bytes())
    }

    fn set(&self, slot: usize, code: &Code) {
        let index = slot / CHUNK_SLOTS;
        let chunk = match self.chunk(index) {
            Some(chunk) => chunk,
            None => {
                let mut chunks = self.chunks.write();
                while chunks.len() <= index {
                    chunks.push(Arc::new(RwLock::new(self.new_chunk())));
                }
                Arc::clone(&chunks[index])
            }
        };
        chunk.write().set(slot % CHUNK_SLOTS, code);
    }
}

#[cfg(test)]
mod tests {
    use liteio_disk::Durability;

    use super::encode::inverse_length;
    use super::*;
    use crate::metric::Metric;
    use crate::slots::SlotFile;

    /// Numbers that look like draws from a normal distribution.
    fn normal(state: &mut u64) -> f32 {
        let mut sum = 0.0;
        for _ in 0..12 {
            *state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            sum += (*state >> 40) as f32 / (1 << 24) as f32;
        }
        sum - 6.0
    }

    #[test]
    fn codes_of_a_million_vectors_of_768_elements_take_556_megabytes() {
        let shape = Shape::new(768, Metric::Cosine).expect("a shape");
        let codes = Codes::with_centre(shape, vec![0.0; 768], 0);
        let chunk = codes.new_chunk();
        let bytes = size_of_val(&*chunk.signs) + size_of_val(&*chunk.factors);
        let finer_bytes = CHUNK_SLOTS * codes.encoder.refined_bytes();
        assert_eq!((bytes + finer_bytes) * 1_000_000 / CHUNK_SLOTS, 556_000_000);
    }

    #[test]
    fn codes_are_outgrown_by_many_vectors_that_lie_elsewhere_and_by_no_others() {
        let dimension = 64;
        let shape = Shape::new(dimension, Metric::Euclidean).expect("a shape");
        let file = SlotFile::in_memory(shape).expect("created");
        let mut state = 7;
        let mut append = |count: usize, middle: f32| {
            let elements = (0..count * dimension).map(|_| middle + normal(&mut state));
            file.append_many(&elements.collect::<Vec<_>>()).expect("appended");
            file.commit(Durability::Os).expect("committed");
            file.view()
        };
        let codes = Codes::for_vectors_of(&append(2_000, 3.0)).expect("made");
        let most = SAMPLE_MAX * GROWTH_MAX;
        let outgrown = |view: &View| codes.are_outgrown(view).expect("the vectors can be read");
        assert!(!outgrown(&append(most - 2_000, 5.0)), "not that many yet");
        assert!(outgrown(&append(1, 5.0)), "elsewhere");
        let codes = Codes::for_vectors_of(&file.view()).expect("made");
        assert!(!codes.are_outgrown(&file.view()).expect("read"), "new ones");
        // Codes that were made of a few of these vectors.
        let old = || Codes::with_centre(shape, codes.encoder.centre().to_vec(), 9);
        let few = old();
        assert!(!few.are_outgrown(&file.view()).expect("read"), "where they were");
        assert!(few.slots_at_start.load(Ordering::Relaxed) > most, "and not to be asked soon");
    }

    #[test]
    fn bounds_are_below_the_distances_nearly_always_and_not_far_below() {
        for metric in [Metric::Cosine, Metric::Euclidean] {
            let dimension = 384;
            let shape = Shape::new(dimension, metric).expect("a shape");
            let file = SlotFile::in_memory(shape).expect("created");
            let mut state = 7;
            let mut vector =
                || (0..dimension).map(|_| 0.5 + normal(&mut state)).collect::<Vec<f32>>();
            let vectors: Vec<f32> = (0..2_000).flat_map(|_| vector()).collect();
            file.append_many(&vectors).expect("appended");
            file.commit(Durability::Os).expect("committed");
            let view = file.view();
            let codes = Codes::for_vectors_of(&view).expect("made");
            codes.encode(&view, 0..2_000).expect("encoded");
            let query = vector();
            let query_code = codes.query(&query).expect("not too long");
            let mut bounds: Bounds = [0.0; CHUNK_SLOTS];
            let masks: Masks = std::array::from_fn(|block| if block < 250 { 0xff } else { 0 });
            let chunk = codes.chunk(0).expect("encoded");
            let chunk = chunk.read();
            Scanner::best().scan(&chunk, &query_code, 2.3, &masks, &mut bounds);
            let scale = |vector: &[f32]| match metric {
                Metric::Cosine => inverse_length(vector),
                Metric::Euclidean => 1.0,
            };
            let (mut above, mut refined_above, mut slack, mut refined_slack) = (0, 0, 0.0, 0.0);
            for (slot, vector) in vectors.chunks(dimension).enumerate() {
                let (left, right) = (scale(&query), scale(vector));
                let differences = query.iter().zip(vector).map(|(a, b)| a * left - b * right);
                let square: f32 = differences.map(|difference| difference * difference).sum();
                let (code, r_square) = chunk.refined(slot).expect("in memory");
                let refined = query_code.refined.bound(code, r_square, 2.3);
                above += usize::from(bounds[slot] > square);
                refined_above += usize::from(refined > square);
                slack += (square - bounds[slot]) / square / 2_000.0;
                refined_slack += (square - refined) / square / 2_000.0;
            }
            // One in a hundred is expected.
            assert!(above < 60 && refined_above < 60, "{metric:?}: {above}, {refined_above}");
            assert!(slack < 0.12 && refined_slack < 0.02, "{metric:?}: {slack}, {refined_slack}");
        }
    }
}
