//! Resolves the database and the place of bodies of several servers.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use liteio_client::parse_duration;

use super::environment::Variables;
use super::{Config, ConfigError, CredentialsSource, Storage, error};
use crate::cli::{ClusterArgs, ServerArgs};

/// Connections for reads, if no number is given.
const CONNECTIONS: usize = 16;
const CONNECTIONS_MAX: usize = 1000;
/// Longest time for which deleted bodies are kept.
const GRACE_MAX: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The database and the place of bodies of several servers.
#[derive(Clone, PartialEq, Eq)]
pub struct ClusterSettings {
    /// The URL of the database.
    pub metadata: String,
    /// The file with its password.
    pub password_file: Option<PathBuf>,
    /// Connections for reads.
    pub connections: usize,
    /// Start although the database may lose acknowledged writes.
    pub allows_unsafe: bool,
    /// The place of the bodies.
    pub blobs: BlobsPlace,
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
    /// The URL of the service of `s3://`.
    pub endpoint: Option<String>,
    /// The region.
    pub region: Option<String>,
    /// The access key.
    pub access_key: Option<String>,
    /// The secret key.
    pub secret_key: Option<String>,
    /// The file with the secret key, if that is not given.
    pub secret_key_file: Option<PathBuf>,
    /// The session token of temporary keys.
    pub session_token: Option<String>,
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
pub(crate) fn resolve(
    arguments: &ClusterArgs,
    variables: &Variables,
) -> Result<Option<ClusterSettings>, ConfigError> {
    let (metadata, location) = match (&arguments.metadata, &arguments.blobs) {
        (Some(metadata), Some(blobs)) => (metadata.clone(), blobs.clone()),
        (None, None) => {
            return match given(arguments) {
                Some(flag) => error(format!("{flag} needs --metadata and --blobs: give both, too")),
                None => Ok(None),
            };
        }
        (Some(_), None) => {
            return error("--metadata (LITEIO_METADATA) needs --blobs: give the place of the bodies, too");
        }
        (None, Some(_)) => {
            return error("--blobs (LITEIO_BLOBS) needs --metadata: give the database, too");
        }
    };
    let name = arguments.cluster_name.clone().unwrap_or_else(|| "liteio".to_owned());
    if !is_name(&name) {
        return error(format!(
            "the cluster name {name:?} is not valid: give --cluster-name 1 to 40 lower-case letters, digits and \
             underscores, and a letter first"
        ));
    }
    let connections = arguments.metadata_connections.unwrap_or(CONNECTIONS);
    if !(1..=CONNECTIONS_MAX).contains(&connections) {
        return error(format!("--metadata-connections is from 1 to {CONNECTIONS_MAX}"));
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
    let server_name = arguments.server_name.clone().or_else(host_name);
    Ok(Some(ClusterSettings {
        metadata,
        password_file: arguments.metadata_password_file.clone(),
        connections,
        allows_unsafe: arguments.metadata_unsafe,
        blobs: blobs(arguments, location, variables)?,
        name,
        server_name: server_name.unwrap_or_else(|| "server".to_owned()),
        deletion_grace,
    }))
}

fn is_name(name: &str) -> bool {
    let is_inner = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_';
    (1..=40).contains(&name.len())
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
        ("--blobs-endpoint", arguments.blobs_endpoint.is_some()),
        ("--blobs-region", arguments.blobs_region.is_some()),
        ("--blobs-access-key", arguments.blobs_access_key.is_some()),
        ("--blobs-secret-key", arguments.blobs_secret_key.is_some()),
        ("--blobs-secret-key-file", arguments.blobs_secret_key_file.is_some()),
        ("--cluster-name", arguments.cluster_name.is_some()),
        ("--server-name", arguments.server_name.is_some()),
        ("--deletion-grace", arguments.deletion_grace.is_some()),
    ];
    given.iter().find(|(_, is_given)| *is_given).map(|(flag, _)| *flag)
}

fn blobs(
    arguments: &ClusterArgs,
    location: String,
    variables: &Variables,
) -> Result<BlobsPlace, ConfigError> {
    let mut place = BlobsPlace {
        location,
        endpoint: arguments.blobs_endpoint.clone(),
        region: arguments.blobs_region.clone(),
        access_key: arguments.blobs_access_key.clone(),
        secret_key: arguments.blobs_secret_key.clone(),
        secret_key_file: arguments.blobs_secret_key_file.clone(),
        session_token: None,
    };
    let has_secret = place.secret_key.is_some() || place.secret_key_file.is_some();
    if !place.location.starts_with("s3://") {
        let is_given = place.endpoint.is_some() || place.region.is_some();
        return match is_given || place.access_key.is_some() || has_secret {
            true => error(
                "--blobs-endpoint, --blobs-region and the keys are for s3:// only: remove them, or give --blobs \
                 s3://BUCKET/PREFIX",
            ),
            false => Ok(place),
        };
    }
    if place.secret_key.is_some() && place.secret_key_file.is_some() {
        return error(
            "--blobs-secret-key (LITEIO_BLOBS_SECRET_KEY) and --blobs-secret-key-file contradict each other: remove \
             one of them",
        );
    }
    let variable = |name| variables.get(name).map(str::to_owned);
    match (&place.access_key, has_secret) {
        (Some(_), true) => {}
        (Some(_), false) => {
            return error(
                "--blobs-access-key needs --blobs-secret-key-file or LITEIO_BLOBS_SECRET_KEY: set both or neither",
            );
        }
        (None, true) => {
            return error("the secret key of the bodies needs --blobs-access-key: set both or neither");
        }
        (None, false) => {
            place.access_key = variable("AWS_ACCESS_KEY_ID");
            place.secret_key = variable("AWS_SECRET_ACCESS_KEY");
            place.session_token = variable("AWS_SESSION_TOKEN");
        }
    }
    place.region = place.region.or_else(|| variable("AWS_REGION"));
    place.region = place.region.or_else(|| variable("AWS_DEFAULT_REGION"));
    Ok(place)
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
        return error(format!("{flag} and --metadata contradict each other, since {reason}: remove {flag}"));
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
