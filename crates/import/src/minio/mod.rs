//! `liteio import minio`: imports the directory of a single-drive MinIO.
//!
//! ```text
//! DIR/.minio.sys/format.json                          the drives of the deployment
//! DIR/.minio.sys/buckets/BUCKET/.metadata.bin/        the settings of a bucket, an object like any other
//! DIR/BUCKET/KEY/xl.meta                              the versions of a key, with the bytes of small ones
//! DIR/BUCKET/KEY/<data directory>/part.N              the bytes of the others
//! ```
//! A key that ends with `/` is a directory whose name ends with `__XLDIR__`.

mod bitrot;
mod bucket;
mod drive;
mod iam;
mod kms;
mod msgpack;
mod object;
mod s2;
mod sse;
mod targets;
pub mod volume;
mod walk;
mod xl_meta;

use std::fmt::Display;
use std::io;
use std::path::Path;

use liteio_iam::settings::{CredentialsSource, IdentitySettings};
use liteio_identity::DEFAULT_ACCESS_KEY;
use liteio_store::KeyRing;

use self::kms::Secrets;
use super::target::{Failure, Target};
use crate::cli::{ImportMinioArgs, ImportTargetArgs, KeyArgs, MinioKmsArgs};

/// The reason why an item of the source is not imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Failed {
    /// The item is damaged, or cannot be represented here.
    #[error("{0}")]
    Proven(String),
    /// The item could not be read; it may be intact.
    #[error("{0}")]
    Unread(String),
}

impl Failed {
    fn new(reason: impl Into<String>) -> Failed {
        Failed::Proven(reason.into())
    }

    fn reading(error: &io::Error) -> Failed {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Failed::new("it is cut off"),
            io::ErrorKind::NotFound => Failed::new("its file is missing"),
            io::ErrorKind::InvalidInput => Failed::Proven(error.to_string()),
            _ => Failed::Unread(error.to_string()),
        }
    }

    /// Adds the name of the item to the reason.
    fn of(self, what: &dyn Display) -> Failed {
        match self {
            Failed::Proven(reason) => Failed::Proven(format!("{what}: {reason}")),
            Failed::Unread(reason) => Failed::Unread(format!("{what}: {reason}")),
        }
    }
}

impl From<msgpack::Malformed> for Failed {
    fn from(error: msgpack::Malformed) -> Failed {
        Failed::Proven(error.to_string())
    }
}

impl From<Failed> for Failure {
    fn from(failed: Failed) -> Failure {
        match failed {
            Failed::Proven(reason) => Failure::LeftOut(reason),
            Failed::Unread(reason) => Failure::Unread(reason),
        }
    }
}

/// The note of an import whose master key is that of MinIO's KMS.
pub(super) const KEPT_KEY: &str = "what MinIO encrypted is encrypted here with the same key, of MINIO_KMS_SECRET_KEY: start the \
     server with this variable and --profile minio, or with its value as LITEIO_MASTER_KEY";

pub(super) fn run(arguments: &ImportMinioArgs, ring: KeyRing) -> Result<bool, String> {
    let root = &arguments.directory;
    drive::check(root)?;
    // Its files would change while they are read.
    volume::check_stopped(root, "import again; `liteio import s3` reads a MinIO that goes on")?;
    let secrets = secrets_of(arguments)?;
    let owner = arguments.root_user.as_deref().filter(|_| secrets.root.is_some());
    let owner = owner.unwrap_or(DEFAULT_ACCESS_KEY);
    let target = Target::open(&arguments.target, ring.clone(), Some(root), owner)?;
    if !secrets.kms.is_empty() && is_kms_key_asked(&arguments.target) {
        target.tally.note(KEPT_KEY);
    }
    let imported = target.run(|target, jobs| walk::buckets(target, jobs, root, &secrets));
    let targets = targets::read(root, &secrets);
    targets.notes.iter().for_each(|note| target.tally.note(note));
    // Without its URL, which may be a secret.
    for targets::FormerWebhook { name, .. } in &targets.webhooks {
        target.tally.note(&format!(
            "the webhook {name} of MinIO's events is not brought over: start the server with --webhook {name}=URL, and \
             set the notifications of buckets"
        ));
    }
    let result = imported.and_then(|()| match secrets.root.clone() {
        Some((access_key, secret_key)) => {
            // The account is that of the owner of the buckets.
            let identity = CredentialsSource::Pair { access_key, secret_key };
            let identity = IdentitySettings::new(identity);
            bring_users(&target, root, &secrets, &identity, &ring).map_err(Failure::Source)
        }
        None => {
            if iam::has_users(root) {
                target.tally.warning(
                    "users, groups, policies and service accounts are not brought over: import again with \
                     MINIO_ROOT_USER and MINIO_ROOT_PASSWORD, the root credentials of MinIO",
                );
            }
            Ok(())
        }
    });
    target.finish(result)
}

/// The keys of MinIO in the arguments.
fn secrets_of(arguments: &ImportMinioArgs) -> Result<Secrets, String> {
    let root = match (&arguments.root_user, &arguments.root_password) {
        (Some(user), Some(password)) => Some((user.clone(), password.clone())),
        (None, None) => None,
        _ => return Err("--root-user and --root-password belong together".to_owned()),
    };
    let kms = arguments.kms.text()?.as_deref().map(kms_key).transpose()?;
    Ok(Secrets { root, kms: kms.into_iter().collect() })
}

/// The key in a text `NAME:KEY`.
fn kms_key(text: &str) -> Result<[u8; 32], &'static str> {
    let key = text.split_once(':').map(|(_, key)| key);
    let key = key.and_then(|key| base64_simd::STANDARD.decode_to_vec(key).ok());
    let key = key.and_then(|key| <[u8; 32]>::try_from(key).ok());
    key.ok_or("--kms-secret-key (MINIO_KMS_SECRET_KEY) is NAME:KEY, 32 bytes in base64")
}

/// The keys of the data directory. Without a master key, the key of MinIO's KMS is it, as in a server of
/// the profile `minio`.
///
/// # Errors
/// The key is not valid, or its file cannot be read.
pub(super) fn keys(target: &ImportTargetArgs, kms: &MinioKmsArgs) -> Result<KeyArgs, String> {
    let mut keys = target.keys.clone();
    if is_kms_key_asked(target)
        && let Some(text) = kms.text()?
    {
        kms_key(&text)?;
        // With its name, which objects and buckets of SSE-KMS keep.
        keys.master_key = Some(text);
    }
    Ok(keys)
}

/// `true` if the key of MinIO's KMS, where it is given, is the master key of the data directory, too.
pub(super) fn is_kms_key_asked(target: &ImportTargetArgs) -> bool {
    let has_master = target.keys.master_key_file.is_some() || target.keys.master_key.is_some();
    // Without a master key, that is asked for.
    !has_master && !target.decrypt
}

/// Brings over the users of a drive, and reports the rest.
///
/// # Errors
/// One line: the target failed, or has no user whom they belong to.
fn bring_users(
    target: &Target,
    root: &Path,
    secrets: &Secrets,
    identity: &IdentitySettings,
    ring: &KeyRing,
) -> Result<(), String> {
    let found = iam::read(root, secrets);
    for (what, reason) in &found.unread {
        target.tally.left_out(what, reason);
    }
    for note in &found.notes {
        target.tally.note(note);
    }
    if found.is_empty() {
        return Ok(());
    }
    let brought = liteio_iam::minio::bring(identity, &target.store, ring, &found.users)?;
    for (what, reason) in &brought.left_out {
        target.tally.left_out(what, reason);
    }
    for note in &brought.notes {
        target.tally.note(note);
    }
    target.tally.note(&format!(
        "{} users, groups, policies and service accounts brought over, {} there already",
        brought.made, brought.present
    ));
    Ok(())
}
