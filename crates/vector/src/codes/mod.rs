//! Codes: a bit for each element of a vector, from which its distance can be estimated.

mod chunk;
mod encode;
mod rotation;
mod scan;

use std::sync::Arc;

use parking_lot::RwLock;

pub(crate) use chunk::CHUNK_SLOTS;
pub(crate) use encode::QueryCode;
pub(crate) use scan::{Bounds, Masks, Scanner};

use self::chunk::{Chunk, Code};
use self::encode::{Encoder, inverse_length};
use crate::config::{Metric, Shape};
use crate::error::VectorError;
use crate::slots::View;

/// Vectors from which the centre is computed.
const SAMPLE_MAX: usize = 4_096;

/// When there are so many times more slots than there were, the centre is computed again.
const GROWTH_MAX: usize = 16;

/// The codes of all slots. Scans and changes may come from many threads at once.
#[derive(Debug)]
pub(crate) struct Codes {
    encoder: Encoder,
    chunks: RwLock<Vec<Arc<RwLock<Chunk>>>>,
    /// Slots when the centre was computed.
    slots_at_start: usize,
}

impl Codes {
    /// Codes with a centre computed from some of the vectors in `view`. No vector has one yet.
    ///
    /// # Errors
    /// When vectors cannot be read.
    pub(crate) fn for_vectors_of(view: &View) -> Result<Self, VectorError> {
        let centre = centre(view)?;
        Ok(Self::with_centre(view.shape(), centre, view.slot_count() as usize))
    }

    fn with_centre(shape: Shape, centre: Vec<f32>, slots_at_start: usize) -> Self {
        let encoder = Encoder::new(shape, centre);
        Self { encoder, chunks: RwLock::default(), slots_at_start }
    }

    /// Whether there are so many more vectors by now that another centre may suit them better.
    pub(crate) fn is_outgrown(&self, slots: u32) -> bool {
        slots as usize > self.slots_at_start.max(SAMPLE_MAX) * GROWTH_MAX
    }

    pub(crate) fn query(&self, vector: &[f32]) -> Option<QueryCode> {
        self.encoder.query(vector)
    }

    /// Makes the codes of the vectors in `slots`, ascending, that are there.
    ///
    /// # Errors
    /// When a vector cannot be read.
    pub(crate) fn encode(
        &self,
        view: &View,
        slots: impl Iterator<Item = u32>,
    ) -> Result<(), VectorError> {
        for slot in slots {
            let slot = crate::slot::Slot::new(slot);
            match view.vector(slot) {
                Ok(vector) => self.set(slot.index(), &self.encoder.encode(&vector)),
                Err(VectorError::NoSuchSlot(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The chunk that begins at slot `index * CHUNK_SLOTS`, if any vector in it has a code.
    pub(crate) fn chunk(&self, index: usize) -> Option<Arc<RwLock<Chunk>>> {
        self.chunks.read().get(index).cloned()
    }

    fn set(&self, slot: usize, code: &Code) {
        let index = slot / CHUNK_SLOTS;
        let chunk = match self.chunk(index) {
            Some(chunk) => chunk,
            None => {
                let mut chunks = self.chunks.write();
                let words = self.encoder.words();
                while chunks.len() <= index {
                    chunks.push(Arc::new(RwLock::new(Chunk::new(words))));
                }
                Arc::clone(&chunks[index])
            }
        };
        chunk.write().set(slot % CHUNK_SLOTS, code);
    }
}

/// The mean of some of the vectors: what they all have in common says nothing about who is nearest.
fn centre(view: &View) -> Result<Vec<f32>, VectorError> {
    let shape = view.shape();
    let mut sums = vec![0.0_f64; shape.dimension()];
    let mut count = 0;
    let step = (view.slots().count() / SAMPLE_MAX).max(1);
    for slot in view.slots().step_by(step).take(SAMPLE_MAX) {
        let vector = match view.vector(slot) {
            Ok(vector) => vector,
            Err(VectorError::NoSuchSlot(_)) => continue,
            Err(error) => return Err(error),
        };
        let scale = match shape.metric() {
            Metric::Euclidean => 1.0,
            Metric::Cosine => inverse_length(&vector),
        };
        for (sum, element) in sums.iter_mut().zip(&*vector) {
            *sum += f64::from(element * scale);
        }
        count += 1;
    }
    let mean = |sum: f64| (sum / f64::from(count.max(1))) as f32;
    Ok(sums.into_iter().map(mean).map(|mean| if mean.is_finite() { mean } else { 0.0 }).collect())
}
