//! The simulated disk: the twin of the real one in memory, which loses unsynced writes, fails and
//! crashes on demand.

mod fault;
mod file;
mod generator;
mod hooked;
mod node;
mod tree;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;
use rustix::io::Errno;

use self::fault::{Faults, Operation, Verdict, stopped};
use self::file::SimulatedFile;
use self::node::{Node, NodeState};
use self::tree::{Entry, Tree};
use crate::platform::{Calls, System};
use crate::{DirEntry, Disk, DiskFile, Health, OpenMode, TEMPORARY_DIRECTORY, path};

pub use self::fault::Fault;
pub(crate) use self::generator::Generator;
pub use self::hooked::{HookedDisk, Moment};

/// A disk in memory that keeps no more than the promise of this crate. Clones are handles of the
/// same disk.
///
/// The same seed and the same calls in the same order give the same disk, byte for byte. After
/// [`SimulatedDisk::crash`] or [`SimulatedDisk::kill`] the next machine or process uses the
/// returned disk; every operation on this one fails, also through open files.
///
/// # What a crash keeps
/// Everything covered by the promise at the head of this crate, and any part of the rest:
/// - Writes to a file since its last sync: each sector of 512 bytes may have any state that it went
///   through. The length may be an old or a new one, with zeros where nothing was written.
/// - Names changed since the last sync of their directory: each may be the old or the new one.
///   After a rename both names may exist; neither exists only if just the old directory was synced.
/// - A directory whose own name is lost takes its content along, synced or not.
///
/// Files without a name are gone. Temporary files have no name, as on Linux, or one below `tmp/`,
/// as on other systems ([`SimulatedDisk::with_named_temporaries`]). Such names stay after a crash.
/// A file that was being linked may have both names, or after a power cut none.
///
/// # Faults
/// Operations that change the disk are counted: `write_at`, `set_len`, `sync_data`,
/// `create_temporary`, `link`, `rename`, `remove`, `create_dir`, `sync_dir`, `sync_everything`, and
/// `open` when it creates. A crash test runs its work once, reads [`SimulatedDisk::operations`], and then repeats
/// the work once for every number below it with [`SimulatedDisk::set_fault`] there.
///
/// Directories cannot be renamed here.
#[derive(Clone)]
pub struct SimulatedDisk {
    shared: Arc<Shared>,
}

struct Shared {
    /// `true` once the machine or process has ended. An atomic, because reads do not take the lock.
    is_stopped: AtomicBool,
    /// Reads so far. The number decides which reads pretend to wait for the device.
    reads: AtomicU64,
    health: Health,
    has_named_temporaries: bool,
    state: Mutex<State>,
}

struct State {
    tree: Tree,
    generator: Generator,
    faults: Faults,
    operations: u64,
    next_node: u64,
    capacity_bytes: u64,
    /// Bytes allocated by files that have a name or an open handle.
    allocated_bytes: u64,
}

/// Larger than any test needs.
const CAPACITY_BYTES_DEFAULT: u64 = 1 << 40;

impl SimulatedDisk {
    /// An empty disk. All random choices follow from `seed`. Its temporary files are named or
    /// unnamed as on the system of this build.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self::empty(seed, !System::has_unnamed_files())
    }

    /// Like [`SimulatedDisk::new`], with temporary files that have a name below `tmp/`.
    #[must_use]
    pub fn with_named_temporaries(seed: u64) -> Self {
        Self::empty(seed, true)
    }

    /// Cuts the power and returns the disk that the next start finds, healthy and without faults.
    ///
    /// It may be called repeatedly: each call returns another disk that a power cut at this moment
    /// could leave.
    #[must_use]
    pub fn crash(&self) -> Self {
        let mut guard = self.stop();
        let state = &mut *guard;
        let tree = state.tree.after_power_cut(&mut state.generator);
        self.successor(tree, state)
    }

    /// Kills the process and returns the disk that the next process finds, healthy and without
    /// faults. Everything written is there, synced or not; a later crash can still lose what was
    /// not synced. Gone are files without a name, and bytes lost by a failed sync.
    #[must_use]
    pub fn kill(&self) -> Self {
        let mut state = self.stop();
        let tree = state.tree.after_kill();
        self.successor(tree, &mut state)
    }

    /// Makes the operation with the number `at_operation` (the first is 0) fail, or the next one
    /// that the fault applies to. Several faults may be pending at different numbers.
    pub fn set_fault(&self, at_operation: u64, fault: Fault) {
        self.shared.state.lock().faults.set(at_operation, fault);
    }

    /// Removes the pending faults and ends [`Fault::NoSpaceFrom`].
    pub fn clear_faults(&self) {
        self.shared.state.lock().faults.clear();
    }

    /// The number of changing operations so far, failed ones included.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.shared.state.lock().operations
    }

    /// Limits the disk to `bytes`, counted in written pages of 4 KiB. Writes beyond it fail with
    /// `ENOSPC`. The limit may be below the space in use.
    pub fn set_capacity(&self, bytes: u64) {
        self.shared.state.lock().capacity_bytes = bytes;
    }

    fn empty(seed: u64, has_named_temporaries: bool) -> Self {
        let state = State {
            tree: Tree::new(),
            generator: Generator::new(seed),
            faults: Faults::default(),
            operations: 0,
            next_node: 0,
            capacity_bytes: CAPACITY_BYTES_DEFAULT,
            allocated_bytes: 0,
        };
        Self::with(state, has_named_temporaries)
    }

    fn with(state: State, has_named_temporaries: bool) -> Self {
        Self {
            shared: Arc::new(Shared {
                is_stopped: AtomicBool::new(false),
                reads: AtomicU64::new(0),
                health: Health::new(),
                has_named_temporaries,
                state: Mutex::new(state),
            }),
        }
    }

    fn stop(&self) -> parking_lot::MutexGuard<'_, State> {
        let state = self.shared.state.lock();
        self.shared.is_stopped.store(true, Ordering::Release);
        state
    }

    fn successor(&self, tree: Tree, state: &mut State) -> Self {
        let state = State {
            allocated_bytes: tree.allocated_bytes(),
            tree,
            generator: Generator::new(state.generator.next()),
            faults: Faults::default(),
            operations: 0,
            next_node: state.next_node,
            capacity_bytes: state.capacity_bytes,
        };
        Self::with(state, self.shared.has_named_temporaries)
    }

    fn check_running(&self) -> io::Result<()> {
        if self.shared.is_stopped.load(Ordering::Acquire) { Err(stopped()) } else { Ok(()) }
    }

    /// Runs a changing operation with the verdict of the faults. The result of `run` must not take
    /// the disk's lock when dropped: the lock is still held then.
    fn change<T>(
        &self,
        operation: Operation,
        run: impl FnOnce(&mut State, Verdict) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut state = self.shared.state.lock();
        self.change_locked(&mut state, operation, run)
    }

    fn change_locked<T>(
        &self,
        state: &mut State,
        operation: Operation,
        run: impl FnOnce(&mut State, Verdict) -> io::Result<T>,
    ) -> io::Result<T> {
        self.check_running()?;
        self.shared.health.check()?;
        let number = state.operations;
        state.operations += 1;
        let verdict = state.faults.decide(number, operation, &mut state.generator);
        match verdict {
            Verdict::Run | Verdict::ShortWrite => run(state, verdict),
            Verdict::RunAndStop | Verdict::Stop => {
                if matches!(verdict, Verdict::RunAndStop) {
                    // The machine has stopped, so no caller gets the result.
                    let _ = run(state, verdict);
                }
                self.shared.is_stopped.store(true, Ordering::Release);
                Err(stopped())
            }
            Verdict::Fail(error) => Err(error.into()),
            Verdict::FailSync(error) => {
                // `run` sees the verdict and makes only a part durable; then the disk is poisoned.
                run(state, verdict)?;
                let error = io::Error::from(error);
                self.shared.health.poison(format!("a simulated sync failed: {error}"));
                Err(error)
            }
        }
    }

    fn handle(&self, node: Arc<Node>, is_writable: bool) -> Box<dyn DiskFile> {
        Box::new(SimulatedFile::new(self.clone(), node, is_writable, None))
    }
}

impl Disk for SimulatedDisk {
    fn open(&self, path: &str, mode: OpenMode) -> io::Result<Box<dyn DiskFile>> {
        path::check_file(path)?;
        self.check_running()?;
        if mode == OpenMode::CreateOrWrite {
            self.shared.health.check()?;
        }
        // The block ends the lock before a handle is made, which takes it again.
        let node = {
            let mut state = self.shared.state.lock();
            if mode == OpenMode::CreateOrWrite && state.tree.find(path)?.is_none() {
                self.change_locked(&mut state, Operation::NeedsSpace, |state, _| {
                    let node = state.new_node(NodeState::named());
                    state.tree.put(path, Some(Entry::File(Arc::clone(&node))))?;
                    Ok(node)
                })?
            } else {
                state.tree.file(path)?
            }
        };
        Ok(self.handle(node, mode != OpenMode::Read))
    }

    fn create_temporary(&self) -> io::Result<Box<dyn DiskFile>> {
        let is_named = self.shared.has_named_temporaries;
        let (node, path) = self.change(Operation::NeedsSpace, |state, _| {
            let node = state.new_node(NodeState::temporary(u64::from(is_named)));
            if !is_named {
                return Ok((node, None));
            }
            state.tree.create_directory(TEMPORARY_DIRECTORY)?;
            let path = format!("{TEMPORARY_DIRECTORY}/{}", node.id);
            state.tree.put(&path, Some(Entry::File(Arc::clone(&node))))?;
            Ok((node, Some(path)))
        })?;
        Ok(Box::new(SimulatedFile::new(self.clone(), node, true, path)))
    }

    fn link(&self, file: &dyn DiskFile, path: &str) -> io::Result<()> {
        path::check_file(path)?;
        let handle = file
            .as_any()
            .downcast_ref::<SimulatedFile>()
            .filter(|file| Arc::ptr_eq(&file.disk.shared, &self.shared))
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a file of another disk"))?;
        let node = &handle.node;
        self.change(Operation::NeedsSpace, |state, verdict| {
            let mut file = node.state.lock();
            if !file.is_linkable {
                let message = "only a temporary file without a name can be linked";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
            }
            if state.tree.find(path)?.is_some() {
                return Err(Errno::EXIST.into());
            }
            state.tree.put(path, Some(Entry::File(Arc::clone(node))))?;
            file.is_linkable = false;
            file.names += 1;
            // On the portable systems this is two calls, link and unlink: the process may end
            // between them, and their effects may become durable in either order.
            if let Some(old_path) = &handle.temporary_path {
                let has_ended = matches!(verdict, Verdict::RunAndStop) && state.generator.coin();
                if !has_ended {
                    file.names -= state.remove_name(old_path);
                }
            }
            Ok(())
        })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        path::check_file(from)?;
        path::check_file(to)?;
        self.change(Operation::NeedsSpace, |state, _| {
            if let Some(replaced) = state.tree.rename(from, to)? {
                state.forget_name(&replaced);
            }
            Ok(())
        })
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        path::check_file(path)?;
        self.change(Operation::FreesSpace, |state, _| {
            let node = state.tree.file(path)?;
            state.tree.put(path, None)?;
            state.forget_name(&node);
            Ok(())
        })
    }

    fn create_dir(&self, path: &str) -> io::Result<()> {
        path::check_directory(path)?;
        self.change(Operation::NeedsSpace, |state, _| {
            if path.is_empty() { Ok(()) } else { state.tree.create_directory(path) }
        })
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        path::check_directory(path)?;
        self.change(Operation::Sync, |state, verdict| match verdict {
            Verdict::FailSync(_) => state.tree.fail_sync(path, &mut state.generator),
            _ => state.tree.sync(path),
        })
    }

    fn sync_everything(&self) -> io::Result<bool> {
        self.change(Operation::Sync, |state, verdict| {
            match verdict {
                Verdict::FailSync(_) => state.tree.fail_sync_all(&mut state.generator)?,
                _ => state.tree.sync_all()?,
            }
            Ok(true)
        })
    }

    fn list(&self, path: &str) -> io::Result<Vec<DirEntry>> {
        path::check_directory(path)?;
        self.check_running()?;
        let state = self.shared.state.lock();
        let names = state.tree.list(path)?;
        Ok(names.map(|(name, is_dir)| DirEntry { name: name.to_owned(), is_dir }).collect())
    }

    fn free_bytes(&self) -> io::Result<u64> {
        self.check_running()?;
        Ok(self.shared.state.lock().free_bytes())
    }

    fn capacity_bytes(&self) -> io::Result<Option<u64>> {
        Ok(Some(self.shared.state.lock().capacity_bytes))
    }

    fn health(&self) -> &Health {
        &self.shared.health
    }
}

impl State {
    fn new_node(&mut self, state: NodeState) -> Arc<Node> {
        self.next_node += 1;
        Node::new(self.next_node, state)
    }

    /// Removes a name if it exists and returns the number of removed names. The caller, which has
    /// the node locked, subtracts it from the node's count.
    fn remove_name(&mut self, path: &str) -> u64 {
        u64::from(matches!(self.tree.put(path, None), Ok(Some(_))))
    }

    fn free_bytes(&self) -> u64 {
        if self.faults.is_full() {
            return 0;
        }
        self.capacity_bytes.saturating_sub(self.allocated_bytes)
    }

    fn forget_name(&mut self, node: &Node) {
        let mut file = node.state.lock();
        file.names -= 1;
        self.free_if_unused(&file);
    }

    fn free_if_unused(&mut self, file: &NodeState) {
        // As in a file system: space is freed with the last name and the last open handle.
        if file.names == 0 && file.handles == 0 {
            self.allocated_bytes -= file.current.allocated_bytes();
        }
    }
}

impl fmt::Debug for SimulatedDisk {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The content would fill pages, and the lock may be held.
        formatter.debug_struct("SimulatedDisk").finish_non_exhaustive()
    }
}
