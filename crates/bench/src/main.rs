//! `liteio-bench`: which store is how fast on this machine.

mod cli;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;
use liteio_bench::counting_allocator::CountingAllocator;
use liteio_bench::error::BenchError;
use liteio_bench::report::Report;
use liteio_bench::{kv, report, s3, vector};

use crate::cli::{Cli, Command};

/// Allocations of key-value engines are part of what they cost.
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
        Command::S3(arguments) => {
            let report = s3::run::run(&arguments.options()?)?;
            show(&report, "s3", &arguments.output, arguments.name)
        }
        Command::Kv(arguments) => {
            let report = kv::run::run(&arguments.options()?)?;
            show(&report, "kv", &arguments.output, arguments.name)
        }
        Command::Vector(arguments) => {
            let report = vector::run::run(&arguments.options()?)?;
            show(&report, "vector", &arguments.output, arguments.name)
        }
        Command::VectorEngine(arguments) => {
            Ok(vector::worker::run(&vector::roster::OWN, &arguments.task)?)
        }
        Command::KvEngine(arguments) => {
            Ok(kv::worker::run(&[kv::LITEIO, kv::LITEIO_MEMORY, kv::REDB], &arguments.task)?)
        }
        Command::Render(arguments) => {
            let mut report = report::load(&arguments.report)?;
            if let Some(baseline) = arguments.baseline {
                if report.target(&baseline).is_none() {
                    return Err(BenchError::Usage(format!("no target is called {baseline}")));
                }
                report.baseline = Some(baseline);
            }
            let beside = arguments.report.parent().unwrap_or(Path::new("."));
            let output = arguments.output.as_deref().unwrap_or(beside);
            let name = arguments.report.file_stem().and_then(|name| name.to_str());
            for path in report::save(&report, output, name.unwrap_or("report"))? {
                eprintln!("{}", path.display());
            }
            Ok(())
        }
        Command::Compare(arguments) => {
            let before = report::load(&arguments.before)?;
            let after = report::load(&arguments.after)?;
            print!("{}", report::comparison_markdown(&report::compare(&before, &after)));
            Ok(())
        }
    }
}

/// Saves a report, prints it, and says where it is.
fn show(
    report: &Report,
    kind: &str,
    directory: &Path,
    name: Option<String>,
) -> Result<(), BenchError> {
    let time = report.started.replace([' ', ':'], "-").replace("-UTC", "");
    let name = name.unwrap_or_else(|| format!("{kind}-{time}"));
    let paths = report::save(report, directory, &name)?;
    print!("{}", report::markdown(report));
    for path in paths {
        eprintln!("{}", path.display());
    }
    Ok(())
}
