//! Snapshots of the visible vectors.
#![expect(unsafe_code, reason = "slices of the map are handed out here")]

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::format::{DATA_OFFSET, slot_offset, vector_crc};
use super::live::LiveSet;
use super::reader::Reader;
use super::shared::{Published, Shared};
use super::sums::Sums;
use crate::config::Shape;
use crate::distance::{Kernels, Sum};
use crate::error::VectorError;
use crate::limits::{RESERVE_BYTES_MIN, RESERVE_GROWTH};
use crate::map::{Backing, Map, prefetch};
use crate::slot::{Slot, bits};

/// A snapshot of the visible vectors. Vectors freed later disappear from it, but slices that it
/// returned before stay unchanged until it is dropped. A view only delays the reuse of freed slots;
/// writers do not wait for it. A file on a disk is mapped only after
/// [`map_files`](crate::map_files), else read.
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
    sums: Sums,
    map: Option<Arc<Map>>,
    count: u32,
    shape: Shape,
    // Values of the shape, copied for speed.
    stride: u64,
    dimension: usize,
}

const UNREADABLE: &str =
    "a part of it cannot be read, because it was truncated or the device failed";

/// A reader's registration in the epochs of [`Readers`](super::readers::Readers): slots freed from
/// now on are not rewritten while it lives.
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
        // The epoch comes first: a slot freed after this line waits for this view. In the other
        // order a slot freed and rewritten in between would change under a slice.
        let entered = Entered::new(shared);
        let published = entered.shared.published_and_mapped();
        Self {
            live: published.live,
            sums: published.sums,
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

    /// Number of slots of the file when this view was made, including free ones.
    #[must_use]
    pub fn slot_count(&self) -> u32 {
        self.count
    }

    /// Number of visible vectors.
    #[must_use]
    pub fn vector_count(&self) -> usize {
        let words = (self.count as usize).div_ceil(64);
        (0..words).map(|index| self.live_word(index).count_ones() as usize).sum()
    }

    /// `true` if `slot` has a visible vector.
    #[inline]
    #[must_use]
    pub fn contains(&self, slot: Slot) -> bool {
        slot.number() < self.count && self.live.contains(slot.number())
    }

    /// The slots with a visible vector, in ascending order.
    pub fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        let words = (self.count as usize).div_ceil(64);
        (0..words).flat_map(|index| bits(index, self.live_word(index)))
    }

    /// The vector in `slot`: borrowed if the file is in memory, else a copy made with one read.
    ///
    /// # Errors
    /// [`VectorError::NoSuchSlot`], [`VectorError::Corrupt`] or [`VectorError::Io`].
    #[inline]
    pub fn vector(&self, slot: Slot) -> Result<Cow<'_, [f32]>, VectorError> {
        if !self.contains(slot) {
            return Err(VectorError::NoSuchSlot(slot));
        }
        // A mapped file on a disk is copied, too: the caller may keep the vector without calling
        // `check`.
        if let Some(vector) = self.mapped(slot.number())
            && self.entered.shared.backing == Backing::Memory
        {
            return Ok(Cow::Borrowed(vector));
        }
        let mut vector = vec![0.0; self.dimension];
        self.entered.shared.read(slot.number(), &mut vector)?;
        Ok(Cow::Owned(vector))
    }

    /// The vector in `slot`, borrowed from the map of the file. `None` without a vector or a map.
    /// Use results computed from it only after [`View::check`].
    #[inline]
    #[must_use]
    pub fn borrowed(&self, slot: Slot) -> Option<&[f32]> {
        if self.contains(slot) { self.mapped(slot.number()) } else { None }
    }

    /// The visible vectors in `slots`, borrowed, in ascending order: the fastest way to visit many,
    /// faster with `for_each` than in a loop. `None` without a map. Use results computed from them
    /// only after [`View::check`].
    pub fn borrowed_all(
        &self,
        slots: Range<Slot>,
    ) -> Option<impl Iterator<Item = (Slot, &[f32])> + '_> {
        Some(Borrowed::new(self, self.map.as_deref()?, slots))
    }

    /// Calls `each` with the vectors in `slots`, in that order, without the missing ones. Without a
    /// map, neighbouring slots are read with one call.
    ///
    /// # Errors
    /// [`VectorError::Corrupt`] or [`VectorError::Io`]: discard what `each` saw then.
    pub fn read_all(
        &self,
        slots: impl Iterator<Item = Slot>,
        mut each: impl FnMut(Slot, &[f32]),
    ) -> Result<(), VectorError> {
        let slots = slots.map(Slot::number);
        Reader::new(self).read_all(slots, |slot, vector| each(Slot::new(slot), vector))
    }

    /// Copies the vector in `slot` into `buffer` with one read of the file.
    ///
    /// # Errors
    /// [`VectorError::NoSuchSlot`], [`VectorError::WrongLength`] for `buffer`,
    /// [`VectorError::Corrupt`] or [`VectorError::Io`].
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

    /// Compares vectors with the [`vector_crc`] that the owner of the file has recorded, and
    /// returns the first slot whose vector differs. The vectors before it are *known* from now on:
    /// a search that meets other elements there fails. Invisible slots are skipped.
    ///
    /// # Errors
    /// [`VectorError::Corrupt`] or [`VectorError::Io`] if a vector cannot be read.
    pub fn compare(
        &self,
        recorded: impl Iterator<Item = (Slot, u64)>,
    ) -> Result<Option<Slot>, VectorError> {
        // A copy: mapped bytes could be read from the device a second time between the two
        // checksums.
        let mut vector = vec![0.0; self.dimension];
        for (slot, crc) in recorded.filter(|(slot, _)| self.contains(*slot)) {
            match self.mapped(slot.number()) {
                Some(mapped) => vector.copy_from_slice(mapped),
                None => self.entered.shared.read(slot.number(), &mut vector)?,
            }
            if vector_crc(&vector) != crc {
                self.check()?;
                return Ok(Some(slot));
            }
            self.sums.set(slot.number(), Kernels::best().sum(&vector));
        }
        self.check()?;
        Ok(None)
    }

    /// The recorded checksum of the vector in `slot`.
    #[inline]
    pub(crate) fn sum(&self, slot: u32) -> Option<Sum> {
        self.sums.get(slot)
    }

    /// Checks that everything read through this view could be read: no map has failed, and nobody
    /// has truncated the file. Call it after reading from a map and before using results. Methods
    /// that return results themselves do so.
    ///
    /// # Errors
    /// [`VectorError::Corrupt`], which stays until the file is opened again.
    pub fn check(&self) -> Result<(), VectorError> {
        let shared = &self.entered.shared;
        if self.map.as_ref().is_some_and(|map| map.has_failed()) {
            shared.damage.note(UNREADABLE);
        }
        shared.check_length(slot_offset(self.shape, self.count))
    }

    /// The live slots `64 * index` to `64 * index + 63`, as bits.
    #[inline]
    pub(crate) fn live_word(&self, index: usize) -> u64 {
        let word = self.live.word(index);
        let below = (self.count as usize).saturating_sub(index * 64);
        // Slots at or after `count` may be live by now, but are younger than this view.
        if below >= 64 { word } else { word & ((1 << below) - 1) }
    }

    /// Prefetches the vector in `slot`, if it is mapped.
    #[inline]
    pub(crate) fn prefetch(&self, slot: u32) {
        if let Some(map) = &self.map
            && slot < self.count
        {
            prefetch(bytemuck::cast_slice(self.borrow(map, slot)));
        }
    }

    /// Prefetches the checksum of the vector in `slot`.
    #[inline]
    pub(crate) fn prefetch_sum(&self, slot: u32) {
        self.sums.prefetch(slot);
    }

    /// The vector in `slot` if it is mapped. [`View::check`] tells whether it could be read.
    #[inline]
    pub(super) fn mapped(&self, slot: u32) -> Option<&[f32]> {
        self.map.as_ref().map(|map| self.borrow(map, slot))
    }

    /// Fills `bytes` from the start of `slot`.
    pub(super) fn read_bytes(&self, slot: u32, bytes: &mut [u8]) -> Result<(), VectorError> {
        self.entered.shared.read_bytes(slot, bytes)
    }

    /// The vector of a slot below `count` that this view has seen live.
    #[inline]
    fn borrow<'view>(&'view self, map: &'view Map, slot: u32) -> &'view [f32] {
        let offset = DATA_OFFSET + u64::from(slot) * self.stride;
        // SAFETY: the map was chosen to cover all slots below `count`. A slot becomes live after
        // its bytes were written, so the file extends beyond it, and we never truncate the file. A
        // file that others could truncate is mapped under a guard. A slot is rewritten only after
        // it was freed and all views that may have seen it live are dropped; this view may have,
        // and it outlives the slice. The file lock keeps out other processes that respect it. Slots
        // start at multiples of 64.
        unsafe { map.elements(offset, self.dimension) }
    }
}

/// See [`View::borrowed_all`].
#[derive(Debug)]
struct Borrowed<'view> {
    view: &'view View,
    map: &'view Map,
    // Values of the view, copied for speed.
    stride: u64,
    dimension: usize,
    /// The current run of live slots without a gap: `next..run_end` is left of it.
    next: u32,
    run_end: u32,
    /// The slot from which the next run is searched.
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

    /// Finds the next run of live slots within one word of the live set; `false` if none is left.
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
        // SAFETY: a slot below the view's `count` that it has seen live, as in `View::borrow`.
        let vector = unsafe { self.map.elements(offset, self.dimension) };
        Some((Slot::new(slot), vector))
    }

    /// The loop behind `for_each` and similar adaptors. It visits a run of slots at a time, without
    /// updating the iterator for every vector.
    #[inline]
    fn fold<B, F: FnMut(B, Self::Item) -> B>(mut self, initial: B, mut each: F) -> B {
        let mut folded = initial;
        let (stride, dimension) = (self.stride as usize / 4, self.dimension);
        loop {
            let slots = self.next..self.run_end;
            let offset = DATA_OFFSET + u64::from(slots.start) * self.stride;
            // SAFETY: slots below the view's `count` that it has seen live, as in `View::borrow`.
            // Each of them is written with the zeros up to its stride.
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
        // The fast path takes only the read lock; the map rarely needs to grow.
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
            // Views with the old map keep it alive.
            guard.map = Map::new(file, bytes, self.backing).map(Arc::new);
        }
        guard.clone()
    }
}
