//! The counters of an import: prints progress to standard error, and skipped items to standard
//! output. Both go to the log in a server that starts.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Milliseconds between progress lines if standard error is not a terminal.
const LINE_MS: u64 = 30_000;
/// The same for a server that starts: its health checks wait for it.
const LOG_LINE_MS: u64 = 5_000;

/// The counters of an import, shared by its threads.
#[derive(Debug)]
pub(crate) struct Tally {
    bar: ProgressBar,
    started_ms: u64,
    /// Keys of the source, if the lines go to the log.
    logs: Option<u64>,
    /// The time of the next progress line.
    line_ms: AtomicU64,
    imported: AtomicU64,
    bytes: AtomicU64,
    present: AtomicU64,
    left_out: AtomicU64,
}

impl Tally {
    pub(crate) fn new(now_ms: u64) -> Tally {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
            bar.set_style(style);
        }
        Tally {
            bar,
            started_ms: now_ms,
            logs: None,
            line_ms: AtomicU64::new(now_ms + LINE_MS),
            imported: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            present: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
        }
    }

    /// Counters whose lines go to the log, of an import of so many keys.
    pub(crate) fn logging(now_ms: u64, keys: u64) -> Tally {
        let bar = ProgressBar::hidden();
        let line_ms = AtomicU64::new(now_ms + LOG_LINE_MS);
        Tally { bar, logs: Some(keys), line_ms, ..Tally::new(now_ms) }
    }

    /// The number of skipped items.
    pub(crate) fn skipped(&self) -> u64 {
        self.left_out.load(Ordering::Relaxed)
    }

    /// Counts an imported version.
    pub(crate) fn imported(&self, bytes: u64, now_ms: u64) {
        self.imported.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.show(now_ms);
    }

    /// Counts versions of a key that were in the target before.
    pub(crate) fn present(&self, versions: usize, now_ms: u64) {
        self.present.fetch_add(versions as u64, Ordering::Relaxed);
        self.show(now_ms);
    }

    /// Reports a skipped item.
    pub(crate) fn left_out(&self, what: &str, reason: &str) {
        self.left_out.fetch_add(1, Ordering::Relaxed);
        self.print(true, &format!("left out: {what}: {reason}"));
    }

    /// Prints a note about the import.
    pub(crate) fn note(&self, line: &str) {
        self.print(false, &format!("note: {line}"));
    }

    /// Prints a note about something that is missed later.
    pub(crate) fn warning(&self, line: &str) {
        self.print(true, &format!("warning: {line}"));
    }

    /// Prints one line, with control characters in names replaced. A closed standard output does
    /// not end the import.
    fn print(&self, is_warning: bool, line: &str) {
        let line = line.replace(char::is_control, "\u{fffd}");
        if self.logs.is_some() {
            match is_warning {
                true => tracing::warn!("{line}"),
                false => tracing::info!("{line}"),
            }
            return;
        }
        self.bar.suspend(|| {
            let _ = writeln!(io::stdout(), "{line}");
        });
    }

    fn show(&self, now_ms: u64) {
        if !self.bar.is_hidden() {
            self.bar.set_message(self.message(now_ms));
            self.bar.tick();
            return;
        }
        let due = self.line_ms.load(Ordering::Relaxed);
        let next = now_ms + if self.logs.is_some() { LOG_LINE_MS } else { LINE_MS };
        let is_mine = now_ms >= due
            && self
                .line_ms
                .compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if let (true, Some(keys)) = (is_mine, self.logs) {
            tracing::info!(keys, "taking over: {}", self.message(now_ms));
        } else if is_mine {
            let _ = writeln!(io::stderr(), "liteio: {}", self.message(now_ms));
        }
    }

    fn message(&self, now_ms: u64) -> String {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (imported, seconds) =
            (count(&self.imported), now_ms.saturating_sub(self.started_ms) / 1000);
        format!(
            "{imported} imported ({}, {} a second), {} there already, {} left out",
            HumanBytes(count(&self.bytes)),
            imported / seconds.max(1),
            count(&self.present),
            count(&self.left_out)
        )
    }

    /// Prints the totals. True if nothing was skipped.
    pub(crate) fn finish(&self, target: &str) -> bool {
        self.bar.finish_and_clear();
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let left_out = count(&self.left_out);
        let line = format!(
            "{target}: {} imported ({}), {} there already, {left_out} left out",
            count(&self.imported),
            HumanBytes(count(&self.bytes)),
            count(&self.present)
        );
        self.print(left_out > 0, &line);
        left_out == 0
    }
}
