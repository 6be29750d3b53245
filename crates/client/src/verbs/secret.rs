//! Secrets, typed or piped.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

#[cfg(unix)]
use super::echo;
use crate::error::Error;

/// Reads a line of standard input.
pub(super) async fn ask(question: &'static str, is_secret: bool) -> Result<String, Error> {
    // On a thread of its own, so that an interruption is noticed.
    let read = tokio::task::spawn_blocking(move || read(question, is_secret)).await;
    let read = read.map_err(std::io::Error::other).flatten();
    read.map_err(|error| Error::refused(format!("cannot read a key: {error}")))
}

fn read(question: &str, is_secret: bool) -> std::io::Result<String> {
    let stdin = std::io::stdin();
    let is_terminal = stdin.is_terminal();
    if is_terminal {
        // Without a prompt the user sees only a waiting cursor.
        let _ = write!(std::io::stderr(), "{question}");
        #[cfg(unix)]
        if is_secret {
            echo::hide();
        }
    }
    let mut line = String::new();
    let read = stdin.lock().read_line(&mut line);
    if is_terminal && is_secret {
        show();
        // The user's line end was hidden, too.
        let _ = writeln!(std::io::stderr());
    }
    read.map(|_| line.trim_end_matches(['\n', '\r']).to_owned())
}

/// Restores the echo of the terminal.
pub(super) fn show() {
    #[cfg(unix)]
    echo::show();
}
