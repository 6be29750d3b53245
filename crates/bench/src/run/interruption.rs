//! Interruption by the user. A run then ends in order, with a report of its results so far, and
//! leaves no process and no data behind.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Exit code of a program that Ctrl-C has ended.
const INTERRUPTED: i32 = 130;

static CAME: AtomicBool = AtomicBool::new(false);
static IS_WATCHED: Mutex<bool> = Mutex::new(false);

/// Installs the handlers: from now on [`came`] is `true` after Ctrl-C or SIGTERM. A second signal
/// ends the process at once.
pub(crate) fn watch() -> io::Result<()> {
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

/// `true` once the run must end.
pub(crate) fn came() -> bool {
    CAME.load(Ordering::Relaxed)
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
