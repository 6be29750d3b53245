//! The database and the place of bodies of a cluster.

use std::sync::Arc;

use liteio_postgres::{Postgres, PostgresConfig};
use liteio_store::{
    BlobAccess, BlobCache, BlobLocation, ClusterBackend, ClusterDatabase, ClusterId, KeyRing,
    SharedBlobs,
};

use crate::config::{BlobsPlace, ClusterSettings};
use liteio_wire::private_file;

/// Bytes of a MiB.
const MIB: u64 = 1 << 20;

/// The settings of the database.
pub(super) fn database(settings: &ClusterSettings) -> Result<PostgresConfig, String> {
    let refused = |error: liteio_postgres::PostgresError| format!("--metadata: {error}");
    let variable = |name: &str| std::env::var_os(name);
    let mut config = PostgresConfig::parse(&settings.metadata, variable).map_err(refused)?;
    if let Some(file) = &settings.password_file {
        config = config.with_password_file(file).map_err(refused)?;
    }
    if let Some(number) = settings.connections {
        config = config.with_read_connections(number).map_err(refused)?;
    }
    let config = config.with_cluster(&settings.name).map_err(refused)?;
    Ok(config.allow_unsafe(settings.allows_unsafe))
}

/// The place of the bodies, and access to it.
fn location(place: &BlobsPlace) -> Result<(BlobLocation, BlobAccess), String> {
    let refused = |reason: String| format!("--blobs: {reason}");
    let location = BlobLocation::parse(&place.location).map_err(refused)?;
    let access = BlobAccess::from_variables(&|name| std::env::var(name).ok());
    let Some(access_key) = &place.access_key else { return Ok((location, access)) };
    let secret = match (&place.secret_key, &place.secret_key_file) {
        (Some(secret), _) => secret.clone(),
        (None, Some(file)) => private_file::read_secret(file).map_err(refused)?,
        (None, None) => String::new(),
    };
    Ok((location, access.with_keys(access_key, &secret)))
}

/// The place of the bodies, as a server with this run writes them; 0 for a command, which writes none.
pub(super) fn blobs(place: &BlobsPlace, run: u32) -> Result<SharedBlobs, String> {
    let (location, access) = location(place)?;
    SharedBlobs::open(&location, &access, run).map_err(|reason| format!("--blobs: {reason}"))
}

/// The database, with the number of a run.
pub(super) fn opened(config: &PostgresConfig) -> Result<ClusterDatabase, String> {
    let database = Postgres::open(config).map_err(|error| format!("--metadata: {error}"))?;
    Ok(Arc::new(database))
}

/// See [`super::open`].
pub(super) fn open(settings: &ClusterSettings, keys: &KeyRing) -> Result<ClusterBackend, String> {
    let config = database(settings)?;
    let refused = |error: liteio_postgres::PostgresError| format!("--metadata: {error}");
    let id = ClusterId(liteio_postgres::check(&config).map_err(refused)?.0);
    // Before a run begins: a wrong pair changes nothing.
    let place = blobs(&settings.blobs, 0)?;
    place.check(&id).map_err(|error| format!("--blobs: {error}"))?;
    check_master_key(&config, keys)?;
    let database = opened(&config)?;
    let run = database.run();
    let blobs = match &settings.blobs.cache {
        None => blobs(&settings.blobs, run)?,
        Some((directory, mib)) => {
            let (location, access) = location(&settings.blobs)?;
            let cache =
                BlobCache { directory: directory.clone(), bytes_max: u64::from(*mib) * MIB };
            SharedBlobs::open_with_cache(&location, &access, run, &cache, &id)
                .map_err(|reason| format!("--blob-cache: {reason}"))?
        }
    };
    Ok(ClusterBackend {
        database,
        blobs: blobs.into(),
        server_name: settings.server_name.clone(),
        deletion_grace: settings.deletion_grace,
    })
}

/// Refuses a server whose master keys are not those of the cluster: it could not read what the others
/// encrypt. The first server that has one gives it to the cluster.
fn check_master_key(config: &PostgresConfig, keys: &KeyRing) -> Result<(), String> {
    let own: Vec<String> = keys.ids().iter().map(ToString::to_string).collect();
    let Some(newest) = own.first() else {
        return Err(
            "all servers of a cluster need the same master key: give --master-key-file".to_owned()
        );
    };
    let kept = liteio_postgres::set_fingerprint(config, newest.as_bytes());
    let kept = kept.map_err(|error| format!("--metadata: {error}"))?;
    match own.iter().any(|id| id.as_bytes() == kept) {
        true => Ok(()),
        false => Err(
            "the master key differs from the cluster's: give the file that its other servers have"
                .to_owned(),
        ),
    }
}
