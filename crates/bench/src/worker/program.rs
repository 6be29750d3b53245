//! Programs that are asked, waited for, and killed.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::Outcome;
use crate::interruption;
use crate::process::usage::of_process;

/// How often the number of acknowledged puts is looked at.
const GLANCE: Duration = Duration::from_millis(1);
/// How often it is asked whether the user has interrupted the run.
const HEED: Duration = Duration::from_millis(50);

/// A program that measures engines: a task is its last argument, an outcome its last line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    /// What stands before the task.
    pub(crate) arguments: Vec<OsString>,
}

/// A process at its work.
struct Running {
    child: Child,
    /// All that it printed, once it has ended.
    output: Receiver<String>,
    log: PathBuf,
}

/// What came of a process.
pub(crate) struct Ended {
    /// What it answered, or why it did not.
    pub(crate) outcome: Result<Outcome, String>,
    /// Its processor time.
    pub(crate) cpu: Duration,
}

impl Program {
    /// Lets it do a task.
    pub(crate) fn ask(&self, task: &impl Serialize, log: &Path, time_max: Duration) -> Ended {
        match Running::start(self, task, log) {
            Ok(running) => running.answer(time_max),
            Err(reason) => Ended { outcome: Err(reason), cpu: Duration::ZERO },
        }
    }

    /// Lets it put until `acknowledged` names at least `puts`, and kills it in the middle of it.
    /// Returns how many puts had returned.
    pub(crate) fn kill_after(
        &self,
        task: &impl Serialize,
        log: &Path,
        acknowledged: &Path,
        puts: u64,
        time_max: Duration,
    ) -> (Result<u64, String>, Duration) {
        match Running::start(self, task, log) {
            Ok(running) => running.kill_after(acknowledged, puts, time_max),
            Err(reason) => (Err(reason), Duration::ZERO),
        }
    }
}

impl Running {
    fn start(program: &Program, task: &impl Serialize, log: &Path) -> Result<Running, String> {
        let text = |error: &dyn std::fmt::Display| format!("it cannot be started: {error}");
        let task = serde_json::to_string(task).map_err(|error| text(&error))?;
        let errors = File::create(log).map_err(|error| text(&error))?;
        let mut child = Command::new(&program.path)
            .args(&program.arguments)
            .arg(task)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(errors)
            // Ctrl-C is for the benchmark: it ends what it has started.
            .process_group(0)
            .spawn()
            .map_err(|error| text(&error))?;
        let (sender, output) = channel();
        if let Some(mut stdout) = child.stdout.take() {
            thread::spawn(move || {
                let mut text = Vec::new();
                // Whatever could be read is judged by whoever waits, if anybody still does.
                let _ = stdout.read_to_end(&mut text);
                let _ = sender.send(String::from_utf8_lossy(&text).into_owned());
            });
        }
        Ok(Running { child, output, log: log.to_owned() })
    }

    fn answer(mut self, time_max: Duration) -> Ended {
        let begin = Instant::now();
        let output = loop {
            let output = self.output.recv_timeout(HEED);
            let goes_on = begin.elapsed() < time_max && !interruption::came();
            if !matches!(output, Err(RecvTimeoutError::Timeout)) || !goes_on {
                break output;
            }
        };
        let cpu = of_process(self.child.id()).cpu;
        let outcome = match output {
            Ok(output) => self.parse(&output),
            Err(RecvTimeoutError::Timeout) => {
                Err(format!("it was not done after {} s", begin.elapsed().as_secs()))
            }
            Err(RecvTimeoutError::Disconnected) => Err("it closed its output".to_owned()),
        };
        Ended { outcome, cpu }
    }

    fn parse(&mut self, output: &str) -> Result<Outcome, String> {
        let line = output.lines().rev().find(|line| line.starts_with('{'));
        if let Some(line) = line {
            return serde_json::from_str(line).map_err(|error| format!("it answered: {error}"));
        }
        let status = self.child.wait().map(|status| status.to_string());
        let status = status.unwrap_or_else(|error| error.to_string());
        Err(format!("it ended with {status}; it said: {}", last_words(&self.log)))
    }

    fn kill_after(
        mut self,
        acknowledged: &Path,
        puts: u64,
        time_max: Duration,
    ) -> (Result<u64, String>, Duration) {
        let begin = Instant::now();
        let enough = loop {
            match self.output.recv_timeout(GLANCE) {
                // It ended by itself: its outcome says why.
                Ok(output) => {
                    let outcome = self.parse(&output);
                    let failure = outcome.map(|outcome| outcome.failure.unwrap_or_default());
                    break Err(failure.unwrap_or_else(|reason| reason));
                }
                Err(RecvTimeoutError::Disconnected) => break Err("it closed its output".to_owned()),
                Err(RecvTimeoutError::Timeout) if count(acknowledged) >= puts => break Ok(()),
                Err(RecvTimeoutError::Timeout) if begin.elapsed() > time_max => {
                    // Slow, but what it has acknowledged counts.
                    let any = count(acknowledged) > 0;
                    break if any { Ok(()) } else { Err("it acknowledged nothing".to_owned()) };
                }
                Err(RecvTimeoutError::Timeout) if interruption::came() => {
                    break Err("the run was interrupted".to_owned());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        let cpu = of_process(self.child.id()).cpu;
        drop(self);
        // Read when it is dead: until then there were more.
        (enough.map(|()| count(acknowledged)), cpu)
    }
}

impl Drop for Running {
    /// Nothing is left of it: `kill` is SIGKILL.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn count(acknowledged: &Path) -> u64 {
    let bytes = fs::read(acknowledged).unwrap_or_default();
    bytes.as_slice().try_into().map_or(0, u64::from_le_bytes)
}

/// What a program said in the end: for a panic that is where it began.
pub(crate) fn last_words(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let is_cause = |line: &&&str| {
        ["panic", "fatal error", "error:", "error["].iter().any(|word| line.contains(word))
    };
    let cause = lines.iter().position(|line| is_cause(&line));
    let shown = match cause {
        Some(place) => &lines[place..lines.len().min(place + 3)],
        None => &lines[lines.len().saturating_sub(3)..],
    };
    shown.join(" / ").chars().take(300).collect()
}
