//! `liteio repair`: recovers a damaged data directory, and reports the losses.

use std::path::Path;
use std::sync::Arc;

use liteio_store::{RepairReport, Store, StoreConfig, StoreError};

use crate::cli::RepairArgs;
use crate::config::resolve_keys;
use crate::keys;
use crate::output::say;
use crate::platform::with_advice;
use crate::verify::{Progress, describe, print_missing, repair_advice, undecrypted};
use liteio_store::DEFAULT_DIRECTORY;

/// Repairs the directory, or without `--yes` only reports the actions. `Ok(false)` if damage
/// remains, or objects were not decrypted for want of their keys.
///
/// # Errors
/// The reason why the directory cannot be repaired, in one line.
pub(crate) fn run(arguments: &RepairArgs) -> Result<bool, String> {
    let path = arguments.data_dir.as_deref().unwrap_or(Path::new(DEFAULT_DIRECTORY));
    if !path.is_dir() {
        return Err(format!("{} is not a directory: give --data-dir DIR", path.display()));
    }
    let progress = Progress::new();
    let only_look = !arguments.yes;
    let keys = resolve_keys(&arguments.keys).map_err(|error| error.to_string())?;
    let keys = Arc::new(keys::open(&keys)?);
    let config = StoreConfig { keys, ..StoreConfig::directory(path) };
    let report = Store::repair(config, only_look, &mut |at| progress.set(at.done, at.total));
    progress.bar.finish_and_clear();
    let report = report.map_err(|error| match error {
        StoreError::Corrupt { .. } => {
            format!("{}: {error}. {}", path.display(), repair_advice(path))
        }
        // It names the directory.
        StoreError::InUse { message } => message,
        error => with_advice(path, format!("{}: {error}", path.display())),
    })?;
    let verb = if only_look { "would be " } else { "" };
    print(&report, verb);
    print_missing(path, &report.missing);
    say!(
        "{}: {} {verb}removed, {verb}set aside in blobs/lost: {} blobs, {} left{}",
        path.display(),
        report.removed.len(),
        report.set_aside,
        report.left.len(),
        undecrypted(&report.missing)
    );
    if only_look && !report.is_empty() {
        say!("nothing was changed: copy the directory, then repeat with --yes");
        return Ok(false);
    }
    Ok(report.left.is_empty() && report.missing.is_empty())
}

/// Prints the losses and the actions, with `verb` before them.
fn print(report: &RepairReport, verb: &str) {
    for numbers in &report.passed_over {
        let (first, last) = (numbers.start(), numbers.end());
        say!("lost: log records {first} to {last} and their updates");
    }
    if report.lost_blocks > 0 {
        say!("lost: {} blocks of records between log and tree", report.lost_blocks);
    }
    if let Some(end) = &report.log_end {
        say!("lost: {end}");
    }
    for damage in &report.removed {
        say!("{verb}removed: {}", describe(damage));
    }
    for damage in &report.mended {
        say!("{verb}rewritten: {}", describe(damage));
    }
    for damage in &report.left {
        say!("not repaired (retry, restore or delete it): {}", describe(damage));
    }
}
