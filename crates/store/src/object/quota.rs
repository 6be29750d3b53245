//! The quota of a bucket, decided in the transaction of each write that adds bytes.
//!
//! The usage is the counter of the bucket, which a transaction does not wait for. Updates of one process are
//! serial, so the decision is exact there. Of several servers over one database each reads the sum of all
//! commits up to its fetch: together they may exceed a quota by the versions that are committed at the same
//! moment.
//!
//! A rename moves bytes and adds none, and an import brings what another store had: neither is decided here.

use liteio_kv::Read;

use super::publish::Slot;
use crate::error::StoreError;
use crate::meta::usage::UsageRecord;
use crate::meta::{Versioning, space};
use crate::name::VersionId;
use crate::process::Bucket;

/// Wants the usage of a bucket with a quota, so that it is fetched together with what the caller reads next.
pub(crate) fn ahead(from: &impl Read, bucket: &Bucket) {
    if bucket.settings.quota.is_some() {
        // An error comes again when the usage is read.
        let _ = from.counter::<UsageRecord>(&space::usage(bucket.id));
    }
}

/// Checks that `bucket` may have `added` more bytes in the place of `replaced` ones.
///
/// # Errors
/// [`StoreError::QuotaExceeded`].
pub(crate) fn check(
    from: &impl Read,
    bucket: &Bucket,
    added: u64,
    replaced: u64,
) -> Result<(), StoreError> {
    let Some(quota) = bucket.settings.quota else { return Ok(()) };
    let counted = from.counter::<UsageRecord>(&space::usage(bucket.id))?.unwrap_or_default();
    let before = crate::meta::Usage::from(counted.counts).bytes;
    let after = before.saturating_sub(replaced).saturating_add(added);
    match quota.allows(before, after) {
        true => Ok(()),
        false => Err(StoreError::QuotaExceeded {
            bucket: bucket.name.clone(),
            quota_bytes: quota.bytes,
            bytes: after,
        }),
    }
}

impl Slot<'_> {
    /// Checks that the bucket has room for a new version of `bytes`.
    ///
    /// # Errors
    /// [`StoreError::QuotaExceeded`].
    pub(super) fn check_quota(&self, from: &impl Read, bytes: u64) -> Result<(), StoreError> {
        if self.bucket.settings.quota.is_none() {
            return Ok(());
        }
        let replaced = match self.current() {
            // An id of its own replaces nothing.
            _ if self.state.versioning == Versioning::Enabled => 0,
            Some(current) if current.is_null => current.bytes,
            _ if self.state.has_history() => {
                self.find_in_history(from, &VersionId::Null)?.map_or(0, |found| found.record.bytes)
            }
            _ => 0,
        };
        check(from, self.bucket, bytes, replaced)
    }
}
