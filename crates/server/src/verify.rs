//! `liteio verify`: checks every blob and record of a data directory, with a progress bar.

use std::path::Path;
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use liteio_store::{Damage, KeyRing, Store, StoreConfig};

use crate::cli::VerifyArgs;
use crate::config::resolve_keys;
use crate::keys;
use liteio_store::DEFAULT_DIRECTORY;

/// Checks the directory without changing it, and prints the damage. `Ok(false)` if there is any.
///
/// # Errors
/// The reason why the directory cannot be checked, in one line.
pub(crate) fn run(arguments: &VerifyArgs) -> Result<bool, String> {
    let path = arguments.data_dir.as_deref().unwrap_or(Path::new(DEFAULT_DIRECTORY));
    if !path.is_dir() {
        return Err(format!("{} is not a directory: give --data-dir DIR", path.display()));
    }
    let progress = Progress::new();
    let keys = resolve_keys(&arguments.keys).map_err(|error| error.to_string())?;
    let keys = keys::open(&keys)?;
    let damaged = verify(path, keys, &mut |done, total| progress.set(done, total))?;
    progress.bar.finish_and_clear();
    for line in &damaged {
        println!("damaged: {line}");
    }
    println!("{}: {} damaged", path.display(), damaged.len());
    Ok(damaged.is_empty())
}

/// Prints one line per damaged item.
fn verify(
    path: &Path,
    keys: KeyRing,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Vec<String>, String> {
    let named = |error: liteio_store::StoreError| format!("{}: {error}", path.display());
    let config = StoreConfig { keys: Arc::new(keys), ..StoreConfig::directory(path) };
    let report = Store::verify_closed(config, &mut |at| progress(at.done, at.total));
    let report = report.map_err(named)?;
    println!(
        "{}: {} objects, {} blobs, {} vectors and {} bytes checked, {} orphans, {} lost",
        path.display(),
        report.objects,
        report.blobs,
        report.vectors,
        report.bytes,
        report.orphans,
        report.lost.len()
    );
    if report.sealed > 0 {
        println!(
            "{}: {} encrypted objects were checked only as stored: their keys are not available",
            path.display(),
            report.sealed
        );
    }
    for lost in &report.lost {
        println!("lost: {lost}");
    }
    if let Some(end) = &report.log_end {
        println!("{}: {end}", path.display());
    }
    Ok(report.damaged.iter().map(describe).collect())
}

pub(crate) fn describe(damage: &Damage) -> String {
    if damage.bucket.is_none() && damage.key.is_none() {
        return damage.what.clone();
    }
    let bucket = damage.bucket.as_ref().map_or("?", |name| name.as_str());
    if damage.key.is_none() {
        return format!("{bucket}: {}", damage.what);
    }
    let key = damage.key.as_ref().map_or("?", |key| key.as_str());
    match &damage.version {
        Some(version) => format!("{bucket}/{key:?} (version {version}): {}", damage.what),
        None => format!("{bucket}/{key:?}: {}", damage.what),
    }
}

/// The progress of a check, on standard error.
pub(crate) struct Progress {
    pub(crate) bar: ProgressBar,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        // The bar hides itself if standard error is not a terminal.
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} {eta}") {
            bar.set_style(style);
        }
        Progress { bar }
    }

    pub(crate) fn set(&self, done: u64, total: u64) {
        self.bar.set_length(total);
        self.bar.set_position(done);
    }
}
