//! Signals that end a process.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// Waits for a signal to stop; ends with its name. The signals are caught from the call on.
///
/// # Errors
/// Those of the system, if it lets no handler be set.
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
