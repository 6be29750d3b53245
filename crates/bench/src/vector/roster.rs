//! The table of engines: where they are, the durability of their commits, and published figures.

use std::fs;
use std::path::{Path, PathBuf};

use super::rows::{Kind, Place, SLOT_PHASES};
use super::search::{self, LiteIoSearch};
use super::slots::{self, LiteIoSlots, PlainFile};
use super::task::{Exercise, Work};
use crate::process::Launch;
use crate::report::{Durability, Level, Published};
use crate::run::Job;
use crate::worker::build::{built_place, cargo_build, rival_build};
use crate::worker::{self, Candidate, own_version};

/// An engine that can be measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    home: Home,
    measures: Measures,
    durability: (Level, &'static str),
}

/// Location of an engine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Home {
    /// This program.
    Own,
    /// `rivals/rust-vector`, a workspace of its own.
    Rust,
    /// A checkout of Chassis by the user; `rivals/chassis` has a program for it.
    Chassis,
}

/// Jobs that an engine does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Measures {
    Slots,
    Search,
    Both,
}

/// Ours.
pub(crate) const LITEIO: &str = "liteio";
/// The rival for files of vectors.
pub(crate) const CHASSIS: &str = "chassis";
/// The reference for searches.
pub(crate) const EXACT: &str = "exact";
/// The floor under files of vectors.
pub(crate) const PLAIN: &str = "plain";
/// The source of the published figures.
pub(crate) const SOURCE: &str =
    "Chassis 0.6.3 as measured by us: its own benchmark, Zen 4, 2 cores, 2026-11";
/// Workspace of rivals in Rust, and the folder in which they are built.
const WORKSPACE: &str = "rust-vector";
/// Reason that Chassis has no figures.
const NOT_GIVEN: &str = "not given: --chassis PATH";

/// All engines, in the order of reports.
pub(crate) static ENGINES: [Entry; 6] = [
    entry(
        LITEIO,
        (Home::Own, Measures::Both),
        (Level::ByRow, "a commit waits for one fdatasync; raw inserts wait in memory for a commit"),
    ),
    entry(
        CHASSIS,
        (Home::Chassis, Measures::Slots),
        (
            Level::ByRow,
            "a commit waits for msync, fdatasync and fsync; raw inserts are in a shared map",
        ),
    ),
    entry(
        PLAIN,
        (Home::Own, Measures::Slots),
        (
            Level::ByRow,
            "no store, but the floor: writes and fdatasync without a check, reads of memory",
        ),
    ),
    entry(
        EXACT,
        (Home::Own, Measures::Search),
        (Level::ByRow, "the files of liteio, all vectors compared"),
    ),
    entry(
        "usearch-64",
        (Home::Rust, Measures::Search),
        (
            Level::Memory,
            "HNSW with bf16 in memory, expansion 64 when searching, built by all cores",
        ),
    ),
    entry(
        "usearch-256",
        (Home::Rust, Measures::Search),
        (
            Level::Memory,
            "HNSW with bf16 in memory, expansion 256 when searching, built by all cores",
        ),
    ),
];

const fn entry(
    name: &'static str,
    (home, measures): (Home, Measures),
    durability: (Level, &'static str),
) -> Entry {
    Entry { name, home, measures, durability }
}

/// Engines in this program.
pub(crate) const OWN: [Candidate<Exercise>; 3] = [
    Candidate {
        name: LITEIO,
        version: own_version,
        measure: |task| match task.work.work {
            Work::Slots { .. } => slots::work::run::<LiteIoSlots>(task),
            Work::Search { .. } => search::work::run::<LiteIoSearch<false>>(task),
        },
    },
    Candidate { name: PLAIN, version: own_version, measure: slots::work::run::<PlainFile> },
    Candidate {
        name: EXACT,
        version: own_version,
        measure: search::work::run::<LiteIoSearch<true>>,
    },
];

/// Runs a task with the engine of this program that it names, and prints the outcome.
///
/// # Errors
/// The errors of [`worker::run`].
pub fn run_own(task: &str) -> std::io::Result<()> {
    // The server does the same.
    liteio_vector::map_files()?;
    worker::run(&OWN, task)
}

impl Entry {
    /// The durability of a commit.
    pub(crate) fn durability(&self) -> Durability {
        Durability::new(self.durability.0, self.durability.1)
    }

    /// `true` if it takes part in a job.
    pub(crate) fn does(&self, job: &Job<Kind>) -> bool {
        let other = match job.work {
            Kind::Slots(_) => Measures::Search,
            Kind::Search { .. } => Measures::Slots,
        };
        self.measures != other
    }

    /// Published figure for a phase of a job.
    pub(crate) fn published(&self, job: &Job<Kind>, phase: &str) -> Option<Published> {
        let Kind::Slots(place) = job.work else { return None };
        let phase = SLOT_PHASES.iter().find(|it| it.id == phase && self.name == CHASSIS)?;
        let (value, file_system) = match place {
            Place::Disk => (phase.published.0, "ext4"),
            Place::Memory => (phase.published.1?, "tmpfs"),
        };
        Some(Published { value, source: format!("{SOURCE}, {file_system}") })
    }

    /// The program, built if needed, or the reason that there is none.
    pub(super) fn program(
        &self,
        own: &Launch,
        rivals: &Path,
        chassis: Option<&Path>,
    ) -> Result<Launch, String> {
        let built = built_place(own);
        match self.home {
            Home::Own => Ok(own.clone()),
            Home::Rust => rival_build(rivals, WORKSPACE, ("usearch", "vector-usearch"), &built),
            Home::Chassis => build_chassis(rivals, chassis.ok_or(NOT_GIVEN)?, &built),
        }
    }
}

/// Writes a package that uses the checkout, and builds it. No part of Chassis is kept here, because
/// it is in no registry.
fn build_chassis(sources: &Path, checkout: &Path, built: &Path) -> Result<Launch, String> {
    let failed = |error: std::io::Error| format!("not built: {error}");
    let package = chassis_package(checkout)
        .ok_or_else(|| format!("not built: no chassis-core in {}", checkout.display()))?;
    let (own, place) = (sources.join("chassis"), built.join("chassis"));
    let manifest = fs::read_to_string(own.join("Cargo.toml.in")).map_err(failed)?;
    let manifest = manifest
        .replace("@CHASSIS@", &toml_text(&package))
        .replace("@LITEIO_BENCH@", &toml_text(Path::new(env!("CARGO_MANIFEST_DIR"))));
    fs::create_dir_all(place.join("src")).map_err(failed)?;
    fs::write(place.join("Cargo.toml"), manifest).map_err(failed)?;
    fs::copy(own.join("main.rs"), place.join("src/main.rs")).map_err(failed)?;
    // The lock file of the other rivals saves a second build of shared dependencies. Cargo adds
    // missing ones.
    let lock = sources.join(WORKSPACE).join("Cargo.lock");
    fs::copy(lock, place.join("Cargo.lock")).map_err(failed)?;
    cargo_build(&place, &[], "vector-chassis", &built.join(WORKSPACE))
}

/// The package in a checkout: the checkout itself, or a folder of it.
fn chassis_package(checkout: &Path) -> Option<PathBuf> {
    let checkout = checkout.canonicalize().ok()?;
    let folders = fs::read_dir(&checkout).ok()?.flatten().map(|entry| entry.path());
    let mut places = vec![checkout];
    places.extend(folders);
    let package = |place: PathBuf| place.join("chassis-core");
    places.into_iter().map(package).find(|path| path.join("Cargo.toml").is_file())
}

/// A path as a quoted string of TOML.
fn toml_text(path: &Path) -> String {
    path.display().to_string().replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::RowFilter;
    use crate::vector::rows::{Sizes, jobs};

    #[test]
    fn what_was_published_stands_beside_chassis_only() {
        let jobs = jobs(&Sizes::quick(), &RowFilter::new(&[]), true);
        let value = |entry: &str, job: &Job<Kind>, phase: &str| {
            let entry = ENGINES.iter().find(|it| it.name == entry).expect("it is one of them");
            entry.published(job, phase).map(|published| published.value)
        };
        assert_eq!(value(CHASSIS, &jobs[0], "raw_insert"), Some(144e3));
        assert_eq!(value(CHASSIS, &jobs[1], "raw_insert"), Some(12.1e3));
        assert_eq!(value(CHASSIS, &jobs[1], "cold_read"), None);
        assert_eq!(value(LITEIO, &jobs[0], "raw_insert"), None);
    }

    #[test]
    fn a_checkout_is_found_below_what_is_given() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        assert_eq!(chassis_package(directory.path()), None);
        let package = directory.path().join("src/chassis-core");
        fs::create_dir_all(&package).expect("folders can be made");
        fs::write(package.join("Cargo.toml"), "").expect("a file can be written");
        let found = package.canonicalize().ok();
        assert_eq!(chassis_package(directory.path()), found);
        assert_eq!(chassis_package(&directory.path().join("src")), found);
    }
}
