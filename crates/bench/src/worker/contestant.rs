//! An engine in a run: its program is asked, waited for, and killed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::process::{Launch, Process};
use crate::report::{Durability, Target};
use crate::run::{Job, Outcome, interruption};

/// Pause between two looks at the number of acknowledged puts, or at a process.
const GLANCE: Duration = Duration::from_millis(1);

/// An engine that takes part in a run.
#[derive(Debug)]
pub(crate) struct Contestant {
    pub(crate) target: Target,
    /// Processor time of its processes that have ended.
    pub(crate) cpu: Duration,
    program: Option<Launch>,
    /// Jobs that failed once would fail again, after as long a time.
    given_up: BTreeSet<String>,
}

/// The end of a process.
pub(crate) struct Ended {
    pub(crate) outcome: Result<Outcome, String>,
    pub(crate) cpu: Duration,
}

impl Contestant {
    /// An engine whose program is there, or is not for a reason.
    pub(crate) fn new(
        name: &str,
        durability: Durability,
        program: Result<Launch, String>,
    ) -> Contestant {
        let mut target = Target::new(name, durability);
        target.absent = program.as_ref().err().cloned();
        let program = program.ok();
        Contestant { target, cpu: Duration::ZERO, program, given_up: BTreeSet::new() }
    }

    /// Lets the program do a job in a directory of its own below `place`.
    pub(crate) async fn work<W>(
        &mut self,
        job: &Job<W>,
        place: &Path,
        work: impl AsyncFnOnce(&Launch, &Path) -> Ended,
    ) -> Option<Outcome> {
        let program = self.program.as_ref()?;
        let name = &job.rows[0].name;
        if self.given_up.contains(name) {
            return None;
        }
        let directory = place.join(&self.target.name);
        let ended = match fs::create_dir(&directory) {
            Ok(()) => work(program, &directory).await,
            Err(error) => Ended::failed(format!("{}: {error}", directory.display())),
        };
        let _ = fs::remove_dir_all(&directory);
        self.cpu += ended.cpu;
        let outcome = ended.outcome.unwrap_or_else(Outcome::failed);
        if !outcome.version.is_empty() {
            self.target.version = Some(outcome.version.clone());
        }
        let is_done =
            |phase: &str| outcome.phases.iter().any(|done| done.id == phase && done.operations > 0);
        if !job.rows.iter().all(|row| is_done(&row.phase)) {
            self.given_up.insert(name.clone());
        }
        Some(outcome)
    }
}

impl Ended {
    fn failed(reason: String) -> Ended {
        Ended { outcome: Err(reason), cpu: Duration::ZERO }
    }
}

/// Lets a program do a task, its last argument.
pub(crate) async fn ask(
    program: &Launch,
    task: &impl Serialize,
    log: &Path,
    time_max: Duration,
) -> Ended {
    let process = match start(program, task, log) {
        Ok(process) => process,
        Err(reason) => return Ended::failed(reason),
    };
    let begin = Instant::now();
    let is_done = wait(&process, || begin.elapsed() >= time_max).await;
    let cpu = process.usage().cpu;
    let outcome = if is_done {
        answer(process)
    } else {
        Err(format!("it was not done after {} s", begin.elapsed().as_secs()))
    };
    Ended { outcome, cpu }
}

/// Lets a program put until `acknowledged` names at least `puts`, and kills it in the middle of it.
/// Returns the number of puts that had returned, and the processor time.
pub(crate) async fn kill_after(
    program: &Launch,
    task: &impl Serialize,
    log: &Path,
    acknowledged: &Path,
    puts: u64,
    time_max: Duration,
) -> (Result<u64, String>, Duration) {
    let process = match start(program, task, log) {
        Ok(process) => process,
        Err(reason) => return (Err(reason), Duration::ZERO),
    };
    let begin = Instant::now();
    let enough = || count(acknowledged) >= puts || begin.elapsed() > time_max;
    let has_ended = wait(&process, enough).await;
    let cpu = process.usage().cpu;
    if has_ended {
        let failure = answer(process).map(|outcome| outcome.failure.unwrap_or_default());
        return (Err(failure.unwrap_or_else(|reason| reason)), cpu);
    }
    drop(process);
    // Read when it is dead: until then there were more. A slow engine is judged by what it has done.
    match count(acknowledged) {
        0 => (Err("it acknowledged nothing".to_owned()), cpu),
        puts => (Ok(puts), cpu),
    }
}

fn start(program: &Launch, task: &impl Serialize, log: &Path) -> Result<Process, String> {
    let task = serde_json::to_string(task).map_err(|error| error.to_string())?;
    let directory = log.parent().unwrap_or(Path::new("."));
    let started = program.clone().arguments([task]).start(directory, log);
    started.map_err(|error| format!("it cannot be started: {error}"))
}

/// Waits until the process ends (true), or the wait `is_over` or interrupted.
async fn wait(process: &Process, is_over: impl Fn() -> bool) -> bool {
    loop {
        if process.has_exited() {
            return true;
        }
        if is_over() || interruption::came() {
            return false;
        }
        tokio::time::sleep(GLANCE).await;
    }
}

/// The outcome that an ended process has printed.
fn answer(mut process: Process) -> Result<Outcome, String> {
    let output = process.output();
    match output.lines().rev().find(|line| line.starts_with('{')) {
        Some(line) => serde_json::from_str(line).map_err(|error| format!("it answered: {error}")),
        None => Err(process.ended().unwrap_or_else(|| "it answered nothing".to_owned())),
    }
}

fn count(acknowledged: &Path) -> u64 {
    let bytes = fs::read(acknowledged).unwrap_or_default();
    bytes.as_slice().try_into().map_or(0, u64::from_le_bytes)
}
