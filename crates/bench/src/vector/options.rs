//! The options of a run.

use std::path::PathBuf;
use std::time::Duration;

use super::roster::{CHASSIS, ENGINES, EXACT, Entry, LITEIO};
use super::rows::Sizes;
use crate::error::BenchError;
use crate::s3::options::{Planned, check_pace};

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The engines beside those that need no building and Chassis, by name or family, or "all".
    pub engines: Vec<String>,
    /// The servers of S3 Vectors.
    pub servers: Vec<Planned>,
    /// The target that others are compared with; by default Chassis if it is measured, else the exact
    /// scan.
    pub baseline: Option<String>,
    /// A checkout of Chassis.
    pub chassis: Option<PathBuf>,
    /// The amounts of a run.
    pub sizes: Sizes,
    /// Only rows whose name or group contains one of these; all if it is empty.
    pub filters: Vec<String>,
    /// The number of rounds.
    pub rounds: usize,
    /// The time of a row for a target in a round.
    pub time: Duration,
    /// The seed of the data.
    pub seed: u64,
    /// The directory below which files are meanwhile.
    pub data: PathBuf,
    /// That of files in memory; `None` if there is no such place.
    pub memory: Option<PathBuf>,
    /// This program: it has our own engines.
    pub own_program: PathBuf,
    /// The sources of the rivals.
    pub rivals: PathBuf,
}

impl Options {
    /// Checks all options, and finds the engines.
    pub(crate) fn entries(&self) -> Result<Vec<&'static Entry>, BenchError> {
        let entries = entries(&self.engines)?;
        if let Some(baseline) = &self.baseline
            && !entries.iter().any(|entry| entry.name == baseline)
            && !self.servers.iter().any(|server| server.name() == baseline)
        {
            let reason = format!("--baseline {baseline}: nobody has this name");
            return Err(BenchError::Usage(reason));
        }
        check_pace(self.rounds, self.time)?;
        Ok(entries)
    }
}

/// The engines that are always measured, and those of `--rival NAME`, repeated.
fn entries(rivals: &[String]) -> Result<Vec<&'static Entry>, BenchError> {
    let always = |entry: &Entry| [LITEIO, CHASSIS, EXACT].contains(&entry.name);
    // One program may be measured in several ways.
    let family = |entry: &Entry| entry.name.split('-').next().unwrap_or_default();
    let is =
        |name: &str, entry: &Entry| name == "all" || name == entry.name || name == family(entry);
    for name in rivals {
        let others = || ENGINES.iter().filter(|entry| !always(entry));
        if !others().any(|entry| is(name, entry)) {
            let names = others().map(|entry| entry.name).collect::<Vec<_>>().join(", ");
            let reason = format!("--rival {name}: expected all or one of {names}");
            return Err(BenchError::Usage(reason));
        }
    }
    let wanted = |entry: &&Entry| always(entry) || rivals.iter().any(|name| is(name, entry));
    Ok(ENGINES.iter().filter(wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vector::roster::PLAIN;

    #[test]
    fn a_rival_is_asked_for_by_its_name_or_its_family() {
        let names = |chosen: &[&str]| -> Vec<&str> {
            let chosen: Vec<String> = chosen.iter().map(ToString::to_string).collect();
            let engines = entries(&chosen).expect("all are known");
            engines.iter().map(|entry| entry.name).collect()
        };
        assert_eq!(names(&[]), [LITEIO, CHASSIS, EXACT]);
        assert_eq!(names(&["usearch-256"]), [LITEIO, CHASSIS, EXACT, "usearch-256"]);
        assert_eq!(names(&["usearch"]).len(), 5);
        assert_eq!(names(&["plain"]), [LITEIO, CHASSIS, PLAIN, EXACT]);
        let unknown = entries(&["faiss".to_owned()]);
        assert!(unknown.is_err_and(|error| error.to_string().contains("usearch-64")));
    }
}
