//! The arguments of the commands that find and repair damage: `liteio verify` and `liteio repair`.

use std::path::PathBuf;

use clap::Args;

use super::KeyArgs;

/// The arguments of `liteio verify`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct VerifyArgs {
    /// The data directory [default: ./data].
    #[arg(long, short, value_name = "DIR", env = "LITEIO_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
}

/// The arguments of `liteio repair`.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct RepairArgs {
    /// The data directory [default: ./data].
    #[arg(long, short, value_name = "DIR", env = "LITEIO_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Repair the directory. Copy it first.
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) keys: KeyArgs,
}
