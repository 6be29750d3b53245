//! What happens when the user interrupts a run: it ends in order, with a report of what it has
//! measured, and leaves no process and no data behind.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::report::Report;

/// The exit code of a program that Ctrl-C has ended.
const INTERRUPTED: i32 = 130;

static CAME: AtomicBool = AtomicBool::new(false);
static IS_WATCHED: Mutex<bool> = Mutex::new(false);

/// From now on [`came`] is true after Ctrl-C or SIGTERM. Whoever sends a second one does not want to
/// wait: that one ends the process at once.
///
/// # Errors
/// When no thread can be started, or the system refuses.
pub fn watch() -> io::Result<()> {
    let mut is_watched = IS_WATCHED.lock().unwrap_or_else(PoisonError::into_inner);
    if *is_watched {
        return Ok(());
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let (interrupt, terminate) = {
        let _entered = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
    };
    let wait = move || runtime.block_on(wait(interrupt, terminate));
    thread::Builder::new().name("interruption".to_owned()).spawn(wait)?;
    *is_watched = true;
    Ok(())
}

/// Whether the run is to end.
pub fn came() -> bool {
    CAME.load(Ordering::Relaxed)
}

/// Says in the report if the run was broken off.
pub fn note(report: &mut Report) {
    if came() {
        report.notes.push("The run was interrupted: figures are missing.".to_owned());
    }
}

async fn wait(mut interrupt: Signal, mut terminate: Signal) {
    loop {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        if CAME.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED);
        }
    }
}
