//! Resolves the database and the place of bodies of several servers.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use liteio_client::parse_duration;

use super::{Config, ConfigError, CredentialsSource, Storage, error};
use crate::cli::{ClusterArgs, ServerArgs};

/// Connections for reads: half of them are for reads that last long.
const CONNECTIONS: std::ops::RangeInclusive<usize> = 2..=1000;
/// Size of the cache of bodies, and of that of vectors, in MiB, if none is given.
const CACHE_MIB: u32 = 1024;
/// Longest time for which deleted bodies are kept.
const GRACE_MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The database and the place of bodies of several servers.
#[derive(Clone, PartialEq, Eq)]
pub struct ClusterSettings {
    /// The URL of the database.
    pub metadata: String,
    /// The file with its password.
    pub password_file: Option<PathBuf>,
    /// Connections for reads; `None` for those of the URL.
    pub connections: Option<usize>,
    /// Start although the database may lose acknowledged writes.
    pub allows_unsafe: bool,
    /// The place of the bodies.
    pub blobs: BlobsPlace,
    /// The directory of the cache of vectors; `None` for memory.
    pub vector_cache: Option<PathBuf>,
    /// Its size in MiB.
    pub vector_cache_mib: u32,
    /// The name of the cluster.
    pub name: String,
    /// The name of this server.
    pub server_name: String,
    /// Time for which deleted bodies are kept.
    pub deletion_grace: Duration,
}

/// The place of bodies, and access to it.
#[derive(Clone, PartialEq, Eq)]
pub struct BlobsPlace {
    /// `s3://BUCKET/PREFIX`, `gs://…`, `az://…` or `file:///PATH`.
    pub location: String,
    /// The access key of `s3://`; by default that of the environment.
    pub access_key: Option<String>,
    /// The secret key.
    pub secret_key: Option<String>,
    /// The file with the secret key, if that is not given.
    pub secret_key_file: Option<PathBuf>,
    /// The directory of a cache on a local disk, and its size in MiB.
    pub cache: Option<(PathBuf, u32)>,
}

// Written by hand, so that no secret is logged.
impl fmt::Debug for ClusterSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("ClusterSettings");
        shown.field("name", &self.name).field("server_name", &self.server_name);
        shown.finish_non_exhaustive()
    }
}

impl fmt::Debug for BlobsPlace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("BlobsPlace").finish_non_exhaustive()
    }
}

/// Resolves the place of a cluster; `None` if none is given.
///
/// # Errors
/// [`ConfigError`] if only a part of it is given, or is not valid.
pub(crate) fn resolve(arguments: &ClusterArgs) -> Result<Option<ClusterSettings>, ConfigError> {
    let (metadata, location) = match (&arguments.metadata, &arguments.blobs) {
        (Some(metadata), Some(blobs)) => (metadata.clone(), blobs.clone()),
        (None, None) => {
            return match given(arguments) {
                Some(flag) => error(format!("{flag} needs --metadata and --blobs: give both, too")),
                None => Ok(None),
            };
        }
        (Some(_), None) => {
            return error(
                "--metadata (LITEIO_METADATA) needs --blobs: give the place of the bodies, too",
            );
        }
        (None, Some(_)) => {
            return error("--blobs (LITEIO_BLOBS) needs --metadata: give the database, too");
        }
    };
    let name = arguments.cluster_name.clone().unwrap_or_else(|| "liteio".to_owned());
    if !is_name(&name) {
        return error(format!(
            "the cluster name {name:?} is not valid: give --cluster-name 1 to 48 lower-case letters, digits and \
             underscores, and a letter first"
        ));
    }
    let connections = arguments.metadata_connections;
    if connections.is_some_and(|number| !CONNECTIONS.contains(&number)) {
        let (min, max) = (CONNECTIONS.start(), CONNECTIONS.end());
        return error(format!("--metadata-connections is from {min} to {max}"));
    }
    let deletion_grace = match &arguments.deletion_grace {
        None => Duration::ZERO,
        Some(text) => match parse_duration(text) {
            Ok(grace) if grace <= GRACE_MAX => grace,
            Ok(_) | Err(_) => {
                return error(format!(
                    "the time {text:?} is not valid: give --deletion-grace a time such as 24h"
                ));
            }
        },
    };
    let vector_cache_mib = match arguments.vector_cache_size.unwrap_or(CACHE_MIB) {
        0 => return error("--vector-cache-size is 1 or more"),
        mib => mib,
    };
    let server_name = arguments.server_name.clone().or_else(host_name);
    Ok(Some(ClusterSettings {
        metadata,
        password_file: arguments.metadata_password_file.clone(),
        connections,
        allows_unsafe: arguments.metadata_unsafe,
        blobs: blobs(arguments, location)?,
        vector_cache: arguments.vector_cache.clone(),
        vector_cache_mib,
        name,
        server_name: server_name.unwrap_or_else(|| "server".to_owned()),
        deletion_grace,
    }))
}

fn is_name(name: &str) -> bool {
    let is_inner = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_';
    (1..=48).contains(&name.len())
        && name.starts_with(|it: char| it.is_ascii_lowercase())
        && name.chars().all(is_inner)
}

fn host_name() -> Option<String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok()?;
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// The first setting that is given without a cluster.
fn given(arguments: &ClusterArgs) -> Option<&'static str> {
    let given = [
        ("--metadata-password-file", arguments.metadata_password_file.is_some()),
        ("--metadata-connections", arguments.metadata_connections.is_some()),
        ("--metadata-unsafe", arguments.metadata_unsafe),
        ("--blobs-access-key", arguments.blobs_access_key.is_some()),
        ("--blobs-secret-key", arguments.blobs_secret_key.is_some()),
        ("--blobs-secret-key-file", arguments.blobs_secret_key_file.is_some()),
        ("--blob-cache", arguments.blob_cache.is_some()),
        ("--blob-cache-size", arguments.blob_cache_size.is_some()),
        ("--vector-cache", arguments.vector_cache.is_some()),
        ("--vector-cache-size", arguments.vector_cache_size.is_some()),
        ("--cluster-name", arguments.cluster_name.is_some()),
        ("--server-name", arguments.server_name.is_some()),
        ("--deletion-grace", arguments.deletion_grace.is_some()),
    ];
    given.iter().find(|(_, is_given)| *is_given).map(|(flag, _)| *flag)
}

fn blobs(arguments: &ClusterArgs, location: String) -> Result<BlobsPlace, ConfigError> {
    let (access_key, secret_key) =
        (arguments.blobs_access_key.clone(), arguments.blobs_secret_key.clone());
    let secret_key_file = arguments.blobs_secret_key_file.clone();
    let has_secret = secret_key.is_some() || secret_key_file.is_some();
    if !location.starts_with("s3://") && (access_key.is_some() || has_secret) {
        return error(
            "--blobs-access-key and its secret key are for s3:// only: remove them, or give --blobs s3://BUCKET/PREFIX",
        );
    }
    if secret_key.is_some() && secret_key_file.is_some() {
        return error(
            "--blobs-secret-key (LITEIO_BLOBS_SECRET_KEY) and --blobs-secret-key-file contradict each other: remove \
             one of them",
        );
    }
    if access_key.is_some() != has_secret {
        return error(
            "--blobs-access-key and --blobs-secret-key-file (or LITEIO_BLOBS_SECRET_KEY) belong together: set both \
             or neither",
        );
    }
    let cache = match (&arguments.blob_cache, arguments.blob_cache_size) {
        (None, Some(_)) => {
            return error("--blob-cache-size needs --blob-cache: give the directory, too");
        }
        (_, Some(0)) => return error("--blob-cache-size is 1 or more"),
        (Some(directory), size) => Some((directory.clone(), size.unwrap_or(CACHE_MIB))),
        (None, None) => None,
    };
    Ok(BlobsPlace { location, access_key, secret_key, secret_key_file, cache })
}

/// Refuses settings that are of one process, or of a directory.
///
/// # Errors
/// [`ConfigError`] that names the first one.
pub(super) fn check(config: &Config, arguments: &ServerArgs) -> Result<(), ConfigError> {
    let Storage::Cluster(_) = &config.storage else { return Ok(()) };
    let has_own_certificate = config.tls.as_ref().is_some_and(|tls| tls.certificates.is_empty());
    let refused = [
        ("--data-dir", arguments.data_dir.is_some(), "the data is in the database and in --blobs"),
        ("--memory", arguments.memory, "the data is in the database and in --blobs"),
        ("--durability", arguments.durability.is_some(), "the database decides about it"),
        ("--backup", config.backup.is_some(), "back the database up, and then the bodies"),
        ("--test-api", config.test_api.is_some(), "it acts on one process"),
        ("--tls-self-signed", has_own_certificate, "all servers need the same certificate"),
        (
            "--seed",
            config.preparation.seed.is_some() || config.preparation.directories_are_buckets,
            "copy with `liteio client mirror`",
        ),
    ];
    if let Some((flag, _, reason)) = refused.iter().find(|(_, is_given, _)| *is_given) {
        return error(format!(
            "{flag} and --metadata contradict each other, since {reason}: remove {flag}"
        ));
    }
    if matches!(config.credentials, CredentialsSource::Made) {
        return error(
            "credentials that are made at the first start would differ between the servers: set LITEIO_ACCESS_KEY \
             and LITEIO_SECRET_KEY",
        );
    }
    if config.keys.master.is_none() {
        return error(
            "all servers of a cluster need the same master key: make one with `liteio key new master.key` and give \
             --master-key-file",
        );
    }
    Ok(())
}

#[cfg(test)]
#[path = "cluster_tests.rs"]
mod tests;
