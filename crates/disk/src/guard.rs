//! The guard of maps: a handler of `SIGBUS` that makes an error of one file of a failure under its map.
//!
//! A device that fails under a map, and a file that another process has truncated, are reported by that
//! signal, which ends the process. The handler puts a page of zeros where the page is missing and marks
//! the map as failed; the thread goes on with the zeros. Whoever reads or writes through the map asks
//! [`Guarded::has_failed`] afterwards, and drops what it has computed, or tells that nothing was written.
//!
//! ```text
//!  thread uses page ──► SIGBUS ──► address in a guarded map?
//!                                    yes: mark it failed, map zeros there, try again
//!                                    no:  put the previous action back, try again: it decides
//! ```
#![expect(unsafe_code, reason = "handling a signal, and mapping zeros in the handler")]

use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, compiler_fence, fence};

use parking_lot::Mutex;

/// The largest number of maps that are guarded at a time. The store has 256 indexes open, and views may hold an older
/// map of each.
const GUARDED_MAPS_MAX: usize = 1_024;

/// The state that the handler needs.
struct Installed {
    previous: libc::sigaction,
    page_bytes: usize,
}

static INSTALLED: OnceLock<Installed> = OnceLock::new();

/// The guarded maps. The handler reads them, so they are atomics in a place that never moves.
static MAPS: [Place; GUARDED_MAPS_MAX] = [const { Place::new() }; GUARDED_MAPS_MAX];

/// The numbers of the places that are not in use; `None` before the first use.
static FREE: Mutex<Option<Vec<usize>>> = Mutex::new(None);

/// The addresses of one map. Not in use while `start` is 0.
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
        // Asked again, because the place may have been given to another map in between.
        start != 0 && (start..end).contains(&address) && self.start.load(Ordering::Acquire) == start
    }
}

/// Lets this process map files, which makes searches of vectors and small writes faster: without this they are read
/// and written. Installs a handler of the signal `SIGBUS` for the whole process, so that a failing device or a
/// truncated file under a map is an error of one file. Other faults of this kind go on to the handler that was there
/// before.
///
/// For the `main` of a program that owns its process, and not for libraries. Later calls have no effect.
///
/// # Errors
/// The error of the system; nothing is mapped then.
pub fn map_files() -> io::Result<()> {
    // Held over the call, so that two threads cannot both install it.
    let _free = FREE.lock();
    if INSTALLED.get().is_some() {
        return Ok(());
    }
    let mut previous = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: all zeros are a valid `sigaction`, an integer and two sets; the handler has the signature that
    // `SA_SIGINFO` asks for, and calls nothing that is not allowed in a handler.
    let previous = unsafe {
        if libc::sigaction(libc::SIGBUS, std::ptr::null(), previous.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        previous.assume_init()
    };
    // Before the handler is there that needs it.
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

/// Asynchronous-signal-safe: atomics and system calls only.
extern "C" fn handle(
    _signal: libc::c_int,
    information: *mut libc::siginfo_t,
    _context: *mut libc::c_void,
) {
    let Some(installed) = INSTALLED.get() else { return };
    // SAFETY: the kernel passes the information of this signal.
    let (code, address) = unsafe { ((*information).si_code, (*information).si_addr() as usize) };
    // Codes of the kernel are positive. A process has sent this one: there is no fault that comes again.
    let is_fault = code > 0;
    if is_fault && let Some(place) = MAPS.iter().find(|place| place.contains(address)) {
        place.has_failed.store(true, Ordering::Release);
        let page = address - address % installed.page_bytes;
        // SAFETY: the page is one of the map that the thread uses, which therefore is not unmapped
        // meanwhile. Readers take any bits, and drop their results when they find the map failed; what is written
        // there is lost, and its writer told.
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
    // SAFETY: the action that was there before: the thread faults again, and it decides. That of Rust's own
    // handler is to wait for another fault, too, so a signal that was sent gets the action of the system.
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

/// The guard of one map, for as long as it lives.
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

    /// Guards a map with these addresses; `None` if so many are guarded already that there is no place.
    #[must_use]
    pub fn new(addresses: Range<usize>) -> Option<Self> {
        let mut free = FREE.lock();
        let number = free.get_or_insert_with(|| (0..GUARDED_MAPS_MAX).collect()).pop()?;
        drop(free);
        let place = &MAPS[number];
        place.has_failed.store(false, Ordering::Release);
        place.end.store(addresses.end, Ordering::Release);
        place.start.store(addresses.start, Ordering::Release);
        Some(Self { number })
    }

    /// `true` if a page was missing, so that zeros were read in its place, or what was written is lost.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        // What was read or written before this, by this thread, is done before the mark is looked at: the handler runs
        // on the thread that faults.
        compiler_fence(Ordering::SeqCst);
        fence(Ordering::Acquire);
        MAPS[self.number].has_failed.load(Ordering::Acquire)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        MAPS[self.number].start.store(0, Ordering::Release);
        if let Some(free) = &mut *FREE.lock() {
            free.push(self.number);
        }
    }
}
