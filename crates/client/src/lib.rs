//! The command line client of LiteIO: the everyday verbs of MinIO's `mc` over any S3.
//!
//! [`run`] is the command. It reads arguments and environment, prints to standard output, and
//! returns the exit code. [`Source`] reads a whole service for imports, and [`BucketClient`] keeps
//! objects of other programs in a bucket. A verb names its targets as aliases or paths, asks for a
//! transfer between two of them, and the transfer uses the protocol and the local files:
//!
//! ```text
//! verbs ──► transfer ──► target ──► session ──► s3
//!                 └────► local
//! ```
//!
//! | Module | Content |
//! |---|---|
//! | `cli` | the arguments: every option once |
//! | `aws` | the command lines of the AWS CLI that startup scripts use: `s3`, and settings of buckets by `s3api` |
//! | `verbs` | the verbs, one file each; `merge` compares two listings, `canned` has MinIO's anonymous permissions |
//! | `transfer` | uploads in parts, downloads, copies by the service or through this machine; listings of services and directories |
//! | `target` | the names on the command line |
//! | `session` | options, aliases in the file of `mc`, output, progress, uploads to abort |
//! | `local` | files: their names below a directory, walks in the order of keys, atomic writes |
//! | `s3` | the protocol: addresses, Signature Version 4, time limits and repetitions, verified downloads, one file for each family of operations |
//! | `bucket` | [`BucketClient`] |
//! | `call` | [`BucketCall`]: any request to it, also with a body that another task feeds |
//! | `source` | [`Source`] |
//! | `keys` | [`ServiceKeys`] of both, which also sign a POST to another service of AWS |
//! | [`scraper`] | bearer tokens of scrapers, for both sides |
//! | [`sealed`] | bodies of MinIO's admin API that are encrypted with a secret key, for both sides |
//! | `error`, `text` | the error type, with remedies; sizes, durations, times and patterns as users write them |
//!
//! The client must not know any other crate of this workspace: it talks to every service over HTTP.

mod aws;
mod bucket;
mod call;
mod cli;
mod error;
mod keys;
mod local;
mod s3;
pub mod scraper;
pub mod sealed;
mod session;
mod source;
mod target;
mod text;
mod transfer;
mod verbs;

pub use bucket::{BucketClient, BucketError, BucketListing, BucketObject};
pub use call::{
    BucketAnswer, BucketCall, CallBody, CallError, escaped_xml, md5_base64, tags_header,
};
pub use keys::ServiceKeys;
pub use local::content_type;
pub use s3::PostToSign;
pub use source::{Source, SourceEntry, SourceError, SourceListing, SourceObject, WrongKey};
pub use text::parse_duration;

use std::ffi::OsString;
use std::process::ExitCode;

/// The command line of the client, as `client`: for completions and man pages.
pub fn command() -> clap::Command {
    verbs::command()
}

/// Runs the client with these arguments. The first one is the name of the program, which its help
/// shows.
///
/// The exit codes are the ones of `mc`: 0, 1 for any failure, 130 after an interruption.
///
/// ```
/// let code = liteio_client::run(["mc", "--version"].map(Into::into));
/// assert_eq!(code, std::process::ExitCode::SUCCESS);
/// ```
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    verbs::run(arguments.into_iter().collect())
}

/// Runs `aws` or `awslocal` with these arguments, of which the first is the name of the program: what startup
/// scripts use of the AWS CLI for S3. Anything else is refused by name, with exit code 252, which the AWS
/// CLI has for a command line that it does not understand.
pub fn run_aws(arguments: &[OsString]) -> ExitCode {
    aws::run(arguments)
}
