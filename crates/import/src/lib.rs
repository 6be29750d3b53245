//! `liteio import`: buckets, objects and versions of other stores, into a data directory that no server uses.
//!
//! ```text
//! fs, minio, s3 (sources) ──► target: which versions are missing? ──► store: import_version
//! prepare ──► store: buckets and objects that exist before the first request
//! ```
//!
//! A source is only read. The target compares versions, so an interrupted import continues where it ended.
//! Unreadable objects are skipped and listed with the reason, and the exit code is 1.
//!
//! | Module | Content |
//! |---|---|
//! | [`cli`] | The arguments |
//! | `fs`, `walk`, `regular` | Files of a directory as buckets and keys; safe opening of files in a source that may hold anything |
//! | `minio` | The drive of a MinIO: `xl_meta` (versions), `bitrot` (checksums), `drive`, `bucket`, `object`, `iam` (users), `kms`, `sse` (encrypted objects), `s2` (compressed ones) |
//! | [`volume`] | The same drive, taken over by a server in its place |
//! | `s3` | Any service that speaks S3, over `liteio_client::Source` |
//! | `documents`, `metadata` | Settings of buckets and metadata of objects as other stores keep them |
//! | `same` | The comparison of documents in another order |
//! | `target`, `plan`, `stage`, `tally`, `failure` | The data directory, and the versions that it lacks, on several threads; bodies of any length; progress and skipped objects |
//! | `seal` | The encryption of what was encrypted in the source |
//! | [`prepare`] | Buckets, canned policies and seed data of a starting server, and their [settings](prepare::settings) |
//!
//! The crate must not know a running server. Names of buckets are resolved here without a decision, because there
//! are no requests.
//!
//! ```
//! use liteio_import::prepare::settings::{InitialBucket, PublicAccess};
//!
//! let bucket: InitialBucket = "photos:download:versioned".parse()?;
//! assert_eq!(bucket.name().as_str(), "photos");
//! assert_eq!(bucket.access(), PublicAccess::Download);
//! assert!(bucket.is_versioned());
//! # Ok::<(), liteio_wire::settings::ConfigError>(())
//! ```

pub mod cli;
mod documents;
mod failure;
mod fs;
mod metadata;
mod minio;
mod plan;
pub mod prepare;
mod regular;
mod s3;
mod same;
mod seal;
mod stage;
mod tally;
mod target;
pub(crate) mod walk;

pub use self::minio::volume;

use liteio_store::KeyRing;

use crate::cli::{ImportCommand, KeyArgs};

/// Runs an import, and prints the skipped items. `Ok(false)` if there were any. `keys` loads the keys
/// of the data directory.
///
/// # Errors
/// The reason why the import ended early, in one line.
pub fn run(
    command: &ImportCommand,
    keys: impl FnOnce(&KeyArgs) -> Result<KeyRing, String>,
) -> Result<bool, String> {
    match command {
        ImportCommand::Fs(arguments) => fs::run(arguments, keys(&arguments.target.keys)?),
        ImportCommand::Minio(arguments) => {
            minio::run(arguments, keys(&minio::keys(&arguments.target, &arguments.kms)?)?)
        }
        ImportCommand::S3(arguments) => {
            let of_target = minio::keys(&arguments.target, &arguments.kms)?;
            let is_kept = of_target.master_key != arguments.target.keys.master_key;
            s3::run(arguments, keys(&of_target)?, is_kept)
        }
    }
}
