//! Restores of versions in archive classes.
//!
//! A request notes the restore in the record of the version, and its completion in a row with the
//! time. Reads decide by the record and the clock alone. Rows are for the events: the owner of
//! a store asks it each second for the rows that are due ([`Store::run_restores`]).
//!
//! ```text
//!        request             row of the completion           row of the expiry
//!  none ─────────► ongoing ────────────────────────► restored ─────────────────► none
//!                             its event                 │  ▲     its event
//!                                                       └──┘ request: another row of the expiry
//! ```
//!
//! A row that does not fit the record of its version is stale, and has no effect.

use std::ops::Bound;
use std::sync::Arc;

use liteio_kv::{Read as _, Transaction, Write as _};

use super::tell::{Told, tell};
use super::{ArchiveAccess, ObjectVersion};
use crate::error::StoreError;
use crate::meta::event::{Cause, EventKind};
use crate::meta::object::ObjectRecord;
use crate::meta::restore::{self, Requested, RestoreRow};
use crate::meta::space::{self, RestoreStep};
use crate::meta::{RestoreRequest, RestoreState, RetrievalTier, is_archive_class};
use crate::name::ObjectKey;
use crate::pending::{Committed, PendingAll};
use crate::process::Bucket;
use crate::replication::find;
use crate::store::{Shared, Store};

/// Rows that are looked for together.
const ROWS_AT_ONCE: usize = 100;

/// The storage class that has the retrieval tiers standard and bulk only.
const DEEP_ARCHIVE: &str = "DEEP_ARCHIVE";

impl Shared {
    fn restore_delay_ms(&self) -> u64 {
        u64::try_from(self.config.restore_delay.as_millis()).unwrap_or(u64::MAX)
    }
}

impl Store {
    /// The state of the last restore of an object; `None` if it never was restored, or the restored
    /// copy has expired.
    #[must_use]
    pub fn restore_state(&self, object: &ObjectVersion) -> Option<RestoreState> {
        object.restore.as_ref()?.state(self.now_ms(), self.shared().day_ms())
    }

    /// Ends the restores that have completed, and the restored copies that have expired, and queues
    /// their events. Waits for the disk.
    ///
    /// # Errors
    /// The errors of a write; [`StoreError::Corrupt`] if metadata cannot be read.
    pub fn run_restores(&self) -> Result<(), StoreError> {
        loop {
            // Until nothing is due: a restore that completes late may have expired already.
            let due = self.due_restores()?;
            if due.is_empty() {
                return Ok(());
            }
            let ended = PendingAll::of_few(due, |few| {
                self.update_freeing(move |write, shared| {
                    let mut guards = Vec::new();
                    write.for_each(&few, |write, row| {
                        guards.extend(end(write, shared, row)?);
                        Ok::<_, StoreError>(())
                    })?;
                    Ok(Committed::with_guard(vec![()], guards))
                })
            });
            ended.wait()?;
        }
    }

    /// Some rows that are due.
    fn due_restores(&self) -> Result<Vec<DueRow>, StoreError> {
        let snapshot = self.snapshot()?;
        let now_ms = self.now_ms();
        let completing = space::restores_of(RestoreStep::Completes);
        let expiring = space::restores_of(RestoreStep::Expires);
        let behind = |prefix: [u8; 2], at_ms: u64| {
            [&prefix[..], &at_ms.saturating_add(1).to_be_bytes()].concat()
        };
        // No restore takes longer than the delay: a row beyond it was written while the clock was
        // ahead, or with a longer delay.
        let latest_ms = now_ms.saturating_add(self.shared().restore_delay_ms());
        let ranges = [
            (completing.to_vec(), behind(completing, now_ms)),
            (behind(completing, latest_ms), expiring.to_vec()),
            (expiring.to_vec(), behind(expiring, now_ms)),
        ];
        let mut due = Vec::new();
        for (first, end) in ranges {
            let mut cursor = snapshot.cursor(Bound::Included(&first), Bound::Excluded(&end))?;
            while due.len() < ROWS_AT_ONCE
                && let Some((place, value)) = cursor.next()?
            {
                // A damaged row stays for verify and repair, and does not stop the others.
                let Ok(row) = RestoreRow::decode(place, value) else { continue };
                let Some((step, at_ms, bucket, stamp)) = space::split_restore(place) else {
                    continue;
                };
                let bucket = self.bucket_of_row(bucket, &row.bucket_name)?;
                due.push(DueRow {
                    place: place.to_vec(),
                    step,
                    at_ms,
                    stamp,
                    bucket,
                    key: row.key,
                });
            }
        }
        Ok(due)
    }
}

/// A row that is due.
#[derive(Debug)]
struct DueRow {
    place: Vec<u8>,
    step: RestoreStep,
    at_ms: u64,
    stamp: [u8; 16],
    /// `None` if the bucket was deleted.
    bucket: Option<Arc<Bucket>>,
    key: String,
}

/// Ends a row, and queues its event if the row fits the record of its version.
fn end(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    due: &DueRow,
) -> Result<Option<Told>, StoreError> {
    if write.get(&due.place)?.is_none() {
        return Ok(None);
    }
    write.delete(&due.place)?;
    let Some(bucket) = &due.bucket else { return Ok(None) };
    let state = match bucket.state(write) {
        Err(StoreError::NoSuchBucket { .. }) => return Ok(None),
        state => state?,
    };
    let key = ObjectKey::new(due.key.clone())?;
    let Some((place, mut record)) = find(write, state.id, &key, &due.stamp)? else {
        return Ok(None);
    };
    let Some(mut restore) = record.extensions.restore()? else { return Ok(None) };
    let kind = match due.step {
        RestoreStep::Completes if restore.is_noted || restore.completes_ms != due.at_ms => {
            return Ok(None);
        }
        RestoreStep::Completes => {
            let expires_ms = restore.complete(shared.config.clock.now_ms(), shared.day_ms());
            record.extensions = std::mem::take(&mut record.extensions).with_restore(Some(&restore));
            note(write, (RestoreStep::Expires, expires_ms), bucket, (&key, &record))?;
            EventKind::RestoreCompleted
        }
        RestoreStep::Expires if restore.expires_ms != Some(due.at_ms) => return Ok(None),
        RestoreStep::Expires => {
            record.extensions = std::mem::take(&mut record.extensions).with_restore(None);
            EventKind::RestoreDelete
        }
    };
    record.write(write, &place)?;
    tell(write, shared, (bucket, &state), (&key, &record), (kind, &Cause::Lifecycle)).map(Some)
}

/// Writes the row of a step of a restore.
fn note(
    write: &mut Transaction<'_>,
    (step, at_ms): (RestoreStep, u64),
    bucket: &Bucket,
    (key, record): (&ObjectKey, &ObjectRecord),
) -> Result<(), StoreError> {
    let place = space::restore(step, at_ms, bucket.id, &record.stamp);
    let row =
        RestoreRow { bucket_name: bucket.name.as_str().to_owned(), key: key.as_str().to_owned() };
    Ok(write.put(&place, &row.encode(&place))?)
}

/// Applies a request to restore a version. Returns the event that it has. The caller writes the
/// record.
pub(super) fn apply(
    write: &mut Transaction<'_>,
    shared: &Shared,
    bucket: &Bucket,
    (key, record): (&ObjectKey, &mut ObjectRecord),
    request: RestoreRequest,
) -> Result<Option<EventKind>, StoreError> {
    let class = record.metadata.storage_class.clone();
    match class {
        Some(class) if is_archive_class(Some(&class)) => {
            if request.tier == RetrievalTier::Expedited && class == DEEP_ARCHIVE {
                return Err(StoreError::NoSuchRetrieval { class });
            }
        }
        // Readable at any time, but clients of other servers restore what is in a tier.
        _ if record.content.is_remote() => {}
        class => return Err(StoreError::NotArchived { class }),
    }
    let now_ms = shared.config.clock.now_ms();
    let times = (shared.restore_delay_ms(), shared.day_ms());
    let requested = restore::request(record.extensions.restore()?, request, now_ms, times)?;
    let (restore, step, kind) = match requested {
        Requested::Begins(restore) => {
            let step = (RestoreStep::Completes, restore.completes_ms);
            (restore, Some(step), Some(EventKind::RestorePost))
        }
        // The row of its completion is there.
        Requested::Faster(restore) => (restore, None, None),
        Requested::Extended(restore) => {
            let step = restore.expires_ms.map(|at_ms| (RestoreStep::Expires, at_ms));
            (restore, step, None)
        }
    };
    record.extensions = std::mem::take(&mut record.extensions).with_restore(Some(&restore));
    if let Some(step) = step {
        note(write, step, bucket, (key, record))?;
    }
    Ok(kind)
}

/// Checks that the bytes of a version may be read.
///
/// # Errors
/// [`StoreError::Archived`].
pub(super) fn check(
    shared: &Shared,
    record: &ObjectRecord,
    access: ArchiveAccess,
) -> Result<(), StoreError> {
    let class = record.metadata.storage_class.as_deref().filter(|it| is_archive_class(Some(it)));
    let (Some(class), ArchiveAccess::Restored) = (class, access) else { return Ok(()) };
    let now_ms = shared.config.clock.now_ms();
    let state = record.extensions.restore()?.and_then(|it| it.state(now_ms, shared.day_ms()));
    match state {
        Some(RestoreState::Restored { .. }) => Ok(()),
        Some(RestoreState::Ongoing) | None => Err(StoreError::Archived { class: class.to_owned() }),
    }
}
