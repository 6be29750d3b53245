//! Progress of a run: a bar with the remaining time, or lines without a terminal.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The progress of one run, on standard error.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    plain: bool,
}

impl Progress {
    pub(crate) fn new(steps: u64) -> Progress {
        let plain = !std::io::stderr().is_terminal();
        let target =
            if plain { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
        let bar = ProgressBar::with_draw_target(Some(steps), target);
        let style = "{bar:30} {percent:>3} %  {elapsed} gone, {eta} left  {msg}";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        if !plain {
            bar.enable_steady_tick(Duration::from_millis(250));
        }
        Progress { bar, plain }
    }

    pub(crate) fn now(&self, what: impl Into<String>) {
        self.bar.set_message(what.into());
    }

    pub(crate) fn step(&self) {
        self.bar.inc(1);
    }

    /// Prints a line that stays.
    pub(crate) fn line(&self, text: &str) {
        if self.plain {
            let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
            let share = (done * 100).checked_div(all).unwrap_or(0);
            eprintln!("{share:>3} %  {text}");
        } else {
            self.bar.println(text);
        }
    }

    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
