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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The words of a line as a shell parts them. Quotation marks and comments are all that the documents use.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quoted = false;
        for character in line.chars() {
            match character {
                '"' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                '#' | '|' | '`' if !quoted => break,
                _ => words.last_mut().expect("one at least").push(character),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    #[test]
    fn commands_in_documents_parse() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut commands = 0;
        for document in ["README.md", "CONTRIBUTING.md", "docs/benchmarks.md"] {
            let text = std::fs::read_to_string(root.join(document)).expect("the document");
            for line in text.replace("\\\n", " ").lines() {
                // With its directory, or else at the start of a line: elsewhere it is only spoken of.
                let command = line.split_once("target/release/liteio-bench ").map(|(_, rest)| rest);
                let Some(arguments) = command.or_else(|| line.strip_prefix("liteio-bench ")) else {
                    continue;
                };
                let arguments = words(arguments);
                commands += 1;
                Cli::try_parse_from(["liteio-bench".to_owned()].into_iter().chain(arguments))
                    .unwrap_or_else(|error| panic!("{document}: {line}\n{error}"));
            }
        }
        assert!(commands > 15, "the documents name commands: found {commands}");
    }
}
