//! The options of a run.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::roster::{ENGINES, Entry, Home};
use super::rows::Sizes;
use crate::error::BenchError;
use crate::run::RunOptions;

/// The options of a run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Measure this engine, or "all", building what is not built [default: those that need no
    /// building]. Repeatable.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub engine: Vec<String>,
    /// Compare with this engine.
    #[arg(long, value_name = "NAME", default_value = "redb")]
    pub baseline: String,
    /// Put so many entries one by one, and delete as many [default: 1000000, quick: 100000].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub entries: Option<u64>,
    /// Have so many entries there before writers, transactions and a kill [default: 100000, quick: 20000].
    #[arg(long, value_name = "N")]
    pub preload: Option<u64>,
    /// Let the writers put so many entries together [default: 2000 to 32000, quick: a quarter].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub writer_puts: Option<u64>,
    /// Take the programs of rivals from here as they are, such as `kv-pebble`, instead of building them.
    #[arg(long, value_name = "DIR")]
    pub prebuilt: Option<PathBuf>,
    /// End a phase after so many seconds with what it has done [default: 60, quick: 15].
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub time: Option<Duration>,
    /// Other amounts.
    #[arg(skip)]
    pub sizes: Option<Sizes>,
    /// Options of every benchmark.
    #[command(flatten)]
    pub run: RunOptions,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().map_err(|error| error.to_string())?;
    let time = Duration::try_from_secs_f64(seconds).map_err(|error| error.to_string())?;
    if time.is_zero() { Err("there must be some time".to_owned()) } else { Ok(time) }
}

impl Options {
    /// The amounts of the run.
    pub(crate) fn sizes(&self) -> Sizes {
        let usual = || if self.run.quick { Sizes::quick() } else { Sizes::full() };
        let sizes = self.sizes.clone().unwrap_or_else(usual);
        let puts = |(writers, puts)| (writers, self.writer_puts.unwrap_or(puts));
        Sizes {
            entries: self.entries.unwrap_or(sizes.entries),
            preload: self.preload.unwrap_or(sizes.preload),
            writers: sizes.writers.into_iter().map(puts).collect(),
            ..sizes
        }
    }

    /// The time after which a phase ends.
    pub(crate) fn time(&self) -> Duration {
        self.time.unwrap_or(Duration::from_secs(if self.run.quick { 15 } else { 60 }))
    }

    /// The engines that are measured.
    pub(crate) fn entries(&self) -> Result<Vec<&'static Entry>, BenchError> {
        let is_known = |name: &&String| ENGINES.iter().any(|entry| entry.name == **name);
        let mut named = self.engine.iter().filter(|name| *name != "all").chain([&self.baseline]);
        if let Some(name) = named.find(|name| !is_known(name)) {
            let all = ENGINES.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ");
            return Err(BenchError::Usage(format!("no engine is called {name}, but {all}")));
        }
        let wanted = |entry: &&Entry| {
            let named = self.engine.iter().any(|name| name == "all" || name == entry.name);
            named || (self.engine.is_empty() && entry.home == Home::Own)
        };
        Ok(ENGINES.iter().filter(wanted).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches as _;

    fn options(line: &str) -> Options {
        let command = Options::augment_args(clap::Command::new("kv"));
        let words = ["kv"].into_iter().chain(line.split(' ').filter(|it| !it.is_empty()));
        Options::from_arg_matches(&command.get_matches_from(words)).expect("they can be read")
    }

    #[test]
    fn amounts_are_chosen_one_by_one() {
        let sizes = options("--entries 10 --preload 20 --writer-puts 30").sizes();
        assert_eq!((sizes.entries, sizes.preload), (10, 20));
        assert_eq!(sizes.writers, [(1, 30), (8, 30), (64, 30)]);
        let (usual, full) = (options("").sizes(), Sizes::full());
        assert_eq!((usual.preload, usual.writers), (full.preload, full.writers));
    }

    #[test]
    fn engines_are_chosen_by_name_and_keep_their_order() {
        let names = |chosen: &str| -> Result<Vec<&str>, String> {
            let options = options(chosen);
            let entries = options.entries().map_err(|error| error.to_string())?;
            Ok(entries.iter().map(|entry| entry.name).collect())
        };
        assert_eq!(names(""), Ok(vec!["liteio", "liteio-memory", "redb"]));
        assert_eq!(names("--engine pebble,redb,floor"), Ok(vec!["redb", "pebble", "floor"]));
        assert_eq!(names("--engine all").map(|names| names.len()), Ok(ENGINES.len()));
        assert!(names("--engine leveldb").is_err_and(|error| error.contains("goleveldb")));
    }
}
