//! The crash model: random workloads on a simulated disk, with a crash or a fault at every single
//! operation of the disk in turn. Whatever struck, what is there afterwards must be what a plain
//! model says: everything acknowledged, the one write in flight whole or not at all, nothing else.
//!
//! `LITEIO_CRASH_SEEDS` sets how many workloads are run, `LITEIO_CRASH_FIRST_SEED` the first:
//!
//! ```text
//! LITEIO_CRASH_FIRST_SEED=1234 LITEIO_CRASH_SEEDS=1 cargo test -p liteio-store --test it crash
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use liteio_disk::{Fault, SimulatedDisk};
use liteio_store::{
    CompleteOptions, CompletePart, CopyOptions, CopyPartOptions, DeleteTarget, Durability, ETag,
    ListEntry, ListQuery, ListUploadsQuery, ListVersionsQuery, ManualClock, ObjectId,
    ObjectMetadata, PartNumber, PutOptions, ReadSelection, Store, StoreError, StoreHealth,
    UploadEntry, UploadId, UploadOptions, VersionEntry, VersionId,
};

use crate::harness::{blob_files, bucket_name, object_key, open, owner, read, stage};
use crate::model::{Expected, Model, ModelObject, ModelUpload, Turn, copied_range, refusal};
use crate::workload::{BUCKETS, KEYS, Place, Step, workload};

/// What is wrong, in words.
type Check = Result<(), String>;

// ---------------------------------------------------------------------------------------------
// Running a workload

/// Why a step failed.
struct Failure {
    error: StoreError,
    /// Whether the write may be there after a restart.
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
struct Run {
    disk: SimulatedDisk,
    durability: Durability,
    clock: Arc<ManualClock>,
    /// None when it could not be opened again.
    store: Option<Store>,
    /// What was acknowledged.
    acknowledged: Model,
    /// The same with the write that failed after it was submitted: a restart may bring it.
    in_flight: Option<Model>,
    /// Failures of the disk so far.
    failures: usize,
}

impl Run {
    fn start(disk: &SimulatedDisk, durability: Durability) -> Self {
        let clock = Arc::new(ManualClock::new(1_600_000_000_000));
        let store = open(disk, durability, &clock).ok();
        let failures = usize::from(store.is_none());
        Self {
            disk: disk.clone(),
            durability,
            clock,
            store,
            acknowledged: Model::default(),
            in_flight: None,
            failures,
        }
    }

    /// Runs the steps as far as the store goes. The error says what it must not have answered.
    fn work(&mut self, seed: u64, steps: &[Step], fault: Option<Fault>) -> Check {
        for (index, step) in steps.iter().enumerate() {
            let turn = Turn::new(seed, index);
            self.step(step, &turn, fault)
                .map_err(|what| format!("step {index} {step:?}: {what}"))?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step, turn: &Turn, fault: Option<Fault>) -> Check {
        self.clock.set_ms(turn.now_ms);
        let Some(store) = self.store.clone() else { return Ok(()) };
        let expected = self.acknowledged.expect(step, turn);
        if matches!(expected, Expected::Skip) {
            return Ok(());
        }
        let done = match step {
            Step::Reopen => self.reopen(store),
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
                self.acknowledged = next;
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
                // A full disk is the one failure of which certainly nothing is left.
                if let Expected::Done(next) = expected
                    && is_submitted
                    && !matches!(error, StoreError::NoSpace)
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

    fn reopen(&mut self, store: Store) -> Result<Option<UploadId>, Failure> {
        self.store = None;
        store.close();
        drop(store);
        self.store = Some(open(&self.disk, self.durability, &self.clock)?);
        Ok(None)
    }
}

/// Only what the fault explains.
fn check_failure(error: &StoreError, fault: Fault) -> Check {
    let is_explained = match error {
        StoreError::NoSpace => matches!(fault, Fault::NoSpace | Fault::NoSpaceFrom),
        StoreError::Poisoned { .. } => true,
        StoreError::Io(_) => !matches!(fault, Fault::NoSpace | Fault::NoSpaceFrom),
        // The bytes of a stopped machine cannot be read.
        StoreError::Corrupt { .. } => fault == Fault::Crash,
        _ => false,
    };
    if is_explained { Ok(()) } else { Err(format!("{error:?} is no answer to {fault:?}")) }
}

fn metadata(turn: &Turn) -> ObjectMetadata {
    ObjectMetadata { user: vec![("label".to_owned(), turn.label())], ..ObjectMetadata::default() }
}

fn object_id((bucket, key): Place) -> ObjectId {
    ObjectId { bucket: bucket_name(BUCKETS[bucket]), key: object_key(KEYS[key]), version: None }
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
            store.create_bucket(name, owner(), "us-east-1".to_owned()).wait()?;
        }
        Step::DeleteBucket { bucket } => {
            store.delete_bucket(bucket_name(BUCKETS[bucket])).wait()?
        }
        Step::Put { place, bytes } => {
            let target = object_id(place);
            let body = stage(store, &turn.body(bytes)).map_err(before_submission)?;
            let options =
                PutOptions { metadata: metadata(turn), owner: owner(), ..PutOptions::default() };
            store.put_object(&target.bucket, target.key, body, options).wait()?;
        }
        Step::Delete { place } => {
            let target = object_id(place);
            store.delete_object(&target.bucket, target.key, None, Default::default()).wait()?;
        }
        Step::DeleteAll { bucket } => {
            let targets = KEYS.map(|key| DeleteTarget {
                key: object_key(key),
                version: None,
                conditions: Default::default(),
            });
            let outcomes =
                store.delete_objects(&bucket_name(BUCKETS[bucket]), targets.to_vec()).wait()?;
            for outcome in outcomes {
                outcome?;
            }
        }
        Step::Copy { from, to, is_relabelled } => {
            let target = object_id(to);
            let options = CopyOptions {
                metadata: is_relabelled.then(|| metadata(turn)),
                owner: owner(),
                ..CopyOptions::default()
            };
            store.copy_object(object_id(from), &target.bucket, target.key, options).wait()?;
        }
        Step::CreateUpload { slot: _, place } => {
            let target = object_id(place);
            let options = UploadOptions {
                metadata: metadata(turn),
                owner: owner(),
                ..UploadOptions::default()
            };
            let upload = store.create_upload(&target.bucket, target.key, options).wait()?;
            return Ok(Some(upload.id));
        }
        Step::PutPart { slot, number, bytes } => {
            let upload = upload_of(slot);
            let (bucket, key) = (bucket_name(&upload.bucket), object_key(&upload.key));
            let body = stage(store, &turn.body(bytes)).map_err(before_submission)?;
            let number = PartNumber::new(number).expect("valid");
            store.put_part(&bucket, &key, &id_of(slot), number, body, None).wait()?;
        }
        Step::CopyPart { slot, number, from, is_whole } => {
            let upload = upload_of(slot);
            let (bucket, key) = (bucket_name(&upload.bucket), object_key(&upload.key));
            let number = PartNumber::new(number).expect("valid");
            let source = model.buckets.get(BUCKETS[from.0]);
            let source = source.and_then(|bucket| bucket.objects.get(KEYS[from.1]));
            let range = source.and_then(|source| copied_range(&source.bytes, is_whole));
            let options = CopyPartOptions {
                range: range.filter(|_| !is_whole).map(|(first, last)| (first as u64, last as u64)),
                ..CopyPartOptions::default()
            };
            let id = id_of(slot);
            store.copy_part(object_id(from), &bucket, &key, &id, number, options).wait()?;
        }
        Step::Complete { slot } => {
            let upload = upload_of(slot);
            let (bucket, key) = (bucket_name(&upload.bucket), object_key(&upload.key));
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
            let (bucket, key) = (bucket_name(&upload.bucket), object_key(&upload.key));
            store.abort_upload(&bucket, &key, &id_of(slot)).wait()?;
        }
        Step::Reclaim => drop(store.reclaim()?),
        Step::Reopen => unreachable!("the run does it"),
    }
    Ok(None)
}

// ---------------------------------------------------------------------------------------------
// Comparing a store with a model

fn check(store: &Store, model: &Model) -> Check {
    let page = store
        .list_buckets(&liteio_store::ListBuckets { max: 100, ..Default::default() })
        .map_err(|error| format!("buckets cannot be listed: {error}"))?;
    let found: Vec<(&str, u64)> =
        page.buckets.iter().map(|bucket| (bucket.name.as_str(), bucket.created_ms)).collect();
    let wanted: Vec<(&str, u64)> =
        model.buckets.iter().map(|(name, bucket)| (name.as_str(), bucket.created_ms)).collect();
    same("the buckets", &found, &wanted)?;
    for name in BUCKETS {
        let result = check_bucket(store, model, name);
        result.map_err(|what| format!("{name}: {what}"))?;
    }
    Ok(())
}

fn check_bucket(store: &Store, model: &Model, name: &str) -> Check {
    let bucket = bucket_name(name);
    let query = ListQuery { max: 1000, ..ListQuery::default() };
    let Some(wanted) = model.buckets.get(name) else {
        return match store.list_objects(&bucket, &query) {
            Err(StoreError::NoSuchBucket { .. }) => Ok(()),
            other => Err(format!("it should not be there: {other:?}")),
        };
    };
    let page = store.list_objects(&bucket, &query).map_err(|error| error.to_string())?;
    let listed = page.entries.into_iter().map(|entry| match entry {
        ListEntry::Object(object) => (object.key, object.bytes, object.etag, object.modified_ms),
        ListEntry::Prefix(prefix) => (prefix, u64::MAX, ETag::Md5([0; 16]), 0),
    });
    let listed: Vec<_> = listed.collect();
    let fields = |(key, object): (&String, &ModelObject)| {
        (key.clone(), object.bytes.len() as u64, object.etag, object.modified_ms)
    };
    same("the objects", &listed, &wanted.objects.iter().map(fields).collect())?;

    let query = ListVersionsQuery { max: 1000, ..ListVersionsQuery::default() };
    let page = store.list_versions(&bucket, &query).map_err(|error| error.to_string())?;
    let versions = page.entries.into_iter().map(|entry| match entry {
        VersionEntry::Version(version)
            if version.version_id == VersionId::Null && version.is_latest =>
        {
            version.object.key
        }
        other => format!("{other:?}"),
    });
    same("the versions", &versions.collect(), &wanted.objects.keys().cloned().collect::<Vec<_>>())?;

    for key in KEYS {
        let result = check_object(store, name, key, wanted.objects.get(key));
        result.map_err(|what| format!("{key:?}: {what}"))?;
    }
    check_uploads(store, model, name)
}

fn check_object(store: &Store, bucket: &str, key: &str, wanted: Option<&ModelObject>) -> Check {
    let (bucket, key) = (bucket_name(bucket), object_key(key));
    let found = store.head_object(&bucket, &key, None);
    let Some(wanted) = wanted else {
        return match found {
            Err(StoreError::NoSuchKey { .. }) => Ok(()),
            other => Err(format!("it should not be there: {other:?}")),
        };
    };
    let found = found.map_err(|error| format!("it cannot be looked at: {error}"))?;
    same("the size", &found.bytes, &(wanted.bytes.len() as u64))?;
    same("the entity tag", &found.etag, &wanted.etag)?;
    same("the time", &found.modified_ms, &wanted.modified_ms)?;
    same("the parts", &found.part_count, &wanted.part_count)?;
    let label = [("label".to_owned(), wanted.label.clone())];
    same("the metadata", &found.metadata.user[..], &label[..])?;
    let bytes = read(store, &bucket, &key, ReadSelection::Whole);
    let bytes = bytes.map_err(|error| format!("it cannot be read: {error}"))?;
    if bytes[..] != wanted.bytes[..] {
        return Err(format!("its {} bytes are not those that were written", bytes.len()));
    }
    let middle = bytes.len() as u64 / 3..bytes.len() as u64 * 2 / 3;
    if middle.is_empty() {
        return Ok(());
    }
    let part = read(store, &bucket, &key, ReadSelection::Range(middle.clone()));
    let part = part.map_err(|error| format!("{middle:?} of it cannot be read: {error}"))?;
    match part[..] == wanted.bytes[middle.start as usize..middle.end as usize] {
        true => Ok(()),
        false => Err(format!("the range {middle:?} is not what was written")),
    }
}

fn check_uploads(store: &Store, model: &Model, name: &str) -> Check {
    let bucket = bucket_name(name);
    let query = ListUploadsQuery { max: 1000, ..ListUploadsQuery::default() };
    let page = store.list_uploads(&bucket, &query).map_err(|error| error.to_string())?;
    let wanted: Vec<&ModelUpload> = model.open_uploads(name).collect();
    same("the number of uploads", &page.entries.len(), &wanted.len())?;
    for (entry, wanted) in page.entries.into_iter().zip(wanted) {
        let UploadEntry::Upload(found) = entry else {
            return Err(format!("{entry:?} among the uploads"));
        };
        let fields = (found.key.as_str(), found.initiated_ms, wanted.id.unwrap_or(found.id));
        same("an upload", &fields, &(wanted.key.as_str(), wanted.initiated_ms, found.id))?;
        let page = store.list_parts(&bucket, &found.key, &found.id, None, 1000);
        let page = page.map_err(|error| format!("parts cannot be listed: {error}"))?;
        let parts: Vec<_> = page
            .parts
            .iter()
            .map(|part| (part.number.get(), part.bytes, part.etag, part.modified_ms))
            .collect();
        let wanted: Vec<_> = wanted
            .parts
            .iter()
            .map(|(number, part)| {
                let etag = ETag::Md5(<md5::Md5 as md5::Digest>::digest(&part.bytes).into());
                (*number, part.bytes.len() as u64, etag, part.modified_ms)
            })
            .collect();
        same("the parts of an upload", &parts, &wanted)?;
    }
    Ok(())
}

fn same<T: PartialEq + std::fmt::Debug + ?Sized>(what: &str, found: &T, wanted: &T) -> Check {
    if found == wanted {
        return Ok(());
    }
    Err(format!("{what}: found {found:?}, wanted {wanted:?}"))
}

// ---------------------------------------------------------------------------------------------
// After the end of a run

/// Opens what is left and holds it against the model.
fn check_restart(left: &SimulatedDisk, run: &Run, empties: bool) -> Check {
    let store = open(left, run.durability, &run.clock)
        .map_err(|error| format!("the store does not open: {error}"))?;
    let mut model = &run.acknowledged;
    if let Err(what) = check(&store, model) {
        model = match &run.in_flight {
            None => return Err(format!("after the restart: {what}")),
            Some(in_flight) => in_flight,
        };
        check(&store, model).map_err(|also| {
            format!("after the restart: {what}; and with the write in flight: {also}")
        })?;
    }
    check_settled(&store).map_err(|what| format!("after the restart: {what}"))?;
    check(&store, model).map_err(|what| format!("after sweep and reclaim: {what}"))?;
    if empties {
        empty(&store).map_err(|error| format!("cannot be emptied: {error}"))?;
        let files = blob_files(left);
        if files > 0 {
            return Err(format!("{files} blobs are left of an empty store"));
        }
    }
    Ok(())
}

/// Nothing is damaged, and nothing is left over, once the store has tidied up.
fn check_settled(store: &Store) -> Check {
    store.sweep().map_err(|error| format!("sweep: {error}"))?;
    store.reclaim().map_err(|error| format!("reclaim: {error}"))?;
    let report = store.verify(&mut |_| {}).map_err(|error| format!("verify: {error}"))?;
    if report.damaged.is_empty() && report.orphans == 0 {
        return Ok(());
    }
    Err(format!("verify found {} orphans, damage {:?}", report.orphans, report.damaged))
}

/// Deletes everything there is.
fn empty(store: &Store) -> Result<(), StoreError> {
    for name in BUCKETS {
        let bucket = bucket_name(name);
        if store.bucket(&bucket).is_err() {
            continue;
        }
        for key in KEYS {
            store.delete_object(&bucket, object_key(key), None, Default::default()).wait()?;
        }
        let query = ListUploadsQuery { max: 1000, ..ListUploadsQuery::default() };
        for entry in store.list_uploads(&bucket, &query)?.entries {
            if let UploadEntry::Upload(upload) = entry {
                store.abort_upload(&bucket, &upload.key, &upload.id).wait()?;
            }
        }
        store.delete_bucket(bucket).wait()?;
    }
    store.reclaim().map(drop)
}

// ---------------------------------------------------------------------------------------------
// The tests

/// What strikes in turn, beside the crash, which strikes everywhere.
const FAULTS: [Fault; 5] =
    [Fault::Io, Fault::NoSpace, Fault::ShortWrite, Fault::FailedSync, Fault::NoSpaceFrom];

/// How a machine ends.
#[derive(Clone, Copy, Debug)]
enum End {
    PowerCut,
    Kill,
}

impl End {
    fn of(durability: Durability) -> Self {
        match durability {
            Durability::Fsync => Self::PowerCut,
            Durability::Os => Self::Kill,
        }
    }

    fn strike(self, disk: &SimulatedDisk) -> SimulatedDisk {
        match self {
            Self::PowerCut => disk.crash(),
            Self::Kill => disk.kill(),
        }
    }
}

/// A disk with an empty store that was closed in order.
fn empty_store(seed: u64, durability: Durability) -> SimulatedDisk {
    let disk = SimulatedDisk::new(seed);
    let clock = Arc::new(ManualClock::new(1_500_000_000_000));
    open(&disk, durability, &clock).expect("an empty disk").close();
    disk
}

fn check_seed(seed: u64, durability: Durability) -> Result<(), String> {
    let steps = workload(seed);
    let base = empty_store(seed, durability);
    let described =
        |what: String| format!("seed {seed}, {durability:?}: {what}\nsteps: {steps:#?}");

    let disk = base.kill();
    let mut run = Run::start(&disk, durability);
    let opened = disk.operations();
    run.work(seed, &steps, None).map_err(described)?;
    let store =
        run.store.as_ref().ok_or("the store is gone").map_err(|what| described(what.into()))?;
    check(store, &run.acknowledged).map_err(described)?;
    let count = disk.operations();
    let left = End::of(durability).strike(&disk);
    check_restart(&left, &run, true).map_err(described)?;

    // Opening is much the same for every seed.
    let first = if seed.is_multiple_of(8) { 0 } else { opened };
    for at in first..count {
        let at_this = |what: String, fault| {
            described(format!("{fault:?} at operation {at} of {count}: {what}"))
        };
        check_crash(seed, &steps, &base.kill(), durability, at)
            .map_err(|what| at_this(what, Fault::Crash))?;
        let fault = FAULTS[(seed.wrapping_add(at) % FAULTS.len() as u64) as usize];
        check_fault(seed, &steps, &base.kill(), durability, at, fault)
            .map_err(|what| at_this(what, fault))?;
    }
    Ok(())
}

fn check_crash(
    seed: u64,
    steps: &[Step],
    disk: &SimulatedDisk,
    durability: Durability,
    at: u64,
) -> Check {
    disk.set_fault(at, Fault::Crash);
    let mut run = Run::start(disk, durability);
    run.work(seed, steps, Some(Fault::Crash))?;
    run.store = None;
    let end = End::of(durability);
    let mut left = end.strike(disk);
    // The next start may be cut as well.
    if at % 4 == seed % 4 {
        left.set_fault(at / 4 % 29, Fault::Crash);
        if let Ok(store) = open(&left, durability, &run.clock) {
            let _ = store.sweep();
            let _ = store.reclaim();
        }
        left = end.strike(&left);
    }
    check_restart(&left, &run, at % 3 == seed % 3)
}

fn check_fault(
    seed: u64,
    steps: &[Step],
    disk: &SimulatedDisk,
    durability: Durability,
    at: u64,
    fault: Fault,
) -> Check {
    disk.set_fault(at, fault);
    let mut run = Run::start(disk, durability);
    run.work(seed, steps, Some(fault))?;
    if let Some(store) = run.store.take() {
        // Reads go on, and show what was acknowledged and nothing else.
        check(&store, &run.acknowledged).map_err(|what| format!("still running: {what}"))?;
        disk.clear_faults();
        if store.health() == StoreHealth::Ready {
            check_settled(&store).map_err(|what| format!("still running: {what}"))?;
            check(&store, &run.acknowledged)
                .map_err(|what| format!("still running, after sweep and reclaim: {what}"))?;
        }
    }
    check_restart(&End::of(durability).strike(disk), &run, at % 3 == seed % 3)
}

fn number_from(variable: &str, default: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} must be a number")),
        Err(_) => default,
    }
}

/// Says where a panic came from, which may be any thread of the store.
struct PanicNote(u64, Durability);

impl Drop for PanicNote {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("panicked at seed {}, {:?}", self.0, self.1);
        }
    }
}

fn check_seeds(durability: Durability, default_seeds: u64) {
    let first = number_from("LITEIO_CRASH_FIRST_SEED", 0);
    let end = first + number_from("LITEIO_CRASH_SEEDS", default_seeds);
    let next = AtomicU64::new(first);
    let work = || -> Result<(), String> {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                return Ok(());
            }
            let _note = PanicNote(seed, durability);
            if let Err(what) = check_seed(seed, durability) {
                next.store(end, Ordering::Relaxed);
                return Err(what);
            }
        }
    };
    let threads = thread::available_parallelism().map_or(2, usize::from);
    let results: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().map(|thread| thread.join().expect("see above")).collect()
    });
    for result in results {
        result.unwrap_or_else(|what| panic!("{what}"));
    }
}

#[test]
fn a_power_cut_or_fault_at_any_operation_loses_nothing_and_tears_nothing() {
    check_seeds(Durability::Fsync, 300);
}

#[test]
fn without_syncs_a_kill_at_any_operation_loses_nothing() {
    check_seeds(Durability::Os, 60);
}

#[test]
fn the_first_start_can_be_cut_anywhere() {
    for durability in [Durability::Fsync, Durability::Os] {
        let disk = SimulatedDisk::new(1);
        let clock = Arc::new(ManualClock::new(1_500_000_000_000));
        open(&disk, durability, &clock).expect("an empty disk").close();
        for at in 0..disk.operations() {
            for fault in [Fault::Crash, FAULTS[at as usize % FAULTS.len()]] {
                let disk = SimulatedDisk::new(at);
                disk.set_fault(at, fault);
                drop(open(&disk, durability, &clock));
                let left = disk.crash();
                let store = open(&left, durability, &clock).unwrap_or_else(|error| {
                    panic!("{durability:?}, {fault:?} at operation {at}: {error}")
                });
                check(&store, &Model::default()).expect("it is empty");
                store
                    .create_bucket(bucket_name("new"), owner(), String::new())
                    .wait()
                    .expect("new");
            }
        }
    }
}
