//! The command line. The options of a benchmark are its own; they stay raw until it resolves them.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use liteio_bench::{kv, limits, s3, vector};

/// Measures LiteIO and its rivals on this machine.
#[derive(Debug, Parser)]
#[command(name = "liteio-bench", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The benchmarks, and the uses of their reports.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// S3 servers: LiteIO, rivals that are installed, and any that runs already.
    S3(s3::options::Options),
    /// Key-value engines: LiteIO's own, redb, and rivals that can be built.
    Kv(kv::options::Options),
    /// Vectors: files of them beside Chassis, searching beside others, and S3 Vectors served.
    Vector(vector::options::Options),
    /// LiteIO beside what a file, a socket and a hash can do: speed, start, memory.
    Limits(limits::run::Options),
    /// The process of a key-value engine; the task is JSON.
    #[command(hide = true)]
    KvEngine { task: String },
    /// The process of a vector engine; the task is JSON.
    #[command(hide = true)]
    VectorEngine { task: String },
    /// Changes between two reports, and the chance that each is noise.
    Compare {
        /// The JSON of the earlier report.
        #[arg(value_name = "BEFORE.json")]
        before: PathBuf,
        /// The JSON of the later report.
        #[arg(value_name = "AFTER.json")]
        after: PathBuf,
    },
    /// Writes the other formats of a report again from its JSON.
    Render {
        /// The JSON of a report.
        #[arg(value_name = "REPORT.json")]
        report: PathBuf,
        /// Compare with this target instead.
        #[arg(long, value_name = "NAME")]
        baseline: Option<String>,
        /// Write the report here [default: beside the JSON].
        #[arg(long, value_name = "DIR")]
        output: Option<PathBuf>,
    },
}
