//! The arguments of the commands that describe the program itself.

use std::ffi::OsString;

use clap::{Args, ValueEnum, ValueHint};

/// The arguments of `liteio version`.
#[derive(Args, Clone, Debug)]
pub(crate) struct VersionArgs {
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
}

/// The arguments of `liteio completion`.
#[derive(Args, Clone, Debug)]
pub(crate) struct CompletionArgs {
    /// The shell.
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

/// A shell with completions.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
    Powershell,
}

/// The arguments of `liteio man`.
#[derive(Args, Clone, Debug)]
pub(crate) struct ManArgs {
    /// Command whose page to print, such as client cp; or directory for the pages of all commands, created if missing.
    #[arg(value_name = "COMMAND|DIR", value_hint = ValueHint::AnyPath)]
    pub(crate) names: Vec<OsString>,
}
