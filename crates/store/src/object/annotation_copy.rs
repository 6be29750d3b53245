//! Annotations of a copy: a set of its own, written before the copy.
//!
//! A set may have a gigabyte, so it is copied in several transactions. Until the one that publishes the copy, the set is
//! queued for removal, from a time on that no copy reaches, or as soon as it fails; so nothing is left of a copy that
//! fails. A set that was changed meanwhile has another revision, and the copy begins anew.

use bytes::Bytes;
use liteio_kv::{Read, Transaction, Write};

use super::annotations::{new_set, no_customer_key, no_name, resealed};
use super::current::{self, Found};
use super::seal::unlock;
use super::{CopyOptions, ObjectId};
use crate::encryption::{Encryption, EncryptionKey, ObjectSealing};
use crate::error::StoreError;
use crate::limits::{ANNOTATIONS_COPIED_BYTES, RECLAIM_BATCH};
use crate::meta::annotation::{AnnotationRecord, SetDeletion, SetHead, SetId};
use crate::meta::claim::Claim;
use crate::meta::object::ObjectRecord;
use crate::meta::space;
use crate::pending::Committed;
use crate::store::Store;

/// Time for which a set waits for its copy.
const WAITS_MS: u64 = 24 * 60 * 60 * 1000;

/// Annotations of a copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AnnotationDirective {
    /// Those of the source.
    #[default]
    Copy,
    /// None.
    Exclude,
    /// None, because the caller saw none. If the source has some now, the copy fails at once with
    /// [`StoreError::ConditionalRequestConflict`], so that the caller decides again.
    SawNone,
}

/// The data key of a copy.
#[derive(Clone, Copy, Debug)]
pub(super) enum KeyOfCopy<'a> {
    /// The one of the source.
    OfSource,
    /// Another one, or none.
    New(Option<&'a ObjectSealing>),
}

/// A set that waits for its copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct StagedSet {
    id: SetId,
    /// The set and its revision that this is a copy of.
    source: SetId,
    revision: u64,
}

/// Some annotations: their names, records and payloads.
type Rows = Vec<(String, AnnotationRecord, Bytes)>;

impl Store {
    /// Copies the annotations of `source`, if they are asked for and it has some.
    ///
    /// # Errors
    /// [`StoreError::ConditionalRequestConflict`] if the source is not the version with the stamp `expected`;
    /// [`StoreError::InvalidRequest`] for a copy with a key of the client; the errors of a read and a write.
    pub(super) fn stage_annotations(
        &self,
        source: &ObjectId,
        options: &CopyOptions,
        expected: Option<&[u8; 16]>,
        key: KeyOfCopy<'_>,
    ) -> Result<Option<StagedSet>, StoreError> {
        if options.annotations != AnnotationDirective::Copy {
            return Ok(None);
        }
        let snapshot = self.snapshot()?;
        let version = source.version.as_ref();
        let Found { record, .. } = current::find(&snapshot, &source.bucket, &source.key, version)?;
        if expected.is_some_and(|expected| *expected != record.stamp) {
            return Err(StoreError::ConditionalRequestConflict);
        }
        let Some(from) = record.extensions.annotations()? else { return Ok(None) };
        let shared = self.shared();
        let head = SetHead::read(&snapshot, &from)?;
        let head = head.ok_or_else(|| StoreError::corrupt("annotations have no head"))?;
        if head.count == 0 {
            return Ok(None);
        }
        if matches!(options.encryption, Some(Encryption::Customer(_))) {
            return Err(no_customer_key());
        }
        let customer = options.source_key.as_ref();
        let from_key = unlock(shared, source.bucket.id, &source.key, &record, customer)?;
        let set = new_set(shared)?;
        let deletion = SetDeletion { after_ms: self.now_ms().saturating_add(WAITS_MS) };
        let staged = StagedSet { id: set, source: from, revision: head.revision };
        let write = |rows: Rows| self.write_staged(set, &head, deletion, rows);
        let written = self.stage_rows(&snapshot, &from, (from_key.as_ref(), key), write);
        match written {
            Ok(()) => Ok(Some(staged)),
            Err(error) => {
                self.discard_staged(&staged);
                Err(error)
            }
        }
    }

    /// Hands the annotations of `from` to `write`, as a copy has them.
    fn stage_rows(
        &self,
        snapshot: &impl Read,
        from: &SetId,
        (from_key, key): (Option<&EncryptionKey>, KeyOfCopy<'_>),
        write: impl Fn(Rows) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let (mut rows, mut bytes) = (Rows::new(), 0);
        let mut cursor = space::within(snapshot, &space::annotation(from, ""))?;
        while let Some((place, value)) = cursor.next()? {
            let (_, name) = space::split_annotation(place).ok_or_else(no_name)?;
            let record = AnnotationRecord::decode(place, value)?;
            if record.is_deleted() {
                continue;
            }
            let stored = AnnotationRecord::stored(snapshot, from, name)?;
            bytes += stored.len();
            let (record, stored) = match key {
                KeyOfCopy::OfSource => (record, stored),
                KeyOfCopy::New(to) => {
                    resealed(self.shared(), (name, &record, stored), (from_key, to))?
                }
            };
            rows.push((name.to_owned(), record, stored));
            if bytes >= ANNOTATIONS_COPIED_BYTES || rows.len() >= RECLAIM_BATCH {
                write(std::mem::take(&mut rows))?;
                bytes = 0;
            }
        }
        write(rows)
    }

    /// Removes the set of a copy that has failed. Best effort: what stays is removed after its time.
    pub(super) fn discard_staged(&self, staged: &StagedSet) {
        let set = staged.id;
        let discarded = self.update_freeing(move |write, _| {
            write.claim(Claim::Annotations(&set))?;
            // A copy that was committed, though nobody knows, has taken it away.
            if SetDeletion::read(write, &set)?.is_some() {
                SetDeletion { after_ms: 0 }.write(write, &set)?;
            }
            Ok(Committed::new(()))
        });
        if discarded.wait().is_ok() {
            self.shared().work.wake();
        }
    }

    fn write_staged(
        &self,
        set: SetId,
        head: &SetHead,
        deletion: SetDeletion,
        rows: Rows,
    ) -> Result<(), StoreError> {
        let head = SetHead { tombstones: 0, ..head.clone() };
        let written = self.update(move |write, _| {
            write.claim(Claim::Annotations(&set))?;
            deletion.write(write, &set)?;
            head.write(write, &set)?;
            for (name, record, stored) in &rows {
                record.write(write, (&set, name), stored)?;
            }
            Ok(Committed::new(()))
        });
        written.wait()
    }
}

/// The set for a copy of `from`, which its version has from now on.
///
/// # Errors
/// [`StoreError::ConditionalRequestConflict`] if annotations of the source were changed since, or are some where the
/// caller saw none.
pub(super) fn take(
    write: &mut Transaction<'_>,
    from: &ObjectRecord,
    directive: AnnotationDirective,
    staged: Option<&StagedSet>,
) -> Result<Option<SetId>, StoreError> {
    let set = from.extensions.annotations()?.filter(|_| directive != AnnotationDirective::Exclude);
    let (set, staged) = match (set, staged) {
        (None, None) => return Ok(None),
        (Some(set), Some(staged)) if set == staged.source => (set, staged),
        (Some(set), None) if SetHead::read(write, &set)?.is_some_and(|it| it.count == 0) => {
            return Ok(None);
        }
        _ => return Err(StoreError::ConditionalRequestConflict),
    };
    write.claim(Claim::Annotations(&set))?;
    write.claim(Claim::Annotations(&staged.id))?;
    write.fetch([space::annotations(&set), space::annotation_deletion(&staged.id)])?;
    let is_same = SetHead::read(write, &set)?.is_some_and(|it| it.revision == staged.revision);
    let waits = SetDeletion::read(write, &staged.id)?.is_some_and(|it| it.after_ms > 0);
    if !is_same || !waits {
        return Err(StoreError::ConditionalRequestConflict);
    }
    write.delete(&space::annotation_deletion(&staged.id))?;
    Ok(Some(staged.id))
}
