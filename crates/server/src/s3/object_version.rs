//! One version of an object, as operations on its metadata name it.

use liteio_store::{GetOptions, ObjectVersion, VersionChange};
use s3s::S3Result;

use super::convert::{object_key, version_id};
use super::error;
use crate::access::Granted;
use crate::state::App;

/// The version of that id, or the current one.
pub(super) fn find(
    app: &App,
    granted: &Granted,
    key: String,
    version: Option<String>,
) -> S3Result<ObjectVersion> {
    let key = object_key(key)?;
    let options = GetOptions { version: version_id(version)?, ..GetOptions::default() };
    let found = app.look(|store| store.head_object(granted.bucket(), &key, &options));
    Ok(found.map_err(error::from_store)?.object)
}

/// Changes the version of that id, or the current one.
pub(super) async fn change(
    app: &App,
    granted: &Granted,
    key: String,
    version: Option<String>,
    change: VersionChange,
) -> S3Result<ObjectVersion> {
    let (key, version) = (object_key(key)?, version_id(version)?);
    let changed = app.store.change_object(granted.bucket(), key, version, change).await;
    changed.map_err(error::from_store)
}
