//! A file of an overlay, and a handle of it.

use std::any::Any;
use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;
use rustix::io::Errno;

use super::Shared;
use super::patches::Patches;
use crate::{DiskFile, lock};

/// A file. Its name is in the tree.
pub(super) struct Node {
    /// The file below, opened for reading; none for one that was made here.
    below: Option<Box<dyn DiskFile>>,
    state: RwLock<State>,
}

struct State {
    patches: Patches,
    /// Content or name are not as they are below.
    is_changed: bool,
    is_linkable: bool,
    is_locked: bool,
}

impl Node {
    /// A new file.
    pub(super) fn empty() -> Self {
        Self::with(None, Patches::default(), true)
    }

    /// A new file that can be linked.
    pub(super) fn temporary() -> Self {
        let mut node = Self::empty();
        node.state.get_mut().is_linkable = true;
        node
    }

    /// A file as it is below.
    pub(super) fn over(below: Box<dyn DiskFile>) -> io::Result<Self> {
        let patches = Patches::none(below.len()?);
        Ok(Self::with(Some(below), patches, false))
    }

    fn with(below: Option<Box<dyn DiskFile>>, patches: Patches, is_changed: bool) -> Self {
        let state = State { patches, is_changed, is_linkable: false, is_locked: false };
        Self { below, state: RwLock::new(state) }
    }

    pub(super) fn is_changed(&self) -> bool {
        self.state.read().is_changed
    }

    pub(super) fn set_changed(&self) {
        self.state.write().is_changed = true;
    }

    pub(super) fn is_linkable(&self) -> bool {
        self.state.read().is_linkable
    }

    pub(super) fn set_linked(&self) {
        self.state.write().is_linkable = false;
    }

    fn change(
        &self,
        change: impl FnOnce(&mut Patches, Option<&dyn DiskFile>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut state = self.state.write();
        state.is_changed = true;
        change(&mut state.patches, self.below.as_deref())
    }
}

pub(super) struct OverlayFile {
    shared: Arc<Shared>,
    node: Arc<Node>,
    /// The path by which it was opened; none of a temporary file.
    path: Option<Box<str>>,
    is_writable: bool,
    has_lock: AtomicBool,
}

impl OverlayFile {
    pub(super) fn new(
        shared: Arc<Shared>,
        node: Arc<Node>,
        path: Option<&str>,
        is_writable: bool,
    ) -> Self {
        let has_lock = AtomicBool::new(false);
        Self { shared, node, path: path.map(Box::from), is_writable, has_lock }
    }

    pub(super) fn is_of(&self, shared: &Arc<Shared>) -> bool {
        Arc::ptr_eq(&self.shared, shared)
    }

    pub(super) fn node(&self) -> &Arc<Node> {
        &self.node
    }

    fn check_writable(&self) -> io::Result<()> {
        self.shared.health.check()?;
        if self.is_writable { Ok(()) } else { Err(Errno::BADF.into()) }
    }
}

#[deny(clippy::missing_trait_methods)]
impl DiskFile for OverlayFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.node.state.read().patches.read(self.node.below.as_deref(), buf, offset)
    }

    /// Never without the promise that it does not wait: who reads an overlay is in no hurry.
    fn try_read_at(&self, _buf: &mut [u8], _offset: u64) -> io::Result<Option<usize>> {
        Ok(None)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.check_writable()?;
        self.node.change(|patches, below| patches.write(below, buf, offset))
    }

    fn write_uncached_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.write_at(buf, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.node.state.read().patches.len())
    }

    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.check_writable()?;
        self.node.change(|patches, _| patches.set_len(bytes))
    }

    /// As durable as it will ever be.
    fn sync_data(&self) -> io::Result<()> {
        self.shared.health.check()
    }

    fn start_writeback(&self, _offset: u64, _bytes: u64) {}

    /// Among the handles of this overlay only: a lock of the file below is left alone.
    fn try_lock(&self) -> io::Result<()> {
        let mut state = self.node.state.write();
        if state.is_locked && !self.has_lock.load(Ordering::Relaxed) {
            return Err(lock::file_in_use(self.path.as_deref().unwrap_or("a temporary file")));
        }
        state.is_locked = true;
        self.has_lock.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// None: a map would show the file below.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn is_in_memory(&self) -> bool {
        true
    }

    fn reserve(&self, _offset: u64, _bytes: u64) {}

    fn expect_small_writes(&self, _bytes: u64) {}

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for OverlayFile {
    fn drop(&mut self) {
        if *self.has_lock.get_mut() {
            self.node.state.write().is_locked = false;
        }
        if let Some(path) = &self.path {
            self.shared.tree.lock().forget_unchanged(path, &self.node);
        }
    }
}

impl fmt::Debug for OverlayFile {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OverlayFile").field("path", &self.path).finish_non_exhaustive()
    }
}
