//! [`Mapped`]: small writes through a map of the file, which copy some bytes instead of calling the system.
//!
//! A write of 190 bytes takes 1.7 µs as a call and 20 ns so, on ext4. Both leave the bytes in the page cache, for any
//! reader and for the sync of the file. Only a window of the file is mapped, so that the memory of the process does
//! not seem to grow with it.
#![expect(unsafe_code, reason = "mapping memory, and writing to what is mapped")]

use std::os::fd::BorrowedFd;
use std::ptr::NonNull;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use crate::Guarded;

/// Larger writes are calls: then the copy is most of the time.
const WRITE_BYTES_MAX: usize = 64 << 10;
/// Bytes that are mapped at a time.
const WINDOW_BYTES: usize = 1 << 20;
/// Windows begin at multiples of this: of a page, on every system.
const ALIGNMENT: u64 = 64 << 10;

/// The place of small writes to one file.
#[derive(Debug, Default)]
pub(super) struct Mapped {
    /// Bytes of the file that may be written through a map; 0 if none.
    bytes: u64,
    window: Option<Window>,
}

impl Mapped {
    /// Small writes within so many bytes are to come.
    pub(super) fn expect(&mut self, bytes: u64) {
        self.bytes = bytes;
    }

    /// The file is about to have no more than so many bytes.
    pub(super) fn cut(&mut self, bytes: u64) {
        if bytes < self.bytes {
            *self = Self { bytes, window: None };
        }
    }

    /// Writes to `file`, if it can be done here; else `false`.
    #[inline]
    pub(super) fn write(&mut self, file: BorrowedFd<'_>, buf: &[u8], offset: u64) -> bool {
        let end = offset.saturating_add(buf.len() as u64);
        if end > self.bytes || buf.len() > WRITE_BYTES_MAX {
            return false;
        }
        if !self.window.as_ref().is_some_and(|window| window.has(offset, end)) {
            // The old one first, so that its guard is free.
            self.window = None;
            self.window = Window::new(file, offset - offset % ALIGNMENT);
        }
        let is_written = self.window.as_mut().is_some_and(|window| window.write(buf, offset));
        if !is_written {
            // The system has no window to give, or failed to keep a page. The call that follows says why, such as a
            // full disk where the file had a hole, and nothing goes through a map any more.
            *self = Self::default();
        }
        is_written
    }
}

/// A part of a file in memory.
#[derive(Debug)]
struct Window {
    offset: u64,
    /// Before the mapping, so that it ends first: the addresses may belong to another map afterwards.
    guarded: Guarded,
    mapping: Mapping,
}

/// The memory of a window.
#[derive(Debug)]
struct Mapping(NonNull<u8>);

// SAFETY: the memory belongs to the map, which one thread at a time uses, and is unmapped with it.
unsafe impl Send for Mapping {}

impl Window {
    fn new(file: BorrowedFd<'_>, offset: u64) -> Option<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping, at an address that the kernel chooses, replaces no other.
        let start = unsafe {
            mmap(std::ptr::null_mut(), WINDOW_BYTES, protection, MapFlags::SHARED, file, offset)
        };
        let mapping = Mapping(NonNull::new(start.ok()?.cast::<u8>())?);
        let first = mapping.0.as_ptr() as usize;
        let guarded = Guarded::new(first..first + WINDOW_BYTES)?;
        Some(Self { offset, guarded, mapping })
    }

    fn has(&self, start: u64, end: u64) -> bool {
        start >= self.offset && end <= self.offset + WINDOW_BYTES as u64
    }

    /// Writes within the window; `false` if a page was missing.
    fn write(&mut self, buf: &[u8], offset: u64) -> bool {
        assert!(self.has(offset, offset + buf.len() as u64), "within the window");
        // SAFETY: within one mapping, which nobody has a reference into; a page that is missing is a failure of the
        // guard.
        unsafe {
            let target = self.mapping.0.as_ptr().add((offset - self.offset) as usize);
            std::ptr::copy_nonoverlapping(buf.as_ptr(), target, buf.len());
        }
        !self.guarded.has_failed()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly what was mapped, and nobody has a reference into it.
        let result = unsafe { munmap(self.0.as_ptr().cast(), WINDOW_BYTES) };
        debug_assert!(result.is_ok(), "mapped by us");
    }
}
