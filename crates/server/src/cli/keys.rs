//! The arguments about encryption keys.

use std::fmt;
use std::path::PathBuf;

use clap::{Args, Subcommand};

/// The raw encryption key settings.
#[derive(Args, Clone, Default)]
pub(crate) struct KeyArgs {
    /// File with the master key of SSE-S3, created by `liteio key new`.
    #[arg(long, value_name = "FILE", env = "LITEIO_MASTER_KEY_FILE")]
    pub(crate) master_key_file: Option<PathBuf>,
    /// Master key of SSE-S3, 32 bytes in base64, followed by former keys, separated by commas.
    /// Prefer the variable: arguments are visible in the process list.
    #[arg(long, value_name = "KEY", env = "LITEIO_MASTER_KEY", hide_env_values = true)]
    pub(crate) master_key: Option<String>,
    /// TOML file with the named keys of SSE-KMS, created by `liteio key new --name`.
    #[arg(long, value_name = "FILE", env = "LITEIO_KMS_KEY_FILE")]
    pub(crate) kms_key_file: Option<PathBuf>,
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

/// The subcommand of `liteio key`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Create a file with a new master key; with --name, add a new key to a file of KMS keys.
    New(KeyFileArgs),
    /// Add a new key in front of the existing ones: the next start encrypts with it, the old keys
    /// only decrypt.
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
    #[arg(long, value_name = "DIR", env = "LITEIO_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
}
