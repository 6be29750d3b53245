//! Benchmarks of LiteIO beside its rivals and beside the limits of the machine.
//!
//! A benchmark measures **targets** (servers, engines) in **rows** (operations). It runs each row
//! in rounds, interleaved between the targets, and puts the results into a [`report::Report`]: rows
//! × targets × metrics with units, the durability of every target, notes, and published figures
//! beside measured ones. The report is written as Markdown, JSON, CSV and one HTML page.
//!
//! ```text
//! main, cli ──► s3, kv, vector, limits ──► run ──► report
//!                  └──► client, worker ──►─┘
//! ```
//!
//! | Module | Content |
//! |---|---|
//! | `s3`, `kv`, `vector`, `limits` | the benchmarks: their rows, targets and work; `s3/rival.rs`, `kv/roster.rs` and `vector/roster.rs` are the tables of rivals |
//! | `run` | the run loop of all benchmarks: every subject does every job in interleaved rounds; options, filters, progress, interruption |
//! | `report` | the report and its formats, winners, comparison of two reports |
//! | `client` | the HTTP client for S3 and S3 Vectors: connections, signer, bodies, concurrent clients |
//! | `worker` | engines in processes of their own: built, given tasks, killed, measured |
//! | `process` | programs in process groups of their own, and their usage from `/proc` |
//! | `samples`, `histogram`, `statistics` | percentiles, medians, ratios, significance |
//! | `machine`, `busy`, `random`, `counting_allocator` | the machine, its use by others, SplitMix64, allocations |
//!
//! The benchmarks must not know the inside of a server. Only `tests/` start one in their own
//! process. Nothing depends on this crate.
//!
//! ```
//! use liteio_bench::report::{Better, Cell, Durability, Metric, Report, Row, Target, Unit};
//!
//! let mut report = Report::new("Puts");
//! report.metrics.push(Metric::new("time", "Time per put", Unit::Nanoseconds, Better::Lower));
//! for (target, rounds) in [("ours", [850.0, 870.0]), ("theirs", [1700.0, 1740.0])] {
//!     report.targets.push(Target::new(target, Durability::unknown("not stated")));
//!     report.row("Write", "put", "time").cells.insert(target.to_owned(), Cell::of("time", &rounds));
//! }
//! report.baseline = Some("theirs".to_owned());
//! let row: &Row = &report.rows[0];
//! assert_eq!(report.ratio(row, "ours").map(|ratio| ratio.median), Some(2.0));
//! assert!(liteio_bench::report::markdown(&report).contains("860 ns"));
//! ```

pub mod counting_allocator;
pub mod error;
pub mod kv;
pub mod limits;
pub mod report;
pub mod s3;
pub mod vector;
pub mod worker;

pub use client::PayloadMode;
pub use run::{RowTime, RunOptions};

mod busy;
mod client;
mod histogram;
mod machine;
mod process;
mod random;
mod run;
mod samples;
mod statistics;
