//! The process of an engine.

use super::task::{Task, Work};
use crate::worker::{Failure, Outcome, Phase};

/// Measures one engine.
pub type Measure = fn(&Task) -> Result<Vec<Phase>, Failure>;

/// An engine that a program has.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Its name in reports.
    pub name: &'static str,
    /// Its version.
    pub version: fn() -> String,
    /// Measures its files, if it has files:
    /// [`slots::work::run`](super::slots::work::run).
    pub slots: Option<Measure>,
    /// Measures its search, if it searches:
    /// [`search::work::run`](super::search::work::run).
    pub search: Option<Measure>,
}

/// Does the task in `argument` with the one of `candidates` that it names, and prints the outcome.
/// An engine that fails says so in its outcome.
///
/// # Errors
/// When the argument is no task for this program, or nobody reads the outcome.
pub fn run(candidates: &[Candidate], argument: &str) -> std::io::Result<()> {
    let task: Task = serde_json::from_str(argument)?;
    let candidate = candidates.iter().find(|candidate| candidate.name == task.engine);
    let Some(candidate) = candidate else {
        return Err(std::io::Error::other(format!("no engine is called {}", task.engine)));
    };
    let measure = match &task.work {
        Work::Slots { .. } => candidate.slots,
        Work::Search { .. } => candidate.search,
    };
    let phases = match measure {
        Some(measure) => measure(&task),
        None => Err(format!("{} has no such operation", task.engine).into()),
    };
    Outcome::of(&(candidate.version)(), phases).print()
}
