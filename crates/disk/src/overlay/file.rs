//! Files of an overlay and their handles.

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

/// A file, shared by all of its handles. Its name is in the tree.
pub(super) struct Node {
    /// The file of the disk below, opened read-only; `None` for a file created in the overlay.
    below: Option<Box<dyn DiskFile>>,
    state: RwLock<State>,
}

struct State {
    patches: Patches,
    /// `true` once content or name differ from the disk below.
    is_changed: bool,
    is_linkable: bool, // A temporary file without a name.
    is_locked: bool,
}

impl Node {
    /// A new file.
    pub(super) fn empty() -> Self {
        Self::with(None, Patches::default(), true)
    }

    /// A new file that `link` accepts.
    pub(super) fn temporary() -> Self {
        let mut node = Self::empty();
        node.state.get_mut().is_linkable = true;
        node
    }

    /// The unchanged file of the disk below.
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
    /// The path that was opened; `None` for a temporary file.
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

    /// Always `None`: the read may wait for the disk below. Programs that use an overlay do not
    /// need the fast path.
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

    /// Nothing outlives the process, so a sync only checks the health.
    fn sync_data(&self) -> io::Result<()> {
        self.shared.health.check()
    }

    fn start_writeback(&self, _offset: u64, _bytes: u64) {}

    /// Excludes handles of this overlay only. The file below is not locked.
    fn try_lock(&self) -> io::Result<()> {
        let mut state = self.node.state.write();
        if state.is_locked && !self.has_lock.load(Ordering::Relaxed) {
            return Err(lock::file_in_use(self.path.as_deref().unwrap_or("a temporary file")));
        }
        state.is_locked = true;
        self.has_lock.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// `None`: a map would show the bytes of the disk below.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn is_in_memory(&self) -> bool {
        true
    }

    fn reserve(&self, _offset: u64, _bytes: u64) {}

    fn discard(&self, offset: u64, bytes: u64) -> io::Result<bool> {
        self.check_writable()?;
        let zeros = vec![0; usize::try_from(bytes).map_err(io::Error::other)?];
        self.node.change(|patches, below| patches.write(below, &zeros, offset))?;
        Ok(true)
    }

    fn expect_small_writes(&self, _bytes: u64) {}

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for OverlayFile {
    fn drop(&mut self) {
        // Unlock before the tree may forget the node: the next `open` gets a fresh, unlocked one.
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
