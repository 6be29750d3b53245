//! The options of a run.

use std::path::PathBuf;

use super::roster::{ENGINES, Entry, Home};
use super::rows::Sizes;
use crate::error::BenchError;

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The names of the engines, or "all"; if it is empty, those that need no building.
    pub engines: Vec<String>,
    /// The engine that others are compared with.
    pub baseline: String,
    /// The amounts of a run.
    pub sizes: Sizes,
    /// Only rows whose name or group contains one of these; all if it is empty.
    pub filters: Vec<String>,
    /// The number of rounds.
    pub rounds: usize,
    /// A phase ends after so many seconds with what it has done.
    pub seconds_max: f64,
    /// The seed of the data.
    pub seed: u64,
    /// The directory below which the engines have their files meanwhile.
    pub data: PathBuf,
    /// This program: it has our own engines.
    pub own_program: PathBuf,
    /// The sources of the rivals.
    pub rivals: PathBuf,
}

impl Options {
    /// Checks all options, and finds the engines.
    pub(crate) fn entries(&self) -> Result<Vec<&'static Entry>, BenchError> {
        let usage = |text: String| Err(BenchError::Usage(text));
        let known = |name: &String| name == "all" || Entry::named(name).is_some();
        if let Some(name) = self.engines.iter().find(|name| !known(name)) {
            let all = ENGINES.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ");
            return usage(format!("--engine {name}: expected all or one of {all}"));
        }
        if Entry::named(&self.baseline).is_none() {
            return usage(format!("--baseline {}: no engine has this name", self.baseline));
        }
        if self.rounds == 0 || self.seconds_max.is_nan() || self.seconds_max <= 0.0 {
            return usage("there must be at least one round and some time".to_owned());
        }
        let wanted = |entry: &&Entry| {
            let named = self.engines.iter().any(|name| name == "all" || name == entry.name);
            named || (self.engines.is_empty() && entry.home == Home::Own)
        };
        Ok(ENGINES.iter().filter(wanted).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_chosen_by_name_and_keep_their_order() {
        let entries = |chosen: &[&str]| {
            Options {
                engines: chosen.iter().map(ToString::to_string).collect(),
                baseline: "redb".to_owned(),
                sizes: Sizes::quick(),
                filters: Vec::new(),
                rounds: 1,
                seconds_max: 1.0,
                seed: 1,
                data: PathBuf::new(),
                own_program: PathBuf::new(),
                rivals: PathBuf::new(),
            }
            .entries()
        };
        let names = |chosen: &[&str]| -> Vec<&str> {
            entries(chosen).expect("all are known").iter().map(|entry| entry.name).collect()
        };
        assert_eq!(names(&[]), ["liteio", "liteio-memory", "redb"]);
        assert_eq!(names(&["pebble", "redb"]), ["redb", "pebble"]);
        assert_eq!(names(&["all"]).len(), ENGINES.len());
        let unknown = entries(&["leveldb"]);
        assert!(unknown.is_err_and(|error| error.to_string().contains("goleveldb")));
    }
}
