//! The options of a run.

use std::path::{Path, PathBuf};

use clap::Args;

use super::roster::{CHASSIS, ENGINES, EXACT, Entry, LITEIO};
use super::rows::Sizes;
use crate::error::BenchError;
use crate::run::{RowTime, RunOptions};
use crate::s3::options::Planned;

/// The options of a run.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// A checkout of Chassis, which is in no registry: it is built and measured in the same run.
    #[arg(long, value_name = "PATH", env = "LITEIO_BENCH_CHASSIS")]
    pub chassis: Option<PathBuf>,
    /// Measure this too: plain, the floor under files; usearch, a search, which is built first; or
    /// "all". Repeatable.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub rival: Vec<String>,
    /// Servers of S3 Vectors that run already, instead of LiteIO.
    #[arg(long, hide = true)]
    pub target: Vec<String>,
    /// Start this build of LiteIO instead, as NAME-fsync, NAME-os and NAME-memory: to compare builds. Repeatable.
    #[arg(long, value_name = "NAME=PROGRAM")]
    pub build: Vec<String>,
    /// Search so many vectors [default: 20000 and 100000, quick: 20000]. Repeatable. A million take 3 GB for each
    /// engine, and usearch half an hour to build.
    #[arg(long, value_name = "N", value_delimiter = ',',
        value_parser = clap::value_parser!(u32).range(1_000..=10_000_000))]
    pub vectors: Vec<u32>,
    /// Search vectors of so many elements [default: 768]. Files and servers always have 768.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4_096))]
    pub dimension: Option<u32>,
    /// Compare with this target [default: chassis if it is measured, else exact].
    #[arg(long, value_name = "NAME")]
    pub baseline: Option<String>,
    /// A directory in memory.
    #[arg(long, hide = true, default_value = "/dev/shm")]
    pub memory: PathBuf,
    /// The time of a row.
    #[command(flatten)]
    pub time: RowTime,
    /// Other amounts.
    #[arg(skip)]
    pub sizes: Option<Sizes>,
    /// Options of every benchmark.
    #[command(flatten)]
    pub run: RunOptions,
}

impl Options {
    /// The amounts of the run.
    pub(crate) fn sizes(&self) -> Sizes {
        let usual = || if self.run.quick { Sizes::quick() } else { Sizes::full() };
        let mut sizes = self.sizes.clone().unwrap_or_else(usual);
        if let Some(dimension) = self.dimension {
            sizes.dimension = dimension as usize;
        }
        match self.vectors.is_empty() {
            true => sizes,
            false => Sizes { searched: self.vectors.clone(), ..sizes },
        }
    }

    /// The directory of files in memory; `None` if there is no such place.
    pub(crate) fn memory(&self) -> Option<&Path> {
        Some(self.memory.as_path()).filter(|memory| memory.is_dir())
    }

    /// The engines and servers that are measured.
    pub(crate) fn targets(&self) -> Result<(Vec<&'static Entry>, Vec<Planned>), BenchError> {
        let entries = entries(&self.rival)?;
        let servers = Planned::running_or_liteio(&self.target, &self.build)?;
        if let Some(baseline) = &self.baseline
            && !entries.iter().any(|entry| entry.name == baseline)
            && !servers.iter().any(|server| server.name() == baseline)
        {
            let reason = format!("--baseline {baseline}: nobody has this name");
            return Err(BenchError::Usage(reason));
        }
        Ok((entries, servers))
    }
}

/// The engines that are always measured, and the ones of every `--rival NAME`.
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
