//! The arguments about encryption keys.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(crate) use liteio_import::cli::KeyArgs;

/// The subcommand of `liteio key`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Create a file with a new key, for --master-key-file or --backup-key-file; with --name, add a
    /// new key to a file of KMS keys.
    New(KeyFileArgs),
    /// Add a new key in front of the existing ones of a file of master keys, or with --name to a KMS
    /// key: the next start encrypts with it, the old keys only decrypt. Not for the key of a backup,
    /// which has one for ever.
    Rotate(KeyFileArgs),
    /// Re-encrypt the data keys of all objects in a data directory that no server uses with the
    /// newest keys. The directory needs its former keys no longer afterwards; backups made before
    /// do.
    Rewrap(RewrapArgs),
    /// List the ids of the keys in a file, as `liteio verify` and `liteio key rewrap` name them.
    List(KeyFileArgs),
}

/// The arguments of `liteio key new`, `liteio key rotate` and `liteio key list`.
#[derive(Args, Clone, Debug)]
pub(crate) struct KeyFileArgs {
    /// The key file.
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Name of a KMS key.
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}

/// The arguments of `liteio key rewrap`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct RewrapArgs {
    /// The data directory [default: ./data].
    #[arg(long, short, value_name = "DIR", env = "LITEIO_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
}
