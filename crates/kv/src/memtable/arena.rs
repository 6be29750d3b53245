//! An append-only arena: one thread writes, all others read without a lock, and bytes never move
//! until the whole arena is dropped.

#![expect(
    unsafe_code,
    reason = "bytes of the same allocation are written and read by several threads"
)]

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

/// Bytes of a unit; places are counted in units.
const UNIT: usize = 8;
/// Units of a chunk (1 MiB).
const CHUNK_UNITS: usize = (1 << 20) / UNIT;
/// Maximum number of chunks (4 GiB).
const CHUNKS_MAX: usize = 4096;
/// Chunks allocated together, except for the first: 32 MiB, which allocators map and unmap
/// directly. Single chunks stayed in the heap between longer-lived blocks, a third of the memory of
/// a key space. The memory is not zeroed: untouched pages cost nothing, and zeroing reused memory
/// took up to 20 ms of a write.
const CHUNKS_TOGETHER: usize = 32;

/// A place in the arena, in units of 8 bytes; 0 means none.
pub(crate) type Place = u32;

/// Bytes of the largest arena.
pub(super) const ARENA_BYTES_MAX: usize = CHUNKS_MAX * CHUNK_UNITS * UNIT;

/// The memory of one table.
#[derive(Debug)]
pub(super) struct Arena {
    /// The chunks by number, null where none is allocated. A chunk inside of a larger allocation
    /// points into it.
    chunks: Box<[AtomicPtr<u8>]>,
    /// Number of allocated units. Only the writer changes it.
    used: AtomicUsize,
    /// The allocations, with their number of chunks.
    allocations: parking_lot::Mutex<Vec<(NonNull<u8>, usize)>>,
}

// SAFETY: the pointers are to memory of its own. Bytes are written before their place is published
// to other threads, and never afterwards, except through atomics.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    pub(super) fn new() -> Self {
        let chunks = (0..CHUNKS_MAX).map(|_| AtomicPtr::new(ptr::null_mut())).collect();
        // Place 0 means none, so the first unit is never used.
        Self { chunks, used: AtomicUsize::new(1), allocations: parking_lot::Mutex::default() }
    }

    /// Number of allocated bytes.
    pub(super) fn bytes(&self) -> usize {
        self.used.load(Ordering::Relaxed) * UNIT
    }

    /// Allocates `bytes` of uninitialized memory, aligned to 8; `None` if the arena would exceed
    /// [`ARENA_BYTES_MAX`].
    ///
    /// One thread at a time.
    pub(super) fn allocate(&self, bytes: usize) -> Option<Place> {
        let units = bytes.div_ceil(UNIT).max(1);
        let mut start = self.used.load(Ordering::Relaxed);
        // A node must be contiguous: skip the rest of the chunk if it does not fit there.
        if units > CHUNK_UNITS - start % CHUNK_UNITS {
            start = start.next_multiple_of(CHUNK_UNITS);
        }
        let count = (start % CHUNK_UNITS + units).div_ceil(CHUNK_UNITS);
        let is_there = |chunk: usize| {
            self.chunks.get(chunk).is_some_and(|it| !it.load(Ordering::Relaxed).is_null())
        };
        let mut first = start / CHUNK_UNITS;
        if is_there(first) && !is_there(first + count - 1) {
            // The rest of this allocation is too short, and the next allocation may lie elsewhere:
            // start there.
            first = (first..first + count).find(|chunk| !is_there(*chunk)).unwrap_or(first);
            start = first * CHUNK_UNITS;
        }
        if first + count > CHUNKS_MAX {
            return None;
        }
        if self.chunks[first].load(Ordering::Relaxed).is_null() {
            self.add_chunks(first, count);
        }
        self.used.store(start + units, Ordering::Relaxed);
        Place::try_from(start).ok()
    }

    fn add_chunks(&self, first: usize, count: usize) {
        let count = match first {
            0 => count,
            _ => count.max(CHUNKS_TOGETHER.min(CHUNKS_MAX - first)),
        };
        let layout = layout(count);
        // SAFETY: the layout has a size.
        let Some(memory) = NonNull::new(unsafe { alloc(layout) }) else {
            handle_alloc_error(layout)
        };
        self.allocations.lock().push((memory, count));
        for (index, chunk) in self.chunks[first..first + count].iter().enumerate() {
            // SAFETY: within the allocation.
            let start = unsafe { memory.as_ptr().add(index * CHUNK_UNITS * UNIT) };
            chunk.store(start, Ordering::Release);
        }
    }

    /// The memory at an allocated place.
    #[inline]
    fn pointer(&self, place: usize) -> *mut u8 {
        let chunk = self.chunks[place / CHUNK_UNITS].load(Ordering::Acquire);
        // SAFETY: the chunk is there since the place is, and has so many bytes.
        unsafe { chunk.add(place % CHUNK_UNITS * UNIT) }
    }

    /// Writes `bytes` at `offset` behind an allocated place that no other thread knows yet.
    pub(super) fn write(&self, place: Place, offset: usize, bytes: &[u8]) {
        // SAFETY: the caller allocated at least `offset + bytes.len()` there, and nobody reads it yet.
        unsafe {
            let target = self.pointer(place as usize).add(offset);
            ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len());
        }
    }

    /// Writes a number at `offset`, a multiple of 4.
    pub(super) fn write_number(&self, place: Place, offset: usize, number: u32) {
        // SAFETY: as above; aligned, because places are and the offset is.
        unsafe { self.pointer(place as usize).add(offset).cast::<u32>().write(number) }
    }

    /// Writes a 64-bit number at `offset`, a multiple of 8.
    pub(super) fn write_long(&self, place: Place, offset: usize, number: u64) {
        // SAFETY: as above.
        unsafe { self.pointer(place as usize).add(offset).cast::<u64>().write(number) }
    }

    /// Bytes that were written before their place was published.
    #[inline]
    pub(super) fn bytes_at(&self, place: Place, offset: usize, bytes: usize) -> &[u8] {
        // SAFETY: they were written before this thread learned the place, and are not written again.
        unsafe { std::slice::from_raw_parts(self.pointer(place as usize).add(offset), bytes) }
    }

    /// Prefetches the cache lines of the first `bytes` of a place.
    #[inline]
    pub(super) fn prefetch(&self, place: Place, bytes: usize) {
        #[cfg(target_arch = "x86_64")]
        for offset in (0..bytes).step_by(64) {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let line = self.pointer(place as usize).wrapping_add(offset);
            // SAFETY: a hint, which reads nothing, wherever it points.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line.cast_const().cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (place, bytes);
    }

    /// A number that was written at `offset`, a multiple of 4, before its place was published.
    #[inline]
    pub(super) fn number_at(&self, place: Place, offset: usize) -> u32 {
        // SAFETY: as above; aligned, because places are and the offset is.
        unsafe { self.pointer(place as usize).add(offset).cast::<u32>().read() }
    }

    /// A 64-bit number at `offset`, a multiple of 8, written before its place was published.
    #[inline]
    pub(super) fn long_at(&self, place: Place, offset: usize) -> u64 {
        // SAFETY: as above.
        unsafe { self.pointer(place as usize).add(offset).cast::<u64>().read() }
    }

    /// A number at `offset`, a multiple of 4, that may change while others read it.
    #[inline]
    pub(super) fn atomic_at(&self, place: Place, offset: usize) -> &AtomicU32 {
        // SAFETY: aligned, within what was allocated, and only ever used as an atomic.
        unsafe { AtomicU32::from_ptr(self.pointer(place as usize).add(offset).cast()) }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        for (memory, count) in self.allocations.get_mut().drain(..) {
            // SAFETY: allocated with this layout, and nobody has a reference any more.
            unsafe { dealloc(memory.as_ptr(), layout(count)) };
        }
    }
}

fn layout(chunks: usize) -> Layout {
    Layout::from_size_align(chunks * CHUNK_UNITS * UNIT, UNIT).expect("some megabytes")
}
