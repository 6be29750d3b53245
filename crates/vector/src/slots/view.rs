//! Reading without copies.
#![expect(unsafe_code, reason = "slices of the map are handed out here")]

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::format::{DATA_OFFSET, slot_offset};
use super::live::LiveSet;
use super::shared::{Published, Shared};
use crate::config::Shape;
use crate::error::VectorError;
use crate::limits::{RESERVE_BYTES_MIN, RESERVE_GROWTH};
use crate::map::{Map, prefetch};
use crate::slot::{Slot, bits};

/// A snapshot of the visible vectors. Vectors that are freed later disappear from it, but slices that it
/// returned before stay unchanged until it is dropped. It only delays the reuse of freed slots; writers
/// do not wait for it.
///
/// A slice cannot outlive its view:
///
/// ```compile_fail,E0597
/// # use liteio_vector::{Metric, Shape, SlotFile, Slot};
/// let file = SlotFile::in_memory(Shape::new(2, Metric::Cosine).unwrap()).unwrap();
/// let slice;
/// {
///     let view = file.view();
///     slice = view.vector(Slot::new(0)).unwrap();
/// }
/// println!("{slice:?}");
/// ```
#[derive(Debug)]
pub struct View {
    // The first field, so that it is dropped before the map.
    entered: Entered<Arc<Shared>>,
    live: LiveSet,
    map: Option<Arc<Map>>,
    count: u32,
    shape: Shape,
    // Copies of the shape's values, for speed.
    stride: u64,
    dimension: usize,
}

/// A reader's registration in the epochs of [`Readers`](super::readers::Readers): slots freed from here on
/// are not written while it lives.
#[derive(Debug)]
pub(super) struct Entered<S: std::ops::Deref<Target = Shared>> {
    shared: S,
    epoch: u64,
}

impl<S: std::ops::Deref<Target = Shared>> Entered<S> {
    pub(super) fn new(shared: S) -> Self {
        let epoch = shared.readers.lock().enter();
        Self { shared, epoch }
    }
}

impl<S: std::ops::Deref<Target = Shared>> Drop for Entered<S> {
    fn drop(&mut self) {
        self.shared.readers.lock().leave(self.epoch);
    }
}

impl View {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        // The epoch comes first: a slot that is freed after this line waits for this view. The other
        // way round, one freed and written in between would change under a slice.
        let entered = Entered::new(shared);
        let published = entered.shared.published_and_mapped();
        Self {
            live: published.live,
            map: published.map,
            count: published.count,
            shape: entered.shared.shape,
            stride: entered.shared.shape.stride() as u64,
            dimension: entered.shared.shape.dimension(),
            entered,
        }
    }

    /// Dimension and metric.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Slots of the file, free ones included, when this view was made.
    #[must_use]
    pub fn slot_count(&self) -> u32 {
        self.count
    }

    /// `true` if there is a vector in `slot`.
    #[inline]
    #[must_use]
    pub fn contains(&self, slot: Slot) -> bool {
        slot.number() < self.count && self.live.contains(slot.number())
    }

    /// The slots that hold a vector, in ascending order.
    pub fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        let words = (self.count as usize).div_ceil(64);
        (0..words).flat_map(|index| bits(index, self.live_word(index)))
    }

    /// The vector in `slot`, borrowed from the map of the file. It is a copy only where there is no
    /// map: on a disk without descriptors, or when the kernel has no address space left.
    ///
    /// # Errors
    /// [`VectorError::NoSuchSlot`]; without a map, also [`VectorError::Io`]. With a map, an I/O error of
    /// the device while the slice is read ends the process (`SIGBUS`): use [`View::read_into`] where that
    /// is not acceptable.
    #[inline]
    pub fn vector(&self, slot: Slot) -> Result<Cow<'_, [f32]>, VectorError> {
        if !self.contains(slot) {
            return Err(VectorError::NoSuchSlot(slot));
        }
        match &self.map {
            Some(map) => Ok(Cow::Borrowed(self.borrow(map, slot.number()))),
            None => self.copy(slot).map(Cow::Owned),
        }
    }

    /// The vector in `slot`, borrowed from the map of the file, as [`View::vector`] gives it where it
    /// need not copy. `None` when there is no vector, or no map.
    #[inline]
    #[must_use]
    pub fn borrowed(&self, slot: Slot) -> Option<&[f32]> {
        match &self.map {
            Some(map) if self.contains(slot) => Some(self.borrow(map, slot.number())),
            _ => None,
        }
    }

    /// The visible vectors in `slots`, borrowed, in ascending order: the fastest way to visit many, and
    /// faster with `for_each` than in a loop. `None` if there is no map.
    pub fn borrowed_all(
        &self,
        slots: Range<Slot>,
    ) -> Option<impl Iterator<Item = (Slot, &[f32])> + '_> {
        Some(Borrowed::new(self, self.map.as_deref()?, slots))
    }

    /// The vectors in `slots` that are there, with their slots, in ascending order.
    ///
    /// Each item is an error where [`View::vector`] would be.
    pub fn vectors(
        &self,
        slots: Range<Slot>,
    ) -> impl Iterator<Item = Result<(Slot, Cow<'_, [f32]>), VectorError>> + '_ {
        let numbers = slots.start.number()..slots.end.number().min(self.count);
        numbers.map(Slot::new).filter(|slot| self.live.contains(slot.number())).map(|slot| {
            let vector = match &self.map {
                Some(map) => Cow::Borrowed(self.borrow(map, slot.number())),
                None => Cow::Owned(self.copy(slot)?),
            };
            Ok((slot, vector))
        })
    }

    /// Copies the vector in `slot` into `buffer` with one read of the file.
    ///
    /// # Errors
    /// [`VectorError::NoSuchSlot`], [`VectorError::WrongLength`] for `buffer`, [`VectorError::Corrupt`] or
    /// [`VectorError::Io`].
    pub fn read_into(&self, slot: Slot, buffer: &mut [f32]) -> Result<(), VectorError> {
        if buffer.len() != self.shape.dimension() {
            let (expected, found) = (self.shape.dimension(), buffer.len());
            return Err(VectorError::WrongLength { expected, found });
        }
        if !self.contains(slot) {
            return Err(VectorError::NoSuchSlot(slot));
        }
        self.entered.shared.read(slot.number(), buffer)
    }

    /// The bits of the slots `64 * index` to `64 * index + 63` that hold a vector.
    #[inline]
    pub(crate) fn live_word(&self, index: usize) -> u64 {
        let word = self.live.word(index);
        let below = (self.count as usize).saturating_sub(index * 64);
        if below >= 64 { word } else { word & ((1 << below) - 1) }
    }

    /// Prefetches the vector in `slot` into the cache of the processor.
    #[inline]
    pub(crate) fn prefetch(&self, slot: u32) {
        if let Some(map) = &self.map
            && slot < self.count
        {
            prefetch(bytemuck::cast_slice(self.borrow(map, slot)));
        }
    }

    fn copy(&self, slot: Slot) -> Result<Vec<f32>, VectorError> {
        let mut vector = vec![0.0; self.shape.dimension()];
        self.entered.shared.read(slot.number(), &mut vector)?;
        Ok(vector)
    }

    /// For a slot below `count` that was seen live by this view.
    #[inline]
    fn borrow<'view>(&'view self, map: &'view Map, slot: u32) -> &'view [f32] {
        let offset = DATA_OFFSET + u64::from(slot) * self.stride;
        // SAFETY: the map was chosen to cover all slots below `count`. A slot becomes live after its
        // bytes were written, so the file extends beyond it, and the file is never truncated. A slot is
        // written again only after it was freed and all views that may have seen it live are dropped;
        // this view may have, and outlives the slice. The lock of the file keeps out other processes that
        // respect it. Slots begin at multiples of 64.
        unsafe { map.elements(offset, self.dimension) }
    }
}

/// See [`View::borrowed_all`].
#[derive(Debug)]
struct Borrowed<'view> {
    view: &'view View,
    map: &'view Map,
    // Copies of the view's values, for speed.
    stride: u64,
    dimension: usize,
    /// Live slots that follow each other without a gap, and come next.
    next: u32,
    run_end: u32,
    /// The slot at which the search for the next such run begins.
    searched: u32,
    end: u32,
}

impl<'view> Borrowed<'view> {
    fn new(view: &'view View, map: &'view Map, slots: Range<Slot>) -> Self {
        let end = slots.end.number().min(view.count);
        let start = slots.start.number().min(end);
        let (stride, dimension) = (view.stride, view.dimension);
        Self { view, map, stride, dimension, next: start, run_end: start, searched: start, end }
    }

    /// Finds the next run of live slots within one word of the live set; `false` if there is none.
    fn find_run(&mut self) -> bool {
        while self.searched < self.end {
            let in_word = self.searched % 64;
            let bits = self.view.live_word(self.searched as usize / 64) >> in_word;
            let left = (64 - in_word).min(self.end - self.searched);
            let skipped = bits.trailing_zeros();
            if skipped >= left {
                self.searched += left;
                continue;
            }
            let length = (bits >> skipped).trailing_ones().min(left - skipped);
            self.next = self.searched + skipped;
            self.run_end = self.next + length;
            self.searched = self.run_end;
            return true;
        }
        false
    }
}

impl<'view> Iterator for Borrowed<'view> {
    type Item = (Slot, &'view [f32]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.run_end && !self.find_run() {
            return None;
        }
        let slot = self.next;
        self.next += 1;
        let offset = DATA_OFFSET + u64::from(slot) * self.stride;
        // SAFETY: a slot below the view's `count` that it saw live, as in `View::borrow`.
        let vector = unsafe { self.map.elements(offset, self.dimension) };
        Some((Slot::new(slot), vector))
    }

    /// The loop behind `for_each` and similar adaptors: a run of slots at a time, without updating the
    /// iterator for every vector.
    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(mut self, initial: B, mut each: F) -> B {
        let mut folded = initial;
        let (stride, dimension) = (self.stride as usize / 4, self.dimension);
        loop {
            let slots = self.next..self.run_end;
            let offset = DATA_OFFSET + u64::from(slots.start) * self.stride;
            // SAFETY: slots below the view's `count` that it saw live, as in `View::borrow`. Each is
            // written, and counted, with the zeros up to its stride.
            let run = unsafe { self.map.elements(offset, slots.len() * stride) };
            for (slot, vector) in slots.zip(run.chunks_exact(stride)) {
                folded = each(folded, (Slot::new(slot), &vector[..dimension]));
            }
            if !self.find_run() {
                return folded;
            }
        }
    }
}

impl Shared {
    /// The published state with a map that covers it, if the file can be mapped.
    fn published_and_mapped(&self) -> Published {
        let covers = |published: &Published| {
            let end = slot_offset(self.shape, published.count);
            published.map.as_ref().is_some_and(|map| map.bytes() >= end)
        };
        let published = self.published.read().clone();
        if covers(&published) {
            return published;
        }
        let Some(file) = self.file.descriptor() else { return published };
        let mut guard = self.published.write();
        if !covers(&guard) {
            let end = slot_offset(self.shape, guard.count);
            let bytes = end.saturating_mul(RESERVE_GROWTH).max(RESERVE_BYTES_MIN);
            let bytes = bytes.next_multiple_of(RESERVE_BYTES_MIN);
            // Views that have the old map keep it.
            guard.map = Map::new(file, 0, bytes).map(Arc::new);
        }
        guard.clone()
    }
}
