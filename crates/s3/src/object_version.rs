//! One version of an object, for operations on its metadata.

use liteio_store::{Cause, ObjectVersion, StoreError, VersionChange};
use s3s::{S3Error, S3Result};

use super::convert::{object_key, version_id};
use super::error;
use liteio_access::Granted;
use liteio_access::state::App;

/// Finds the version with this ID, or the current one. Metadata is not encrypted, so no customer
/// key is needed. A key whose newest version is a delete marker is missing (404).
pub(super) async fn find(
    app: &App,
    granted: &Granted,
    key: String,
    version: Option<String>,
) -> S3Result<ObjectVersion> {
    let (key, version) = (object_key(key)?, version_id(version)?);
    let found = app.look(|store| store.find_object(granted.bucket(), &key, version.as_ref()));
    let found = found.await.map_err(error::from_store)?;
    held(granted, found)
}

/// [`find`] for tags: a key whose newest version is a delete marker is 405, as the marker itself.
pub(super) async fn find_tagged(
    app: &App,
    granted: &Granted,
    key: String,
    version: Option<String>,
) -> S3Result<ObjectVersion> {
    let (key, version) = (object_key(key)?, version_id(version)?);
    let found = app.look(|store| store.find_object(granted.bucket(), &key, version.as_ref()));
    held(granted, found.await.map_err(from_marker)?)
}

/// Maps an error, and the key of a current delete marker as the marker itself. (Recorded on AWS in
/// LocalStack's `test_object_tagging_versioned` and `test_put_object_acl_on_delete_marker`.)
pub(super) fn from_marker(error: StoreError) -> S3Error {
    error::from_store(match error {
        StoreError::NoSuchKey { marker: Some(marker), .. } => StoreError::IsDeleteMarker { marker },
        error => error,
    })
}

fn held(granted: &Granted, found: ObjectVersion) -> S3Result<ObjectVersion> {
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
        return find_tagged(app, granted, key, version).await;
    }
    let (key, version) = (object_key(key)?, version_id(version)?);
    let change = granted.guarded(change);
    let named = (key.clone(), version);
    let changed = app.store.change_object(granted.bucket(), key, version, change, cause).await;
    let error = match changed {
        Ok(changed) => return Ok(changed),
        Err(error) => error,
    };
    Err(match error {
        StoreError::ConditionalRequestConflict => error::conflict(),
        StoreError::NoSuchKey { .. } => {
            // The error with the delete marker that hides the object, if there is one.
            let (key, version) = named;
            let found =
                app.look(|store| store.find_object(granted.bucket(), &key, version.as_ref()));
            found.await.err().map_or_else(error::conflict, from_marker)
        }
        error => error::from_store(error),
    })
}
