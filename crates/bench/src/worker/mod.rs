//! Engines that are measured in processes of their own: a process is asked for one task, measures its
//! phases, and prints its outcome. Each benchmark has work of its own; all else is here.

pub(crate) mod build;
pub(crate) mod contestant;
pub(crate) mod measured;

use std::io;
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub use crate::run::{Failure, NoSuchThing, Outcome, Phase};

/// One thing to do in a process of its own: one JSON object in its last argument. The answer is an
/// [`Outcome`] on its last line of output. Rivals in other languages speak the same.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Task<W> {
    /// The engine's name; a program may have several.
    pub engine: String,
    /// The directory of its files. It exists.
    pub directory: PathBuf,
    /// The seed of the data.
    pub seed: u64,
    /// After so many seconds a phase ends with what it has done.
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
    /// Does a task. An operation that the engine lacks is in its phase, a failure keeps the rest of the
    /// task from being done.
    pub measure: fn(&Task<W>) -> Result<Vec<Phase>, Failure>,
}

/// The main function of a program that has engines.
///
/// # Errors
/// Those of [`run`].
pub fn main<W: DeserializeOwned>(candidates: &[Candidate<W>]) -> io::Result<()> {
    run(candidates, &std::env::args().next_back().unwrap_or_default())
}

/// Does the task in `argument` with the one of `candidates` that it names, and prints the outcome.
/// An engine that fails says so in its outcome.
///
/// # Errors
/// When the argument is no task for this program, or nobody reads the outcome.
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

/// The version of a package in the text of a `Cargo.lock`; empty if it is not there.
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
