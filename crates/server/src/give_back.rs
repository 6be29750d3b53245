//! `liteio restore --to`: gives objects of a moment back to a running service.
//!
//! ```text
//!  backup ──► directory for the time ──► server on it, on a free port ──► liteio client mirror ──► the service
//! ```
//! The copy keeps keys, metadata and tags, as every `liteio client mirror`, and with `--keep-protection` the
//! encryption, storage class, retention and legal hold, where the service takes them.

use std::path::{Path, PathBuf};
use std::process::Command;

use liteio_identity::random_id;
use liteio_store::backup::RestoredPart;

use crate::backup::{self, CommandError};
use crate::cli::RestoreArgs;
use crate::config::resolve_keys;
use crate::server::Server;

/// The alias of the server on the restored objects.
const ALIAS: &str = "restored";

/// Restores objects, and copies them to `to`. `Ok(false)` if some could not be.
///
/// # Errors
/// [`CommandError`].
pub(crate) fn run(arguments: &RestoreArgs, to: &str) -> Result<bool, CommandError> {
    let bucket = arguments.bucket.clone().unwrap_or_default();
    let prefix = arguments.prefix.clone().unwrap_or_default();
    let part = RestoredPart::objects(bucket.clone(), prefix);
    let part = part.map_err(|error| CommandError::Usage(error.to_string()))?;
    let keys = resolve_keys(&arguments.keys)?;
    let failed = |error: &dyn std::fmt::Display| CommandError::Failed(error.to_string());
    let program = std::env::current_exe().map_err(|error| failed(&error))?;
    let mirror = || {
        let mut command = Command::new(&program);
        command.args(["client", "mirror", "--quiet"]);
        command
    };
    // A mistyped alias must not cost the whole restore. The command tells its reason by itself.
    let checked = mirror().args(["--check-target", ALIAS, to]).status();
    if !checked.map_err(|error| failed(&error))?.success() {
        return Ok(false);
    }
    let scratch = Scratch::new()?;
    let is_whole = backup::restore(arguments, &part, &scratch.0)?;
    let (access_key, secret_key) = (id("AKIA")?, id("SECRET")?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed(&error))?;
    let server = Server::builder()
        .data_dir(&scratch.0)
        .credentials(&access_key, &secret_key)
        .keys(keys)
        .console(false);
    let server = runtime.block_on(server.spawn()).map_err(|error| failed(&error))?;
    let url = format!("http://{access_key}:{secret_key}@{}", server.address());
    let mut mirror = mirror();
    mirror.arg("--keep-protection").env(format!("MC_HOST_{ALIAS}"), url);
    if arguments.overwrite {
        mirror.arg("--overwrite");
    }
    mirror.arg(format!("{ALIAS}/{bucket}")).arg(to);
    let status = mirror.status().map_err(|error| failed(&error))?;
    runtime.block_on(server.stop());
    Ok(is_whole && status.success())
}

/// A directory for the time of the command.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, CommandError> {
        let path = std::env::temp_dir().join(id("liteio-restore-")?);
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

fn remove(path: &Path) {
    // One that stays is private, and in the place for such.
    let _ = std::fs::remove_dir_all(path);
}

/// A random name that needs no escapes in a URL or a path.
fn id(prefix: &str) -> Result<String, CommandError> {
    random_id(prefix).map_err(|error| CommandError::Failed(error.to_string()))
}
