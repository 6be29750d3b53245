//! Several servers over one database and one place of bodies: opening them, and `liteio cluster`.
//!
//! Other modules know only that the data may be in a cluster. What it is made of is here, so that a
//! program without the feature `cluster` has none of it.

#[cfg(feature = "cluster")]
mod commands;
#[cfg(feature = "cluster")]
mod moves;
#[cfg(feature = "cluster")]
mod place;
#[cfg(feature = "cluster")]
mod progress;
pub(crate) mod watch;

use liteio_store::{ClusterBackend, KeyRing};

use crate::cli::ClusterCommand;
use crate::config::ClusterSettings;

/// The answer of a program without the feature.
#[cfg(not(feature = "cluster"))]
const MISSING: &str =
    "this program was built without the feature `cluster`: use another build of LiteIO";

/// Opens the database and the place of bodies for a server. Nothing is changed but the number of the next
/// run, and the fingerprint of the master key, if the cluster has none.
///
/// # Errors
/// One line that says what to change.
pub(crate) fn open(settings: &ClusterSettings, keys: &KeyRing) -> Result<ClusterBackend, String> {
    #[cfg(feature = "cluster")]
    return place::open(settings, keys);
    #[cfg(not(feature = "cluster"))]
    {
        let _ = (settings, keys);
        Err(MISSING.to_owned())
    }
}

/// Runs a command. Returns its text, and `false` if it has found something wrong.
///
/// # Errors
/// One line that says what to change.
pub(crate) fn run(command: &ClusterCommand) -> Result<(String, bool), String> {
    #[cfg(feature = "cluster")]
    return commands::run(command);
    #[cfg(not(feature = "cluster"))]
    {
        let _ = command;
        Err(MISSING.to_owned())
    }
}
