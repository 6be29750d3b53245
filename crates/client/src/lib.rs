//! The command line client of LiteIO: the everyday verbs of MinIO's `mc` over any S3.
//!
//! [`run`] is the command. It reads arguments and environment, prints to standard output, and returns
//! the exit code. Nothing here knows the server.
//!
//! From the bottom to the top: `error`, `text` (sizes, durations, times, patterns), `s3` (the protocol),
//! `local` (files), `session` (settings and output), `target` (the names on the command line), `transfer`
//! (bytes from one place to another), `verbs` (one file each), `cli` (the arguments).

mod cli;
mod error;
mod local;
mod s3;
mod session;
mod source;
mod target;
mod text;
mod transfer;
mod verbs;

pub use local::content_type;
pub use source::{Source, SourceEntry, SourceError, SourceKeys, SourceListing, SourceObject};

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the client with these arguments, the program's name first: that name is what its help calls it.
///
/// Exit codes are those of `mc`: 0, 1 for any failure, 130 after an interruption.
///
/// ```
/// let code = liteio_client::run(["mc", "--version"].map(Into::into));
/// assert_eq!(code, std::process::ExitCode::SUCCESS);
/// ```
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    verbs::run(arguments.into_iter().collect())
}
