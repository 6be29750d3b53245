//! The engines: their places, the durability of their puts, and published figures. To add one, add an
//! entry to [`ENGINES`] and its program below `crates/bench/rivals`.

use std::path::Path;

use super::liteio::LiteIo;
use super::plain_redb::Redb;
use super::task::Exercise;
use super::work;
use crate::process::Launch;
use crate::report::{Durability, Level, Published};
use crate::worker::build::{built_place, go_build, rival_build};
use crate::worker::{self, Candidate, locked_version, own_version};

/// An engine that can be measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) home: Home,
    /// Of puts that are not synced, then of those that are.
    durability: &'static str,
    /// Published nanoseconds, by row.
    published: &'static [(&'static str, f64)],
}

/// The place of an engine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Home {
    /// This program.
    Own,
    /// `rivals/rust-kv`, a workspace of its own.
    Rust,
    /// `rivals/go-kv`, a Go module.
    Go,
}

/// The source of the published figures.
const SOURCE: &str = "one million entries, no sync, one thread; Zen 4, 2 cores, 2026-11";
/// The engine that lives in memory.
pub(crate) const MEMORY: &str = "liteio-memory";

const PUT: &str = "Put";
const GET: &str = "Get at random";
const SCAN: &str = "Scan 1,000 in order";
const THOUSAND: &str = "1,000 a transaction, not synced";

/// All of them, in the order of reports.
pub(crate) static ENGINES: [Entry; 18] = [
    entry(
        "liteio",
        Home::Own,
        "not synced: the kernel has the log; synced: the log is synced, once for all \
                     puts that wait",
        &[],
    ),
    entry(MEMORY, Home::Own, "nothing is on disk", &[]),
    entry(
        "redb",
        Home::Own,
        "not synced: in its own memory only; synced: Durability::Immediate",
        &[(PUT, 13_400.0), (GET, 1_600.0), (SCAN, 28_000.0), (THOUSAND, 5_800.0)],
    ),
    entry(
        "fjall",
        Home::Rust,
        "not synced: the kernel has the journal; synced: PersistMode::SyncAll",
        &[(PUT, 3_240.0), (GET, 4_080.0), (SCAN, 284_000.0)],
    ),
    entry(
        "lmdb",
        Home::Rust,
        "not synced: NOSYNC and WRITEMAP, the kernel has the pages; synced: its default",
        &[(PUT, 2_060.0), (GET, 1_260.0), (SCAN, 48_000.0), (THOUSAND, 1_607.0)],
    ),
    entry(
        "rocksdb",
        Home::Rust,
        "not synced: the kernel has the log; synced: WriteOptions::sync",
        &[(PUT, 6_330.0), (GET, 5_690.0)],
    ),
    entry(
        "sled",
        Home::Rust,
        "not synced: in its own memory, flushed twice a second; synced: flush() after \
                     each",
        &[(PUT, 9_120.0), (GET, 2_970.0)],
    ),
    entry(
        "sqlite",
        Home::Rust,
        "not synced: WAL with synchronous=OFF; synced: WAL with synchronous=FULL",
        &[(GET, 3_560.0), (THOUSAND, 10_900.0)],
    ),
    entry(
        "pogreb",
        Home::Go,
        "not synced: the kernel has the log; synced: Sync() after each",
        &[(PUT, 4_370.0), (GET, 784.0)],
    ),
    entry(
        "bbolt",
        Home::Go,
        "not synced: NoSync, the kernel has the pages; synced: its default",
        &[(PUT, 26_300.0), (GET, 1_940.0), (SCAN, 28_000.0)],
    ),
    entry(
        "badger",
        Home::Go,
        "not synced: the log is mapped memory; synced: SyncWrites",
        &[(PUT, 9_090.0), (GET, 6_940.0), (SCAN, 697_000.0)],
    ),
    entry(
        "buntdb",
        Home::Go,
        "not synced: SyncPolicy Never, the kernel has the log; synced: Always",
        &[(PUT, 5_860.0), (GET, 3_120.0)],
    ),
    entry(
        "flydb",
        Home::Go,
        "not synced: the kernel has the log; synced: SyncWrite",
        &[(PUT, 1_320.0), (GET, 2_110.0)],
    ),
    entry(
        "goleveldb",
        Home::Go,
        "not synced: the kernel has the log; synced: WriteOptions.Sync",
        &[(PUT, 3_456.0), (GET, 6_900.0)],
    ),
    entry(
        "lotusdb",
        Home::Go,
        "not synced: the kernel has the log; synced: WriteOptions.Sync (its Options.Sync \
                     syncs nothing)",
        &[(PUT, 5_480.0), (GET, 8_640.0)],
    ),
    entry(
        "nutsdb",
        Home::Go,
        "not synced: the kernel has the log; synced: SyncEnable",
        &[(PUT, 6_980.0), (GET, 2_790.0)],
    ),
    entry(
        "pebble",
        Home::Go,
        "not synced: the log is on its way to the kernel; synced: pebble.Sync",
        &[(PUT, 1_770.0), (GET, 15_900.0), (SCAN, 177_000.0)],
    ),
    entry(
        "rosedb",
        Home::Go,
        "not synced: the kernel has the log; synced: BatchOptions.Sync (its Options.Sync \
                     syncs nothing)",
        &[(PUT, 4_730.0), (GET, 12_000.0)],
    ),
];

const fn entry(
    name: &'static str,
    home: Home,
    durability: &'static str,
    published: &'static [(&'static str, f64)],
) -> Entry {
    Entry { name, home, durability, published }
}

/// The engines that are in this program.
pub(crate) const OWN: [Candidate<Exercise>; 3] = [
    Candidate { name: "liteio", version: own_version, measure: work::run::<LiteIo<false>> },
    Candidate { name: MEMORY, version: own_version, measure: work::run::<LiteIo<true>> },
    Candidate {
        name: "redb",
        version: || locked_version(include_str!("../../../../Cargo.lock"), "redb").to_owned(),
        measure: work::run::<Redb>,
    },
];

/// Does a task with the engine of this program that it names, and prints the outcome.
///
/// # Errors
/// Those of [`worker::run`].
pub fn run_own(task: &str) -> std::io::Result<()> {
    worker::run(&OWN, task)
}

impl Entry {
    /// The durability of an acknowledged put.
    pub(crate) fn durability(&self) -> Durability {
        let level = if self.name == MEMORY { Level::Memory } else { Level::ByRow };
        Durability::new(level, self.durability)
    }

    /// The figure that was published for a row.
    pub(crate) fn published(&self, row: &str) -> Option<Published> {
        let (_, value) = self.published.iter().find(|(name, _)| *name == row)?;
        Some(Published { value: *value, source: SOURCE.to_owned() })
    }

    /// Its program, built if need be, or the reason that there is none.
    pub(crate) fn program(&self, own: &Launch, rivals: &Path) -> Result<Launch, String> {
        let (built, binary) = (built_place(own), format!("kv-{}", self.name));
        match self.home {
            Home::Own => Ok(own.clone()),
            Home::Rust => rival_build(rivals, "rust-kv", (self.name, &binary), &built),
            Home::Go => {
                go_build(&rivals.join("go-kv").join(self.name), built.join("go-kv").join(binary))
            }
        }
    }
}
