//! The table of engines: where they are, the durability of their puts, and published figures. A new
//! engine needs an entry in [`ENGINES`] and a program below `crates/bench/rivals`.

use std::path::Path;

use liteio_kv::KvConfig;

use super::floor;
use super::liteio::{Default, LargeCache, LiteIo, Memory};
use super::plain_redb::Redb;
use super::task::Exercise;
use super::work;
use crate::process::Launch;
use crate::report::{Durability, Level, Published};
use crate::worker::build::{built_place, found, go_build, rival_build};
use crate::worker::{self, Candidate, locked_version, own_version};

/// An engine that can be measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) home: Home,
    /// Durability of unsynced puts, and of synced ones.
    not_synced: &'static str,
    synced: &'static str,
    cache: &'static str,
    /// Published microseconds, in the order of [`PUBLISHED`].
    published: [f64; 4],
}

/// Location of an engine.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Home {
    /// This program.
    Own,
    /// `rivals/rust-kv`, a workspace of its own.
    Rust,
    /// `rivals/go-kv`, a Go module.
    Go,
    /// This program, if it is named: an engine with other settings, or no engine.
    Named,
}

/// Source of the published figures.
const SOURCE: &str = "one million entries, no sync, one thread; Zen 4, 2 cores, 2026-11";
/// The engine in memory.
pub(crate) const MEMORY: &str = "liteio-memory";
/// The engine with a cache of the rivals' size.
pub(crate) const LARGE_CACHE: &str = "liteio-256mib";
/// The loops without an engine.
pub(crate) const FLOOR: &str = "floor";

/// Description of a given cache in reports.
const GIVEN: &str = "cache: 256 MiB";
const PAGES: &str = "cache: the kernel's";
const INDEX: &str = "index in memory, values in the cache of the kernel";
const ALL: &str = "everything in memory";

/// Rows with published figures.
const PUBLISHED: [&str; 4] =
    ["Put", "Get at random", "Scan 1,000 in order", "1,000 a transaction, not synced"];
/// No published figure.
const NO: f64 = f64::NAN;
const KERNEL: &str = "the kernel has the log";

/// All engines, in the order of reports.
pub(crate) static ENGINES: [Entry; 20] = [
    entry("liteio", Home::Own, KERNEL, "the log is synced, once for all puts that wait", [NO; 4]),
    entry(MEMORY, Home::Own, "nothing is on disk", "nothing is on disk", [NO; 4]).cache(ALL),
    entry(LARGE_CACHE, Home::Named, KERNEL, "as liteio", [NO; 4]),
    entry("redb", Home::Own, "in its memory", "Durability::Immediate", [13.4, 1.6, 28.0, 5.8]),
    entry("fjall", Home::Rust, KERNEL, "PersistMode::SyncAll", [3.24, 4.08, 284.0, NO]),
    entry(
        "lmdb",
        Home::Rust,
        "NOSYNC and WRITEMAP, the kernel has the pages",
        "its default",
        [2.06, 1.26, 48.0, 1.607],
    )
    .cache(PAGES),
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
    entry("pogreb", Home::Go, KERNEL, "Sync() after each", [4.37, 0.784, NO, NO]).cache(PAGES),
    entry(
        "bbolt",
        Home::Go,
        "NoSync and NoFreelistSync, the kernel has the pages",
        "NoFreelistSync",
        [26.3, 1.94, 28.0, NO],
    )
    .cache(PAGES),
    entry("badger", Home::Go, "the log is mapped memory", "SyncWrites", [9.09, 6.94, 697.0, NO]),
    entry("buntdb", Home::Go, KERNEL, "SyncPolicy Always", [5.86, 3.12, NO, NO]).cache(ALL),
    entry("flydb", Home::Go, KERNEL, "SyncWrite", [1.32, 2.11, NO, NO]).cache(INDEX),
    entry("goleveldb", Home::Go, KERNEL, "WriteOptions.Sync", [3.456, 6.9, NO, NO]),
    // Options.Sync of lotusdb syncs nothing, and neither does rosedb's.
    entry("lotusdb", Home::Go, KERNEL, "WriteOptions.Sync", [5.48, 8.64, NO, NO]),
    entry("nutsdb", Home::Go, KERNEL, "SyncEnable", [6.98, 2.79, NO, NO]).cache(INDEX),
    entry(
        "pebble",
        Home::Go,
        "the log is on its way to the kernel",
        "pebble.Sync",
        [1.77, 15.9, 177.0, NO],
    ),
    entry("rosedb", Home::Go, KERNEL, "BatchOptions.Sync", [4.73, 12.0, NO, NO]),
    entry(FLOOR, Home::Named, "a loop", "a loop", [NO; 4]).cache("no engine"),
];

const fn entry(
    name: &'static str,
    home: Home,
    not_synced: &'static str,
    synced: &'static str,
    published: [f64; 4],
) -> Entry {
    Entry { name, home, not_synced, synced, cache: GIVEN, published }
}

/// Engines in this program.
pub(crate) const OWN: [Candidate<Exercise>; 5] = [
    Candidate { name: "liteio", version: own_version, measure: work::run::<LiteIo<Default>> },
    Candidate { name: MEMORY, version: own_version, measure: work::run::<LiteIo<Memory>> },
    Candidate { name: LARGE_CACHE, version: own_version, measure: work::run::<LiteIo<LargeCache>> },
    Candidate {
        name: "redb",
        version: || locked_version(include_str!("../../../../Cargo.lock"), "redb").to_owned(),
        measure: work::run::<Redb>,
    },
    Candidate { name: FLOOR, version: own_version, measure: floor::run },
];

/// Runs a task with the engine of this program that it names, and prints the outcome.
///
/// # Errors
/// The errors of [`worker::run`].
pub fn run_own(task: &str) -> std::io::Result<()> {
    worker::run(&OWN, task)
}

impl Entry {
    const fn cache(self, cache: &'static str) -> Entry {
        Entry { cache, ..self }
    }

    /// Description of its memory for reads.
    pub(crate) fn memory(&self) -> String {
        match self.name {
            "liteio" => {
                let bytes = KvConfig::default().cache_bytes;
                format!("cache: {} MiB, its default", bytes >> 20)
            }
            _ => self.cache.to_owned(),
        }
    }

    /// Durability of an acknowledged put.
    pub(crate) fn durability(&self) -> Durability {
        let level = if self.name == MEMORY { Level::Memory } else { Level::ByRow };
        let Entry { not_synced, synced, .. } = self;
        Durability::new(level, format!("not synced: {not_synced}; synced: {synced}"))
    }

    /// Published figure of a row.
    pub(crate) fn published(&self, row: &str) -> Option<Published> {
        let place = PUBLISHED.iter().position(|published| *published == row)?;
        let microseconds = Some(self.published[place]).filter(|it| !it.is_nan())?;
        Some(Published { value: microseconds * 1e3, source: SOURCE.to_owned() })
    }

    /// The program, built from `rivals` if needed or taken from `prebuilt`, or the reason that
    /// there is none.
    pub(crate) fn program(
        &self,
        own: &Launch,
        rivals: &Path,
        prebuilt: Option<&Path>,
    ) -> Result<Launch, String> {
        let (built, binary) = (built_place(own), format!("kv-{}", self.name));
        if let Some(prebuilt) = prebuilt.filter(|_| matches!(self.home, Home::Rust | Home::Go)) {
            return found(prebuilt.join(binary));
        }
        match self.home {
            Home::Own | Home::Named => Ok(own.clone()),
            Home::Rust => rival_build(rivals, "rust-kv", (self.name, &binary), &built),
            Home::Go => {
                go_build(&rivals.join("go-kv").join(self.name), built.join("go-kv").join(binary))
            }
        }
    }
}
