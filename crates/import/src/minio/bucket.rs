//! The settings of a MinIO bucket.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use liteio_store::{Bucket, Versioning};

use super::Failed;
use super::msgpack::Reader;
use super::object::read_small;
use crate::documents::{Documents, settings};
use crate::target::{Failure, Target};

/// Limit of the settings document; a policy, for example, has at most 20 KiB.
const SETTINGS_BYTES_MAX: u64 = 64 << 20;

/// Creates or finds the bucket in the target, and applies MinIO's settings.
///
/// # Errors
/// [`Failure`].
pub(super) fn open(target: &Target, root: &Path, name: &str) -> Result<Arc<Bucket>, Failure> {
    let directory = root.join(".minio.sys/buckets").join(name).join(".metadata.bin");
    // A directory that was created without MinIO is a bucket without settings.
    let is_there = fs::symlink_metadata(&directory);
    if is_there.is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        return target.bucket(name);
    }
    let settings = read_small(&directory, SETTINGS_BYTES_MAX).and_then(|bytes| {
        let (documents, others) = parse(&bytes)?;
        for other in others {
            let line = format!("the {other} of {name} is not brought over: set it up anew");
            target.tally.note(&line);
        }
        Ok(settings(target, name, &documents))
    });
    // Without the versioning and object lock settings, the versions could not be imported
    // faithfully, so the bucket is skipped.
    let settings = settings.map_err(|error| {
        Failure::LeftOut(format!(
            "its settings cannot be read, so nothing of it is imported: {error}"
        ))
    })?;
    target.set(&target.bucket(name)?, settings)
}

/// Parses the documents of a bucket, and the names of settings that are not imported.
fn parse(bytes: &[u8]) -> Result<(Documents<'_>, Vec<&'static str>), Failed> {
    let Some((&[1, 0, 1, 0], map)) = bytes.split_first_chunk() else {
        return Err(Failed::new("their format is not known"));
    };
    let mut reader = Reader::new(map);
    let mut documents = Documents::default();
    let mut others = Vec::new();
    for _ in 0..reader.map()? {
        let mut other = |name: &'static str, bytes: &[u8]| {
            if !bytes.is_empty() {
                others.push(name);
            }
        };
        match reader.text()? {
            "PolicyConfigJSON" => documents.policy = reader.bytes()?,
            "LifecycleConfigXML" => documents.lifecycle = reader.bytes()?,
            "ObjectLockConfigXML" => documents.object_lock = reader.bytes()?,
            "VersioningConfigXML" => {
                documents.versioning_document = reader.bytes()?;
                documents.versioning = versioning(documents.versioning_document);
            }
            "TaggingConfigXML" => documents.tags = reader.bytes()?,
            "CorsConfigXML" => documents.cors = reader.bytes()?,
            "NotificationConfigXML" => documents.notifications = reader.bytes()?,
            "EncryptionConfigXML" => documents.encryption = reader.bytes()?,
            "QuotaConfigJSON" => documents.quota = reader.bytes()?,
            "ReplicationConfigXML" => other("replication", reader.bytes()?),
            _ => reader.skip()?,
        }
    }
    Ok((documents, others))
}

/// Parses the versioning state; the document may contain MinIO's own elements.
fn versioning(document: &[u8]) -> Versioning {
    let text = String::from_utf8_lossy(document);
    match () {
        () if text.contains("<Status>Enabled</Status>") => Versioning::Enabled,
        () if text.contains("<Status>Suspended</Status>") => Versioning::Suspended,
        () => Versioning::Never,
    }
}
