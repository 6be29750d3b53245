//! The options that every benchmark has.

use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::RowFilter;
use crate::error::BenchError;
use crate::process::Launch;

/// The options of every benchmark.
#[derive(Args, Clone, Debug)]
pub struct RunOptions {
    /// Less of everything: some minutes.
    #[arg(long)]
    pub quick: bool,
    /// Only rows whose name or group contains this, such as "read" or "1 KB". Repeatable.
    #[arg(long, value_name = "TEXT")]
    pub filter: Vec<String>,
    /// Measure every row so often at every target.
    #[arg(long, value_name = "N", default_value = "3")]
    pub rounds: NonZero<usize>,
    /// Keep data here meanwhile: on the disk to be measured.
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub data: PathBuf,
    /// Write the report here.
    #[arg(long, value_name = "DIR", default_value = "bench-results")]
    pub output: PathBuf,
    /// The name of the report's files [default: the benchmark and the time].
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// The program that has our own engines [default: this one].
    #[arg(long, hide = true)]
    pub own_program: Option<PathBuf>,
    /// The sources of the rivals.
    #[arg(long, hide = true, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/rivals"))]
    pub rivals: PathBuf,
}

/// The time of a row.
#[derive(Args, Clone, Copy, Debug)]
pub struct RowTime {
    /// Milliseconds of a row at a target in a round [default: 1000, quick: 300].
    #[arg(long, value_name = "MS")]
    pub time: Option<NonZero<u64>>,
}

impl RunOptions {
    pub(crate) fn row_filter(&self) -> RowFilter {
        RowFilter::new(&self.filter)
    }

    /// The time of a row.
    pub(crate) fn time(&self, given: RowTime) -> Duration {
        let default = if self.quick { 300 } else { 1000 };
        Duration::from_millis(given.time.map_or(default, NonZero::get))
    }

    /// The program with our own engines, as the process of one.
    pub(crate) fn own_engine(&self, command: &str) -> Result<Launch, BenchError> {
        let program = self.own_program.clone().map_or_else(std::env::current_exe, Ok)?;
        Ok(Launch::new(program).arguments([command]))
    }
}
