//! `liteio verify`: checks every blob and record of a data directory, with a progress bar.

use std::path::Path;
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use liteio_store::{Damage, KeyRing, MissingKeys, Store, StoreConfig, StoreError};

use crate::cli::VerifyArgs;
use crate::config::resolve_keys;
use crate::keys;
use crate::output::say;
use crate::platform::with_advice;
use liteio_store::DEFAULT_DIRECTORY;

/// Checks the directory without changing it, and prints the damage and the missing keys.
/// `Ok(false)` if there is any.
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
    let Found { damaged, is_of_metadata, missing } =
        verify(path, keys, &mut |done, total| progress.set(done, total))?;
    progress.bar.finish_and_clear();
    for line in &damaged {
        say!("damaged: {line}");
    }
    print_missing(path, &missing);
    say!("{}: {} damaged{}", path.display(), damaged.len(), undecrypted(&missing));
    if !damaged.is_empty() {
        match is_of_metadata {
            true => say!("{}. {COPY_ADVICE}", metadata_advice(path)),
            false => say!("{DAMAGE_ADVICE} {COPY_ADVICE}"),
        }
    }
    Ok(damaged.is_empty() && missing.is_empty())
}

/// The rule for backups. A copy of a directory in use has files of different moments, and is mostly
/// damaged.
const COPY_ADVICE: &str = "To back a data directory up, use `liteio backup copy`, or copy it while no server uses it, or \
     from a snapshot of its volume: any other copy of a directory in use is damaged.";

/// The advice for damaged objects.
const DAMAGE_ADVICE: &str = "`liteio restore` brings everything back from a backup. Without one, `liteio repair` tells which objects \
                             would be given up.";

/// The advice for damaged metadata. What is missing as a whole can be neither repaired nor read.
pub(crate) fn metadata_advice(directory: &Path) -> &'static str {
    match is_complete(directory) {
        true => {
            "`liteio restore` brings everything back from a backup. Without one, `liteio repair` tells what it can save; \
             where it cannot mend the metadata, `liteio backup copy --data-dir DIR NEW` may still read everything"
        }
        false => "`liteio restore` brings everything back from a backup",
    }
}

/// The advice for metadata that repair has failed at.
pub(crate) fn repair_advice(directory: &Path) -> &'static str {
    match is_complete(directory) {
        true => {
            "Repair cannot mend this part of the metadata. `liteio restore` brings everything back from a backup. Without \
             one, `liteio backup copy --data-dir DIR NEW` may still read everything"
        }
        false => "`liteio restore` brings everything back from a backup",
    }
}

fn is_complete(directory: &Path) -> bool {
    ["meta.redb", "blobs"].iter().all(|name| directory.join(name).exists())
}

/// The findings of a check.
struct Found {
    damaged: Vec<String>,
    /// Some of the damage is that of no object.
    is_of_metadata: bool,
    missing: MissingKeys,
}

/// Prints the keys without which objects were not decrypted.
pub(crate) fn print_missing(path: &Path, missing: &MissingKeys) {
    if !missing.is_empty() {
        let keys = keys::describe_missing(missing);
        say!("{}: {keys}; only their ciphertext was checked. {}", path.display(), keys::ADVICE);
    }
}

/// The end of the last line: a count of damage alone would look like a check of everything.
pub(crate) fn undecrypted(missing: &MissingKeys) -> String {
    match missing.values().sum::<u64>() {
        0 => String::new(),
        count => format!(", {count} not decrypted for want of their keys"),
    }
}

/// Prints the totals, and returns the findings.
fn verify(path: &Path, keys: KeyRing, progress: &mut dyn FnMut(u64, u64)) -> Result<Found, String> {
    let named = |error: StoreError| with_advice(path, format!("{}: {error}", path.display()));
    let config = StoreConfig { keys: Arc::new(keys), ..StoreConfig::directory(path) };
    let report = Store::verify_closed(config, &mut |at| progress(at.done, at.total));
    let report = report.map_err(|error| match error {
        // It names the directory, and says to stop its process.
        StoreError::InUse { message } => format!("{message}. {COPY_ADVICE}"),
        error => named(error),
    })?;
    if report.is_unlocked {
        say!(
            "{}: the lock file is missing or cannot be read, so a server that uses the directory was not noticed: \
             stop it first",
            path.display()
        );
    }
    say!(
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
        say!(
            "{}: {} objects that are encrypted with keys of clients were checked only as stored",
            path.display(),
            report.sealed
        );
    }
    for lost in &report.lost {
        say!("lost: {lost}");
    }
    if let Some(end) = &report.log_end {
        say!("{}: {end}", path.display());
    }
    for damage in &report.outstanding {
        say!("outstanding: {}", name_of(damage));
    }
    if report.outstanding_count > 0 {
        say!(
            "{}: {} objects and parts are only in the backup yet, since the directory was restored lazily",
            path.display(),
            report.outstanding_count
        );
    }
    let damaged = report.damaged.iter().map(describe).collect();
    let is_of_metadata = report.damaged.iter().any(|it| it.bucket.is_none() && it.key.is_none());
    Ok(Found { damaged, is_of_metadata, missing: report.missing })
}

pub(crate) fn describe(damage: &Damage) -> String {
    if damage.bucket.is_none() && damage.key.is_none() {
        return damage.what.clone();
    }
    format!("{}: {}", name_of(damage), damage.what)
}

/// The name of a damaged or outstanding object.
fn name_of(damage: &Damage) -> String {
    let bucket = damage.bucket.as_ref().map_or("?", |name| name.as_str());
    if damage.key.is_none() {
        return bucket.to_owned();
    }
    let key = damage.key.as_ref().map_or("?", |key| key.as_str());
    match &damage.version {
        Some(version) => format!("{bucket}/{key:?} (version {version})"),
        None => format!("{bucket}/{key:?}"),
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
