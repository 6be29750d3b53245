//! System calls of the command, and the ways in which systems differ in them.

use std::io;

use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};

/// Disables transparent huge pages for the process. Buffers of connections are small and short-lived: with
/// huge pages the allocator could return almost none of their memory to the system. If the system refuses,
/// more memory stays in use. Only Linux has such pages.
pub(crate) fn disable_huge_pages() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// Raises the limit on open files to its maximum. Every connection and every open blob is a file: the usual
/// limit of 1,024 would be reached long before our own limits.
pub(crate) fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if cfg!(target_vendor = "apple") {
        // macOS reports an unlimited maximum, and refuses more than `OPEN_MAX`.
        const OPEN_MAX: u64 = 10_240;
        limit.current = Some(limit.maximum.unwrap_or(OPEN_MAX).min(OPEN_MAX));
    }
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::debug!(%error, "the limit on open files stays as it is");
    }
}

/// Waits for a signal to stop; ends with its name. The signals are caught from the call on.
pub(crate) fn stop_signal() -> io::Result<impl Future<Output = &'static str>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        }
    })
}
