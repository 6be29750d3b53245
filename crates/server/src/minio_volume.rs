//! A server with the profile `minio` on the directory of a MinIO, whose place it takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::config::{Config, Destination, Profile, Storage, Webhook};
use crate::keys;
use liteio_access::offload::Offload;
use liteio_import::volume::{FormerWebhook, KnownTarget, NewBuckets, Settings, Volume};

/// The volume of a former MinIO that these settings name, if there is one.
pub(crate) fn find(config: &Config) -> Option<Volume> {
    match &config.storage {
        // A standby receives its data from elsewhere.
        Storage::Directory { path, .. } if !config.is_standby => Volume::find(path),
        _ => None,
    }
    .filter(|_| config.profile == Some(Profile::Minio))
}

/// Takes over the data of MinIO, unless that was done, and makes LiteIO's own directory in the volume the data directory.
///
/// # Errors
/// The reason in one line. MinIO's files are as they were.
pub(crate) async fn take_over(volume: Volume, config: &mut Config) -> Result<(), String> {
    let keys = keys::open(&config.keys)?;
    let given_up: Arc<AtomicBool> = Arc::default();
    let _given_up = GiveUp(Arc::clone(&given_up));
    let (identity, take_over, opened) = (config.identity(), config.take_over, volume.clone());
    let configured = config.events.all_targets()?;
    let known = |it: &Destination| KnownTarget { name: it.name().to_owned(), kind: it.kind() };
    let event_targets = configured.iter().map(known).collect();
    let tiers = config.tiers.all_tiers()?.into_iter();
    let tiers = tiers.flat_map(|tier| [vec![tier.name], tier.classes].concat()).collect();
    let (region, object_ownership) = (config.region.clone(), config.object_ownership.into());
    let new_buckets = NewBuckets { region, object_ownership };
    let turned_off = config.events.turned_off.clone();
    let taken_over = Offload::default()
        .run(move || {
            let settings = Settings {
                identity: &identity,
                keys: &keys,
                take_over,
                event_targets,
                tiers,
                new_buckets,
                turned_off,
                check_webhook: |former| webhook(former).map(drop),
                given_up,
            };
            opened.open(&settings)
        })
        .await;
    taken_over.map_err(|error| error.to_string())??;
    for former in volume.webhooks()? {
        // The variables of MinIO come before its settings.
        let is_off = config.events.turned_off.contains(&former.name);
        if !is_off && configured.iter().all(|target| target.name() != former.name) {
            config.events.targets.push(webhook(&former)?.into());
        }
    }
    if config.preparation.directories_are_buckets {
        config.preparation.buckets.extend(volume.new_directories());
    }
    if let Storage::Directory { path, .. } = &mut config.storage {
        *path = volume.data_dir();
    }
    Ok(())
}

/// The webhook of a former MinIO, as a target of events.
fn webhook(former: &FormerWebhook) -> Result<Webhook, String> {
    let FormerWebhook { name, url, token } = former;
    Webhook::with_token(name, url, token.clone()).map_err(|error| error.to_string())
}

/// Ends a take-over if the start is interrupted by a signal.
struct GiveUp(Arc<AtomicBool>);

impl Drop for GiveUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
