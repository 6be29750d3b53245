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
use std::process::{Command, ExitCode};

/// The path of bash in the image.
const BASH: &str = "/usr/lib/bash";

/// Runs the shell under its name: as `sh`, bash keeps to POSIX. Returns at once only if that fails.
///
/// # Errors
/// One line.
pub(crate) fn run(name: &str, arguments: &[OsString]) -> Result<ExitCode, String> {
    let mut command = Command::new(BASH);
    system::call_it(&mut command, name);
    command.args(arguments);
    // A shell at a terminal needs the terminal's group, which a group of its own would not be.
    let result = match std::process::id() == 1 && !io::stdin().is_terminal() {
        true => system::supervise(command),
        false => Err(system::replace(&mut command)),
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

#[cfg(unix)]
mod system {
    use std::io;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, ExitCode};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::io::Errno;
    use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, wait};
    use tokio::signal::unix::{SignalKind, signal};

    /// Sets the name that the program is called by.
    pub(super) fn call_it(command: &mut Command, name: &str) {
        command.arg0(name);
    }

    /// Replaces this process.
    pub(super) fn replace(command: &mut Command) -> io::Error {
        command.exec()
    }

    /// Runs the command in a group of its own, which gets the signals of this process.
    pub(super) fn supervise(mut command: Command) -> io::Result<ExitCode> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut terminated = signal(SignalKind::terminate())?;
            let mut interrupted = signal(SignalKind::interrupt())?;
            let group = Pid::from_child(&command.process_group(0).spawn()?);
            let stopping = Arc::new(AtomicBool::new(false));
            let told = Arc::clone(&stopping);
            let ended = tokio::task::spawn_blocking(move || reap(group, &told));
            tokio::pin!(ended);
            loop {
                let sent = tokio::select! {
                    code = &mut ended => return Ok(ExitCode::from(code.map_err(io::Error::other)?)),
                    _ = terminated.recv() => Signal::TERM,
                    _ = interrupted.recv() => Signal::INT,
                };
                stopping.store(true, Ordering::SeqCst);
                // Fails only when all of them have ended.
                let _ = kill_process_group(group, sent);
            }
        })
    }

    /// Waits for the shell, and after a signal for all that it has started: the end of process 1 would kill them.
    /// Returns the exit code of the shell.
    fn reap(shell: Pid, stopping: &AtomicBool) -> u8 {
        let mut code = 1;
        loop {
            match wait(WaitOptions::empty()) {
                Ok(Some((process, status))) if process == shell => {
                    let signal = status.terminating_signal().map(|it| 128 + it);
                    let found = status.exit_status().or(signal);
                    code = found.and_then(|it| u8::try_from(it).ok()).unwrap_or(code);
                    if !stopping.load(Ordering::SeqCst) {
                        return code;
                    }
                }
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return code,
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn the_exit_code_is_that_of_the_shell() {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", "sleep 600 & exit 7"]);
            let child = command.process_group(0).spawn().expect("it starts");
            let group = Pid::from_child(&child);
            assert_eq!(reap(group, &AtomicBool::new(false)), 7);
            kill_process_group(group, Signal::KILL).expect("it runs");
        }
    }
}

#[cfg(not(unix))]
mod system {
    use std::io;
    use std::process::{Command, ExitCode};

    pub(super) fn call_it(_: &mut Command, _: &str) {}

    pub(super) fn replace(_: &mut Command) -> io::Error {
        io::ErrorKind::NotFound.into()
    }

    pub(super) fn supervise(_: Command) -> io::Result<ExitCode> {
        Err(io::ErrorKind::NotFound.into())
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
