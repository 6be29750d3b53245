//! Engines in processes of their own: a process gets one task, measures its phases, and prints its
//! outcome. Each benchmark has its own kind of work; the rest is here.

pub(crate) mod build;
pub(crate) mod contestant;
pub(crate) mod measured;

use std::io;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use crate::run::{Failure, NoSuchThing, Outcome, Phase};

/// Work for one process: a JSON object in its last argument. The answer is an [`Outcome`] on its
/// last line of output. Rivals in other languages use the same format.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Task<W> {
    /// Name of the engine; a program may have several.
    pub engine: String,
    /// Existing directory of its files.
    pub directory: PathBuf,
    /// The seed of the data.
    pub seed: u64,
    /// Limit of a phase in seconds; it ends with the operations done so far.
    pub seconds_max: f64,
    /// The work.
    #[serde(flatten)]
    pub work: W,
}

/// An engine that a program has.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<W> {
    /// Its name in reports.
    pub name: &'static str,
    /// Its version.
    pub version: fn() -> String,
    /// Runs a task. A missing operation is reported in its phase; a failure ends the task.
    pub measure: fn(&Task<W>) -> Result<Vec<Phase>, Failure>,
}

/// Main function of a program with engines.
///
/// # Errors
/// The errors of [`run`].
pub fn main<W: DeserializeOwned>(candidates: &[Candidate<W>]) -> io::Result<()> {
    run(candidates, &std::env::args().next_back().unwrap_or_default())
}

/// Runs the task in `argument` with the candidate that it names, and prints the outcome. An engine
/// that fails reports it in its outcome.
///
/// # Errors
/// The argument is no task for this program, or nobody reads the outcome.
pub fn run<W: DeserializeOwned>(candidates: &[Candidate<W>], argument: &str) -> io::Result<()> {
    let task: Task<W> = serde_json::from_str(argument)?;
    let candidate = candidates.iter().find(|candidate| candidate.name == task.engine);
    let no_engine = || io::Error::other(format!("no engine is called {}", task.engine));
    let candidate = candidate.ok_or_else(no_engine)?;
    Outcome::of(&(candidate.version)(), (candidate.measure)(&task)).print()
}

/// The version of the engines of this program.
pub(crate) fn own_version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Version of a package in the text of a `Cargo.lock`; empty if it is missing.
pub fn locked_version<'a>(lock: &'a str, package: &str) -> &'a str {
    let place = lock.split("[[package]]").find_map(|block| {
        let rest = block.trim_start().strip_prefix("name = \"")?.strip_prefix(package)?;
        rest.strip_prefix("\"\nversion = \"")?.split('"').next()
    });
    place.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_that_of_the_package_of_exactly_this_name() {
        let lock = "[[package]]\nname = \"redb-derive\"\nversion = \"1.0.0\"\n\n\
                    [[package]]\nname = \"redb\"\nversion = \"4.4.0\"\nsource = \"x\"\n";
        assert_eq!(locked_version(lock, "redb"), "4.4.0");
        assert_eq!(locked_version(lock, "sled"), "");
    }
}
