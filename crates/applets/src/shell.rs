//! `sh` and `bash`: the shell of the image, where it has one.
//!
//! Flavours of the image that run scripts have bash. As process 1 of a container it would get no signal, and
//! a server that a script has started would be killed at each stop, so the binary stays in front of it then:
//!
//! ```text
//! engine ──SIGTERM──► liteio (process 1) ──SIGTERM──► group: bash, liteio server, sleep, …
//!                        └── ends when all of them have ended
//! ```

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};

use crate::supervise::supervise;

/// The path of bash in the image.
const BASH: &str = "/usr/lib/bash";

/// Runs the shell under its name: as `sh`, bash keeps to POSIX. Returns at once only if that fails.
///
/// # Errors
/// One line.
pub(crate) fn run(name: &str, arguments: &[OsString]) -> Result<ExitCode, String> {
    let mut command = Command::new(BASH);
    command.arg0(name);
    command.args(arguments);
    // A shell at a terminal needs the terminal's group, which a group of its own would not be.
    let result = match std::process::id() == 1 && !io::stdin().is_terminal() {
        true => supervise(command),
        false => Err(command.exec()),
    };
    result.map_err(|error| told(&error))
}

fn told(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "this image has no shell: take its flavour \"shell\", \"minio\" or \
                                    \"localstack\", or name the program and its arguments in an array"
            .to_owned(),
        _ => format!("cannot run {BASH}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_without_a_shell_says_which_has_one() {
        let line = told(&io::ErrorKind::NotFound.into());
        assert!(line.contains("no shell") && line.contains("\"minio\""), "{line}");
        assert!(told(&io::ErrorKind::PermissionDenied.into()).contains(BASH));
    }
}
