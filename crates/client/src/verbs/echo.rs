//! Hidden input on a terminal.

use std::sync::Mutex;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Settings of the terminal to restore.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

// A terminal that refuses the change is used as it is.

pub(super) fn hide() {
    let mut before = BEFORE.lock().expect("no panic while it is locked");
    let Ok(settings) = tcgetattr(std::io::stdin()) else { return };
    let mut hidden = settings.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    *before = Some(settings);
    let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &hidden);
}

pub(super) fn show() {
    let before = BEFORE.lock().expect("no panic while it is locked").take();
    if let Some(before) = before {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &before);
    }
}
