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
    /// The durability of puts that are not synced, and of those that are.
    not_synced: &'static str,
    synced: &'static str,
    /// Published microseconds, in the order of [`PUBLISHED`].
    published: [f64; 4],
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

/// The rows with published figures.
const PUBLISHED: [&str; 4] =
    ["Put", "Get at random", "Scan 1,000 in order", "1,000 a transaction, not synced"];
/// No published figure.
const NO: f64 = f64::NAN;
const KERNEL: &str = "the kernel has the log";

/// All of them, in the order of reports.
pub(crate) static ENGINES: [Entry; 18] = [
    entry("liteio", Home::Own, KERNEL, "the log is synced, once for all puts that wait", [NO; 4]),
    entry(MEMORY, Home::Own, "nothing is on disk", "nothing is on disk", [NO; 4]),
    entry("redb", Home::Own, "in its memory", "Durability::Immediate", [13.4, 1.6, 28.0, 5.8]),
    entry("fjall", Home::Rust, KERNEL, "PersistMode::SyncAll", [3.24, 4.08, 284.0, NO]),
    entry(
        "lmdb",
        Home::Rust,
        "NOSYNC and WRITEMAP, the kernel has the pages",
        "its default",
        [2.06, 1.26, 48.0, 1.607],
    ),
    entry("rocksdb", Home::Rust, KERNEL, "WriteOptions::sync", [6.33, 5.69, NO, NO]),
    entry(
        "sled",
        Home::Rust,
        "in its own memory, flushed twice a second",
        "flush() after each",
        [9.12, 2.97, NO, NO],
    ),
    entry(
        "sqlite",
        Home::Rust,
        "WAL with synchronous=OFF",
        "WAL with synchronous=FULL",
        [NO, 3.56, NO, 10.9],
    ),
    entry("pogreb", Home::Go, KERNEL, "Sync() after each", [4.37, 0.784, NO, NO]),
    entry(
        "bbolt",
        Home::Go,
        "NoSync, the kernel has the pages",
        "its default",
        [26.3, 1.94, 28.0, NO],
    ),
    entry("badger", Home::Go, "the log is mapped memory", "SyncWrites", [9.09, 6.94, 697.0, NO]),
    entry("buntdb", Home::Go, KERNEL, "SyncPolicy Always", [5.86, 3.12, NO, NO]),
    entry("flydb", Home::Go, KERNEL, "SyncWrite", [1.32, 2.11, NO, NO]),
    entry("goleveldb", Home::Go, KERNEL, "WriteOptions.Sync", [3.456, 6.9, NO, NO]),
    // Its Options.Sync syncs nothing, nor does that of rosedb.
    entry("lotusdb", Home::Go, KERNEL, "WriteOptions.Sync", [5.48, 8.64, NO, NO]),
    entry("nutsdb", Home::Go, KERNEL, "SyncEnable", [6.98, 2.79, NO, NO]),
    entry(
        "pebble",
        Home::Go,
        "the log is on its way to the kernel",
        "pebble.Sync",
        [1.77, 15.9, 177.0, NO],
    ),
    entry("rosedb", Home::Go, KERNEL, "BatchOptions.Sync", [4.73, 12.0, NO, NO]),
];

const fn entry(
    name: &'static str,
    home: Home,
    not_synced: &'static str,
    synced: &'static str,
    published: [f64; 4],
) -> Entry {
    Entry { name, home, not_synced, synced, published }
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
        let Entry { not_synced, synced, .. } = self;
        Durability::new(level, format!("not synced: {not_synced}; synced: {synced}"))
    }

    /// The figure that was published for a row.
    pub(crate) fn published(&self, row: &str) -> Option<Published> {
        let place = PUBLISHED.iter().position(|published| *published == row)?;
        let microseconds = Some(self.published[place]).filter(|it| !it.is_nan())?;
        Some(Published { value: microseconds * 1e3, source: SOURCE.to_owned() })
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
