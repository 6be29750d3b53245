//! `liteio import`: buckets, objects and versions from elsewhere, into a data directory that no server uses.
//!
//! ```text
//! fs, minio, s3   ──►  target  ──►  store: import_version
//! (sources: what     (which versions are missing;
//!  is there)          so an import goes on where it ended)
//! ```
//! A source is only read. What cannot be read is left out, by name and with the reason, and the exit code is 1.

pub mod cli;
mod documents;
mod fs;
mod metadata;
mod minio;
pub mod prepare;
mod regular;
mod s3;
mod stage;
mod tally;
mod target;
pub(crate) mod walk;

use crate::cli::ImportCommand;

/// Runs an import, and prints the skipped items. `Ok(false)` if there were any.
///
/// # Errors
/// The reason why the import ended early, in one line.
pub fn run(command: &ImportCommand) -> Result<bool, String> {
    match command {
        ImportCommand::Fs(arguments) => fs::run(arguments),
        ImportCommand::Minio(arguments) => minio::run(arguments),
        ImportCommand::S3(arguments) => s3::run(arguments),
    }
}
