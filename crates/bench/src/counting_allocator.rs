//! A counting allocator: allocations are part of the cost of an operation.

#![expect(unsafe_code, reason = "an allocator is unsafe to implement")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static BYTES: AtomicU64 = AtomicU64::new(0);

/// The global allocator of a measuring program. It passes everything on to [`System`].
#[derive(Debug)]
pub struct CountingAllocator;

/// Allocations so far by all threads of a program whose global allocator is [`CountingAllocator`].
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Allocations {
    /// Number of allocations.
    pub count: u64,
    /// Number of bytes.
    pub bytes: u64,
}

impl Allocations {
    /// The allocations until now.
    pub fn now() -> Allocations {
        Allocations {
            count: ALLOCATIONS.load(Ordering::Relaxed),
            bytes: BYTES.load(Ordering::Relaxed),
        }
    }
}

fn count(bytes: usize) {
    ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
    BYTES.fetch_add(bytes as u64, Ordering::Relaxed);
}

// SAFETY: every call goes to `System` with the same arguments; counting neither allocates nor
// panics.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: the caller keeps the contract of `GlobalAlloc`, which is also the contract of
        // `System`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count(bytes.saturating_sub(layout.size()));
        // SAFETY: as above; `pointer` came from `System`.
        unsafe { System.realloc(pointer, layout, bytes) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above; `pointer` came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_are_counted_with_their_growth() {
        let before = Allocations::now();
        let layout = Layout::from_size_align(100, 8).expect("it is a layout");
        // SAFETY: the layout has a size, and the block is freed as it was grown.
        unsafe {
            let block = CountingAllocator.alloc(layout);
            assert!(!block.is_null());
            let block = CountingAllocator.realloc(block, layout, 300);
            let grown = Layout::from_size_align(300, 8).expect("it is a layout");
            CountingAllocator.dealloc(block, grown);
        }
        let after = Allocations::now();
        // This test's program has another global allocator: nobody else counts.
        assert_eq!((after.count - before.count, after.bytes - before.bytes), (2, 300));
    }
}
