//! Runs a workload, and keeps account of what was acknowledged.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use liteio_disk::{Fault, SimulatedDisk};
use liteio_store::{
    Annotate, AnnotationChange, AnnotationName, Bucket, ByteRange, Cause, CompleteOptions,
    CompletePart, CopyOptions, CopyPartOptions, DeleteTarget, Encryption, ImportedContent,
    ImportedObject, ImportedVersion, ManualClock, NewAnnotation, NewBucket, NotificationRule,
    Notifications, ObjectId, ObjectLock, ObjectMetadata, PartNumber, PutOptions, ReadConditions,
    RenameOptions, Store, StoreError, StoreHealth, UploadId, UploadOptions, VersionChange,
    Versioning,
};
use md5::{Digest as _, Md5};

use super::compare::{check, versions};
use super::disk::{INLINE_BYTES_MAX, bucket_name, object_key, open, owner, stage};
use super::model::{Expected, Model, ModelUpload, Turn, copied_range, refusal};
use super::workload::{BUCKETS, KEYS, LOCKABLE, NAMES, Place, Step, TARGET};
use super::{Check, Machine};

/// Longest wait for a look at the free space.
const PATIENCE: Duration = Duration::from_secs(60);

/// The failure of a step.
struct Failure {
    error: StoreError,
    /// `true` if the write may have happened: a restart decides.
    is_submitted: bool,
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self { error, is_submitted: true }
    }
}

fn before_submission(error: StoreError) -> Failure {
    Failure { error, is_submitted: false }
}

/// A store at work, and what it must hold.
pub(super) struct Run {
    pub(super) disk: SimulatedDisk,
    pub(super) machine: Machine,
    pub(super) clock: Arc<ManualClock>,
    /// None when it could not be opened again.
    pub(super) store: Option<Store>,
    /// The acknowledged state.
    pub(super) acknowledged: Model,
    /// The same with the write that failed after it was submitted: a restart may replay it.
    pub(super) in_flight: Option<Model>,
    /// The acknowledged states since the last sync, the oldest first.
    pub(super) unsynced: Vec<Model>,
    /// Failures of the disk so far.
    failures: usize,
    /// The newest of them.
    failure: String,
}

impl Run {
    pub(super) fn start(disk: &SimulatedDisk, machine: Machine) -> Self {
        let clock = Arc::new(ManualClock::new(1_600_000_000_000));
        let store = open(disk, machine.durability, &clock).ok();
        let failures = usize::from(store.is_none());
        Self {
            disk: disk.clone(),
            machine,
            clock,
            store,
            acknowledged: Model::default(),
            in_flight: None,
            unsynced: Vec::new(),
            failures,
            failure: String::new(),
        }
    }

    /// Runs the steps as far as the store goes. The error says what it must not have answered.
    pub(super) fn work(&mut self, seed: u64, steps: &[Step], fault: Option<Fault>) -> Check {
        for (index, step) in steps.iter().enumerate() {
            let turn = Turn::new(seed, index);
            self.step(step, &turn, fault)
                .map_err(|what| format!("step {index} {step:?}: {what}"))?;
        }
        Ok(())
    }

    /// Checks that the store writes again once the fault is over, or reports the reason for refusing.
    pub(super) fn go_on(&mut self, seed: u64, steps: &[Step], fault: Fault) -> Check {
        let Some(store) = self.store.clone() else { return Ok(()) };
        let is_stopped = matches!(store.health(), StoreHealth::ReadOnly { .. });
        drop(store);
        let (failures, before) = (self.failures, self.acknowledged.clone());
        for (i, step) in [
            Step::CreateBucket { bucket: 1 },
            Step::Put { place: (1, 0), bytes: INLINE_BYTES_MAX },
            Step::Put { place: (1, 0), bytes: INLINE_BYTES_MAX + 1 },
            Step::Hold { place: (1, 0), is_held: true },
            Step::Delete { place: (1, 0) },
        ]
        .iter()
        .enumerate()
        {
            let (before, begun) = (self.failures, Instant::now());
            loop {
                self.step(step, &Turn::new(seed, steps.len() + i), Some(fault))?;
                // A drain that met the full disk looks for space by itself, and writes are refused until then.
                let waits =
                    self.failures > before && self.failure == StoreError::NoSpace.to_string();
                if is_stopped || !waits || begun.elapsed() > PATIENCE {
                    break;
                }
                self.failures = before;
                std::thread::yield_now();
            }
        }
        match (is_stopped, self.failures > failures, self.acknowledged != before) {
            (true, _, true) => Err("it writes, and says that it does not".to_owned()),
            (false, true, _) => {
                Err(format!("it does not write ({}), and says that it does", self.failure))
            }
            _ => Ok(()),
        }
    }

    /// An upload that only a restart has brought was never answered, so nobody knows its id.
    fn is_of_an_unknown_upload(&self, step: &Step) -> bool {
        let slot = match step {
            Step::PutPart { slot, .. }
            | Step::CopyPart { slot, .. }
            | Step::Complete { slot }
            | Step::Abort { slot } => slot,
            _ => return false,
        };
        self.acknowledged.uploads.get(slot).is_some_and(|upload| upload.id.is_none())
    }

    fn step(&mut self, step: &Step, turn: &Turn, fault: Option<Fault>) -> Check {
        self.clock.set_ms(turn.now_ms);
        let Some(store) = self.store.clone() else { return Ok(()) };
        if self.is_of_an_unknown_upload(step) {
            return Ok(());
        }
        let expected = self.acknowledged.expect(step, turn);
        if matches!(expected, Expected::Skip) {
            return Ok(());
        }
        let done = match step {
            Step::Reopen => {
                let done = self.reopen(store);
                if done.is_ok() {
                    return Ok(());
                }
                done
            }
            _ => perform(&store, &self.acknowledged, step, turn),
        };
        match (expected, done) {
            (Expected::Done(mut next), Ok(upload)) => {
                if let (Step::CreateUpload { slot, .. }, Some(id)) = (step, upload)
                    && let Some(upload) = next.uploads.get_mut(slot)
                {
                    upload.id = Some(id);
                }
                if self.in_flight.is_some() && next != self.acknowledged {
                    return Err("written after a failed commit".to_owned());
                }
                if matches!(step, Step::Sync) {
                    self.unsynced.clear();
                } else if next != self.acknowledged {
                    self.unsynced.push(std::mem::replace(&mut self.acknowledged, next));
                }
                Ok(())
            }
            (Expected::Refused(kind), Ok(_)) => Err(format!("done, and not {kind}")),
            (Expected::Refused(kind), Err(Failure { error, .. }))
                if refusal(&error) == Some(kind) =>
            {
                Ok(())
            }
            (expected, Err(Failure { error, is_submitted })) => {
                let Some(fault) = fault else { return Err(format!("failed: {error}")) };
                check_failure(&error, fault)?;
                self.check_it_may_fail(&error, fault)?;
                self.failures += 1;
                self.failure = error.to_string();
                // Of what failed on a full disk, or in a store that goes on, certainly nothing is left.
                if let Expected::Done(next) = expected
                    && is_submitted
                    && !matches!(error, StoreError::NoSpace)
                    && !self.is_ready()
                    && self.in_flight.is_none()
                    && next != self.acknowledged
                {
                    self.in_flight = Some(next);
                }
                Ok(())
            }
            (Expected::Skip, Ok(_)) => Ok(()),
        }
    }

    /// A fault strikes once: another failure needs a store that says that it is not well.
    fn check_it_may_fail(&self, error: &StoreError, fault: Fault) -> Check {
        let is_well = self.store.as_ref().is_some_and(|store| store.health() == StoreHealth::Ready);
        match fault {
            Fault::Io | Fault::NoSpace | Fault::ShortWrite | Fault::FailedSync
                if self.failures > 0 && is_well =>
            {
                Err(format!("failed again, with nothing wrong: {error}"))
            }
            _ => Ok(()),
        }
    }

    fn is_ready(&self) -> bool {
        self.store.as_ref().is_some_and(|store| store.health() == StoreHealth::Ready)
    }

    fn reopen(&mut self, store: Store) -> Result<Option<UploadId>, Failure> {
        self.store = None;
        store.close();
        drop(store);
        let store = open(&self.disk, self.machine.durability, &self.clock)?;
        // From here on the write that was in flight is decided.
        if let Some(in_flight) = self.in_flight.take()
            && check(&store, &self.acknowledged).is_err()
        {
            self.acknowledged = in_flight;
        }
        // Opening makes a checkpoint.
        self.unsynced.clear();
        self.store = Some(store);
        Ok(None)
    }
}

/// Only what the fault explains.
fn check_failure(error: &StoreError, fault: Fault) -> Check {
    let is_explained = match error {
        StoreError::NoSpace => matches!(fault, Fault::NoSpace | Fault::NoSpaceFrom),
        StoreError::Poisoned { .. } => true,
        StoreError::Io(_) | StoreError::BodyNotWritten(_) => {
            !matches!(fault, Fault::NoSpace | Fault::NoSpaceFrom)
        }
        // The bytes of a stopped machine cannot be read.
        StoreError::Corrupt { .. } => fault == Fault::Crash,
        _ => false,
    };
    if is_explained { Ok(()) } else { Err(format!("{error:?} is no answer to {fault:?}")) }
}

fn metadata(turn: &Turn) -> ObjectMetadata {
    ObjectMetadata { user: vec![("label".to_owned(), turn.label())], ..ObjectMetadata::default() }
}

fn encryption(turn: &Turn) -> Option<Encryption> {
    turn.is_encrypted().then_some(Encryption::Master)
}

fn bucket_of(store: &Store, name: &str) -> Result<Arc<Bucket>, Failure> {
    store.bucket(&bucket_name(name)).map_err(before_submission)
}

fn object_id(store: &Store, (bucket, key): Place) -> Result<ObjectId, Failure> {
    let bucket = bucket_of(store, BUCKETS[bucket])?;
    Ok(ObjectId { bucket, key: object_key(KEYS[key]), version: None })
}

/// Makes the call. Of a new upload it returns the id.
fn perform(
    store: &Store,
    model: &Model,
    step: &Step,
    turn: &Turn,
) -> Result<Option<UploadId>, Failure> {
    let upload_of = |slot: u32| -> &ModelUpload { &model.uploads[&slot] };
    let id_of = |slot: u32| upload_of(slot).id.expect("acknowledged");
    match *step {
        Step::CreateBucket { bucket } => {
            let name = bucket_name(BUCKETS[bucket]);
            let object_lock = BUCKETS[bucket] == LOCKABLE;
            let new = NewBucket::new(name, owner(), "us-east-1".to_owned());
            store.create_bucket(NewBucket { object_lock, ..new }).wait()?;
        }
        Step::DeleteBucket { bucket } => {
            store.delete_bucket(&bucket_of(store, BUCKETS[bucket])?).wait()?
        }
        Step::Put { place, bytes } => {
            let target = object_id(store, place)?;
            let encryption = encryption(turn);
            let sealing = encryption.map(|it| store.seal_object(&it)).transpose()?;
            let body = stage(store, &turn.body(bytes), sealing).map_err(before_submission)?;
            let options =
                PutOptions { metadata: metadata(turn), owner: owner(), ..PutOptions::default() };
            store.put_object(&target.bucket, target.key, body, options).wait()?;
        }
        Step::Import { place, bytes, parts } => {
            let target = object_id(store, place)?;
            let body = turn.body(bytes);
            let bodies = body.chunks(bytes.div_ceil(parts)).map(|part| stage(store, part, None));
            let bodies: Vec<_> = bodies.collect::<Result<_, _>>().map_err(before_submission)?;
            let content = match bodies.len() {
                1 => ImportedContent::Whole { md5: bodies[0].digests().md5, bodies },
                _ => ImportedContent::Parts(bodies),
            };
            let (metadata, lock) = (metadata(turn), ObjectLock::default());
            let object = ImportedObject { content, etag: None, metadata, checksum: None, lock };
            let is_null = target.bucket.versioning != Versioning::Enabled;
            let object = Some(object);
            let version = ImportedVersion { modified_ms: turn.now_ms, is_null, object };
            store.import_version(&target.bucket, target.key, version).wait()?;
        }
        Step::Delete { place } => {
            let target = object_id(store, place)?;
            store.delete_object(&target.bucket, DeleteTarget::new(target.key, None)).wait()?;
        }
        Step::DeleteAll { bucket } => {
            let targets = KEYS.map(|key| DeleteTarget::new(object_key(key), None));
            let bucket = bucket_of(store, BUCKETS[bucket])?;
            let outcomes = store.delete_objects(&bucket, targets.to_vec()).wait()?;
            for outcome in outcomes {
                outcome?;
            }
        }
        Step::SetVersioning { bucket, is_enabled } => {
            let versioning = match is_enabled {
                true => Versioning::Enabled,
                false => Versioning::Suspended,
            };
            store.set_versioning(&bucket_of(store, BUCKETS[bucket])?, versioning).wait()?;
        }
        Step::DeleteVersion { place, newer } => {
            let target = object_id(store, place)?;
            let versions = versions(store, &target.bucket, target.key.as_str());
            let version = versions.map_err(before_submission)?.get(newer).map(|it| it.version_id);
            let target_version = DeleteTarget::new(target.key, version);
            store.delete_object(&target.bucket, target_version).wait()?;
        }
        Step::Hold { place, is_held } => {
            let target = object_id(store, place)?;
            let change = VersionChange::LegalHold(is_held);
            store.change_object(&target.bucket, target.key, None, change, Cause::Unknown).wait()?;
        }
        Step::Annotate { place, name, bytes } => {
            let target = object_id(store, place)?;
            let name = AnnotationName::new(NAMES[name]).expect("a name");
            let change = match bytes {
                0 => AnnotationChange::Delete(name),
                bytes => {
                    let payload = Bytes::copy_from_slice(&turn.body(bytes));
                    let md5 = Md5::digest(&payload).into();
                    AnnotationChange::Put(NewAnnotation { name, payload, md5, checksum: None })
                }
            };
            let conditions = ReadConditions::default();
            let annotate = Annotate { change, conditions, bypasses_governance: false };
            let change = VersionChange::Annotate(Box::new(annotate));
            store
                .annotate_object(&target.bucket, target.key, None, change, Cause::Unknown)
                .wait()?;
        }
        Step::Copy { from, to, is_relabelled } => {
            let target = object_id(store, to)?;
            let options = CopyOptions {
                metadata: is_relabelled.then(|| metadata(turn)),
                owner: owner(),
                encryption: encryption(turn),
                ..CopyOptions::default()
            };
            store
                .copy_object(object_id(store, from)?, &target.bucket, target.key, options)
                .wait()?;
        }
        Step::Append { place, bytes } => {
            let target = object_id(store, place)?;
            let offset = model.object(place).map_or(0, |object| object.bytes.len() as u64);
            let body = stage(store, &turn.body(bytes), None).map_err(before_submission)?;
            let options = PutOptions { owner: owner(), ..PutOptions::default() };
            store.append_object(&target.bucket, target.key, offset, body, options).wait()?;
        }
        Step::Rename { from, to } => {
            let source = object_id(store, from)?;
            let options = RenameOptions::default();
            store
                .rename_object(&source.bucket, source.key, object_key(KEYS[to]), options)
                .wait()?;
        }
        Step::CreateUpload { slot: _, place } => {
            let target = object_id(store, place)?;
            let options = UploadOptions {
                metadata: metadata(turn),
                owner: owner(),
                encryption: encryption(turn),
                ..UploadOptions::default()
            };
            let upload = store.create_upload(&target.bucket, target.key, options).wait()?;
            return Ok(Some(upload.id));
        }
        Step::PutPart { slot, number, bytes } => {
            let upload = upload_of(slot);
            let (bucket, key) = (bucket_of(store, &upload.bucket)?, object_key(&upload.key));
            let id = id_of(slot);
            let sealing = store.seal_part(&bucket, &key, &id, None).map_err(before_submission)?;
            let body = stage(store, &turn.body(bytes), sealing).map_err(before_submission)?;
            let number = PartNumber::new(number).expect("valid");
            store.put_part(&bucket, &key, &id, number, body, None).wait()?;
        }
        Step::CopyPart { slot, number, from, is_whole } => {
            let upload = upload_of(slot);
            let (bucket, key) = (bucket_of(store, &upload.bucket)?, object_key(&upload.key));
            let number = PartNumber::new(number).expect("valid");
            let source = model.buckets.get(BUCKETS[from.0]);
            let source = source.and_then(|bucket| bucket.objects.get(KEYS[from.1]));
            let range = source.and_then(|source| copied_range(&source.bytes, is_whole));
            let range = range
                .filter(|_| !is_whole)
                .map(|(first, last)| ByteRange::FromTo { first: first as u64, last: last as u64 });
            let options = CopyPartOptions { range, ..CopyPartOptions::default() };
            let id = id_of(slot);
            store.copy_part(object_id(store, from)?, &bucket, &key, &id, number, options).wait()?;
        }
        Step::Complete { slot } => {
            let upload = upload_of(slot);
            let (bucket, key) = (bucket_of(store, &upload.bucket)?, object_key(&upload.key));
            let parts = upload.parts.keys().map(|number| CompletePart {
                number: PartNumber::new(*number).expect("valid"),
                etag: None,
                checksum: None,
            });
            let parts = parts.collect();
            let options = CompleteOptions::default();
            store.complete_upload(&bucket, &key, &id_of(slot), parts, options).wait()?;
        }
        Step::Abort { slot } => {
            let upload = upload_of(slot);
            let (bucket, key) = (bucket_of(store, &upload.bucket)?, object_key(&upload.key));
            store.abort_upload(&bucket, &key, &id_of(slot)).wait()?;
        }
        Step::Notify { bucket } => {
            let rule = NotificationRule {
                target: TARGET.to_owned(),
                events: vec!["Object*".to_owned()],
                ..NotificationRule::default()
            };
            let all = Notifications { rules: vec![rule], document: Vec::new() };
            let bucket = bucket_of(store, BUCKETS[bucket])?;
            store.set_notifications(&bucket, Some(all), Cause::Unknown).wait()?;
        }
        Step::Deliver { count } => {
            let oldest = store.queued_events(TARGET, None, count).map_err(before_submission)?;
            let numbers = oldest.iter().map(|event| event.number).collect();
            store.forget_events(TARGET, numbers).wait()?;
        }
        Step::Reclaim => drop(store.reclaim()?),
        Step::Sync => store.sync()?,
        Step::Reopen => unreachable!("the run does it"),
    }
    Ok(None)
}
