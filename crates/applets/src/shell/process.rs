//! Starts a script's programs, which are this binary under other names, and forwards signals to
//! them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};

use super::syntax::{Redirection, Stream, Target};
use liteio_wire::serve::stop_signal;

/// A destination of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sink {
    Output,
    Error,
    Null,
}

/// Standard output and standard error of a command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Streams {
    output: Sink,
    error: Sink,
}

impl Streams {
    pub(super) const OWN: Streams = Streams { output: Sink::Output, error: Sink::Error };

    /// The streams after these redirections, applied in order.
    pub(super) fn redirected(mut self, redirections: &[Redirection]) -> Streams {
        for Redirection { from, to } in redirections {
            let sink = match to {
                Target::Null => Sink::Null,
                Target::Stream(Stream::Output) => self.output,
                Target::Stream(Stream::Error) => self.error,
            };
            match from {
                Stream::Output => self.output = sink,
                Stream::Error => self.error = sink,
            }
        }
        self
    }

    pub(super) fn print(self, text: &str) {
        write(self.output, text);
    }

    pub(super) fn complain(self, text: &str) {
        write(self.error, text);
    }
}

fn write(sink: Sink, text: &str) {
    // A closed stream is not an error of the command.
    let _ = match sink {
        Sink::Output => io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()),
        Sink::Error => io::stderr().write_all(text.as_bytes()),
        Sink::Null => Ok(()),
    };
}

fn stdio(sink: Sink) -> io::Result<Stdio> {
    Ok(match sink {
        Sink::Output => Stdio::from(io::stdout().as_fd().try_clone_to_owned()?),
        Sink::Error => Stdio::from(io::stderr().as_fd().try_clone_to_owned()?),
        Sink::Null => Stdio::null(),
    })
}

/// A program to start.
pub(super) struct Program {
    /// The name to call this binary by, then the arguments.
    pub(super) words: Vec<OsString>,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) streams: Streams,
}

impl Program {
    fn command(&self) -> io::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        let (name, arguments) = self.words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        command.arg0(name).args(arguments).env_clear().envs(&self.environment);
        command.stdout(stdio(self.streams.output)?).stderr(stdio(self.streams.error)?);
        Ok(command)
    }
}

/// The running programs. A stop signal is forwarded to them, and the script ends after they have
/// ended.
pub(super) struct Programs {
    running: Arc<Mutex<Vec<Pid>>>,
}

impl Programs {
    /// Starts handling stop signals. Process 1 of a container gets only signals that it has a
    /// handler for, so the handlers are installed before this returns.
    pub(super) fn listening() -> Programs {
        let running = Arc::<Mutex<Vec<Pid>>>::default();
        // If installing fails, signals keep their default effect.
        let _ = listen(Arc::clone(&running));
        Programs { running }
    }

    /// Replaces this process by the program; returns only on failure. If a signal is being
    /// forwarded, the process ends instead.
    pub(super) fn become_it(&self, program: &Program) -> io::Error {
        let _running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        match program.command() {
            Ok(mut command) => command.exec(),
            Err(error) => error,
        }
    }

    pub(super) fn start(&mut self, program: &Program) -> io::Result<Child> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let child = program.command()?.spawn()?;
        running.extend(i32::try_from(child.id()).ok().and_then(Pid::from_raw));
        Ok(child)
    }

    /// Waits for a program, and returns its exit code.
    pub(super) fn finish(&self, mut child: Child) -> u8 {
        let status = child.wait();
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        running.retain(|it| Some(*it) != pid);
        status.map_or(1, exit_code)
    }
}

/// Exit code as in shells: 128 plus the signal.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or(status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

fn listen(running: Arc<Mutex<Vec<Pid>>>) -> io::Result<()> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).enable_all().build()?;
    let handlers = {
        let _inside = runtime.enter();
        stop_signal()?
    };
    std::thread::Builder::new().spawn(move || stop_with(runtime.block_on(handlers), &running))?;
    Ok(())
}

/// Forwards a stop signal, and ends the process after the last program.
fn stop_with(name: &str, running: &Mutex<Vec<Pid>>) {
    let (signal, code) = if name == "SIGINT" { (Signal::INT, 130) } else { (Signal::TERM, 143) };
    // The lock is never released, so no further program is started.
    let running = running.lock().unwrap_or_else(PoisonError::into_inner);
    for program in running.iter() {
        // A program that has just ended needs no signal.
        let _ = kill_process(*program, signal);
    }
    while let Ok(Some(_)) | Err(rustix::io::Errno::INTR) = wait(WaitOptions::empty()) {}
    std::process::exit(code);
}
