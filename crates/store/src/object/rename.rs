//! RenameObject.

use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use liteio_kv::Write as _;

use super::ObjectVersion;
use super::copy::check_source;
use super::publish::{self, Slot};
use crate::encryption::EncryptionKey;
use crate::error::StoreError;
use crate::meta::Versioning;
use crate::meta::claim::Claim;
use crate::meta::event::Cause;
use crate::meta::object::Renamed;
use crate::name::ObjectKey;
use crate::pending::{Committed, Pending};
use crate::precondition::{ReadConditions, WriteConditions};
use crate::process::Bucket;
use crate::store::Store;

/// Options of a rename.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenameOptions {
    /// Conditions on the object to rename.
    pub source_conditions: ReadConditions,
    /// Conditions on the current object of the new key. If they require an object and there is
    /// none, the rename fails with [`StoreError::PreconditionFailed`].
    pub conditions: WriteConditions,
    /// The client's idempotency token. While the renamed object is current, repeating the rename
    /// with the same token and source succeeds without a change.
    pub token: Option<String>,
    /// The customer key that the object is encrypted with.
    pub customer_key: Option<EncryptionKey>,
    /// The reason for the rename, for its events: a copy and a delete.
    pub cause: Cause,
}

impl Store {
    /// Renames the current object of `source` to `target`, replacing the current object of
    /// `target`, in one transaction and without copying a byte. Everything else stays, including
    /// the modification time. A rename to the same key has no effect.
    ///
    /// Fails with [`StoreError::NoSuchBucket`], [`StoreError::InvalidBucketState`] in a bucket that
    /// has or had versioning, [`StoreError::NoSuchKey`] without a source,
    /// [`StoreError::PreconditionFailed`], [`StoreError::TokenMismatch`], and the errors of a read
    /// for the customer key.
    pub fn rename_object(
        &self,
        bucket: &Arc<Bucket>,
        source: ObjectKey,
        target: ObjectKey,
        options: RenameOptions,
    ) -> Pending<ObjectVersion> {
        let bucket = Arc::clone(bucket);
        self.update(move |write, shared| {
            write.claim(Claim::Bucket(bucket.id))?;
            publish::fetch(write, &bucket, [&target, &source], None)?;
            let state = bucket.state(write)?;
            if state.versioning != Versioning::Never {
                return Err(versions_stay());
            }
            // The token first: after a successful rename the source is gone, so a repeated request
            // must be recognised before the source is looked up.
            let to = Slot::open_in(write, shared, &bucket, state, &target)?;
            let renamed = options.token.as_ref().map(|token| Renamed {
                token: token.clone(),
                source: Sha256::digest(source.as_str()).into(),
            });
            let last = to.current().map(|current| current.extensions.renamed()).transpose()?;
            match (&renamed, last.flatten()) {
                (Some(renamed), Some(last)) if last == *renamed => return unchanged(to, &target),
                (Some(renamed), Some(last)) if last.token == renamed.token => {
                    return Err(StoreError::TokenMismatch);
                }
                _ => {}
            }
            let from = Slot::open_in(write, shared, &bucket, state, &source)?;
            let current = from.current().ok_or_else(|| no_such_key(&source))?;
            check_source(shared, &options.source_conditions, (&current.etag, current.modified_ms))
                .map_err(of_source)?;
            to.check(&options.conditions).map_err(|error| match error {
                StoreError::NoSuchKey { .. } => {
                    StoreError::PreconditionFailed { condition: required(&options.conditions) }
                }
                error => error,
            })?;
            // After the checks, so that a failed condition fails here, too.
            if source == target {
                return unchanged(to, &target);
            }
            // The reference to the content moves from one record to the other. At no time is its
            // count 0.
            let withdrawn = from.withdraw(write, options.customer_key.as_ref(), &options.cause)?;
            let (mut new, removed) = withdrawn.ok_or_else(|| no_such_key(&source))?;
            // The rows of a restore name the version by its stamp, which is another one now.
            new.extensions = new.extensions.with_renamed(renamed.as_ref()).with_restore(None);
            let (object, wakes) = to.publish_moved(write, new)?;
            Ok(Committed::with_guard(object, (removed, wakes)))
        })
    }
}

fn unchanged(slot: Slot<'_>, key: &ObjectKey) -> Result<Committed<ObjectVersion>, StoreError> {
    slot.into_current()?.map(Committed::new).ok_or_else(|| no_such_key(key))
}

fn no_such_key(key: &ObjectKey) -> StoreError {
    StoreError::NoSuchKey { key: key.clone(), marker: None }
}

/// The error of a rename in a versioned bucket: a version would leave the history of its key.
fn versions_stay() -> StoreError {
    let message = "Objects can be renamed only in a bucket that never had versioning: copy the object, and \
                   delete the old one.";
    StoreError::InvalidBucketState { message: message.to_owned() }
}

/// The first condition that requires an object.
fn required(conditions: &WriteConditions) -> &'static str {
    if conditions.if_match.is_some() { "If-Match" } else { "If-Modified-Since" }
}

/// Translates a failed condition on the source to its header.
fn of_source(error: StoreError) -> StoreError {
    match error {
        StoreError::PreconditionFailed { condition } => StoreError::PreconditionFailed {
            condition: match condition {
                "If-Match" => "x-amz-rename-source-if-match",
                "If-None-Match" => "x-amz-rename-source-if-none-match",
                "If-Modified-Since" => "x-amz-rename-source-if-modified-since",
                _ => "x-amz-rename-source-if-unmodified-since",
            },
        },
        error => error,
    }
}
