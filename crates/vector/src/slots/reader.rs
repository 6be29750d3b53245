//! Reading many vectors: from the map of the file if it has one, else through one buffer.

use super::view::View;
use crate::error::VectorError;
use crate::limits::READ_BYTES_MAX;
use crate::slot::Slot;

/// Reads vectors of a [`View`] into a reused buffer.
#[derive(Debug)]
pub(crate) struct Reader<'view> {
    view: &'view View,
    /// Elements from one slot to the next.
    stride: usize,
    dimension: usize,
    buffer: Vec<f32>,
    /// Live slots to be read by the next call.
    batch: Vec<u32>,
}

impl<'view> Reader<'view> {
    pub(crate) fn new(view: &'view View) -> Self {
        let stride = view.shape().stride() / size_of::<f32>();
        let dimension = view.shape().dimension();
        Self { view, stride, dimension, buffer: Vec::new(), batch: Vec::new() }
    }

    /// The vector in `slot`; `None` if it was freed. Call [`View::check`] afterwards: it tells
    /// whether everything that was read could be read.
    ///
    /// # Errors
    /// [`VectorError::Io`] or [`VectorError::Corrupt`] if it cannot be read.
    #[inline]
    pub(crate) fn read(&mut self, slot: u32) -> Result<Option<&[f32]>, VectorError> {
        if !self.view.contains(Slot::new(slot)) {
            return Ok(None);
        }
        if let Some(vector) = self.view.mapped(slot) {
            return Ok(Some(vector));
        }
        Ok(Some(self.fill(slot, self.dimension)?))
    }

    /// Calls `each` with the vectors in `slots`, in that order, without the ones freed since.
    /// Neighbouring slots are read with one call.
    ///
    /// # Errors
    /// [`VectorError::Io`] or [`VectorError::Corrupt`] if vectors cannot be read: discard what
    /// `each` saw then.
    pub(crate) fn read_all(
        &mut self,
        slots: impl Iterator<Item = u32>,
        mut each: impl FnMut(u32, &[f32]),
    ) -> Result<(), VectorError> {
        let span_max = (READ_BYTES_MAX / (self.stride * size_of::<f32>())).max(1) as u32;
        for slot in slots {
            if !self.view.contains(Slot::new(slot)) {
                continue;
            }
            if let Some(vector) = self.view.mapped(slot) {
                each(slot, vector);
                continue;
            }
            if let (Some(first), Some(last)) = (self.batch.first(), self.batch.last()) {
                // A gap of one slot is read along, since that is cheaper than another call.
                let is_near = slot > *last && slot - *last <= 2 && slot - *first < span_max;
                if !is_near {
                    self.read_batch(&mut each)?;
                }
            }
            self.batch.push(slot);
        }
        self.read_batch(&mut each)?;
        self.view.check()
    }

    fn read_batch(&mut self, each: &mut impl FnMut(u32, &[f32])) -> Result<(), VectorError> {
        let batch = std::mem::take(&mut self.batch);
        if let (Some(first), Some(last)) = (batch.first().copied(), batch.last().copied()) {
            let (stride, dimension) = (self.stride, self.dimension);
            let elements = self.fill(first, (last - first) as usize * stride + dimension)?;
            for slot in &batch {
                each(*slot, &elements[(slot - first) as usize * stride..][..dimension]);
            }
        }
        self.batch = batch;
        self.batch.clear();
        Ok(())
    }

    /// Reads `count` elements from the start of `slot`.
    fn fill(&mut self, slot: u32, count: usize) -> Result<&[f32], VectorError> {
        if self.buffer.len() < count {
            self.buffer.resize(count, 0.0);
        }
        let elements = &mut self.buffer[..count];
        self.view.read_bytes(slot, bytemuck::cast_slice_mut(elements))?;
        Ok(elements)
    }
}
