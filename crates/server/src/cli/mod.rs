//! The command line: each setting is declared once, with its flag, its environment variable and its
//! help text. The values stay raw; [`Config::resolve`](crate::config::Config::resolve) is their
//! only reader.

mod about;
mod backup;
mod cluster;
mod console_oidc;
mod credentials;
mod damage;
mod guess;
mod help;
mod keys;
mod later;
mod monitoring;
mod parse;
mod server;
mod sources;

use std::ffi::OsString;

use clap::{Args, Parser, Subcommand};
use liteio_import::cli::ImportCommand;

pub(crate) use self::about::{CompletionArgs, ManArgs, Shell, VersionArgs};
pub(crate) use self::backup::{
    BackupAccessArgs, BackupArgs, BackupCommand, BackupCommandArgs, BackupTargetArgs, CopyArgs,
    NowArgs, PromoteArgs, PruneArgs, RestoreArgs, StandbyCommand,
};
pub(crate) use self::cluster::{ClusterArgs, ClusterCommand};
#[cfg(feature = "cluster")]
pub(crate) use self::cluster::{ClusterMoveArgs, ClusterPlaceArgs};
pub(crate) use self::console_oidc::ConsoleOidcArgs;
pub(crate) use self::credentials::CredentialsCommand;
pub(crate) use self::damage::{RepairArgs, VerifyArgs};
pub(crate) use self::keys::{KeyArgs, KeyCommand, KeyFileArgs, RewrapArgs};
pub(crate) use self::later::Later;
pub(crate) use self::monitoring::{HealthArgs, MetricsTokenArgs};
pub(crate) use self::parse::{Stop, command, parse, variables, with_values};
pub(crate) use self::server::{ServerArgs, ServerCommand};
pub(crate) use self::sources::{Source, Sources};

/// An object store that speaks Amazon S3 and S3 Vectors: durable by default, one static binary.
#[derive(Debug, Parser)]
#[command(name = "liteio", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    server: ServerArgs,
}

/// An object store that speaks Amazon S3 and S3 Vectors: durable by default, one static binary.
///
/// For a line that begins with a command: to define the options of a server once more, for the case that there is none, would
/// be a tenth of its start.
#[derive(Debug, Parser)]
#[command(name = "liteio", version, long_about = None)]
struct Commands {
    #[command(subcommand)]
    command: Command,
}

/// The subcommand.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the server; the same as no command.
    Server(Later<ServerCommand>),
    /// Print the table of other servers' environment variables that this server understands.
    Environment,
    /// Check that a running server is ready: exit code 0 if it is, else 1. One that still reads (`degraded`) is.
    #[command(alias = "healthcheck")]
    Health(HealthArgs),
    /// Print a token with which Prometheus may read the metrics: valid as long as the key is.
    MetricsToken(MetricsTokenArgs),
    /// Check every blob and record of a data directory that no server uses, without changing it;
    /// exit code 1 on damage.
    Verify(Later<VerifyArgs>),
    /// Create and rotate encryption keys.
    #[command(subcommand)]
    Key(Later<KeyCommand>),
    /// Show the credentials that a container has made at its first start.
    #[command(subcommand)]
    Credentials(CredentialsCommand),
    /// Run a command with an in-memory server on a free port, with the test API on; the command's
    /// environment (AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID and others) points to it. Returns the
    /// command's exit code.
    Exec(Later<ExecCommand>),
    /// Client for any S3 service, compatible with MinIO's mc: `liteio client --help` lists its
    /// commands.
    #[command(disable_help_flag = true)]
    Client(ClientArgs),
    /// Report what can be recovered from a damaged data directory that no server uses; with --yes,
    /// recover it, remove the damaged records, and move their blobs to blobs/lost. Exit code 1 if
    /// damage remains.
    Repair(Later<RepairArgs>),
    /// Import buckets, objects and versions into a data directory that no server uses; repeat the
    /// command to resume an interrupted import. Skipped items are listed, with exit code 1.
    #[command(subcommand)]
    Import(Later<ImportCommand>),
    /// Copy a data directory, or look at a continuous backup (--backup), verify and prune it.
    Backup(Later<BackupCommandArgs>),
    /// Restore a data directory from a continuous backup, to any moment that it has; repeat the
    /// command to resume an interrupted restore. Exit code 1 if something was left out.
    Restore(Later<RestoreArgs>),
    /// Run a standby: a server that follows the backup of a primary, serves reads and refuses
    /// writes. It takes the flags of the server.
    Standby(Later<StandbyCommand>),
    /// Make a running standby the primary; exit code 1 if it stays a standby.
    Promote(Later<PromoteArgs>),
    /// Prepare a database and a place of bodies for several servers, and look at them.
    #[command(subcommand)]
    Cluster(Later<ClusterCommand>),
    /// Print the version, and the sources of this program.
    Version(VersionArgs),
    /// Print the completion script of a shell.
    Completion(CompletionArgs),
    /// Print the man page of liteio or of a command, or write the man pages of all commands into a directory.
    Man(ManArgs),
}

/// The arguments of `liteio exec`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ExecCommand {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// The command and its arguments.
    #[arg(value_name = "COMMAND", last = true, required = true)]
    pub(crate) command: Vec<OsString>,
}

/// The arguments of `liteio client`, which parses them itself.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ClientArgs {
    /// The command and its arguments.
    #[arg(value_name = "VERB", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}
