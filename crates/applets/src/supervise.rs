//! Process 1 of a container, in front of a shell: it passes signals on, and waits.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, wait};
use tokio::signal::unix::{SignalKind, signal};

/// Runs the command in a group of its own, which gets the signals of this process.
pub(crate) fn supervise(mut command: Command) -> io::Result<ExitCode> {
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
        let group = Pid::from_child(&command.process_group(0).spawn().expect("it starts"));
        assert_eq!(reap(group, &AtomicBool::new(false)), 7);
        kill_process_group(group, Signal::KILL).expect("it runs");
    }
}
