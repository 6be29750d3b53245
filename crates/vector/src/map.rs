//! The read-only memory map of a file, with address space beyond its end.
#![expect(unsafe_code, reason = "mapping memory, and reading what is mapped")]

use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

use liteio_disk::Guarded;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// A shared, read-only mapping of a file. Bytes written to the file are readable here at once, even
/// behind the former end of the file, up to the end of the reserved address space.
#[derive(Debug)]
pub(crate) struct Map {
    start: NonNull<u8>,
    bytes: u64,
    /// `None` for an unnamed file in memory, where no fault can happen.
    guarded: Option<Guarded>,
}

/// The file behind a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backing {
    /// In memory, without a name: no device and no other process can make its map fault.
    Memory,
    /// On a disk, where the device may fail and other processes may truncate the file: mapped under
    /// a guard only.
    Disk,
}

// SAFETY: the memory is only read through the map, from any thread, and unmapped when the only
// owner drops it.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

impl Map {
    /// Maps the first `bytes` of `file`, whatever its length. `None` if the kernel has no address
    /// space left, or the file needs a guard and none is available.
    pub(crate) fn new(file: BorrowedFd<'_>, bytes: u64, backing: Backing) -> Option<Self> {
        if backing == Backing::Disk && !Guarded::is_possible() {
            return None;
        }
        let length = usize::try_from(bytes).ok()?;
        // SAFETY: a fresh mapping at an address chosen by the kernel replaces no other.
        let start = unsafe {
            mmap(std::ptr::null_mut(), length, ProtFlags::READ, MapFlags::SHARED, file, 0)
        };
        let mut map = Self { start: NonNull::new(start.ok()?.cast())?, bytes, guarded: None };
        if backing == Backing::Disk {
            let first = map.start.as_ptr() as usize;
            map.guarded = Some(Guarded::new(first..first + length)?);
        }
        Some(map)
    }

    /// `true` if some page could not be read and was replaced by zeros: discard the results of all
    /// reads so far.
    pub(crate) fn has_failed(&self) -> bool {
        self.guarded.as_ref().is_some_and(Guarded::has_failed)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The `count` elements from byte `offset`.
    ///
    /// # Safety
    /// The elements must be within the map, and `offset` a multiple of 4. While the slice is in
    /// use, nobody may write to those bytes of the file. The file must extend to their end, or the
    /// map must be guarded.
    #[inline]
    pub(crate) unsafe fn elements(&self, offset: u64, count: usize) -> &[f32] {
        assert!(offset.is_multiple_of(4), "aligned as elements are");
        let end = (count as u64).checked_mul(4).and_then(|bytes| bytes.checked_add(offset));
        assert!(end.is_some_and(|end| end <= self.bytes), "within the map");
        // SAFETY: the range is within one mapping, as asserted; the bytes exist and do not change,
        // by the contract; mappings start at pages, so elements are aligned; any bits are an `f32`;
        // the mapping lives as long as `self`.
        unsafe {
            std::slice::from_raw_parts(self.start.as_ptr().add(offset as usize).cast(), count)
        }
    }
}

/// Prefetches `bytes` into the processor's cache. Otherwise reads scattered over a file wait for
/// one cache miss after the other.
#[inline]
pub(crate) fn prefetch(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in bytes.chunks(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint and accesses nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

/// Prefetches the cache line of the first byte of `values`.
#[inline]
pub(crate) fn prefetch_at<T>(values: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch is a hint and accesses nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}

/// Prefetches the bytes behind `bytes`, as many again, into the second-level cache. That memory
/// need not belong to the caller, or be mapped at all: nothing is accessed, and an impossible
/// prefetch is ignored.
#[inline]
pub(crate) fn prefetch_behind(bytes: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for offset in (0..bytes.len()).step_by(64) {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        let line = bytes.as_ptr().wrapping_add(bytes.len() + offset);
        // SAFETY: a prefetch is a hint and accesses nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(line.cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = bytes;
}

impl Drop for Map {
    fn drop(&mut self) {
        // The guard goes first: after unmapping, the addresses may belong to another map.
        self.guarded = None;
        // SAFETY: the address and length of `new`, and no slice outlives `self`.
        let result = unsafe { munmap(self.start.as_ptr().cast(), self.bytes as usize) };
        debug_assert!(result.is_ok(), "mapped by us");
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::FileExt as _;

    use super::*;

    /// Reads `count` elements from byte `offset` on, of a map of two pages.
    fn read(offset: u64, count: usize) -> Vec<f32> {
        let bytes = 8_192;
        let file = tempfile::tempfile().expect("made");
        file.set_len(bytes).expect("zeros");
        file.write_all_at(&1.5_f32.to_le_bytes(), bytes - 4).expect("written");
        // Without a guard, which a process has once: nobody else reaches the file.
        let map = Map::new(file.as_fd(), bytes, Backing::Memory).expect("mapped");
        // SAFETY: nobody writes to the file, which is as long as the map; elements beyond the end
        // are refused.
        unsafe { map.elements(offset, count) }.to_vec()
    }

    #[test]
    fn elements_up_to_the_end_of_the_map_are_read() {
        assert_eq!(read(8_188, 1), [1.5]);
        assert_eq!(read(8_192, 0), []);
        assert_eq!(read(0, 2_048).len(), 2_048);
    }

    #[test]
    #[should_panic(expected = "within the map")]
    fn elements_that_end_beyond_the_map_are_refused() {
        read(8_188, 2);
    }

    #[test]
    #[should_panic(expected = "within the map")]
    fn elements_that_begin_beyond_the_map_are_refused() {
        read(8_196, 0);
    }

    #[test]
    #[should_panic(expected = "within the map")]
    fn elements_whose_end_overflows_are_refused() {
        read(8, usize::MAX / 4 + 1);
    }

    #[test]
    #[should_panic(expected = "aligned")]
    fn elements_that_are_not_aligned_are_refused() {
        read(2, 1);
    }
}
