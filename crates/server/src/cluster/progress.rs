//! Progress of a move on standard error: a line that changes if that is a terminal, otherwise a line each ten seconds.

use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use liteio_store::cluster_move::Moved;

/// Time between two lines.
const TELL_EVERY: Duration = Duration::from_secs(10);

/// The progress of a move.
pub(super) struct Progress {
    bar: ProgressBar,
    told: Instant,
}

impl Progress {
    pub(super) fn new() -> Self {
        // It hides itself if standard error is not a terminal.
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{msg}") {
            bar.set_style(style);
        }
        Self { bar, told: Instant::now() }
    }

    pub(super) fn set(&mut self, moved: &Moved) {
        if !self.bar.is_hidden() {
            self.bar.set_message(line(moved));
        } else if self.told.elapsed() >= TELL_EVERY {
            self.told = Instant::now();
            // A closed standard error is not an error of the command.
            let _ = writeln!(io::stderr(), "{}", line(moved));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn line(moved: &Moved) -> String {
    let Moved { pairs, written, blobs, blob_bytes, compared, .. } = moved;
    let mib = blob_bytes >> 20;
    match compared {
        0 => format!(
            "{pairs} records looked at, {written} written; {blobs} bodies with {mib} MiB copied"
        ),
        _ => format!("{pairs} records moved, {compared} of both sides compared"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_what_is_done() {
        let moved =
            Moved { pairs: 9, written: 5, blobs: 2, blob_bytes: 3 << 20, ..Moved::default() };
        assert_eq!(line(&moved), "9 records looked at, 5 written; 2 bodies with 3 MiB copied");
        let moved = Moved { compared: 12, ..moved };
        assert_eq!(line(&moved), "9 records moved, 12 of both sides compared");
    }
}
