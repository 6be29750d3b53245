//! One step of a walk: finding what is due on one page, and the transaction that ends it.

use std::sync::Arc;

use liteio_kv::{Transaction, Write as _};

use super::{LifecycleState, Position, write_state};
use crate::bucket::ListBuckets;
use crate::error::StoreError;
use crate::limits::CHANGED_TOGETHER;
use crate::meta::bucket::BucketState;
use crate::meta::claim::Claim;
use crate::meta::event::Cause;
use crate::meta::lifecycle::{Lifecycle, LifecyclePhase, Subject};
use crate::meta::object::ObjectRecord;
use crate::meta::space;
use crate::meta::upload::UploadRecord;
use crate::multipart::{ListUploadsQuery, UploadEntry, upload};
use crate::name::{BucketName, ObjectKey, UploadId, VersionId};
use crate::object::current::Found;
use crate::object::publish::{Slot, Wakes};
use crate::object::{DeleteTarget, ListVersionsQuery, ListedObject, VersionEntry, history};
use crate::pending::Committed;
use crate::process::{Bucket, WakeReclaimer};
use crate::store::{Shared, Store};
use crate::tiers;

/// Versions or uploads per page.
const PAGE: usize = 1000;

/// A page that was looked at.
#[derive(Debug)]
pub(crate) struct Step {
    bucket: Arc<Bucket>,
    pub(super) due: Vec<Due>,
    pub(super) looked_at: u64,
    /// The position after the page.
    pub(super) next: Position,
}

/// Something that may be due. The transaction checks again.
#[derive(Clone, Debug)]
pub(super) enum Due {
    /// The current version.
    Current { key: ObjectKey, version: VersionId },
    /// A delete marker that may be the only version of its key.
    Marker { key: ObjectKey, version: VersionId },
    /// A noncurrent version: `newer` noncurrent ones are newer, and it became noncurrent at
    /// `since_ms`.
    Noncurrent { key: ObjectKey, version: VersionId, newer: u64, since_ms: u64 },
    /// A version whose body is to move into a tier, or that gets a class without one; `noncurrent` has
    /// the number of newer noncurrent ones and the time at which it became noncurrent.
    Move { key: ObjectKey, version: VersionId, noncurrent: Option<(u64, u64)> },
    /// An upload in progress.
    Upload { key: ObjectKey, id: UploadId },
}

impl Store {
    /// Looks at the page after the position of `state`; `None` after the last bucket.
    pub(super) fn plan_step(&self, state: &LifecycleState) -> Result<Option<Step>, StoreError> {
        // A rule that another server has removed ends nothing any more.
        self.agree_now()?;
        let mut position = state.position.clone();
        let is_effective = |class: &str| {
            self.shared().tiers.tier_of(class).is_some() || tiers::may_label(None, class)
        };
        // Walks over buckets, and over the phases within one, until a phase has rules.
        loop {
            let bucket = match self.bucket_of(&position)? {
                Some(bucket) => bucket,
                None => match self.next_bucket(&position.bucket)? {
                    Some(name) => {
                        position = Position { bucket: name, ..Position::default() };
                        continue;
                    }
                    None => return Ok(None),
                },
            };
            let rules = bucket.settings.lifecycle.clone();
            let Some(rules) = rules.filter(|rules| rules.is_of(position.phase, &is_effective))
            else {
                position = match position.phase {
                    LifecyclePhase::Versions => uploads_of(position.bucket),
                    LifecyclePhase::Uploads => behind(position.bucket),
                };
                continue;
            };
            return match position.phase {
                LifecyclePhase::Versions => self.plan_versions(bucket, &rules, position),
                LifecyclePhase::Uploads => self.plan_uploads(bucket, &rules, position),
            }
            .map(Some);
        }
    }

    /// The bucket of the position; `None` if it was deleted, or the position is behind it.
    fn bucket_of(&self, position: &Position) -> Result<Option<Arc<Bucket>>, StoreError> {
        let Ok(name) = BucketName::new(&position.bucket) else { return Ok(None) };
        match self.bucket(&name) {
            Ok(bucket) => Ok(Some(bucket)),
            Err(StoreError::NoSuchBucket { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn next_bucket(&self, after: &str) -> Result<Option<String>, StoreError> {
        let after = after.trim_end_matches(BEHIND);
        let after = (!after.is_empty()).then(|| after.to_owned());
        let page = self.list_buckets(&ListBuckets { after, max: 1, ..ListBuckets::default() })?;
        Ok(page.buckets.into_iter().next().map(|bucket| bucket.name.as_str().to_owned()))
    }

    fn plan_versions(
        &self,
        bucket: Arc<Bucket>,
        rules: &Lifecycle,
        position: Position,
    ) -> Result<Step, StoreError> {
        let (now_ms, day_ms) = (self.now_ms(), self.lifecycle_day_ms());
        let (key_marker, version_marker) = position.marker.clone().unzip();
        let version_marker = version_marker.flatten().map(|text| VersionId::parse(&text));
        let query = ListVersionsQuery {
            prefix: rules.common_prefix(),
            key_marker: key_marker.clone(),
            version_marker: version_marker.transpose()?,
            max: PAGE,
            ..ListVersionsQuery::default()
        };
        let page = match self.list_versions(&bucket, &query) {
            // Deleted meanwhile.
            Err(StoreError::NoSuchBucket { .. }) => Default::default(),
            page => page?,
        };
        let mut seen =
            Seen { key: key_marker, newer: position.newer, successor_ms: position.successor_ms };
        let looked_at = page.entries.len() as u64;
        let (mut due, mut to_move) = (Vec::new(), Vec::new());
        for entry in page.entries {
            let (listed, is_marker) = match entry {
                VersionEntry::Version(listed) => (listed, false),
                VersionEntry::DeleteMarker(listed) => (listed, true),
                VersionEntry::Prefix(_) => continue,
            };
            let (newer, since_ms) = seen.pass(&listed);
            let ListedObject { key, version_id: version, bytes, modified_ms, .. } = listed;
            let class = listed.storage_class.as_deref();
            let (key, bytes) = (ObjectKey::new(key)?, (!is_marker).then_some(bytes));
            // Listings have no tags, so every version is taken to have all tags of the rules; the
            // transaction looks at the real ones.
            let tags = rules.all_tags();
            let subject = Subject { key: key.as_str(), bytes, tags: &tags };
            let mut moves = |key: ObjectKey, to: &str, noncurrent| -> Result<(), StoreError> {
                let may_move = match self.shared().tiers.tier_of(to) {
                    // Most versions of the class have moved already.
                    Some(_) => {
                        class != Some(to)
                            || !tiers::has_moved(&self.snapshot()?, &bucket, &key, &version)?
                    }
                    // A body in a tier keeps the class of that tier.
                    None => {
                        let is_tier = |class| self.shared().tiers.tier_of(class).is_some();
                        tiers::may_label(class, to)
                            && !(class.is_some_and(is_tier)
                                && tiers::has_moved(&self.snapshot()?, &bucket, &key, &version)?)
                    }
                };
                if may_move {
                    to_move.push(Due::Move { key, version, noncurrent });
                }
                Ok(())
            };
            let has_come = |at_ms: Option<u64>| at_ms.is_some_and(|at_ms| at_ms <= now_ms);
            if !listed.is_latest {
                let ends = rules.noncurrent_expiration(&subject, newer, since_ms, day_ms);
                if has_come(ends) {
                    due.push(Due::Noncurrent { key, version, newer, since_ms });
                } else if let Some(to) =
                    rules.noncurrent_transition(&subject, (newer, since_ms), (now_ms, day_ms))
                {
                    moves(key.clone(), &to.class, Some((newer, since_ms)))?;
                }
            } else if is_marker {
                if has_come(rules.marker_expiration(key.as_str(), modified_ms, day_ms)) {
                    due.push(Due::Marker { key, version });
                }
            } else {
                let ends = rules.expiration(&subject, modified_ms, day_ms);
                if has_come(ends.map(|ends| ends.at_ms)) {
                    due.push(Due::Current { key, version });
                } else if let Some(to) = rules.transition(&subject, modified_ms, (now_ms, day_ms)) {
                    moves(key.clone(), &to.class, None)?;
                }
            }
        }
        due.append(&mut to_move);
        let next = match page.next {
            Some((key, version)) => Position {
                marker: Some((key, version.map(|version| version.to_string()))),
                newer: seen.newer,
                successor_ms: seen.successor_ms,
                ..position
            },
            None => uploads_of(position.bucket),
        };
        Ok(Step { bucket, due, looked_at, next })
    }

    fn plan_uploads(
        &self,
        bucket: Arc<Bucket>,
        rules: &Lifecycle,
        position: Position,
    ) -> Result<Step, StoreError> {
        let (now_ms, day_ms) = (self.now_ms(), self.lifecycle_day_ms());
        let (key_marker, upload_marker) = position.marker.clone().unzip();
        let query = ListUploadsQuery {
            prefix: rules.common_prefix(),
            key_marker,
            upload_marker: upload_marker.flatten(),
            max: PAGE,
            ..ListUploadsQuery::default()
        };
        let page = match self.list_uploads(&bucket, &query) {
            Err(StoreError::NoSuchBucket { .. }) => Default::default(),
            page => page?,
        };
        let looked_at = page.entries.len() as u64;
        let mut due = Vec::new();
        for entry in page.entries {
            let UploadEntry::Upload(upload) = entry else { continue };
            let ends = rules.upload_expiration(upload.key.as_str(), upload.initiated_ms, day_ms);
            if ends.is_some_and(|ends| ends.at_ms <= now_ms) {
                due.push(Due::Upload { key: upload.key, id: upload.id });
            }
        }
        let next = match page.next {
            Some((key, upload)) => Position { marker: Some((key, Some(upload))), ..position },
            None => behind(position.bucket),
        };
        Ok(Step { bucket, due, looked_at, next })
    }

    /// Ends what is due, and stores the state with what was ended in the same transactions: `before` the step, and
    /// `after` it with the last of them. A walk that is interrupted looks at the page again, and finds
    /// the rest. Returns the state after it.
    pub(super) fn end_due(
        &self,
        step: &Step,
        before: &LifecycleState,
        after: LifecycleState,
    ) -> Result<LifecycleState, StoreError> {
        let mut ended = after.ended;
        let mut left = step.due.chunks(CHANGED_TOGETHER).peekable();
        while let Some(few) = left.next() {
            let state = if left.peek().is_some() { before } else { &after };
            let state = LifecycleState { ended, ..state.clone() };
            let (few, bucket) = (few.to_vec(), Arc::clone(&step.bucket));
            let update = self.update_freeing(move |write, shared| {
                let mut wakes = Vec::new();
                let mut state = state.clone();
                write.for_each(&few, |write, due| {
                    state.ended += u64::from(end(write, shared, &bucket, due, &mut wakes)?);
                    Ok::<_, StoreError>(())
                })?;
                write_state(write, &state)?;
                Ok(Committed::with_guard(state.ended, wakes))
            });
            ended = update.wait()?;
        }
        Ok(LifecycleState { ended, ..after })
    }
}

/// Ends one thing if it is due, and returns whether it did. The guards must live until the commit.
fn end(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    bucket: &Bucket,
    due: &Due,
    wakes: &mut Vec<Wakes>,
) -> Result<bool, StoreError> {
    write.claim(Claim::Bucket(bucket.id))?;
    let state = match bucket.state(write) {
        Err(StoreError::NoSuchBucket { .. }) => return Ok(false),
        state => state?,
    };
    let (key, version) = match due {
        Due::Upload { key, id } => {
            let record = UploadRecord::require(write, id, state.id, key.as_str());
            let Ok(record) = record else { return Ok(false) };
            upload::end(write, id, &record)?;
            wakes.push((WakeReclaimer::new(shared), Default::default()));
            return Ok(true);
        }
        Due::Current { key, version }
        | Due::Marker { key, version }
        | Due::Noncurrent { key, version, .. }
        | Due::Move { key, version, .. } => (key, version),
    };
    if let Due::Move { noncurrent, .. } = due {
        queue_move(write, shared, (bucket, state), (key, version), *noncurrent)?;
        return Ok(false);
    }
    // Checked again inside the transaction: since the page was read, the version may have been
    // replaced, tagged or locked.
    let slot = Slot::open_in(write, shared, bucket, state, key)?;
    let is_due = match due {
        Due::Current { .. } => slot.current().is_some_and(|current| {
            current.version_id() == *version && is_current_due(shared, bucket, key, current)
        }),
        Due::Marker { .. } => {
            slot.current().is_none() && history::is_only(write, state.id, key, version)?
        }
        Due::Noncurrent { newer, since_ms, .. } => {
            let found = history::find(write, state.id, state.is_version_1, key, version)?;
            found.is_some_and(|found| {
                is_noncurrent_due(shared, bucket, key, &found.record, *newer, *since_ms)
            })
        }
        Due::Upload { .. } | Due::Move { .. } => false,
    };
    if !is_due {
        return Ok(false);
    }
    let version = (!matches!(due, Due::Current { .. })).then_some(*version);
    let cause = Cause::Lifecycle;
    match slot.delete(write, &DeleteTarget { cause, ..DeleteTarget::new(key.clone(), version) }) {
        Ok((_, ended)) => wakes.extend(ended),
        // It expires once the lock has ended.
        Err(StoreError::ObjectLocked) => return Ok(false),
        Err(error) => return Err(error),
    }
    Ok(true)
}

/// Queues a version for its tier, or gives it a class without one, if a rule says so.
fn queue_move(
    write: &mut Transaction<'_>,
    shared: &Arc<Shared>,
    (bucket, state): (&Bucket, BucketState),
    (key, version): (&ObjectKey, &VersionId),
    noncurrent: Option<(u64, u64)>,
) -> Result<(), StoreError> {
    let Some(rules) = &bucket.settings.lifecycle else { return Ok(()) };
    let times = (shared.config.clock.now_ms(), shared.day_ms());
    let id = state.id;
    write.claim(Claim::Bucket(id))?;
    write.claim(Claim::Key(id, key.as_str()))?;
    // Looked at again: it may have been replaced or tagged since the page was read.
    let (record, class) = match noncurrent {
        None => {
            let current = ObjectRecord::read(write, &space::current(id, key.as_str()))?;
            let current = current.filter(|current| current.version_id() == *version);
            let Some(record) = current else { return Ok(()) };
            let due = rules.transition(&subject(key, &record), record.modified_ms, times);
            let class = due.map(|due| due.class.clone());
            (record, class)
        }
        Some(age) => {
            let found = history::find(write, id, state.is_version_1, key, version)?;
            let Some(Found { record, .. }) = found else { return Ok(()) };
            let due = rules.noncurrent_transition(&subject(key, &record), age, times);
            let class = due.map(|due| due.class.clone());
            (record, class)
        }
    };
    match class {
        Some(class) if shared.tiers.tier_of(&class).is_some() => {
            tiers::queue(write, id, key, &record, class)
        }
        Some(class) => {
            let place = match noncurrent {
                None => space::current(id, key.as_str()),
                Some(_) => space::history(id, key.as_str(), &record.stamp),
            };
            tiers::label(write, &place, record, class)
        }
        None => Ok(()),
    }
}

fn is_current_due(
    shared: &Shared,
    bucket: &Bucket,
    key: &ObjectKey,
    current: &ObjectRecord,
) -> bool {
    let Some(rules) = &bucket.settings.lifecycle else { return false };
    let due = rules.expiration(&subject(key, current), current.modified_ms, shared.day_ms());
    due.is_some_and(|due| due.at_ms <= shared.config.clock.now_ms())
}

fn is_noncurrent_due(
    shared: &Shared,
    bucket: &Bucket,
    key: &ObjectKey,
    record: &ObjectRecord,
    newer: u64,
    since_ms: u64,
) -> bool {
    let Some(rules) = &bucket.settings.lifecycle else { return false };
    let day_ms = shared.day_ms();
    let due = rules.noncurrent_expiration(&subject(key, record), newer, since_ms, day_ms);
    due.is_some_and(|at_ms| at_ms <= shared.config.clock.now_ms())
}

fn subject<'a>(key: &'a ObjectKey, record: &'a ObjectRecord) -> Subject<'a> {
    let bytes = (!record.is_delete_marker).then_some(record.bytes);
    Subject { key: key.as_str(), bytes, tags: &record.metadata.tags }
}

/// The versions of the key that a walk is at.
struct Seen {
    key: Option<String>,
    newer: u64,
    successor_ms: u64,
}

impl Seen {
    /// Passes a version. Returns the number of newer noncurrent versions, and the time at which
    /// this one became noncurrent, which is the time of its successor.
    fn pass(&mut self, listed: &ListedObject) -> (u64, u64) {
        if self.key.as_ref() != Some(&listed.key) || listed.is_latest {
            *self = Self { key: Some(listed.key.clone()), newer: 0, successor_ms: 0 };
        }
        let found = (self.newer, self.successor_ms);
        if !listed.is_latest {
            self.newer += 1;
        }
        self.successor_ms = listed.modified_ms;
        found
    }
}

/// A character that bucket names do not have: it marks the position after a bucket.
const BEHIND: char = '!';

fn behind(bucket: String) -> Position {
    Position { bucket: format!("{bucket}{BEHIND}"), ..Position::default() }
}

fn uploads_of(bucket: String) -> Position {
    Position { bucket, phase: LifecyclePhase::Uploads, ..Position::default() }
}
