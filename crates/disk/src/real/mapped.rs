//! [`Mapped`]: small writes through a map of the file, which copy some bytes instead of calling the system.
//!
//! A write of 190 bytes takes 1.7 µs as a call and 20 ns so, on ext4. Both leave the bytes in the page cache, for any
//! reader and for the sync of the file. Only a window of the file is mapped, so that the memory of the process does
//! not seem to grow with it.
#![expect(unsafe_code, reason = "mapping memory, and writing to what is mapped")]

use std::io;
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
    pub(super) fn write(
        &mut self,
        file: BorrowedFd<'_>,
        buf: &[u8],
        offset: u64,
    ) -> io::Result<bool> {
        let end = offset.saturating_add(buf.len() as u64);
        if end > self.bytes || buf.len() > WRITE_BYTES_MAX {
            return Ok(false);
        }
        if !self.window.as_ref().is_some_and(|window| window.has(offset, end)) {
            // The old one first, so that its guard is free.
            self.window = None;
            self.window = Window::new(file, offset - offset % ALIGNMENT);
        }
        let Some(window) = &mut self.window else {
            // The system has none to give.
            self.bytes = 0;
            return Ok(false);
        };
        window.write(buf, offset).map(|()| true)
    }
}

/// A part of a file in memory.
#[derive(Debug)]
struct Window {
    start: NonNull<u8>,
    offset: u64,
    guarded: Guarded,
}

// SAFETY: the memory belongs to the map, which one thread at a time uses, and is unmapped with it.
unsafe impl Send for Window {}

impl Window {
    fn new(file: BorrowedFd<'_>, offset: u64) -> Option<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping, at an address that the kernel chooses, replaces no other.
        let start = unsafe {
            mmap(std::ptr::null_mut(), WINDOW_BYTES, protection, MapFlags::SHARED, file, offset)
        };
        let start = NonNull::new(start.ok()?.cast::<u8>())?;
        let first = start.as_ptr() as usize;
        match Guarded::new(first..first + WINDOW_BYTES) {
            Some(guarded) => Some(Self { start, offset, guarded }),
            None => {
                unmap(start);
                None
            }
        }
    }

    fn has(&self, start: u64, end: u64) -> bool {
        start >= self.offset && end <= self.offset + WINDOW_BYTES as u64
    }

    /// Writes within the window.
    fn write(&mut self, buf: &[u8], offset: u64) -> io::Result<()> {
        assert!(self.has(offset, offset + buf.len() as u64), "within the window");
        // SAFETY: within one mapping, which nobody has a reference into; a page that is missing is a failure of the
        // guard.
        unsafe {
            let target = self.start.as_ptr().add((offset - self.offset) as usize);
            std::ptr::copy_nonoverlapping(buf.as_ptr(), target, buf.len());
        }
        if self.guarded.has_failed() {
            return Err(io::Error::other(
                "the device failed or was full, or somebody else cut the file",
            ));
        }
        Ok(())
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        unmap(self.start);
    }
}

fn unmap(start: NonNull<u8>) {
    // SAFETY: exactly what was mapped, and nobody has a reference into it.
    let result = unsafe { munmap(start.as_ptr().cast(), WINDOW_BYTES) };
    debug_assert!(result.is_ok(), "mapped by us");
}
