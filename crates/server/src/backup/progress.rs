//! Progress on standard error, if that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The progress of a command whose end is not known before.
pub(super) struct Progress(ProgressBar);

impl Progress {
    pub(super) fn new() -> Progress {
        // The line hides itself if standard error is not a terminal.
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Progress(bar)
    }

    pub(super) fn set(&self, message: impl FnOnce() -> String) {
        if !self.0.is_hidden() {
            self.0.set_message(message());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
