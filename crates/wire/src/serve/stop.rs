//! Signals that stop the process.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// Waits for a stop signal, and returns its name. The signals are caught from the call on, not from
/// the first poll.
///
/// # Errors
/// Errors of the system, if a handler cannot be set.
pub fn stop_signal() -> io::Result<impl Future<Output = &'static str>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        }
    })
}
