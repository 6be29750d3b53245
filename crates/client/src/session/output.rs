//! Output lines for people or programs, and failures.

use std::fmt::Display;
use std::io::{IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use indicatif::ProgressBar;
use serde::Serialize;

use super::Options;
use crate::error::Error;

/// A line of output: text for people, an object for programs.
pub(crate) trait Message: Display + Serialize {}

impl<T: Display + Serialize> Message for T {}

/// Standard output and standard error.
#[derive(Debug)]
pub(crate) struct Output {
    json: bool,
    program: &'static str,
    /// `true` if a progress bar may be drawn.
    has_bar: bool,
    bar: Mutex<Option<ProgressBar>>,
    failures: AtomicU32,
}

#[derive(Serialize)]
struct Failure<'a> {
    status: &'static str,
    error: FailureDetail<'a>,
}

#[derive(Serialize)]
struct FailureDetail<'a> {
    message: &'a str,
    cause: Cause,
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct Cause {
    message: String,
    error: CauseDetail,
}

#[derive(Serialize)]
struct CauseDetail {
    #[serde(rename = "Code", skip_serializing_if = "String::is_empty")]
    code: String,
}

/// The JSON object about arguments that are refused before a verb begins.
pub(crate) fn refusal(reason: &str) -> String {
    let cause = Cause { message: reason.to_owned(), error: CauseDetail { code: String::new() } };
    let error = FailureDetail { message: "", cause, kind: "fatal" };
    serde_json::to_string(&Failure { status: "error", error }).expect("texts are JSON")
}

impl Output {
    pub(super) fn new(options: &Options) -> Output {
        let has_bar = !options.quiet && !options.json && std::io::stderr().is_terminal();
        Output {
            json: options.json,
            program: options.program,
            has_bar,
            bar: Mutex::default(),
            failures: AtomicU32::new(0),
        }
    }

    /// Prints one message to standard output.
    pub(crate) fn print(&self, message: &impl Message) -> Result<(), Error> {
        match self.json {
            true => {
                let text = serde_json::to_string(message)
                    .map_err(|error| Error::refused(format!("no JSON can be made: {error}")))?;
                self.line(&text)
            }
            false => self.line(&message.to_string()),
        }
    }

    /// Prints a message about one of many transfers, unless a progress bar is drawn.
    pub(crate) fn print_transfer(&self, message: &impl Message) -> Result<(), Error> {
        if self.has_bar { Ok(()) } else { self.print(message) }
    }

    /// Prints text as it is; on a terminal without control characters.
    pub(crate) fn line(&self, text: &str) -> Result<(), Error> {
        let plain = match std::io::stdout().is_terminal() {
            true => text.replace(|it: char| it.is_control() && !matches!(it, '\n' | '\t'), "^?"),
            false => text.to_owned(),
        };
        let text = plain.as_str();
        self.without_bar(|| {
            let mut stdout = std::io::stdout().lock();
            writeln!(stdout, "{text}").and_then(|()| stdout.flush()).map_err(Error::Output)
        })
    }

    /// Prints bytes of an object.
    pub(crate) fn bytes(&self, bytes: &[u8]) -> Result<(), Error> {
        std::io::stdout().lock().write_all(bytes).map_err(Error::Output)
    }

    /// Reports a failure after which the verb goes on. The exit code shows it.
    pub(crate) fn failure(&self, message: &str, error: &Error) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        self.tell(message, error, "error");
    }

    /// Reports the failure that ends the verb.
    pub(crate) fn end(&self, error: &Error) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        if !error.is_closed_output() {
            self.tell("", error, "fatal");
        }
    }

    pub(crate) fn has_failures(&self) -> bool {
        self.failures.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn has_bar(&self) -> bool {
        self.has_bar
    }

    pub(super) fn set_bar(&self, bar: Option<ProgressBar>) {
        *self.bar.lock().expect("no panic while the bar is locked") = bar;
    }

    fn tell(&self, message: &str, error: &Error, kind: &'static str) {
        // If nobody reads it, the exit code remains.
        if self.json {
            let error = CauseDetail { code: error.code().to_owned() }.with(error);
            let failure =
                Failure { status: "error", error: FailureDetail { message, cause: error, kind } };
            let _ = serde_json::to_string(&failure).map(|text| self.line(&text));
            return;
        }
        let space = if message.is_empty() { "" } else { " " };
        let text = format!("{}: <ERROR> {message}{space}{error}", self.program);
        self.without_bar(|| {
            // Keys and answers may contain anything: one line, without control of the terminal.
            let _ = writeln!(std::io::stderr(), "{}", text.replace(char::is_control, " "));
        });
    }

    fn without_bar<T>(&self, write: impl FnOnce() -> T) -> T {
        let bar = self.bar.lock().expect("no panic while the bar is locked").clone();
        match bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }
}

impl CauseDetail {
    fn with(self, error: &Error) -> Cause {
        Cause { message: error.to_string(), error: self }
    }
}
