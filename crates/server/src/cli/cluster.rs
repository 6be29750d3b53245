//! The arguments of several servers over one database: settings of the server, and `liteio cluster`.

use std::fmt;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::KeyArgs;

/// The raw settings of one of several servers.
#[derive(Args, Clone, Default)]
pub(crate) struct ClusterArgs {
    /// PostgreSQL database with the metadata of several servers, postgres://USER@HOST,HOST/DATABASE:
    /// with --blobs in the place of a data directory. `liteio cluster create` prepares both.
    #[arg(long, value_name = "URL", env = "LITEIO_METADATA", hide_env_values = true)]
    pub(crate) metadata: Option<String>,
    /// File with the password of the database [default: the password in the URL, PGPASSFILE].
    #[arg(long, value_name = "FILE", env = "LITEIO_METADATA_PASSWORD_FILE")]
    pub(crate) metadata_password_file: Option<PathBuf>,
    /// Connections for reads; 8 more commit [default: 16].
    #[arg(long, value_name = "N", env = "LITEIO_METADATA_CONNECTIONS")]
    pub(crate) metadata_connections: Option<usize>,
    /// Start although the database may lose acknowledged writes when it fails (fsync, full_page_writes or
    /// synchronous_commit are off, or pages have no checksums).
    #[arg(long, env = "LITEIO_METADATA_UNSAFE", value_parser = clap::builder::FalseyValueParser::new())]
    pub(crate) metadata_unsafe: bool,
    /// Place of the bodies of several servers: s3://BUCKET/PREFIX?endpoint=URL&region=NAME,
    /// gs://BUCKET/PREFIX, az://CONTAINER/PREFIX?account=NAME, or file:///PATH of a directory that all of
    /// them have mounted.
    #[arg(long, value_name = "LOCATION", env = "LITEIO_BLOBS", hide_env_values = true)]
    pub(crate) blobs: Option<String>,
    /// Access key for --blobs s3:// [default: AWS_ACCESS_KEY_ID, with AWS_SECRET_ACCESS_KEY and
    /// AWS_SESSION_TOKEN; for others the variables of their tools].
    #[arg(long, value_name = "KEY", env = "LITEIO_BLOBS_ACCESS_KEY")]
    pub(crate) blobs_access_key: Option<String>,
    /// Secret key for --blobs s3://. Prefer the file or the variable: arguments are visible in the
    /// process list.
    #[arg(long, value_name = "SECRET", env = "LITEIO_BLOBS_SECRET_KEY", hide_env_values = true)]
    pub(crate) blobs_secret_key: Option<String>,
    /// File with the secret key.
    #[arg(long, value_name = "FILE", env = "LITEIO_BLOBS_SECRET_KEY_FILE")]
    pub(crate) blobs_secret_key_file: Option<PathBuf>,
    /// Directory for copies of the bodies that were read last, on a disk of this server [default: none].
    #[arg(long, value_name = "DIR", env = "LITEIO_BLOB_CACHE")]
    pub(crate) blob_cache: Option<PathBuf>,
    /// Size of --blob-cache in MiB [default: 1024].
    #[arg(long, value_name = "MIB", env = "LITEIO_BLOB_CACHE_SIZE")]
    pub(crate) blob_cache_size: Option<u32>,
    /// Directory for copies of the indexes of vectors that were asked for last, on a disk of this server
    /// [default: none, they are in memory].
    #[arg(long, value_name = "DIR", env = "LITEIO_VECTOR_CACHE")]
    pub(crate) vector_cache: Option<PathBuf>,
    /// Size of these copies in MiB [default: 1024].
    #[arg(long, value_name = "MIB", env = "LITEIO_VECTOR_CACHE_SIZE")]
    pub(crate) vector_cache_size: Option<u32>,
    /// Name of the cluster, and of its schema in the database [default: liteio].
    #[arg(long, value_name = "NAME", env = "LITEIO_CLUSTER_NAME")]
    pub(crate) cluster_name: Option<String>,
    /// Name of this server, for `liteio cluster status` and logs [default: the name of the host].
    #[arg(long, value_name = "NAME", env = "LITEIO_SERVER_NAME")]
    pub(crate) server_name: Option<String>,
    /// Time for which deleted bodies are kept: at least as long as a failover of the database may lose, and
    /// the time between two backups of it [default: 0s].
    #[arg(long, value_name = "DURATION", env = "LITEIO_DELETION_GRACE")]
    pub(crate) deletion_grace: Option<String>,
}

// Written by hand so that no secret appears in a log.
impl fmt::Debug for ClusterArgs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ClusterArgs")
            .field("cluster_name", &self.cluster_name)
            .field("server_name", &self.server_name)
            .finish_non_exhaustive()
    }
}

/// The subcommand of `liteio cluster`.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum ClusterCommand {
    /// Prepare a database and a place of bodies, both empty, for the servers of a cluster.
    Create(ClusterCreateArgs),
    /// Show the servers of a cluster, who does which work in the background, and the schema.
    Status(ClusterPlaceArgs),
    /// Bring the schema of a cluster up to this program.
    Migrate(ClusterPlaceArgs),
    /// Look for records without their body; exit code 1 if there are any.
    Check(ClusterPlaceArgs),
    /// Move all data of a data directory into an empty cluster, or all data of a cluster into an empty directory.
    ///
    /// No server may run meanwhile, and the source stays as it is. After an interruption the same command goes on.
    Move(ClusterMoveArgs),
}

/// The arguments of `liteio cluster create`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ClusterCreateArgs {
    /// Succeed if the cluster is there already, as for a command that runs before each start.
    #[arg(long)]
    pub(crate) if_missing: bool,
    #[command(flatten)]
    pub(crate) place: ClusterPlaceArgs,
}

/// The arguments of `liteio cluster move`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ClusterMoveArgs {
    #[command(flatten)]
    pub(crate) direction: ClusterDirection,
    #[command(flatten)]
    pub(crate) place: ClusterPlaceArgs,
}

/// The directory of a move, and its direction.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct ClusterDirection {
    /// Data directory whose data is moved into the cluster.
    #[arg(long, value_name = "DIR")]
    pub(crate) from_directory: Option<PathBuf>,
    /// Empty directory into which the data of the cluster is moved.
    #[arg(long, value_name = "DIR")]
    pub(crate) to_directory: Option<PathBuf>,
}

/// The database and the place of the bodies of a cluster.
#[derive(Args, Clone, Debug)]
pub(crate) struct ClusterPlaceArgs {
    #[command(flatten)]
    pub(crate) place: ClusterArgs,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
}
