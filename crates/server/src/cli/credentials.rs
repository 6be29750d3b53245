//! The arguments about the credentials of a container.

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{ArgAction, Args, Subcommand};

/// The subcommand of `liteio credentials`.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum CredentialsCommand {
    /// Print the pair in the data directory, as variables. Who can read the directory may do anything with
    /// its data anyway.
    Show(CredentialsArgs),
}

/// The arguments of `liteio credentials show`.
#[derive(Args, Clone, Debug)]
pub(crate) struct CredentialsArgs {
    /// The data directory [default: ./data, in a container /data].
    #[arg(long, short, value_name = "DIR", env = "LITEIO_DATA_DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    #[arg(long, env = "LITEIO_IN_CONTAINER", hide = true, action = ArgAction::SetTrue,
        value_parser = BoolishValueParser::new())]
    pub(crate) in_container: bool,
}
