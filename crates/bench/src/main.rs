//! `liteio-bench`: the speed of stores on this machine.

mod cli;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;
use liteio_bench::counting_allocator::CountingAllocator;
use liteio_bench::error::BenchError;
use liteio_bench::report::Report;
use liteio_bench::{RunOptions, kv, limits, report, s3, vector};

use crate::cli::{Cli, Command};

/// Allocations are part of the cost of key-value engines.
#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("liteio-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<(), BenchError> {
    match command {
        Command::S3(options) => show(&s3::run::run(&options)?, "s3", &options.run),
        Command::Kv(options) => show(&kv::run::run(&options)?, "kv", &options.run),
        Command::Vector(options) => show(&vector::run::run(&options)?, "vector", &options.run),
        Command::Limits(options) => show(&limits::run::run(&options)?, "limits", &options.run),
        Command::VectorEngine { task } => Ok(vector::run_own(&task)?),
        Command::KvEngine { task } => Ok(kv::run_own(&task)?),
        Command::Render { report: path, baseline, output } => {
            let mut report = report::load(&path)?;
            if let Some(baseline) = baseline {
                if report.target(&baseline).is_none() {
                    return Err(BenchError::Usage(format!("no target is called {baseline}")));
                }
                report.baseline = Some(baseline);
            }
            let beside = path.parent().unwrap_or(Path::new("."));
            let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or("report");
            for path in report::save(&report, output.as_deref().unwrap_or(beside), name)? {
                eprintln!("{}", path.display());
            }
            Ok(())
        }
        Command::Compare { before, after } => {
            let (before, after) = (report::load(&before)?, report::load(&after)?);
            print!("{}", report::comparison_markdown(&report::compare(&before, &after)));
            Ok(())
        }
    }
}

/// Saves a report, prints it, and says where it is.
fn show(report: &Report, kind: &str, options: &RunOptions) -> Result<(), BenchError> {
    let time = report.started.replace([' ', ':'], "-").replace("-UTC", "");
    let name = options.name.clone().unwrap_or_else(|| format!("{kind}-{time}"));
    let paths = report::save(report, &options.output, &name)?;
    print!("{}", report::markdown(report));
    for path in paths {
        eprintln!("{}", path.display());
    }
    Ok(())
}
