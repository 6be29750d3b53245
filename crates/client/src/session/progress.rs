//! The progress bar on standard error, if that is a terminal.

use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::output::Output;
use crate::s3::Sent;

/// Bytes of all transfers of a verb: total and done.
pub(crate) struct Progress<'a> {
    output: &'a Output,
    bar: ProgressBar,
}

impl<'a> Progress<'a> {
    pub(crate) fn new(output: &'a Output) -> Progress<'a> {
        let target = match output.has_bar() {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(0), target);
        let template = "{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        if output.has_bar() {
            bar.enable_steady_tick(Duration::from_millis(200));
            output.set_bar(Some(bar.clone()));
        }
        Progress { output, bar }
    }

    /// Adds bytes to the total.
    pub(crate) fn expect(&self, bytes: u64) {
        self.bar.inc_length(bytes);
    }

    /// The callback that counts bytes done.
    pub(crate) fn counter(&self) -> Sent {
        let bar = self.bar.clone();
        Arc::new(move |change| match u64::try_from(change) {
            Ok(more) => bar.inc(more),
            Err(_) => bar.set_position(bar.position().saturating_sub(change.unsigned_abs())),
        })
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.output.set_bar(None);
        self.bar.finish();
    }
}
