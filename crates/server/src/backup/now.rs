//! `liteio backup now`: backs a directory up that no server uses.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use liteio_backup::Holder;
use liteio_backup::writer::{Writer, WriterOptions};
use liteio_store::{DEFAULT_DIRECTORY, Durability, Store, StoreConfig};

use super::moment::shown;
use super::{CommandError, OpenedTarget, check_apart};
use crate::cli::NowArgs;
use crate::config::Storage;
use crate::config::backup::{UPLOADS, resolve_target};
use crate::config::environment::Variables;
use crate::output::say;

/// Backs a directory up, and prints what was sent. `Ok(false)` if a part of it is damaged.
pub(super) fn run(arguments: &NowArgs) -> Result<bool, CommandError> {
    let location = &arguments.target.location;
    let directory = arguments.data_dir.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_DIRECTORY));
    let storage = Storage::Directory { path: directory.clone(), durability: Durability::default() };
    check_apart(location, &storage).map_err(CommandError::Usage)?;
    let target = resolve_target(location, &arguments.target.access, "--", &Variables::read()?)?;
    let OpenedTarget { target, key } = OpenedTarget::open(&target).map_err(CommandError::Usage)?;
    let failed = |error: &dyn std::fmt::Display| CommandError::Failed(error.to_string());
    let config = StoreConfig { scrub_interval: None, ..StoreConfig::directory(directory) };
    let store = Store::open_existing(config).map_err(|error| failed(&error))?;
    let options = WriterOptions {
        key,
        interval: Duration::from_secs(1),
        base_every: Duration::MAX,
        retention: None,
        bytes_per_second: None,
        parallel: UPLOADS,
        parent: None,
        holder: Some(Arc::new(Holder::new(store.clone(), None)?)),
    };
    let writer = Writer::new(store.clone(), target, options);
    let state = writer.once();
    store.close();
    let state = state?;
    say!(
        "{location}: backed up to {}: {} objects and {} bytes sent, {} pairs and blobs unreadable",
        shown(state.kept_ms.unwrap_or_default()),
        state.sent_objects,
        state.sent_bytes,
        state.unreadable
    );
    Ok(state.unreadable == 0)
}
