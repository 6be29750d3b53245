//! A volume of MinIO that a server takes over before its port opens.
//!
//! ```text
//! DIR/.minio.sys/, DIR/BUCKET/    MinIO's files, which are only read
//! DIR/.liteio/data/               the data directory of LiteIO
//! DIR/.liteio/taking-over.json    the state of MinIO's files that is being imported
//! DIR/.liteio/webhooks.json       the webhooks in MinIO's settings
//! DIR/.liteio/taken-over.json     that state, once everything is imported: the directory is served from then on
//! ```
//!
//! An interrupted take-over goes on if MinIO's files are still in the state where it began; otherwise it begins anew, and nobody
//! has seen what is discarded. So it does with other keys and with another release: versions are only added on top of a key, so an
//! older one that was left out, and can be read now, would find no place. A finished one is never repeated. If MinIO has written to the volume since, the start ends with
//! what to do, because both have data that the other lacks.

mod marker;
mod running;
mod survey;

use std::fmt::Display;
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use indicatif::HumanBytes;
use jiff::Timestamp;
use liteio_iam::ConfiguredUsers;
use liteio_iam::settings::{CredentialsSource, IdentitySettings};
use liteio_store::{Clock as _, KeyRing, SystemClock};
use liteio_wire::private_file;

use self::marker::Marker;
use self::survey::{Survey, stamp, survey};
use super::drive::{self, OWN_DIRECTORY, SYSTEM};
use super::kms::Secrets;
pub use super::targets::FormerWebhook;
use super::{bring_users, targets, walk};
use crate::prepare::settings::InitialBucket;
use crate::target::{Failure, Target, is_bucket_name};
pub use crate::target::{KnownTarget, NewBuckets};

/// File of the webhooks in MinIO's settings.
const WEBHOOKS: &str = "webhooks.json";
/// Space that is left free beside the data: the reserve of a new store, and its write-ahead log.
const SPARE_BYTES: u64 = 192 << 20;

/// The answer to data that cannot be taken over, or that MinIO has changed since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TakeOver {
    /// The start ends.
    #[default]
    Complete,
    /// Objects, users and settings that cannot be taken over are left out.
    Incomplete,
    /// The changes of MinIO since the take-over are ignored.
    Keep,
}

/// The settings of a take-over.
pub struct Settings<'s> {
    /// The users of the server. The first account owns everything.
    pub identity: &'s IdentitySettings,
    /// The keys of the server.
    pub keys: &'s KeyRing,
    /// The answer to what cannot be taken over.
    pub take_over: TakeOver,
    /// The targets of events that the server has.
    pub event_targets: Vec<KnownTarget>,
    /// The tiers that the server has, by their names and classes.
    pub tiers: Vec<String>,
    /// The settings that the server gives new buckets.
    pub new_buckets: NewBuckets,
    /// Names of the webhooks that MinIO's variables turn off, whatever its settings say.
    pub turned_off: Vec<String>,
    /// Checks a webhook of MinIO's settings, with the reason why the server cannot have it.
    pub check_webhook: fn(&FormerWebhook) -> Result<(), String>,
    /// Set if the caller no longer waits.
    pub given_up: Arc<AtomicBool>,
}

/// A volume of MinIO with a single drive.
#[derive(Clone, Debug)]
pub struct Volume {
    root: PathBuf,
}

impl Volume {
    /// The volume of MinIO in a directory; `None` if it has none, or a data directory of LiteIO.
    pub fn find(directory: &Path) -> Option<Volume> {
        let is_drive = directory.join(SYSTEM).is_dir() && !directory.join("format").exists();
        is_drive.then(|| Volume { root: directory.to_owned() })
    }

    /// The data directory of LiteIO in it.
    pub fn data_dir(&self) -> PathBuf {
        self.own().join("data")
    }

    /// The webhooks in MinIO's settings, as of the take-over.
    ///
    /// # Errors
    /// One line: their file cannot be read.
    pub fn webhooks(&self) -> Result<Vec<FormerWebhook>, String> {
        let path = self.own().join(WEBHOOKS);
        let cannot = |error: &dyn Display| format!("cannot read {}: {error}", path.display());
        match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| cannot(&error)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(cannot(&error)),
        }
    }

    /// Keeps the webhooks in MinIO's settings that the server lacks. Returns all targets that it will
    /// have.
    fn keep_webhooks(
        &self,
        former: targets::Targets,
        settings: &Settings<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Vec<KnownTarget>, String> {
        let mut known = settings.event_targets.clone();
        let mut kept = Vec::new();
        notes.extend(former.notes);
        for webhook in former.webhooks {
            if known.iter().any(|target| target.name == webhook.name) {
                continue;
            }
            if settings.turned_off.contains(&webhook.name) {
                notes.push(format!(
                    "the webhook {} of MinIO's events is not brought over: its variable turns it off",
                    webhook.name
                ));
                continue;
            }
            match (settings.check_webhook)(&webhook) {
                Ok(()) => {
                    known.push(KnownTarget::webhook(&webhook.name));
                    kept.push(webhook);
                }
                Err(reason) => notes.push(format!(
                    "the webhook {} of MinIO's events is not brought over: {reason}",
                    webhook.name
                )),
            }
        }
        let path = self.own().join(WEBHOOKS);
        let text = serde_json::to_string_pretty(&kept).unwrap_or_default();
        private_file::write(&path, &text)
            .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        Ok(known)
    }

    fn own(&self) -> PathBuf {
        self.root.join(OWN_DIRECTORY)
    }

    /// Buckets for the empty directories in it that MinIO does not know: scripts make buckets so.
    pub fn new_directories(&self) -> Vec<InitialBucket> {
        let entries = fs::read_dir(&self.root).into_iter().flatten().filter_map(Result::ok);
        let names = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let settings = self.root.join(SYSTEM).join("buckets").join(&name);
            let is_empty = fs::read_dir(entry.path()).ok()?.next().is_none();
            let is_new = is_empty && name != "lost+found" && !settings.exists();
            name.parse().ok().filter(|_| is_new && is_bucket_name(&name))
        });
        names.collect()
    }

    /// Takes the data over, unless that was done. Blocks until it is done.
    ///
    /// # Errors
    /// One line that says what to do. MinIO's files are as they were.
    pub fn open(&self, settings: &Settings<'_>) -> Result<(), String> {
        let deployment = drive::check(&self.root)?;
        check_stopped(&self.root, "start LiteIO again")?;
        let stamp = stamp(&self.root);
        match Marker::taken_over(&self.own())? {
            Some(marker) if marker.stamp == stamp && marker.deployment == deployment => Ok(()),
            Some(marker) => self.compare(marker, &deployment, stamp, settings.take_over),
            None => self.take_over(&deployment, stamp, settings),
        }
    }

    /// Decides about a volume on which MinIO was started after its data were taken over.
    fn compare(
        &self,
        marker: Marker,
        deployment: &str,
        stamp: String,
        take_over: TakeOver,
    ) -> Result<(), String> {
        let shown = self.root.display();
        tracing::info!(
            directory = %shown,
            taken_over = marker.at,
            "MinIO was started on this volume since: looking for changes of its files"
        );
        let survey = self.survey()?;
        let new = Marker::new(marker.at.clone(), deployment, stamp, &survey);
        let new = Marker { left_out: marker.left_out, ..new };
        if marker.is_of(deployment, &survey) {
            return new.finish(&self.own());
        }
        if take_over == TakeOver::Keep {
            tracing::warn!(directory = %shown, "the changes of MinIO are ignored, as requested");
            return new.finish(&self.own());
        }
        let own = self.own();
        Err(format!(
            "MinIO's files in {shown} have changed since LiteIO took them over at {}: either start once with --take-over \
             keep (LITEIO_TAKE_OVER=keep), which serves LiteIO's data and ignores the changes, or move {} away, which takes \
             over MinIO's data again, without the changes made by LiteIO",
            marker.at,
            own.display()
        ))
    }

    fn survey(&self) -> Result<Survey, String> {
        survey(&self.root).map_err(|error| format!("{}: {error}", self.root.display()))
    }

    fn take_over(
        &self,
        deployment: &str,
        stamp: String,
        settings: &Settings<'_>,
    ) -> Result<(), String> {
        let (shown, own, data) = (self.root.display(), self.own(), self.data_dir());
        let configured = ConfiguredUsers::read(settings.identity)?;
        let owner =
            configured.owner().ok_or("the credentials file has no user, who would own the data")?;
        make_private(&own)?;
        let survey = self.survey()?;
        let marker =
            Marker { by: by(settings.keys), ..Marker::new(now(), deployment, stamp, &survey) };
        match Marker::taking_over(&own)? {
            Some(begun) if begun.by == marker.by && begun.is_of(deployment, &survey) => {
                tracing::info!(directory = %shown, "an interrupted take-over goes on");
            }
            begun => {
                if let Some(begun) = begun {
                    let reason = match begun.by == marker.by {
                        true => "MinIO has written since a take-over was interrupted",
                        false => {
                            "an unfinished take-over had other keys, or was of another release"
                        }
                    };
                    tracing::info!(directory = %shown, "{reason}: it begins anew");
                }
                // No server has served it: that needs the marker of a finished one.
                remove(&data)?;
                marker.begin(&own)?;
            }
        }
        let there = bytes_of(&data);
        check_space(&self.root, &survey, there, free_bytes(&own))?;
        tracing::info!(
            directory = %shown,
            keys = survey.keys,
            bytes = %HumanBytes(survey.bytes),
            "taking over the data of MinIO, which stay as they are"
        );
        let given_up = Arc::clone(&settings.given_up);
        let secrets = Secrets::of(settings.identity, settings.keys);
        let mut notes = Vec::new();
        let former = targets::read(&self.root, &secrets);
        let event_targets = self.keep_webhooks(former, settings, &mut notes)?;
        let ring = settings.keys.clone();
        let mut target =
            Target::of_volume(&data, owner, survey.keys, ring, event_targets, given_up)?;
        target.tiers.clone_from(&settings.tiers);
        target.new_buckets.clone_from(&settings.new_buckets);
        notes.iter().for_each(|note| target.tally.note(note));
        if survey.uploads > 0 {
            target.tally.note(&format!(
                "{} multipart uploads that were left open are not taken over: clients start them again",
                survey.uploads
            ));
        }
        let imported = target.run(|target, jobs| walk::buckets(target, jobs, &self.root, &secrets));
        let result = imported.and_then(|()| {
            let brought =
                bring_users(&target, &self.root, &secrets, settings.identity, settings.keys);
            brought.map_err(Failure::Source)
        });
        let left_out = target.tally.skipped();
        let is_accepted = left_out == 0 || settings.take_over == TakeOver::Incomplete;
        target.finish(result).map_err(|reason| {
            reason.replace("the same command again goes on", "the next start goes on")
        })?;
        if !marker.is_of(deployment, &self.survey()?) {
            return Err(format!(
                "the files of {shown} changed while they were taken over: stop MinIO, and start LiteIO again"
            ));
        }
        if !is_accepted {
            let items = if left_out == 1 { "item" } else { "items" };
            return Err(format!(
                "{left_out} {items} of MinIO cannot be taken over: see the lines above. If keys are missing, set \
                 MINIO_KMS_SECRET_KEY and start again. Or start with --take-over incomplete (LITEIO_TAKE_OVER=incomplete) \
                 to go on without them: they stay in {shown}, and `liteio import s3` from a MinIO that runs on a copy of \
                 it can still bring over objects"
            ));
        }
        Marker { at: now(), left_out, ..marker }.finish(&own)
    }
}

impl Secrets {
    /// The root credentials and the keys of the server, which are those of the MinIO whose place it takes.
    fn of(identity: &IdentitySettings, keys: &KeyRing) -> Secrets {
        let root = match &identity.credentials {
            CredentialsSource::Pair { access_key, secret_key } => {
                Some((access_key.clone(), secret_key.clone()))
            }
            CredentialsSource::File(_) | CredentialsSource::Made => None,
        };
        let kms = keys.master().iter().map(|key| *key.expose()).collect();
        Secrets { root, kms }
    }
}

/// Refuses a volume on which MinIO runs. `then` says what to do once it is stopped.
pub(super) fn check_stopped(root: &Path, then: &str) -> Result<(), String> {
    match running::find(root) {
        None => Ok(()),
        Some(pid) => {
            Err(format!("MinIO runs on {} (process {pid}): stop it, and {then}", root.display()))
        }
    }
}

/// This release, and the ids of the keys: what can be read depends on them.
fn by(keys: &KeyRing) -> Vec<String> {
    let release = concat!("LiteIO ", env!("CARGO_PKG_VERSION")).to_owned();
    std::iter::once(release).chain(keys.ids().iter().map(ToString::to_string)).collect()
}

fn now() -> String {
    let seconds = i64::try_from(SystemClock.now_ms() / 1000).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds).unwrap_or_default().to_string()
}

/// Creates a directory for its owner only, unless it exists.
fn make_private(path: &Path) -> Result<(), String> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(format!("cannot create {}: {error}", path.display()))
        }
        _ => Ok(()),
    }
}

fn remove(path: &Path) -> Result<(), String> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(format!("cannot remove {}: {error}", path.display()))
        }
        _ => Ok(()),
    }
}

/// The bytes of all files in a directory. Files that cannot be seen count nothing.
fn bytes_of(directory: &Path) -> u64 {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let bytes = entries.map(|entry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes_of(&entry.path()),
        Ok(metadata) if metadata.is_file() => metadata.len(),
        _ => 0,
    });
    bytes.sum()
}

fn free_bytes(directory: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(directory).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}

/// Checks that a device with `free` bytes has room for a copy of the volume, of which `there` bytes are copied. Without
/// information from the system, there is room.
fn check_space(root: &Path, survey: &Survey, there: u64, free: Option<u64>) -> Result<(), String> {
    let needed = survey.bytes.saturating_sub(there).saturating_add(SPARE_BYTES);
    match free {
        Some(free) if free < needed => Err(format!(
            "the data of MinIO in {} need {} more on that device, because they are copied and MinIO's files stay, and {} are \
             free: free some space, or import them to another device with `liteio import minio {} --data-dir DIR`",
            root.display(),
            HumanBytes(needed),
            HumanBytes(free),
            root.display()
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
