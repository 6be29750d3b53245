//! System calls of the command, and the ways in which systems differ in them.

use std::io;

use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};

/// Keeps the process off transparent huge pages. The buffers of connections come and go in small
/// pieces: on huge pages the allocator could give almost none of them back. Where the system refuses,
/// more memory stays in use, and that is all. Only Linux has such pages.
pub(crate) fn disable_huge_pages() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// Raises the limit on open files as far as it goes. Every connection and every open blob is a file:
/// 1,024, the usual limit, would be spent long before our own limits are.
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
