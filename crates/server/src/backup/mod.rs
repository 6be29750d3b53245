//! The continuous backup: of a running server, and the commands on one.
//!
//! ```text
//! server ──► target ──► running: thread liteio-backup ──► dispatch: metrics, health, stop
//!               └────► standby: thread liteio-standby ◄── control ◄── liteio promote
//! command ─► target ──► list, status, now, verify, prune, restore
//! ```
//!
//! | Module | Content |
//! |---|---|
//! | `target` | Opening the place of a backup, with its keys |
//! | `contact` | The first contact with it, which ends a start with wrong settings |
//! | `running` | The thread that keeps a backup up to date, and what it tells |
//! | `lazy` | Blobs that a lazy restore has left in the backup |
//! | `lease` | The thread of a primary that looks at its lease |
//! | `standby`, `control` | The thread of a standby; requests to promote it |
//! | `list`, `now`, `check`, `restore` | `liteio backup list` and `status`, `now`, `verify` and `prune`, `liteio restore` |
//! | `copy` | `liteio backup copy`, and the socket by which a running server is asked for one |
//! | `moment`, `progress` | Times as users write and read them; progress on a terminal |
//!
//! Calls of a target block, so none is made on the threads of requests.

mod check;
pub(crate) mod contact;
mod control;
mod copy;
pub(crate) mod lazy;
mod lease;
mod list;
mod moment;
mod now;
mod progress;
mod restore;
mod running;
mod standby;
mod target;

use std::fmt;
use std::path::Path;

use liteio_backup::{Error, Repository};
use liteio_store::backup::RestoredPart;

use crate::cli::{BackupCommand, BackupTargetArgs, RestoreArgs};
use crate::config::backup::resolve_target;
use crate::config::environment::Variables;
use liteio_wire::settings::ConfigError;

pub(crate) use self::control::promote;
pub(crate) use self::copy::Copies;
pub(crate) use self::running::{Backup, BackupState};
pub(crate) use self::standby::{Pair, Standby, StandbyState, prepare};
pub(crate) use self::target::{OpenedTarget, check_apart};

/// The reason why a command ended early, in one line.
#[derive(Debug)]
pub(crate) enum CommandError {
    /// The arguments, a file that they name or a variable is invalid.
    Usage(String),
    /// The backup or the directory cannot be used.
    Failed(String),
}

impl fmt::Display for CommandError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Usage(reason) | Self::Failed(reason)) = self;
        formatter.write_str(reason)
    }
}

impl From<ConfigError> for CommandError {
    fn from(error: ConfigError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<Error> for CommandError {
    fn from(error: Error) -> Self {
        Self::Failed(error.to_string())
    }
}

/// Runs `liteio backup`. `Ok(false)` for damage, or if nothing can be restored.
///
/// # Errors
/// [`CommandError`].
pub(crate) fn run(command: &BackupCommand) -> Result<bool, CommandError> {
    match command {
        BackupCommand::List(arguments) => list::list(&open(arguments)?),
        BackupCommand::Status(arguments) => list::status(&open(arguments)?),
        BackupCommand::Now(arguments) => now::run(arguments),
        BackupCommand::Copy(arguments) => copy::run(arguments),
        BackupCommand::Verify(arguments) => check::verify(&open(arguments)?),
        BackupCommand::Prune(arguments) => check::prune(arguments),
    }
}

/// Runs `liteio restore` into a directory. `Ok(false)` if something was left out.
///
/// # Errors
/// [`CommandError`].
pub(crate) fn restore_all(arguments: &RestoreArgs) -> Result<bool, CommandError> {
    restore::run(arguments)
}

/// Restores a part into a directory. `Ok(false)` if something of it was left out.
///
/// # Errors
/// [`CommandError`].
pub(crate) fn restore(
    arguments: &RestoreArgs,
    part: &RestoredPart,
    directory: &Path,
) -> Result<bool, CommandError> {
    restore::restore(arguments, part, directory)
}

fn open(arguments: &BackupTargetArgs) -> Result<Repository, CommandError> {
    let BackupTargetArgs { location, access } = arguments;
    let target = resolve_target(location, access, "--", &Variables::read()?)?;
    let opened = OpenedTarget::open(&target).map_err(CommandError::Usage)?;
    Ok(Repository::open(opened.target, opened.key.as_ref())?)
}
