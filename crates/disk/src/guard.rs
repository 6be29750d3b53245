//! The guard of memory maps: a `SIGBUS` handler that turns a fault under a map into an error of
//! that file.
//!
//! A device error under a map, or a file truncated by another process, raises `SIGBUS`, whose
//! default action ends the process. The handler maps a page of zeros over the missing page and
//! marks the map as failed; the thread continues with the zeros. After reading or writing through a
//! map the caller checks [`Guarded::has_failed`]. If it is set, the caller discards the result of a
//! read, or reports a write as failed.
//!
//! ```text
//!  thread uses page ──► SIGBUS ──► address in a guarded map?
//!                                    yes: mark it failed, map zeros there, retry
//!                                    no:  restore the previous action, retry: that action decides
//! ```
#![expect(unsafe_code, reason = "handling a signal, and mapping zeros in the handler")]

use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence, fence};

use parking_lot::Mutex;

/// Maps that can be guarded at a time. The store keeps up to 256 indexes open, and snapshots may
/// hold an older map of each.
const GUARDED_MAPS_MAX: usize = 1_024;

/// Values that the handler needs, set before it is installed.
struct Installed {
    previous: libc::sigaction,
    page_bytes: usize,
}

static INSTALLED: OnceLock<Installed> = OnceLock::new();

/// The guarded maps. The handler reads this table at any moment and on any thread, so the entries
/// are atomics at fixed addresses, without a lock.
static MAPS: [Place; GUARDED_MAPS_MAX] = [const { Place::new() }; GUARDED_MAPS_MAX];

/// Indexes of free entries of [`MAPS`]; `None` before the first use. The handler never takes this
/// lock.
static FREE: Mutex<Option<Vec<usize>>> = Mutex::new(None);

/// The address range of one map. An entry is free while `start` is 0.
struct Place {
    start: AtomicUsize,
    end: AtomicUsize,
    has_failed: AtomicBool,
}

impl Place {
    const fn new() -> Self {
        let (start, end) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { start, end, has_failed: AtomicBool::new(false) }
    }

    fn contains(&self, address: usize) -> bool {
        let start = self.start.load(Ordering::Acquire);
        let end = self.end.load(Ordering::Acquire);
        // A seqlock in miniature: the entry may have been given to another map between the two
        // loads, in which case `start` has changed and `end` belongs to another range.
        start != 0 && (start..end).contains(&address) && self.start.load(Ordering::Acquire) == start
    }
}

/// Allows this process to map files, which speeds up vector searches and small writes. Without this
/// call files are read and written by system calls. It installs a process-wide handler of `SIGBUS`,
/// so that a failing device or a truncated file under a map becomes an error of that file. Faults
/// at other addresses go to the previously installed handler.
///
/// Call it from the `main` of a program that owns its process, never from a library. Later calls
/// have no effect.
///
/// # Errors
/// The error of the system; no file is mapped then.
pub fn map_files() -> io::Result<()> {
    // Held until the handler is installed, so that two threads cannot both install it.
    let _free = FREE.lock();
    if INSTALLED.get().is_some() {
        return Ok(());
    }
    let mut previous = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: an all-zero `sigaction` is valid: an integer and two sets. The handler has the
    // signature required by `SA_SIGINFO`, and calls only async-signal-safe functions.
    let previous = unsafe {
        if libc::sigaction(libc::SIGBUS, std::ptr::null(), previous.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        previous.assume_init()
    };
    // Set before the handler is installed: the handler reads it and may run at once.
    let page_bytes = rustix::param::page_size();
    let _ = INSTALLED.set(Installed { previous, page_bytes });
    // SAFETY: as above.
    let result = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = handle;
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut())
    };
    if result != 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The signal handler. Async-signal-safe: it uses atomics and system calls only, no lock and no
/// allocation.
extern "C" fn handle(
    _signal: libc::c_int,
    information: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    let Some(installed) = INSTALLED.get() else { return };
    // SAFETY: the kernel passes the information of this signal.
    let (code, address) = unsafe { ((*information).si_code, (*information).si_addr() as usize) };
    // The kernel's codes are positive. Any other code means that a process sent the signal: no
    // instruction faulted, so returning would not raise it again.
    let is_fault = code > 0;
    if is_fault && let Some(place) = MAPS.iter().find(|place| place.contains(address)) {
        // Mark before mapping: once zeros are readable, `has_failed` must be `true` for this
        // thread.
        place.has_failed.store(true, Ordering::Release);
        let page = address - address % installed.page_bytes;
        // SAFETY: the faulting thread uses the map, so the map is not unmapped meanwhile and the
        // page belongs to it. Readers accept any bits, and discard their result when they see the
        // mark. Bytes written to the page are lost; the mark reports this to the writer.
        let mapped = unsafe {
            libc::mmap(
                page as *mut libc::c_void,
                installed.page_bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_FIXED,
                -1,
                0,
            )
        };
        if mapped != libc::MAP_FAILED {
            return;
        }
    }
    // SAFETY: restoring the previous action is always valid. The faulting instruction is retried,
    // faults again, and the previous action decides. Rust's own handler also waits for a second
    // fault, so a signal sent by a process gets the system's default action and is raised again.
    unsafe {
        let mut action = installed.previous;
        if !is_fault {
            action.sa_sigaction = libc::SIG_DFL;
        }
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
        if !is_fault {
            libc::raise(libc::SIGBUS);
        }
    }
}

/// The guard of one map. The addresses are guarded until it is dropped.
#[derive(Debug)]
pub struct Guarded {
    number: usize,
}

impl Guarded {
    /// `true` if maps can be guarded in this process.
    #[must_use]
    pub fn is_possible() -> bool {
        INSTALLED.get().is_some()
    }

    /// Guards the map at these addresses; `None` if the table of guarded maps is full.
    #[must_use]
    pub fn new(addresses: Range<usize>) -> Option<Self> {
        let mut free = FREE.lock();
        let number = free.get_or_insert_with(|| (0..GUARDED_MAPS_MAX).collect()).pop()?;
        drop(free);
        let place = &MAPS[number];
        // `start` is stored last: the handler takes an entry with a nonzero `start` for complete.
        place.has_failed.store(false, Ordering::Release);
        place.end.store(addresses.end, Ordering::Release);
        place.start.store(addresses.start, Ordering::Release);
        Some(Self { number })
    }

    /// `true` if a page was missing: zeros were read in its place, or written bytes are lost.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        // Accesses to the map must come before this load. The handler runs on the thread that
        // faults, so the compiler fence is enough against the compiler, and the acquire fence keeps
        // the processor from loading the mark before the bytes.
        compiler_fence(Ordering::SeqCst);
        fence(Ordering::Acquire);
        MAPS[self.number].has_failed.load(Ordering::Acquire)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // Freed for the handler first, and for the allocator second, so that no two maps share an
        // entry.
        MAPS[self.number].start.store(0, Ordering::Release);
        if let Some(free) = &mut *FREE.lock() {
            free.push(self.number);
        }
    }
}
