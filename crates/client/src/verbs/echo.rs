//! A terminal that hides what is typed.

use std::sync::Mutex;

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// The settings of the terminal while it hides what is typed.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

// A terminal that refuses is used as it is.

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
