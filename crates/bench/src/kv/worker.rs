//! The process of an engine.

use std::io::Write as _;

use super::engine::{Candidate, NoSuchThing};
use super::task::{Outcome, Task};
use super::work;

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
    let mut outcome = Outcome { version: (candidate.version)().to_owned(), ..Outcome::default() };
    match work::run(candidate, &task) {
        Ok(phases) => outcome.phases = phases,
        Err(failure) => {
            outcome.unsupported = failure.is::<NoSuchThing>();
            outcome.failure = Some(failure.to_string());
        }
    }
    let line = serde_json::to_string(&outcome)?;
    writeln!(std::io::stdout(), "{line}")
}
