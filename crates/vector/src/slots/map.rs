//! The read-only map of a file, far past its end.
#![expect(unsafe_code, reason = "mapping memory, and reading what is mapped")]

use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// Address space over a file, shared with the page cache. What is written to the file can be read
/// here at once, also when the file has grown since, as long as it is within the reserve.
#[derive(Debug)]
pub(super) struct Map {
    start: NonNull<u8>,
    bytes: u64,
}

// SAFETY: the memory is only read through the map, from any thread, and unmapped when the only owner
// drops it.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

impl Map {
    /// Maps `bytes` from the start of `file`, whatever its length. `None` when the kernel has no
    /// address space to give, in which case the file is read instead.
    pub(super) fn new(file: BorrowedFd<'_>, bytes: u64) -> Option<Self> {
        let length = usize::try_from(bytes).ok()?;
        // SAFETY: a fresh mapping, at an address that the kernel chooses, replaces no other.
        let start = unsafe {
            mmap(std::ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, file, 0)
        };
        Some(Self { start: NonNull::new(start.ok()?.cast())?, bytes })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The bytes in `range`.
    ///
    /// # Safety
    /// While the slice is in use, the file reaches to the end of `range` and nobody writes to those
    /// bytes of it, in this process or another.
    pub(super) unsafe fn slice(&self, range: Range<u64>) -> &[u8] {
        assert!(range.start <= range.end && range.end <= self.bytes, "within the map");
        let length = (range.end - range.start) as usize;
        // SAFETY: within one mapping, as just asserted; mapped as long as `self` lives; there and
        // unchanged, by the contract above.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr().add(range.start as usize), length) }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: exactly what `new` mapped, and no slice of it outlives `self`.
        let result = unsafe { munmap(self.start.as_ptr().cast(), self.bytes as usize) };
        debug_assert!(result.is_ok(), "mapped by us");
    }
}
