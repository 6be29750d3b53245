//! The process of an engine.

use super::engine::Candidate;
use super::liteio::{LITEIO, LITEIO_MEMORY};
use super::plain_redb::REDB;
use super::task::Task;
use super::work;
use crate::run::Outcome;

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
    Outcome::of((candidate.version)(), work::run(candidate, &task)).print()
}

/// Like [`run`], with the engines of this program.
///
/// # Errors
/// As above.
pub fn run_own(argument: &str) -> std::io::Result<()> {
    run(&[LITEIO, LITEIO_MEMORY, REDB], argument)
}
