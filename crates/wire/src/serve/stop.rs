//! Signals that stop the process.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that stop the process, caught as long as this exists.
#[derive(Debug)]
pub struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    /// Catches the signals from now on.
    ///
    /// # Errors
    /// Errors of the system, if a handler cannot be set.
    pub fn catch() -> io::Result<StopSignals> {
        let terminate = signal(SignalKind::terminate())?;
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(StopSignals { terminate, interrupt })
    }

    /// Waits for the next signal, and returns its name. A signal that came meanwhile is not lost.
    pub async fn recv(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
