//! One version of an object, for operations on its metadata.

use liteio_store::{Cause, ObjectVersion, StoreError, VersionChange};
use s3s::S3Result;

use super::convert::{object_key, version_id};
use super::error;
use liteio_access::Granted;
use liteio_access::state::App;

/// Finds the version with this ID, or the current one. Metadata is not encrypted, so no customer
/// key is needed.
pub(super) fn find(
    app: &App,
    granted: &Granted,
    key: String,
    version: Option<String>,
) -> S3Result<ObjectVersion> {
    let (key, version) = (object_key(key)?, version_id(version)?);
    let found = app.look(|store| store.find_object(granted.bucket(), &key, version.as_ref()));
    let found = found.map_err(error::from_store)?;
    // Time of check to time of use: another version may have replaced the authorized one.
    if granted.holds_for(&found) { Ok(found) } else { Err(error::conflict()) }
}

/// Changes the version with this ID, or the current one.
pub(super) async fn change(
    app: &App,
    granted: &Granted,
    key: String,
    version: Option<String>,
    change: VersionChange,
    cause: Cause,
) -> S3Result<ObjectVersion> {
    if granted.saw_nothing() {
        // The version is missing, or was created after the decision.
        return find(app, granted, key, version);
    }
    let (key, version) = (object_key(key)?, version_id(version)?);
    let change = granted.guarded(change);
    let changed = app.store.change_object(granted.bucket(), key, version, change, cause).await;
    changed.map_err(|error| match error {
        StoreError::ConditionalRequestConflict => error::conflict(),
        error => error::from_store(error),
    })
}
