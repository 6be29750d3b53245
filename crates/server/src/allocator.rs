//! The allocator of the program: mimalloc.
//!
//! The package `mimalloc` names the alignment of each block. For most sizes mimalloc then reserves more, aligns within
//! it, and marks the page as one whose blocks begin elsewhere, which makes each release slower. But it aligns every block as any
//! scalar needs it (`MI_MAX_ALIGN_SIZE`), so that blocks are asked for by their size alone. Only larger alignments are
//! left to the package.
#![expect(unsafe_code, reason = "an allocator is unsafe to implement")]

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::c_void;

use mimalloc::MiMalloc;

/// The alignment of blocks of at least this size, in bytes. A smaller block has the largest power of two that is
/// no larger than its size.
const NATURAL_ALIGN: usize = 16;

unsafe extern "C" {
    fn mi_malloc(bytes: usize) -> *mut c_void;
    fn mi_zalloc(bytes: usize) -> *mut c_void;
    fn mi_realloc(block: *mut c_void, bytes: usize) -> *mut c_void;
}

/// The allocator.
pub(crate) struct Allocator;

/// `true` if every block of that size has the alignment.
fn is_natural(layout: Layout) -> bool {
    layout.align() <= NATURAL_ALIGN && layout.align() <= layout.size()
}

// SAFETY: blocks of mimalloc, all from its default heap, so that each function takes those of the others. Those
// asked for by size alone have the alignment of their layout (`is_natural`).
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match is_natural(layout) {
            // SAFETY: any size may be asked for.
            true => unsafe { mi_malloc(layout.size()) }.cast(),
            // SAFETY: the caller keeps the contract of `GlobalAlloc`.
            false => unsafe { MiMalloc.alloc(layout) },
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        match is_natural(layout) {
            // SAFETY: any size may be asked for.
            true => unsafe { mi_zalloc(layout.size()) }.cast(),
            // SAFETY: the caller keeps the contract of `GlobalAlloc`.
            false => unsafe { MiMalloc.alloc_zeroed(layout) },
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: a block of mimalloc; the caller keeps the contract of `GlobalAlloc`.
        unsafe { MiMalloc.dealloc(block, layout) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // A block that becomes smaller than its alignment needs it by name.
        match is_natural(layout) && layout.align() <= bytes {
            // SAFETY: a block of mimalloc, and any size may be asked for.
            true => unsafe { mi_realloc(block.cast(), bytes) }.cast(),
            // SAFETY: the caller keeps the contract of `GlobalAlloc`.
            false => unsafe { MiMalloc.realloc(block, layout, bytes) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_the_alignment_and_the_contents_that_were_asked_for() {
        for align in [1, 2, 4, 8, 16, 32, 64, 4096] {
            for bytes in (1..300).chain([1000, 1025, 5000, 70_000, 3 << 20]) {
                let layout = Layout::from_size_align(bytes, align).expect("a layout");
                let is_aligned =
                    |block: *mut u8| !block.is_null() && block.addr().is_multiple_of(align);
                // SAFETY: the blocks are written within their sizes, and released once.
                unsafe {
                    let block = Allocator.alloc(layout);
                    assert!(is_aligned(block), "{layout:?}");
                    block.write_bytes(7, bytes);
                    for other in [bytes * 2, bytes / 2 + 1] {
                        let other = Layout::from_size_align(other, align).expect("a layout");
                        let copy = Allocator.alloc(layout);
                        copy.copy_from(block, bytes);
                        let copy = Allocator.realloc(copy, layout, other.size());
                        assert!(is_aligned(copy), "{layout:?} to {other:?}");
                        let kept = std::slice::from_raw_parts(copy, bytes.min(other.size()));
                        assert!(kept.iter().all(|byte| *byte == 7), "{layout:?} to {other:?}");
                        Allocator.dealloc(copy, other);
                    }
                    Allocator.dealloc(block, layout);
                    let zeroed = Allocator.alloc_zeroed(layout);
                    assert!(is_aligned(zeroed), "{layout:?}");
                    let zeros = std::slice::from_raw_parts(zeroed, bytes);
                    assert!(zeros.iter().all(|byte| *byte == 0), "{layout:?}");
                    Allocator.dealloc(zeroed, layout);
                }
            }
        }
    }
}
