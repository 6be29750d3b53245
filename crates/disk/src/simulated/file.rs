//! An open file of the simulated disk.

use std::any::Any;
use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;

use super::fault::{Operation, Verdict};
use super::generator::mix;
use super::node::Node;
use super::{SimulatedDisk, State};
use crate::content::{PAGE_BYTES, check_end};
use crate::{DiskFile, lock};

pub(super) struct SimulatedFile {
    pub(super) disk: SimulatedDisk,
    pub(super) node: Arc<Node>,
    is_writable: bool,
    has_lock: AtomicBool,
    /// The path below `tmp/` of a named temporary file, which is deleted with this handle unless
    /// the file is linked.
    pub(super) temporary_path: Option<String>,
}

impl SimulatedFile {
    /// Takes the lock of the disk: call it, and drop its result, without holding that lock.
    pub(super) fn new(
        disk: SimulatedDisk,
        node: Arc<Node>,
        is_writable: bool,
        temporary_path: Option<String>,
    ) -> Self {
        // The disk's lock is held while the handle is counted, so that no removal in between frees
        // the node.
        let state = disk.shared.state.lock();
        node.state.lock().handles += 1;
        drop(state);
        Self { disk, node, is_writable, has_lock: AtomicBool::new(false), temporary_path }
    }

    fn check_writable(&self) -> io::Result<()> {
        if self.is_writable { Ok(()) } else { Err(Errno::BADF.into()) }
    }

    /// Writes the prefix that fits on the disk; `ENOSPC` if that is not everything.
    fn write(&self, state: &mut State, buf: &[u8], offset: u64) -> io::Result<()> {
        let mut file = self.node.state.lock();
        let free_pages = state.free_bytes() / PAGE_BYTES;
        let fitting = file.current.fitting_bytes(offset, buf.len(), free_pages);
        let before = file.current.allocated_bytes();
        file.write(&buf[..fitting], offset);
        state.allocated_bytes += file.current.allocated_bytes() - before;
        if fitting < buf.len() { Err(Errno::NOSPC.into()) } else { Ok(()) }
    }
}

impl DiskFile for SimulatedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.disk.check_running()?;
        Ok(self.node.state.lock().current.read(buf, offset))
    }

    /// Pretends for one read in four that it would wait, so that tests cover both results.
    fn try_read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<Option<usize>> {
        let number = self.disk.shared.reads.fetch_add(1, Ordering::Relaxed);
        if mix(number).is_multiple_of(4) {
            return self.disk.check_running().map(|()| None);
        }
        self.read_at(buf, offset).map(Some)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.check_writable()?;
        check_end(offset, buf.len() as u64)?;
        self.disk.change(Operation::Write, |state, verdict| match verdict {
            Verdict::ShortWrite => {
                let bytes = state.generator.below(buf.len() as u64 + 1) as usize;
                // The prefix is torn at a random byte, and `EIO` is the result in every case.
                self.write(state, &buf[..bytes], offset)?;
                Err(Errno::IO.into())
            }
            _ => self.write(state, buf, offset),
        })
    }

    fn len(&self) -> io::Result<u64> {
        self.disk.check_running()?;
        Ok(self.node.state.lock().current.len())
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.check_writable()?;
        check_end(0, bytes)?;
        let grows = bytes > self.node.state.lock().current.len();
        let operation = if grows { Operation::NeedsSpace } else { Operation::FreesSpace };
        self.disk.change(operation, |state, _| {
            let mut file = self.node.state.lock();
            let before = file.current.allocated_bytes();
            file.set_len(bytes);
            state.allocated_bytes -= before - file.current.allocated_bytes();
            Ok(())
        })
    }

    fn discard(&self, offset: u64, bytes: u64) -> io::Result<bool> {
        self.check_writable()?;
        check_end(offset, bytes)?;
        self.disk.change(Operation::FreesSpace, |state, _| {
            let mut file = self.node.state.lock();
            let before = file.current.allocated_bytes();
            file.discard(offset, bytes);
            state.allocated_bytes -= before - file.current.allocated_bytes();
            Ok(true)
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.change(Operation::Sync, |state, verdict| {
            let mut file = self.node.state.lock();
            match verdict {
                Verdict::FailSync(_) => file.fail_sync(&mut state.generator),
                _ => file.sync(),
            }
            Ok(())
        })
    }

    /// Nothing to do: unsynced bytes may survive a crash at any time anyway.
    fn start_writeback(&self, _offset: u64, _bytes: u64) {}

    fn try_lock(&self) -> io::Result<()> {
        self.disk.check_running()?;
        let mut file = self.node.state.lock();
        if file.is_locked && !self.has_lock.load(Ordering::Relaxed) {
            return Err(lock::file_in_use("a file of the simulated disk"));
        }
        file.is_locked = true;
        self.has_lock.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// `None`: the simulated disk has no descriptors.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for SimulatedFile {
    fn drop(&mut self) {
        // Lock order: disk, then node.
        let mut state = self.disk.shared.state.lock();
        let mut file = self.node.state.lock();
        // A stopped machine removes nothing: the name is left for the next start.
        if let Some(path) = &self.temporary_path
            && file.is_linkable
            && self.disk.check_running().is_ok()
        {
            file.names -= state.remove_name(path);
        }
        file.handles -= 1;
        if *self.has_lock.get_mut() {
            file.is_locked = false;
        }
        state.free_if_unused(&file);
    }
}

impl fmt::Debug for SimulatedFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SimulatedFile").field("id", &self.node.id).finish_non_exhaustive()
    }
}
