//! The command line of `liteio import`.

use std::fmt;
use std::path::PathBuf;

use clap::{Args, Subcommand};

/// The subcommand of `liteio import`.
#[derive(Clone, Debug, Subcommand)]
pub enum ImportCommand {
    /// The files of a directory: every directory in it becomes a bucket, the files below it its objects. Times are
    /// kept, and content types follow from the extensions.
    Fs(ImportFsArgs),
    /// The drive of a MinIO that has only this one, and does not run: buckets with their settings, all versions and
    /// delete markers, metadata, tags and locks.
    Minio(ImportMinioArgs),
    /// The buckets of any service that speaks S3, with their settings, all versions and delete markers, metadata, tags
    /// and locks.
    S3(ImportS3Args),
}

/// The place that everything is imported into.
#[derive(Args, Clone, Debug, Default)]
pub struct ImportTargetArgs {
    /// The data directory, created if missing [default: ./data].
    #[arg(long, value_name = "DIR", env = "LITEIO_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
    /// The access key that the server will be started with: its account owns new buckets [default: the owner
    /// of those that are there, or liteio].
    #[arg(long, value_name = "ACCESS_KEY", env = "LITEIO_ACCESS_KEY")]
    pub owner: Option<String>,
    /// Put objects in place of those that are there with another content; without it, these are left and named.
    #[arg(long)]
    pub overwrite: bool,
}

/// The arguments of `liteio import minio`.
#[derive(Args, Clone, Debug)]
pub struct ImportMinioArgs {
    /// The directory that MinIO was started with.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    #[command(flatten)]
    /// The destination.
    pub target: ImportTargetArgs,
}

/// The arguments of `liteio import s3`.
#[derive(Args, Clone)]
pub struct ImportS3Args {
    /// http(s)://HOST[:PORT], all buckets of the user; with /BUCKET or /BUCKET/PREFIX, that part alone.
    #[arg(value_name = "URL")]
    pub url: String,
    /// Access key of the service; without one, requests are anonymous.
    #[arg(long, value_name = "KEY", env = "AWS_ACCESS_KEY_ID")]
    pub access_key: Option<String>,
    /// Secret key of the service. Better as a variable than in the list of processes.
    #[arg(long, value_name = "SECRET", env = "AWS_SECRET_ACCESS_KEY", hide_env_values = true)]
    pub secret_key: Option<String>,
    /// Token of a session of the service.
    #[arg(long, value_name = "TOKEN", env = "AWS_SESSION_TOKEN", hide_env_values = true)]
    pub(crate) session_token: Option<String>,
    /// Region of the service [default: us-east-1].
    #[arg(long, value_name = "REGION", env = "AWS_REGION")]
    pub region: Option<String>,
    #[command(flatten)]
    /// The destination.
    pub target: ImportTargetArgs,
}

// Never shows a secret.
impl fmt::Debug for ImportS3Args {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ImportS3Args")
            .field("url", &self.url)
            .field("access_key", &self.access_key)
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

/// The arguments of `liteio import fs`.
#[derive(Args, Clone, Debug)]
pub struct ImportFsArgs {
    /// The directory. Links that lead out of it are not followed.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Import the whole directory as this bucket.
    #[arg(long, value_name = "NAME")]
    pub bucket: Option<String>,
    #[command(flatten)]
    /// The destination.
    pub target: ImportTargetArgs,
}
