//! The arguments of the backup: settings of the server, `liteio backup` and `liteio restore`.

use std::fmt;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{KeyArgs, ServerArgs};

/// The raw settings of the continuous backup.
#[derive(Args, Clone, Default)]
pub(crate) struct BackupArgs {
    /// Location of a continuous backup of the data directory: s3://BUCKET/PREFIX or
    /// file:///ABSOLUTE/PATH. `liteio restore` makes a directory of it.
    #[arg(long, value_name = "LOCATION", env = "LITEIO_BACKUP", hide_env_values = true)]
    pub(crate) backup: Option<String>,
    /// File with the key that encrypts the backup, created by `liteio key new`. Nothing can be
    /// restored without it.
    #[arg(long, value_name = "FILE", env = "LITEIO_BACKUP_KEY_FILE")]
    pub(crate) backup_key_file: Option<PathBuf>,
    /// Time between two copies of the changes: about as much is lost with the directory, 100ms to
    /// 1h [default: 1s].
    #[arg(long, value_name = "DURATION", env = "LITEIO_BACKUP_INTERVAL")]
    pub(crate) backup_interval: Option<String>,
    /// Time between two bases, which have everything, at least 1m: changes since the last one are
    /// read by a restore [default: 24h].
    #[arg(long, value_name = "DURATION", env = "LITEIO_BACKUP_BASE_EVERY")]
    pub(crate) backup_base_every: Option<String>,
    /// Every moment of this time can be restored; data that only earlier moments need is removed [default:
    /// 30d].
    #[arg(long, value_name = "DURATION", env = "LITEIO_BACKUP_KEEP")]
    pub(crate) backup_keep: Option<String>,
    /// Number of bases that are kept however old they are, at least 1 [default: 2].
    #[arg(long, value_name = "N", env = "LITEIO_BACKUP_KEEP_BASES")]
    pub(crate) backup_keep_bases: Option<usize>,
    /// Most bytes that are sent in a second, such as 10MiB/s [default: no limit].
    #[arg(long, value_name = "RATE", env = "LITEIO_BACKUP_BANDWIDTH")]
    pub(crate) backup_bandwidth: Option<String>,
    /// Packs of bodies, of 8 MiB each, that are sent at the same time [default: 4].
    #[arg(long, value_name = "N", env = "LITEIO_BACKUP_UPLOADS")]
    pub(crate) backup_uploads: Option<usize>,
    /// Refuse writes if the lease at the backup could not be looked at for this long, 2s to 1h: a
    /// standby that is promoted waits for it, and no acknowledged write is lost to two primaries
    /// [default: no fence; without a value: 10s].
    #[arg(long, value_name = "DURATION", env = "LITEIO_FENCE", num_args = 0..=1,
        require_equals = true, default_missing_value = "10s")]
    pub(crate) fence: Option<String>,
    /// URL of the service of an s3:// location [default: AWS in the region, or
    /// AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL with the keys of AWS's variables].
    #[arg(long, value_name = "URL", env = "LITEIO_BACKUP_ENDPOINT", hide_env_values = true)]
    pub(crate) backup_endpoint: Option<String>,
    /// Region of an s3:// location [default: AWS_REGION, AWS_DEFAULT_REGION].
    #[arg(long, value_name = "REGION", env = "LITEIO_BACKUP_REGION")]
    pub(crate) backup_region: Option<String>,
    /// Access key for an s3:// location [default: AWS_ACCESS_KEY_ID, with AWS_SECRET_ACCESS_KEY and
    /// AWS_SESSION_TOKEN].
    #[arg(long, value_name = "KEY", env = "LITEIO_BACKUP_ACCESS_KEY")]
    pub(crate) backup_access_key: Option<String>,
    /// Secret key for an s3:// location. Prefer the file or the variable: arguments are visible in
    /// the process list.
    #[arg(long, value_name = "SECRET", env = "LITEIO_BACKUP_SECRET_KEY", hide_env_values = true)]
    pub(crate) backup_secret_key: Option<String>,
    /// File with the secret key.
    #[arg(long, value_name = "FILE", env = "LITEIO_BACKUP_SECRET_KEY_FILE")]
    pub(crate) backup_secret_key_file: Option<PathBuf>,
}

// Written by hand so that no secret appears in a log.
impl fmt::Debug for BackupArgs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("BackupArgs")
            .field("backup_key_file", &self.backup_key_file)
            .field("backup_access_key", &self.backup_access_key)
            .finish_non_exhaustive()
    }
}

/// The arguments of `liteio backup`: a subcommand, or the directory of a copy. A word that is a subcommand
/// is one; `./now` is a directory.
#[derive(Args, Clone, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct BackupCommandArgs {
    #[command(subcommand)]
    command: Option<BackupCommand>,
    /// The same as `liteio backup copy DIR`.
    #[arg(value_name = "DIR", required = true)]
    directory: Option<PathBuf>,
    /// The data directory that is copied [default: ./data].
    #[arg(long, short, value_name = "DIR", env = "LITEIO_DATA_DIR")]
    data_dir: Option<PathBuf>,
}

impl BackupCommandArgs {
    /// The subcommand.
    pub(crate) fn command(self) -> BackupCommand {
        let Self { command, directory, data_dir } = self;
        // Without a subcommand there is a directory.
        let directory = directory.unwrap_or_default();
        command.unwrap_or(BackupCommand::Copy(CopyArgs { directory, data_dir }))
    }
}

/// The subcommand of `liteio backup`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum BackupCommand {
    /// List the generations of a backup with their bases, and the moments that can be restored.
    List(BackupTargetArgs),
    /// Show how far a backup reaches, and when its writer last gave a sign; exit code 1 if nothing
    /// can be restored.
    Status(BackupTargetArgs),
    /// Back a data directory up that no server uses: its state once, with every blob that the backup
    /// lacks.
    Now(NowArgs),
    /// Copy a data directory as it is at one moment, also while a server uses it. The next copy into the
    /// same directory moves only the changes.
    Copy(CopyArgs),
    /// Read and check everything that a moment of a backup needs; exit code 1 on damage.
    Verify(BackupTargetArgs),
    /// Remove data that no kept moment of a backup needs.
    Prune(PruneArgs),
}

/// The place of a backup, and access to it.
#[derive(Args, Clone, Debug)]
pub(crate) struct BackupTargetArgs {
    /// s3://BUCKET/PREFIX or file:///ABSOLUTE/PATH.
    #[arg(value_name = "LOCATION", env = "LITEIO_BACKUP", hide_env_values = true)]
    pub(crate) location: String,
    #[command(flatten)]
    pub(crate) access: BackupAccessArgs,
}

/// Access to a backup.
#[derive(Args, Clone)]
pub(crate) struct BackupAccessArgs {
    /// File with the key that encrypts the backup.
    #[arg(long, value_name = "FILE", env = "LITEIO_BACKUP_KEY_FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// URL of the service of an s3:// location [default: AWS in the region, or
    /// AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL with the keys of AWS's variables].
    #[arg(long, value_name = "URL", env = "LITEIO_BACKUP_ENDPOINT", hide_env_values = true)]
    pub(crate) endpoint: Option<String>,
    /// Region of an s3:// location [default: AWS_REGION, AWS_DEFAULT_REGION].
    #[arg(long, value_name = "REGION", env = "LITEIO_BACKUP_REGION")]
    pub(crate) region: Option<String>,
    /// Access key for an s3:// location [default: AWS_ACCESS_KEY_ID, with AWS_SECRET_ACCESS_KEY and
    /// AWS_SESSION_TOKEN].
    #[arg(long, value_name = "KEY", env = "LITEIO_BACKUP_ACCESS_KEY")]
    pub(crate) access_key: Option<String>,
    /// Secret key for an s3:// location. Prefer the file or the variable: arguments are visible in
    /// the process list.
    #[arg(long, value_name = "SECRET", env = "LITEIO_BACKUP_SECRET_KEY", hide_env_values = true)]
    pub(crate) secret_key: Option<String>,
    /// File with the secret key.
    #[arg(long, value_name = "FILE", env = "LITEIO_BACKUP_SECRET_KEY_FILE")]
    pub(crate) secret_key_file: Option<PathBuf>,
    /// PEM file of certificate authorities to trust, in addition to the built-in public ones and
    /// those in the file that SSL_CERT_FILE or AWS_CA_BUNDLE names.
    #[arg(long, value_name = "FILE", env = "LITEIO_CA_FILE")]
    pub(crate) ca_file: Option<PathBuf>,
}

// Written by hand so that no secret appears in a log.
impl fmt::Debug for BackupAccessArgs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("BackupAccessArgs")
            .field("key_file", &self.key_file)
            .field("access_key", &self.access_key)
            .finish_non_exhaustive()
    }
}

/// The arguments of `liteio backup now`.
#[derive(Args, Clone, Debug)]
pub(crate) struct NowArgs {
    #[command(flatten)]
    pub(crate) target: BackupTargetArgs,
    /// The data directory [default: ./data].
    #[arg(long, short, value_name = "DIR", env = "LITEIO_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

/// The arguments of `liteio backup copy`.
#[derive(Args, Clone, Debug)]
pub(crate) struct CopyArgs {
    /// Directory of the copy: missing, empty, or an earlier copy.
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// The data directory [default: ./data].
    #[arg(long, short, value_name = "DIR", env = "LITEIO_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
}

/// The arguments of `liteio backup prune`.
#[derive(Args, Clone, Debug)]
pub(crate) struct PruneArgs {
    #[command(flatten)]
    pub(crate) target: BackupTargetArgs,
    /// Time whose every moment is kept, such as 30d.
    #[arg(long, value_name = "DURATION")]
    pub(crate) keep: String,
    /// Number of bases that are kept however old they are.
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) keep_bases: usize,
}

/// The arguments of `liteio standby`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct StandbyCommand {
    /// Location of the backup of the primary: s3://BUCKET/PREFIX or file:///ABSOLUTE/PATH. The flags
    /// --backup-… are its settings, and the settings of the backup after a promotion.
    #[arg(value_name = "LOCATION")]
    pub(crate) location: String,
    /// Directory of the standby: empty or missing at the first start.
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

/// The arguments of `liteio promote`.
#[derive(Args, Clone, Debug)]
pub(crate) struct PromoteArgs {
    /// Directory of the running standby.
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
    /// The primary does not run any more, for sure: do not wait for it. Its writes are lost
    /// otherwise.
    #[arg(long)]
    pub(crate) primary_is_dead: bool,
}

/// The arguments of `liteio restore`.
#[derive(Args, Clone, Debug)]
pub(crate) struct RestoreArgs {
    /// s3://BUCKET/PREFIX or file:///ABSOLUTE/PATH.
    #[arg(value_name = "LOCATION")]
    pub(crate) location: String,
    /// Directory to restore into, empty or missing.
    #[arg(value_name = "DIR", required_unless_present = "to")]
    pub(crate) directory: Option<PathBuf>,
    /// Bucket whose objects are given back to a running service with --to.
    #[arg(long, value_name = "BUCKET", requires = "to")]
    pub(crate) bucket: Option<String>,
    /// Beginning of the keys of these objects [default: all].
    #[arg(long, value_name = "PREFIX", requires = "bucket")]
    pub(crate) prefix: Option<String>,
    /// Bucket of a running service to copy the objects into, with an alias of `liteio client`:
    /// ALIAS/BUCKET. Objects that are there already stay, unless --overwrite.
    #[arg(long, value_name = "TARGET", requires = "bucket", conflicts_with = "directory")]
    pub(crate) to: Option<String>,
    /// Replace objects that differ.
    #[arg(long, requires = "to")]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
    /// Leave the bytes of objects in the backup, so that a server with --backup LOCATION serves at
    /// once: it reads them when they are asked for, and brings all of them in the background.
    #[arg(long, conflicts_with = "to")]
    pub(crate) lazy: bool,
    /// Moment to restore: a time such as 2026-01-31T12:00:00Z, or so long ago, such as 2h [default:
    /// the newest].
    #[arg(long, value_name = "TIME", conflicts_with_all = ["generation", "number"])]
    pub(crate) at: Option<String>,
    /// Generation to restore, as `liteio backup list` shows it.
    #[arg(long, value_name = "G", requires = "number")]
    pub(crate) generation: Option<String>,
    /// Number of the last record to restore of the generation.
    #[arg(long, value_name = "N", requires = "generation")]
    pub(crate) number: Option<u64>,
    #[command(flatten)]
    pub(crate) access: BackupAccessArgs,
}
