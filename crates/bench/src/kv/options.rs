//! What a run is to measure.

use std::path::PathBuf;

use super::roster::{ENGINES, Entry, Home};
use super::rows::Sizes;
use crate::error::BenchError;

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The engines.
    pub engines: Vec<&'static Entry>,
    /// The one that others are compared with.
    pub baseline: String,
    /// How much is measured.
    pub sizes: Sizes,
    /// Only rows whose name or group contains one of these; all if it is empty.
    pub filters: Vec<String>,
    /// How often every row is measured for every engine.
    pub rounds: usize,
    /// Seconds after which a phase ends with what it has done.
    pub seconds_max: f64,
    /// The seed of the data.
    pub seed: u64,
    /// Where the engines have their files meanwhile.
    pub data: PathBuf,
    /// This program: it has our own engines.
    pub own_program: PathBuf,
    /// Where the sources of the rivals are.
    pub rivals: PathBuf,
}

impl Options {
    /// The engines of `--engine NAME`, repeated; without any, those that need no building.
    ///
    /// # Errors
    /// [`BenchError::Usage`] for a name that nobody has.
    pub fn engines(names: &[String]) -> Result<Vec<&'static Entry>, BenchError> {
        let known = |name: &String| name == "all" || Entry::named(name).is_some();
        if let Some(name) = names.iter().find(|name| !known(name)) {
            let all: Vec<&str> = ENGINES.iter().map(|entry| entry.name).collect();
            let all = all.join(", ");
            return Err(BenchError::Usage(format!(
                "--engine {name}: expected all or one of {all}"
            )));
        }
        let wanted = |entry: &&Entry| {
            let named = names.iter().any(|name| name == "all" || name == entry.name);
            named || (names.is_empty() && entry.home == Home::Own)
        };
        Ok(ENGINES.iter().filter(wanted).collect())
    }

    /// Checks what belongs together.
    ///
    /// # Errors
    /// [`BenchError::Usage`].
    pub fn check(&self) -> Result<(), BenchError> {
        let usage = |text: String| Err(BenchError::Usage(text));
        if self.engines.is_empty() {
            return usage("there is nothing to measure".to_owned());
        }
        if Entry::named(&self.baseline).is_none() {
            return usage(format!("--baseline {}: no engine has this name", self.baseline));
        }
        if self.rounds == 0 || self.seconds_max.is_nan() || self.seconds_max <= 0.0 {
            return usage("there must be at least one round and some time".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_chosen_by_name_and_keep_their_order() {
        let names = |chosen: &[&str]| -> Vec<&str> {
            let chosen: Vec<String> = chosen.iter().map(ToString::to_string).collect();
            let engines = Options::engines(&chosen).expect("all are known");
            engines.iter().map(|entry| entry.name).collect()
        };
        assert_eq!(names(&[]), ["liteio", "liteio-memory", "redb"]);
        assert_eq!(names(&["pebble", "redb"]), ["redb", "pebble"]);
        assert_eq!(names(&["all"]).len(), ENGINES.len());
        let unknown = Options::engines(&["leveldb".to_owned()]);
        assert!(unknown.is_err_and(|error| error.to_string().contains("goleveldb")));
    }
}
