//! Opens the users, the event targets and the data of a configuration.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use liteio_store::{
    Backend, EventObserver, Owner, Role, ShiftedClock, Store, StoreConfig, StoreError, StoreImage,
};

use crate::backup::lazy;
use crate::cluster;
use crate::config::{Config, CredentialsSource, EventSettings, MetricsAuth, Profile, Storage};
use crate::keys;
use crate::made_credentials::MadeCredentials;
use crate::platform::{Grant, free_bytes, is_denied, refusal_of_a_file, refusal_to_write};
use crate::verify::metadata_advice;
use liteio_access::offload::Offload;
use liteio_access::state::{App, EventTarget, Settings};
use liteio_iam::settings::IdentitySettings;
use liteio_iam::{ConfiguredUsers, Users};
use liteio_import::prepare::{Plan, Site};
use liteio_observe::audit::Audit;
use liteio_observe::delivery::Follower;
use liteio_observe::events::{Target, open_targets};
use liteio_wire::cors::Cors;

/// The reason in one line: the data is in use, of a newer format, not writable, full, or damaged, or
/// the users cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    /// A setting is not valid, or its file: another start would not help.
    #[error("{0}")]
    Setting(String),
    #[error("{0}")]
    Failed(String),
}

/// The opened parts of a server.
pub(crate) struct Opened {
    pub(crate) app: App,
    pub(crate) users: Users,
    pub(crate) targets: Vec<Arc<dyn Target>>,
    pub(crate) followers: Vec<Arc<dyn Follower>>,
    /// The generated credentials, if none were given.
    pub(crate) made: Option<MadeCredentials>,
}

/// The hooks of the test API into a store.
pub(crate) struct TestHooks {
    pub(crate) clock: Arc<ShiftedClock>,
    /// The observer of all events.
    pub(crate) events: Arc<dyn EventObserver>,
}

/// Opens the users, keys, event targets and data, unless a store is given. With an image, the store
/// starts with its contents.
///
/// # Errors
/// [`OpenError`].
pub(crate) async fn open(
    config: &Config,
    tests: Option<&TestHooks>,
    image: Option<Arc<StoreImage>>,
    store: Option<Store>,
) -> Result<Opened, OpenError> {
    // Users are opened first: an invalid users file must not leave a new data directory behind.
    let configured = match config.credentials {
        CredentialsSource::Made => None,
        _ => Some(users(config)?),
    };
    let keys = Arc::new(keys::open(&config.keys).map_err(OpenError::Setting)?);
    let plan = Plan::read(&config.preparation).map_err(OpenError::Failed)?;
    let destinations = config.events.all_targets().map_err(OpenError::Failed)?;
    let remote_targets = config.replication.all_targets().map_err(OpenError::Failed)?;
    let tiers = config.tiers.all_tiers().map_err(OpenError::Failed)?;
    let ca_file = config.events.ca_file.as_deref();
    let targets = open_targets(&destinations, ca_file).map_err(OpenError::Failed)?;
    let offload = Offload::default();
    let store = match store {
        Some(store) => store,
        None => {
            let mut store_config = store_config(config);
            if let Storage::Cluster(settings) = &config.storage {
                let (settings, keys) = (settings.clone(), Arc::clone(&keys));
                let opened = offload.run(move || cluster::open(&settings, &keys)).await;
                let opened = opened.map_err(|error| OpenError::Failed(error.to_string()))?;
                store_config.backend = Backend::Cluster(opened.map_err(OpenError::Failed)?);
            }
            store_config.keys = Arc::clone(&keys);
            if let Some(settings) = &config.backup {
                store_config.blob_source = Some(lazy::source(settings).map_err(OpenError::Failed)?);
            }
            if let Some(TestHooks { clock, events }) = tests {
                store_config.clock = Arc::clone(clock) as _;
                store_config.event_observer = Some(Arc::clone(events));
            }
            let opened = offload.run(move || match image {
                Some(image) => Store::open_image(store_config, &image),
                None => Store::open(store_config),
            });
            let opened = opened.await;
            let opened = opened.map_err(|error| OpenError::Failed(error.to_string()))?;
            opened.map_err(|error| refused(config, &error))?
        }
    };
    if let Some(end) = store.log_end() {
        tracing::warn!("{end}");
    }
    if store.lacks_backup() {
        let outstanding = store.outstanding();
        tracing::warn!(
            outstanding,
            "bodies of a lazy restore are only in the backup: start with --backup at the location that was restored from"
        );
    }
    if matches!(config.storage, Storage::Directory { .. }) {
        let store = store.clone();
        // Beside the first requests: on a cold disk it may take longer than the rest of the start.
        offload.start(move || tell_missing_keys(&store));
    }
    // After the store: the audit file may be in the data directory, which must be empty to become one. Nothing is
    // followed before the first request.
    let followers = followers(config).map_err(OpenError::Setting)?;
    let (configured, made) = match configured {
        Some(configured) => (configured, None),
        None => {
            let made = MadeCredentials::of(&config.storage, &store).map_err(OpenError::Failed)?;
            let with_them =
                IdentitySettings { credentials: made.source.clone(), ..config.identity() };
            (ConfiguredUsers::read(&with_them).map_err(OpenError::Failed)?, Some(made))
        }
    };
    let configured = configured.take_over(&store).map_err(OpenError::Failed)?;
    let (opened, ring) = (store.clone(), Arc::clone(&keys));
    let users = offload.run(move || Users::open(configured, &opened, &ring)).await;
    let users = users.map_err(|error| OpenError::Failed(error.to_string()))?;
    let users = users.map_err(|error| OpenError::Failed(error.to_string()))?;
    let made_targets = users.remote_targets();
    let made_tiers = users.tiers();
    drop_events(&config.events, &store)?;
    warn_of_stranded_events(&store, &targets);
    let named = destinations.iter().map(|it| EventTarget {
        name: it.name().to_owned(),
        kind: it.kind(),
        users: it.users().to_vec(),
        origin: it.origin(),
    });
    let settings = Settings {
        region: config.region.clone(),
        takes_any_region: config.takes_any_region,
        event_targets: named.collect(),
        remote_targets,
        tiers,
        takes_version_2: config.allow_signature_v2,
        allows_keys_in_plain: config.allow_insecure_sse_c,
        acts_as_minio: config.profile == Some(Profile::Minio),
        ignores_disabled_acls: matches!(
            config.profile,
            Some(Profile::Localstack | Profile::S3mock)
        ),
        object_ownership: config.object_ownership.into(),
        blocks_public_access: config.aws_defaults,
        encrypts_by_default: (config.aws_defaults || config.auto_encryption)
            && config.keys.master.is_some(),
        cors: Cors::of_server(&config.cors_origins).map(Arc::new),
        metrics_are_public: config.no_auth || config.metrics_auth == MetricsAuth::Public,
    };
    let app = App::new(store, settings, Arc::clone(users.current()), offload.clone());
    app.remote_targets.replace_made(made_targets);
    app.tiers.replace_made(made_tiers);
    // A standby has what its primary has.
    if app.store.suspended().is_none() {
        prepare(plan, &app, None).await?;
    }
    Ok(Opened { app, users, targets, followers, made })
}

/// Opens the followers of requests: the audit log and the span exporter.
fn followers(config: &Config) -> Result<Vec<Arc<dyn Follower>>, String> {
    let ca_file = config.events.ca_file.as_deref();
    let acts_as_minio = config.profile == Some(Profile::Minio);
    let mut followers: Vec<Arc<dyn Follower>> = Vec::new();
    if let Some(audit) = Audit::open(&config.audit, acts_as_minio, ca_file)? {
        followers.push(audit);
    }
    #[cfg(feature = "otlp")]
    if let Some(otlp) = &config.otlp {
        followers.push(liteio_observe::otlp::Spans::open(otlp, ca_file)?);
    }
    Ok(followers)
}

/// Recreates the configured contents of a bucket.
///
/// # Errors
/// [`OpenError`].
#[cfg(feature = "testkit")]
pub(crate) async fn prepare_bucket(
    config: &Config,
    app: &App,
    name: String,
) -> Result<(), OpenError> {
    let plan = Plan::read(&config.preparation).map_err(OpenError::Failed)?;
    prepare(plan, app, Some(name)).await
}

/// Creates the configured contents: of all buckets, or of `only` one.
async fn prepare(plan: Plan, app: &App, only: Option<String>) -> Result<(), OpenError> {
    if plan.is_empty() {
        return Ok(());
    }
    let directory = app.directory.now();
    let account = directory.first_account();
    let owner = account
        .map(|it| Owner { id: it.canonical_id.clone(), display_name: it.display_name.clone() });
    let site = Site {
        store: app.store.clone(),
        owner: owner
            .ok_or_else(|| OpenError::Failed("the buckets would have no owner".to_owned()))?,
        region: app.region.clone(),
        object_ownership: app.object_ownership,
        only,
        given_up: Arc::default(),
    };
    let _given_up = GiveUp(Arc::clone(&site.given_up));
    let made = app.offload().run(move || plan.make(&site)).await;
    made.map_err(|error| OpenError::Failed(error.to_string()))?.map_err(OpenError::Failed)
}

/// The configured users.
fn users(config: &Config) -> Result<ConfiguredUsers, OpenError> {
    ConfiguredUsers::read(&config.identity()).map_err(|reason| match &config.credentials {
        // Issuers come from elsewhere.
        CredentialsSource::File(path) if reason.contains(&*path.to_string_lossy()) => {
            OpenError::Setting(format!("--credentials-file (LITEIO_CREDENTIALS_FILE): {reason}"))
        }
        CredentialsSource::Pair { .. } if config.no_auth && reason.contains("_key ") => {
            let advice = "set no keys, as without signature checks clients may use any";
            OpenError::Setting(format!("{reason}: {advice}"))
        }
        _ => OpenError::Setting(reason),
    })
}

/// The error for a failed open, with advice if the directory is not writable.
fn refused(config: &Config, error: &StoreError) -> OpenError {
    match &config.storage {
        Storage::Directory { path, .. } if path.is_file() => OpenError::Failed(format!(
            "{} is a file: give a directory for the data (--data-dir DIR)",
            path.display()
        )),
        Storage::Directory { path, .. } => {
            let told = match error {
                // It names the step and the path already.
                StoreError::Io(source) if source.to_string().starts_with("cannot ") => {
                    source.to_string()
                }
                _ => error.to_string(),
            };
            // The directory may be writable, and a file in it of another user.
            let of_file = || is_denied(&told).then(|| refusal_of_a_file(path));
            match (refusal_to_write(path).or_else(of_file), error) {
                (Some(advice), _) => OpenError::Failed(format!("{told}; {advice}")),
                (None, StoreError::NoSpace) => OpenError::Failed(no_space(path)),
                // Some of them name the file in the directory, or the directory itself.
                (None, StoreError::NotADataDirectory { path: named })
                    if !named.starts_with(&*path.to_string_lossy()) =>
                {
                    OpenError::Failed(format!("{}: {told}", path.display()))
                }
                (None, StoreError::Corrupt { .. }) => {
                    let advice = metadata_advice(path);
                    OpenError::Failed(format!("{}: {told}. {advice}", path.display()))
                }
                (None, _) => OpenError::Failed(told),
            }
        }
        Storage::Memory | Storage::Cluster(_) => OpenError::Failed(error.to_string()),
    }
}

/// The refusal of a directory on a full device, with the bytes that are missing.
fn no_space(path: &Path) -> String {
    let needed = StoreConfig::directory(path).reserve_bytes >> 20;
    let free = free_bytes(path).map_or("too few".to_owned(), |free| format!("{} MiB", free >> 20));
    format!(
        "{}: the device has {free} free, and a new store needs {needed} MiB: free some space, or give a \
         directory on another device (--data-dir DIR)",
        path.display()
    )
}

/// Cancels a preparation if the start is interrupted by a signal.
struct GiveUp(Arc<AtomicBool>);

impl Drop for GiveUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Deletes the queued events of removed targets.
fn drop_events(events: &EventSettings, store: &Store) -> Result<(), OpenError> {
    for name in &events.dropped {
        let dropped =
            store.drop_events(name).map_err(|error| OpenError::Failed(error.to_string()))?;
        tracing::warn!(
            event_target = name,
            dropped,
            "deleted the queued events of a target, as requested"
        );
    }
    Ok(())
}

/// Warns of targets that do not exist, if events are queued for them, or buckets name them: their events wait until a target of
/// that name is configured. Every target that had events has a queue.
fn warn_of_stranded_events(store: &Store, targets: &[Arc<dyn Target>]) {
    let queues = store.outbox_state().map(|state| state.queues).unwrap_or_default();
    for (name, queue) in queues {
        if targets.iter().any(|target| target.name() == name) {
            continue;
        }
        let waiting = queue.waiting;
        if waiting > 0 {
            tracing::warn!(
                event_target = name,
                waiting,
                "events are queued for a target that is not configured"
            );
        } else if store.notifies(&name).unwrap_or_default() {
            tracing::warn!(
                event_target = name,
                "notifications of buckets name a target that is not configured: its events will wait"
            );
        }
    }
}

fn store_config(config: &Config) -> StoreConfig {
    let mut store_config = match &config.storage {
        // The database and the blobs of a cluster are opened later.
        Storage::Memory | Storage::Cluster(_) => StoreConfig::memory(),
        Storage::Directory { path, durability } => {
            StoreConfig { durability: *durability, ..StoreConfig::directory(path) }
        }
    };
    // The same share of the memory that bodies and responses may use at most.
    store_config.role = if config.is_standby { Role::Standby } else { Role::Primary };
    let eighth = usize::try_from(Grant::of_process().memory_bytes / 8).unwrap_or(usize::MAX);
    let metadata_bytes = config.metadata_bytes.unwrap_or(store_config.memory_bytes.min(eighth));
    store_config.memory_bytes = metadata_bytes;
    if let Storage::Cluster(settings) = &config.storage {
        store_config.vector_cache.directory.clone_from(&settings.vector_cache);
        store_config.vector_cache.bytes_max = u64::from(settings.vector_cache_mib) << 20;
    }
    store_config.takes_empty_directories = config.preparation.directories_are_buckets;
    store_config.region.clone_from(&config.region);
    let day = Duration::from_secs(24 * 60 * 60);
    store_config.scrub_interval = (config.scrub.days > 0).then(|| day * config.scrub.days);
    store_config.lifecycle_day = config.lifecycle_day;
    store_config.restore_delay = config.restore_delay;
    store_config.events_waiting_max = config.events.waiting_max;
    store_config.events_keep_details = config.profile == Some(Profile::Minio);
    store_config.scrub_bytes_per_second = u64::from(config.scrub.mib_per_second) << 20;
    store_config
}

/// Warns of keys that objects need and that are not given.
fn tell_missing_keys(store: &Store) {
    // What reads an unreadable record later reports it.
    let missing = store.sample_missing_keys().unwrap_or_default();
    for key in missing.keys() {
        tracing::warn!(
            %key,
            "objects are encrypted with a key that is not given, and cannot be read: start with all keys that \
             the directory needs, by --master-key-file, --kms-key-file or as they were given before"
        );
    }
    store.note_missing_keys(&missing);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_device_is_named_with_what_it_has_and_needs() {
        let directory = tempfile::tempdir().expect("a directory");
        let line = no_space(directory.path());
        let shown = directory.path().display().to_string();
        assert!(line.starts_with(&shown) && line.contains(" MiB free"), "{line}");
        assert!(line.contains("needs 64 MiB") && line.contains("--data-dir DIR"), "{line}");
        assert!(no_space(Path::new("/no/such")).contains("too few free"));
    }
}
