//! An engine in a run: its program is given work, waited for, and killed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::Task;
use crate::process::{Launch, Process};
use crate::random::SEED;
use crate::report::{Durability, Target};
use crate::run::{Bench, Job, Outcome, interruption};

/// Pause between two looks at the number of acknowledged puts, or at a process.
const GLANCE: Duration = Duration::from_millis(1);

/// An engine that takes part in a run.
#[derive(Debug)]
pub(crate) struct Contestant {
    pub(crate) target: Target,
    /// Processor time of its ended processes.
    pub(crate) cpu: Duration,
    program: Option<Launch>,
    pace: Pace,
    log: PathBuf,
    /// Jobs that failed once. They would fail again, after as long a time.
    given_up: BTreeSet<String>,
}

/// Time of a phase, and of a whole process, which also prepares and checks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) phase: Duration,
    pub(crate) process: Duration,
}

/// A contestant in its directory for a job.
pub(crate) struct Site<'a> {
    program: &'a Launch,
    engine: &'a str,
    directory: &'a Path,
    pace: Pace,
    log: &'a Path,
}

/// End of a process.
pub(crate) struct Ended {
    pub(crate) outcome: Result<Outcome, String>,
    pub(crate) cpu: Duration,
}

impl Contestant {
    /// An engine whose program is built now. It is absent if that fails.
    pub(crate) fn new(
        bench: &Bench,
        name: &str,
        durability: Durability,
        pace: Pace,
        program: impl FnOnce() -> Result<Launch, String>,
    ) -> Contestant {
        bench.progress.now(format!("building {name}"));
        let program = program();
        let mut target = Target::new(name, durability);
        if let Err(reason) = &program {
            bench.progress.line(&format!("{name}: {reason}"));
            target.absent = Some(reason.clone());
        }
        Contestant {
            target,
            cpu: Duration::ZERO,
            program: program.ok(),
            pace,
            log: bench.data().join(format!("{name}.log")),
            given_up: BTreeSet::new(),
        }
    }

    /// Has the program do a job in a directory of its own below `place`.
    pub(crate) async fn work<W>(
        &mut self,
        job: &Job<W>,
        place: &Path,
        work: impl AsyncFnOnce(Site<'_>) -> Ended,
    ) -> Option<Outcome> {
        let program = self.program.as_ref()?;
        let name = &job.rows[0].name;
        if self.given_up.contains(name) {
            return None;
        }
        let directory = &place.join(&self.target.name);
        let (engine, pace, log) = (&self.target.name, self.pace, &self.log);
        let ended = match fs::create_dir(directory) {
            Ok(()) => work(Site { program, engine, directory, pace, log }).await,
            Err(error) => Ended::failed(format!("{}: {error}", directory.display())),
        };
        let _ = fs::remove_dir_all(directory);
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

impl Site<'_> {
    /// Has the program do some work in a process of its own.
    pub(crate) async fn ask(&self, work: &impl Serialize) -> Ended {
        let process = match self.start(work) {
            Ok(process) => process,
            Err(reason) => return Ended::failed(reason),
        };
        let begin = Instant::now();
        let is_done = wait(&process, || begin.elapsed() >= self.pace.process).await;
        let cpu = process.usage().cpu;
        let late = || format!("it was not done after {} s", begin.elapsed().as_secs());
        Ended { outcome: if is_done { answer(process) } else { Err(late()) }, cpu }
    }

    /// Has the program put until the file `acknowledged` names at least `puts`, and kills it during
    /// further puts. Returns the number of puts that had returned, and the processor time.
    pub(crate) async fn kill_after(
        &self,
        work: &impl Serialize,
        acknowledged: &str,
        puts: u64,
    ) -> Result<(u64, Duration), Ended> {
        let acknowledged = self.log.with_file_name(acknowledged);
        let _ = fs::remove_file(&acknowledged);
        let process = self.start(work).map_err(Ended::failed)?;
        let begin = Instant::now();
        let enough = || count(&acknowledged) >= puts || begin.elapsed() > self.pace.process;
        let has_ended = wait(&process, enough).await;
        let cpu = process.usage().cpu;
        if has_ended {
            let failure = answer(process).map(|outcome| outcome.failure.unwrap_or_default());
            return Err(Ended { outcome: Err(failure.unwrap_or_else(|reason| reason)), cpu });
        }
        drop(process);
        // Read after its death: until then there were more. A slow engine is judged by the puts it
        // has done.
        match count(&acknowledged) {
            0 => Err(Ended { outcome: Err("it acknowledged nothing".to_owned()), cpu }),
            puts => Ok((puts, cpu)),
        }
    }

    /// Starts a process in the directory of its log.
    fn start(&self, work: &impl Serialize) -> Result<Process, String> {
        let task = Task {
            engine: self.engine.to_owned(),
            directory: self.directory.to_owned(),
            seed: SEED,
            seconds_max: self.pace.phase.as_secs_f64(),
            work,
        };
        let task = serde_json::to_string(&task).map_err(|error| error.to_string())?;
        let directory = self.log.parent().unwrap_or(Path::new("."));
        let started = self.program.clone().arguments([task]).start(directory, self.log);
        started.map_err(|error| format!("it cannot be started: {error}"))
    }
}

/// Waits for the end of the process (`true`), or until `is_over` or an interruption.
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
