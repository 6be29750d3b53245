//! Blobs that a lazy restore has left in the backup: their source, and the thread that brings them.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use liteio_backup::RepositorySource;
use liteio_store::{BlobSource, Store, StoreError};

use super::OpenedTarget;
use crate::config::BackupSettings;

/// Pause after a failure.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// The backup of a server as a source of blobs.
///
/// # Errors
/// One line that says what to change.
pub(crate) fn source(settings: &BackupSettings) -> Result<Arc<dyn BlobSource>, String> {
    let OpenedTarget { target, key } = OpenedTarget::open(&settings.target)?;
    Ok(Arc::new(RepositorySource::new(target, key, warn)))
}

fn warn(reason: &str) {
    tracing::warn!(reason, "the backup with bodies of a lazy restore cannot be read");
}

/// Brings the blobs that are only in the backup, on a thread of its own, if there are any.
///
/// # Errors
/// One line: the system has no more threads.
pub(crate) fn bring(store: &Store) -> Result<(), String> {
    let outstanding = store.outstanding();
    if outstanding == 0 {
        return Ok(());
    }
    tracing::info!(outstanding, "bringing the blobs that are only in the backup");
    let store = store.clone();
    let thread = thread::Builder::new().name("liteio-lazy".to_owned());
    let spawned = thread.spawn(move || {
        let mut reason = String::new();
        loop {
            match store.bring_one() {
                Ok(true) => {}
                Ok(false) => break,
                Err(StoreError::Closed) => return,
                Err(error) => {
                    if reason != error.to_string() {
                        reason = error.to_string();
                        tracing::warn!(reason, "a blob of the backup cannot be brought");
                    }
                    // A damaged one is passed over.
                    if !matches!(error, StoreError::Corrupt { .. }) {
                        thread::park_timeout(RETRY_AFTER);
                    }
                }
            }
        }
        let left = store.outstanding();
        tracing::info!(left, "all blobs of the backup that are whole are in the directory");
    });
    spawned.map(drop).map_err(|error| format!("cannot start threads: {error}"))
}
