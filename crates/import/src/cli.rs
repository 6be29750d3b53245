//! The command line of `liteio import`.

use std::fmt;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

/// The subcommand of `liteio import`.
#[derive(Clone, Debug, Subcommand)]
pub enum ImportCommand {
    /// Import a directory: each subdirectory becomes a bucket, the files below it its objects.
    /// Modification times are kept; content types follow from the file extensions.
    Fs(ImportFsArgs),
    /// Import the drive of a stopped single-drive MinIO: buckets with their settings, all versions
    /// and delete markers, metadata, tags and locks.
    Minio(ImportMinioArgs),
    /// Import the buckets of any S3 service, with their settings, all versions and delete markers,
    /// metadata, tags and locks.
    S3(ImportS3Args),
}

impl ImportCommand {
    /// The data directory, if it is given.
    pub fn data_dir(&self) -> Option<&Path> {
        let target = match self {
            ImportCommand::Fs(arguments) => &arguments.target,
            ImportCommand::Minio(arguments) => &arguments.target,
            ImportCommand::S3(arguments) => &arguments.target,
        };
        target.data_dir.as_deref()
    }
}

/// The destination of an import.
#[derive(Args, Clone, Debug, Default)]
pub struct ImportTargetArgs {
    /// Data directory, created if missing [default: ./data].
    #[arg(long, value_name = "DIR", env = "LITEIO_DATA_DIR")]
    pub data_dir: Option<PathBuf>,
    /// Access key that the server will be started with; its account owns new buckets [default: the
    /// owner of the existing buckets, or liteio].
    #[arg(long, value_name = "ACCESS_KEY", env = "LITEIO_ACCESS_KEY")]
    pub owner: Option<String>,
    /// Replace existing objects whose content differs; without it, they are skipped and listed.
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    /// The keys that the server will be started with: objects that are encrypted in the source are encrypted again.
    pub keys: KeyArgs,
    /// Without a master key, store objects that are encrypted in the source as plain ones: as the bucket encrypts by
    /// default, or without encryption.
    #[arg(long)]
    pub decrypt: bool,
}

/// The raw settings of the encryption keys of a data directory.
#[derive(Args, Clone, Default)]
pub struct KeyArgs {
    /// File with the master key of SSE-S3, created by `liteio key new`.
    #[arg(long, value_name = "FILE", env = "LITEIO_MASTER_KEY_FILE")]
    pub master_key_file: Option<PathBuf>,
    /// Master key of SSE-S3, 32 bytes in base64, followed by former keys, separated by commas.
    /// Prefer the variable: arguments are visible in the process list.
    #[arg(long, value_name = "KEY", env = "LITEIO_MASTER_KEY", hide_env_values = true)]
    pub master_key: Option<String>,
    /// TOML file with the named keys of SSE-KMS, created by `liteio key new --name`.
    #[arg(long, value_name = "FILE", env = "LITEIO_KMS_KEY_FILE")]
    pub kms_key_file: Option<PathBuf>,
}

// Written by hand so that the key material never appears in a log.
impl fmt::Debug for KeyArgs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("KeyArgs")
            .field("master_key_file", &self.master_key_file)
            .field("kms_key_file", &self.kms_key_file)
            .finish_non_exhaustive()
    }
}

/// The key of a MinIO's KMS, which a new server can go on using.
#[derive(Args, Clone, Default)]
pub struct MinioKmsArgs {
    /// Key of MinIO's KMS, NAME:KEY with 32 bytes in base64, which reads encrypted objects of a drive. Without a master
    /// key it encrypts them here, too.
    #[arg(long, value_name = "NAME:KEY", env = "MINIO_KMS_SECRET_KEY", hide_env_values = true)]
    pub kms_secret_key: Option<String>,
    /// File with that key, also below /run/secrets/.
    #[arg(long, value_name = "FILE", env = "MINIO_KMS_SECRET_KEY_FILE")]
    pub kms_secret_key_file: Option<PathBuf>,
}

impl MinioKmsArgs {
    /// The key as NAME:KEY, if one is given. Empty variables count as unset.
    ///
    /// # Errors
    /// One line: the file cannot be read.
    pub(crate) fn text(&self) -> Result<Option<String>, String> {
        if let Some(text) = self.kms_secret_key.as_ref().filter(|text| !text.is_empty()) {
            return Ok(Some(text.clone()));
        }
        let file = self.kms_secret_key_file.as_deref();
        let text = file
            .filter(|path| !path.as_os_str().is_empty())
            .map(liteio_wire::private_file::read_mounted_secret);
        text.transpose().map_err(|reason| {
            format!("--kms-secret-key-file (MINIO_KMS_SECRET_KEY_FILE): {reason}")
        })
    }
}

// Written by hand so that the key never appears in a log.
impl fmt::Debug for MinioKmsArgs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("MinioKmsArgs")
            .field("kms_secret_key_file", &self.kms_secret_key_file)
            .finish_non_exhaustive()
    }
}

/// The arguments of `liteio import minio`.
#[derive(Args, Clone)]
pub struct ImportMinioArgs {
    /// Data directory of MinIO.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Access key of MinIO's root user. With the password, users, groups, policies and service
    /// accounts are imported, too.
    #[arg(long, value_name = "ACCESS_KEY", env = "MINIO_ROOT_USER")]
    pub root_user: Option<String>,
    /// Password of MinIO's root user. Prefer the variable: arguments are visible in the process
    /// list.
    #[arg(long, value_name = "SECRET", env = "MINIO_ROOT_PASSWORD", hide_env_values = true)]
    pub root_password: Option<String>,
    #[command(flatten)]
    /// The key that reads encrypted objects.
    pub kms: MinioKmsArgs,
    #[command(flatten)]
    /// The destination.
    pub target: ImportTargetArgs,
}

// Written by hand so that the secrets never appear in a log.
impl fmt::Debug for ImportMinioArgs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ImportMinioArgs")
            .field("directory", &self.directory)
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

/// The arguments of `liteio import s3`.
#[derive(Args, Clone)]
pub struct ImportS3Args {
    /// http(s)://HOST or http(s)://HOST:PORT imports all buckets of the user; with /BUCKET or /BUCKET/PREFIX, only
    /// that part.
    #[arg(value_name = "URL")]
    pub url: String,
    /// Access key of the service; without it, requests are anonymous.
    #[arg(long, value_name = "KEY", env = "AWS_ACCESS_KEY_ID")]
    pub access_key: Option<String>,
    /// Secret key of the service. Prefer the variable: arguments are visible in the process list.
    #[arg(long, value_name = "SECRET", env = "AWS_SECRET_ACCESS_KEY", hide_env_values = true)]
    pub secret_key: Option<String>,
    /// Session token of the service.
    #[arg(long, value_name = "TOKEN", env = "AWS_SESSION_TOKEN", hide_env_values = true)]
    pub(crate) session_token: Option<String>,
    /// Region of the service [default: us-east-1].
    #[arg(long, value_name = "REGION", env = "AWS_REGION")]
    pub region: Option<String>,
    #[command(flatten)]
    /// The key of a service that is a MinIO.
    pub kms: MinioKmsArgs,
    #[command(flatten)]
    /// The destination.
    pub target: ImportTargetArgs,
}

// Written by hand so that the secrets never appear in a log.
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
    /// Directory to import. Symbolic links that lead out of it are not followed.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Import the whole directory as this bucket.
    #[arg(long, value_name = "NAME")]
    pub bucket: Option<String>,
    #[command(flatten)]
    /// The destination.
    pub target: ImportTargetArgs,
}
