//! What a run is to measure.

use std::path::PathBuf;
use std::time::Duration;

use super::roster::{CHASSIS, ENGINES, EXACT, Entry, LITEIO};
use super::rows::Sizes;
use crate::error::BenchError;
use crate::s3::options::Planned;

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The engines of files and searches.
    pub engines: Vec<&'static Entry>,
    /// The servers that are put to and asked.
    pub servers: Vec<Planned>,
    /// The one that others are compared with; by default Chassis if it is measured, else the exact
    /// scan.
    pub baseline: Option<String>,
    /// A checkout of Chassis.
    pub chassis: Option<PathBuf>,
    /// How much is measured.
    pub sizes: Sizes,
    /// Only rows whose name or group contains one of these; all if it is empty.
    pub filters: Vec<String>,
    /// How often every row is measured for every target.
    pub rounds: usize,
    /// How long a row is measured for a target in a round.
    pub time: Duration,
    /// The seed of the data.
    pub seed: u64,
    /// Where files are meanwhile.
    pub data: PathBuf,
    /// Where files in memory are; `None` if there is no such place.
    pub memory: Option<PathBuf>,
    /// This program: it has our own engines.
    pub own_program: PathBuf,
    /// Where the sources of the rivals are.
    pub rivals: PathBuf,
}

impl Options {
    /// The engines that need no building, Chassis, and those of `--rival NAME`, repeated.
    ///
    /// # Errors
    /// [`BenchError::Usage`] for a name that nobody has.
    pub fn engines(rivals: &[String]) -> Result<Vec<&'static Entry>, BenchError> {
        let always = |entry: &Entry| [LITEIO, CHASSIS, EXACT].contains(&entry.name);
        // One program may be measured in several ways.
        let family = |entry: &Entry| entry.name.split('-').next().unwrap_or_default();
        let is = |name: &str, entry: &Entry| {
            name == "all" || name == entry.name || name == family(entry)
        };
        for name in rivals {
            if !ENGINES.iter().any(|entry| !always(entry) && is(name, entry)) {
                let others = ENGINES.iter().filter(|entry| !always(entry));
                let names: Vec<&str> = others.map(|entry| entry.name).collect();
                return Err(BenchError::Usage(format!(
                    "--rival {name}: expected all or one of {}",
                    names.join(", ")
                )));
            }
        }
        let wanted = |entry: &&Entry| always(entry) || rivals.iter().any(|name| is(name, entry));
        Ok(ENGINES.iter().filter(wanted).collect())
    }

    /// Checks what belongs together.
    ///
    /// # Errors
    /// [`BenchError::Usage`].
    pub fn check(&self) -> Result<(), BenchError> {
        let usage = |text: String| Err(BenchError::Usage(text));
        if let Some(baseline) = &self.baseline
            && !self.engines.iter().any(|entry| entry.name == baseline)
            && !self.servers.iter().any(|server| server.name() == baseline)
        {
            return usage(format!("--baseline {baseline}: nobody has this name"));
        }
        if self.rounds == 0 || self.time.is_zero() {
            return usage("there must be at least one round and some time".to_owned());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::roster::PLAIN;

    #[test]
    fn a_rival_is_asked_for_by_its_name_or_its_family() {
        let names = |chosen: &[&str]| -> Vec<&str> {
            let chosen: Vec<String> = chosen.iter().map(ToString::to_string).collect();
            let engines = Options::engines(&chosen).expect("all are known");
            engines.iter().map(|entry| entry.name).collect()
        };
        assert_eq!(names(&[]), [LITEIO, CHASSIS, EXACT]);
        assert_eq!(names(&["usearch-256"]), [LITEIO, CHASSIS, EXACT, "usearch-256"]);
        assert_eq!(names(&["usearch"]).len(), 5);
        assert_eq!(names(&["plain"]), [LITEIO, CHASSIS, PLAIN, EXACT]);
        let unknown = Options::engines(&["faiss".to_owned()]);
        assert!(unknown.is_err_and(|error| error.to_string().contains("usearch-64")));
    }
}
