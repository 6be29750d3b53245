//! The engines: where each is, what it does before a put returns, and what was published about it.
//! To add one, add an entry to [`ENGINES`] and its program below `crates/bench/rivals`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::process::Program;
use crate::process::find_program;
use crate::report::{Durability, Level, Published};

/// An engine that can be measured.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Where it is.
    pub home: Home,
    /// What happens before a put returns, not synced and synced.
    pub durability: &'static str,
    /// What was published, in nanoseconds, by row.
    pub published: &'static [(&'static str, f64)],
}

/// Where an engine is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Home {
    /// In this program.
    Own,
    /// In `rivals/rust-kv`, a workspace of its own.
    Rust,
    /// In `rivals/go-kv`, a Go module.
    Go,
}

/// Where the published figures come from.
pub const SOURCE: &str = "one million entries, no sync, one thread; Zen 4, 2 cores, 2026-11";
/// Where the rivals' sources are.
pub const RIVALS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/rivals");
/// The engine that lives in memory.
pub const MEMORY: &str = "liteio-memory";

const PUT: &str = "Put";
const GET: &str = "Get at random";
const SCAN: &str = "Scan 1,000 in order";
const THOUSAND: &str = "1,000 a transaction, not synced";

/// All of them, in the order of reports.
pub static ENGINES: [Entry; 18] = [
    Entry {
        name: "liteio",
        home: Home::Own,
        durability: "not synced: the kernel has the log; synced: the log is synced, once for all \
                     puts that wait",
        published: &[],
    },
    Entry { name: MEMORY, home: Home::Own, durability: "nothing is on disk", published: &[] },
    Entry {
        name: "redb",
        home: Home::Own,
        durability: "not synced: in its own memory only; synced: Durability::Immediate",
        published: &[(PUT, 13_400.0), (GET, 1_600.0), (SCAN, 28_000.0), (THOUSAND, 5_800.0)],
    },
    Entry {
        name: "fjall",
        home: Home::Rust,
        durability: "not synced: the kernel has the journal; synced: PersistMode::SyncAll",
        published: &[(PUT, 3_240.0), (GET, 4_080.0), (SCAN, 284_000.0)],
    },
    Entry {
        name: "lmdb",
        home: Home::Rust,
        durability: "not synced: NOSYNC and WRITEMAP, the kernel has the pages; synced: its default",
        published: &[(PUT, 2_060.0), (GET, 1_260.0), (SCAN, 48_000.0), (THOUSAND, 1_607.0)],
    },
    Entry {
        name: "rocksdb",
        home: Home::Rust,
        durability: "not synced: the kernel has the log; synced: WriteOptions::sync",
        published: &[(PUT, 6_330.0), (GET, 5_690.0)],
    },
    Entry {
        name: "sled",
        home: Home::Rust,
        durability: "not synced: in its own memory, flushed twice a second; synced: flush() after \
                     each",
        published: &[(PUT, 9_120.0), (GET, 2_970.0)],
    },
    Entry {
        name: "sqlite",
        home: Home::Rust,
        durability: "not synced: WAL with synchronous=OFF; synced: WAL with synchronous=FULL",
        published: &[(GET, 3_560.0), (THOUSAND, 10_900.0)],
    },
    Entry {
        name: "pogreb",
        home: Home::Go,
        durability: "not synced: the kernel has the log; synced: Sync() after each",
        published: &[(PUT, 4_370.0), (GET, 784.0)],
    },
    Entry {
        name: "bbolt",
        home: Home::Go,
        durability: "not synced: NoSync, the kernel has the pages; synced: its default",
        published: &[(PUT, 26_300.0), (GET, 1_940.0), (SCAN, 28_000.0)],
    },
    Entry {
        name: "badger",
        home: Home::Go,
        durability: "not synced: the log is mapped memory; synced: SyncWrites",
        published: &[(PUT, 9_090.0), (GET, 6_940.0), (SCAN, 697_000.0)],
    },
    Entry {
        name: "buntdb",
        home: Home::Go,
        durability: "not synced: SyncPolicy Never, the kernel has the log; synced: Always",
        published: &[(PUT, 5_860.0), (GET, 3_120.0)],
    },
    Entry {
        name: "flydb",
        home: Home::Go,
        durability: "not synced: the kernel has the log; synced: SyncWrite",
        published: &[(PUT, 1_320.0), (GET, 2_110.0)],
    },
    Entry {
        name: "goleveldb",
        home: Home::Go,
        durability: "not synced: the kernel has the log; synced: WriteOptions.Sync",
        published: &[(PUT, 3_456.0), (GET, 6_900.0)],
    },
    Entry {
        name: "lotusdb",
        home: Home::Go,
        durability: "not synced: the kernel has the log; synced: WriteOptions.Sync (its Options.Sync \
                     syncs nothing)",
        published: &[(PUT, 5_480.0), (GET, 8_640.0)],
    },
    Entry {
        name: "nutsdb",
        home: Home::Go,
        durability: "not synced: the kernel has the log; synced: SyncEnable",
        published: &[(PUT, 6_980.0), (GET, 2_790.0)],
    },
    Entry {
        name: "pebble",
        home: Home::Go,
        durability: "not synced: the log is on its way to the kernel; synced: pebble.Sync",
        published: &[(PUT, 1_770.0), (GET, 15_900.0), (SCAN, 177_000.0)],
    },
    Entry {
        name: "rosedb",
        home: Home::Go,
        durability: "not synced: the kernel has the log; synced: BatchOptions.Sync (its Options.Sync \
                     syncs nothing)",
        published: &[(PUT, 4_730.0), (GET, 12_000.0)],
    },
];

impl Entry {
    /// The engine of this name.
    pub fn named(name: &str) -> Option<&'static Entry> {
        ENGINES.iter().find(|entry| entry.name == name)
    }

    /// What an acknowledged put survives.
    pub fn durability(&self) -> Durability {
        let level = if self.name == MEMORY { Level::Memory } else { Level::ByRow };
        Durability::new(level, self.durability)
    }

    /// What was published for a row.
    pub fn published(&self, row: &str) -> Option<Published> {
        let (_, value) = self.published.iter().find(|(name, _)| *name == row)?;
        Some(Published { value: *value, source: SOURCE.to_owned() })
    }

    /// Its program, built if need be.
    ///
    /// # Errors
    /// Why there is none, in words for the report.
    pub(super) fn program(&self, own: &Program, sources: &Path) -> Result<Program, String> {
        match self.home {
            Home::Own => Ok(own.clone()),
            Home::Rust => build_rust(self.name, &sources.join("rust-kv"), &built_place(own)),
            Home::Go => build_go(self.name, &sources.join("go-kv"), &built_place(own)),
        }
    }
}

/// Beside this program, where everything else that was built lies, too.
fn built_place(own: &Program) -> PathBuf {
    own.path.parent().unwrap_or(Path::new(".")).join("rivals")
}

fn build_rust(name: &str, sources: &Path, place: &Path) -> Result<Program, String> {
    let mut cargo = Command::new(tool("cargo")?);
    let binary = format!("kv-{name}");
    // Not `--locked`: the lock file has the engines, which do not change with what this crate needs
    // beside them.
    cargo
        .args(["build", "--release", "--no-default-features"])
        .args(["--features", name, "--bin", &binary, "--target-dir"])
        .arg(place.join("rust-kv"));
    build(cargo, sources)?;
    let path = place.join("rust-kv/release").join(binary);
    Ok(Program { path, arguments: Vec::new() })
}

fn build_go(name: &str, sources: &Path, place: &Path) -> Result<Program, String> {
    let mut go = Command::new(tool("go")?);
    let path = place.join(format!("go-kv/kv-{name}"));
    go.arg("build").arg("-o").arg(&path).arg(".");
    build(go, &sources.join(name))?;
    Ok(Program { path, arguments: Vec::new() })
}

fn tool(name: &str) -> Result<PathBuf, String> {
    find_program(name).ok_or_else(|| format!("not built: {name} is not on PATH"))
}

fn build(mut command: Command, sources: &Path) -> Result<(), String> {
    if !sources.is_dir() {
        return Err("not built: its sources are not there".to_owned());
    }
    let output = command.current_dir(sources).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("not built: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let first = lines.iter().position(|line| line.starts_with("error"));
    let shown = first.map_or(&lines[lines.len().saturating_sub(2)..], |place| &lines[place..]);
    let reason: String = shown.join(" / ").chars().take(200).collect();
    Err(format!("not built: {reason}"))
}
