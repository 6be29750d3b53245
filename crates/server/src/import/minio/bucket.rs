//! The settings of a bucket of MinIO.

use std::path::Path;
use std::sync::Arc;

use liteio_store::{Bucket, DocumentKind, Versioning};

use super::Failed;
use super::msgpack::Reader;
use super::object::read_small;
use crate::import::target::{BucketSettings, Failure, Target};
use crate::policy::{Kind, Policy};
use crate::s3::foreign;

/// Longer settings do not exist: a policy has at most 20 KiB.
const SETTINGS_BYTES_MAX: u64 = 64 << 20;

/// The documents of a bucket, as MinIO keeps them; empty where it has none.
#[derive(Debug, Default)]
struct Documents<'b> {
    policy: &'b [u8],
    lifecycle: &'b [u8],
    object_lock: &'b [u8],
    versioning: &'b [u8],
    tags: &'b [u8],
    cors: &'b [u8],
    /// The names of settings that are not brought over.
    others: Vec<&'static str>,
}

/// The bucket in the target, with the settings that MinIO has of it.
///
/// # Errors
/// [`Failure`].
pub(super) fn open(target: &Target, root: &Path, name: &str) -> Result<Arc<Bucket>, Failure> {
    let bucket = target.bucket(name)?;
    let directory = root.join(".minio.sys/buckets").join(name).join(".metadata.bin");
    // A directory that was made beside MinIO is a bucket without settings.
    if !directory.join("xl.meta").exists() {
        return Ok(bucket);
    }
    let settings = read_small(&directory, SETTINGS_BYTES_MAX)
        .and_then(|bytes| Ok(settings(target, name, &parse(&bytes)?)));
    let settings = settings.unwrap_or_else(|error| {
        target.tally.left_out(&format!("the settings of {name}"), &error.to_string());
        // So that no version has to be left out.
        BucketSettings { versioning: Versioning::Suspended, ..BucketSettings::default() }
    });
    target.set(&bucket, settings)
}

fn parse(bytes: &[u8]) -> Result<Documents<'_>, Failed> {
    let Some((&[1, 0, 1, 0], map)) = bytes.split_first_chunk() else {
        return Err(Failed::new("their format is not known"));
    };
    let mut reader = Reader::new(map);
    let mut documents = Documents::default();
    for _ in 0..reader.map()? {
        let mut other = |name: &'static str, bytes: &[u8]| {
            if !bytes.is_empty() {
                documents.others.push(name);
            }
        };
        match reader.text()? {
            "PolicyConfigJSON" => documents.policy = reader.bytes()?,
            "LifecycleConfigXML" => documents.lifecycle = reader.bytes()?,
            "ObjectLockConfigXML" => documents.object_lock = reader.bytes()?,
            "VersioningConfigXML" => documents.versioning = reader.bytes()?,
            "TaggingConfigXML" => documents.tags = reader.bytes()?,
            "CorsConfigXML" => documents.cors = reader.bytes()?,
            "NotificationConfigXML" => other("notifications", reader.bytes()?),
            "EncryptionConfigXML" => other("default encryption", reader.bytes()?),
            "QuotaConfigJSON" => other("quota", reader.bytes()?),
            "ReplicationConfigXML" => other("replication", reader.bytes()?),
            _ => reader.skip()?,
        }
    }
    Ok(documents)
}

fn settings(target: &Target, name: &str, documents: &Documents<'_>) -> BucketSettings {
    let note = |what: &str, reason: &str| {
        target.tally.note(&format!("the {what} of {name} is not brought over: {reason}"));
    };
    for other in &documents.others {
        note(other, "set it up anew");
    }
    let mut settings = BucketSettings::default();
    let has = |status: &str| {
        let status = format!("<Status>{status}</Status>");
        String::from_utf8_lossy(documents.versioning).contains(&status)
    };
    settings.versioning = match () {
        () if has("Enabled") || !documents.object_lock.is_empty() => Versioning::Enabled,
        () if has("Suspended") => Versioning::Suspended,
        () => Versioning::Never,
    };
    if !documents.object_lock.is_empty() {
        let default = foreign::default_retention(documents.object_lock).unwrap_or_else(|reason| {
            note("default retention", &reason);
            None
        });
        settings.object_lock = Some(default);
    }
    if !documents.lifecycle.is_empty() {
        match foreign::lifecycle(documents.lifecycle) {
            Ok(lifecycle) => settings.lifecycle = Some(lifecycle),
            Err(reason) => note("lifecycle", &reason),
        }
    }
    if !documents.policy.is_empty() {
        match Policy::parse(documents.policy, Kind::Bucket(name)) {
            Ok(_) => settings.documents.push((DocumentKind::Policy, documents.policy.to_vec())),
            Err(error) => note("policy", &error.to_string()),
        }
    }
    if !documents.tags.is_empty() {
        match foreign::bucket_tags(documents.tags) {
            Ok(document) => settings.documents.push((DocumentKind::Tagging, document)),
            Err(reason) => note("tags", &reason),
        }
    }
    if !documents.cors.is_empty() {
        match foreign::cors(documents.cors) {
            Ok(document) => settings.documents.push((DocumentKind::Cors, document)),
            Err(reason) => note("CORS configuration", &reason),
        }
    }
    settings
}
