//! `liteio-bench`: which store is how fast on this machine.

mod cli;

use std::path::Path;
use std::process::ExitCode;

use clap::Parser as _;
use liteio_bench::error::BenchError;
use liteio_bench::{report, s3};

use crate::cli::{Cli, Command};

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
            let time = report.started.replace([' ', ':'], "-").replace("-UTC", "");
            let name = arguments.name.unwrap_or_else(|| format!("s3-{time}"));
            let paths = report::save(&report, &arguments.output, &name)?;
            print!("{}", report::markdown(&report));
            for path in paths {
                eprintln!("{}", path.display());
            }
            Ok(())
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
