//! The command line: every option once. The values stay raw; each benchmark resolves its own.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Measures LiteIO and its rivals on this machine.
#[derive(Debug, Parser)]
#[command(name = "liteio-bench", version)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to measure.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// What changed between two reports, and whether it is more than noise.
    Compare(CompareArguments),
}

#[derive(Args, Debug)]
pub(crate) struct CompareArguments {
    /// The JSON of the earlier report.
    #[arg(value_name = "BEFORE.json")]
    pub(crate) before: PathBuf,
    /// The JSON of the later report.
    #[arg(value_name = "AFTER.json")]
    pub(crate) after: PathBuf,
}
