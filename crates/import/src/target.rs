//! The data directory that is imported into.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use liteio_store::limits::LIST_BUCKETS_MAX;
use liteio_store::{
    Bucket, BucketName, DefaultRetention, DocumentKind, ETag, ImportedObject, ImportedVersion,
    KnownVersion, Lifecycle, ListBuckets, NewBucket, ObjectKey, ObjectLock, Owner, Pending, Store,
    StoreConfig, StoreError, VersionId, Versioning,
};
use parking_lot::Mutex;

use super::tally::Tally;
use crate::cli::ImportTargetArgs;
use liteio_identity::DEFAULT_ACCESS_KEY;
use liteio_identity::canonical_id_of_key;
use liteio_store::DEFAULT_DIRECTORY;

/// Threads that read the source. Most of their time they wait for a disk or for a network.
const THREADS: usize = 16;
/// Keys that wait for a thread.
const QUEUE: usize = 64;
/// Small objects of a thread that wait for the log, which makes all of them durable by one sync.
const IN_FLIGHT_MAX: usize = 64;

/// Versions of a key that are read before the oldest of them is imported.
const STAGED_MAX: usize = 64;

/// The data directory, open.
#[derive(Debug)]
pub(crate) struct Target {
    pub store: Store,
    pub(crate) tally: Tally,
    owner: Owner,
    overwrites: bool,
    name: String,
}

/// A version of the source, as it is compared with those of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourceVersion {
    /// Its time, in milliseconds since 1970.
    pub(crate) modified_ms: u64,
    pub is_null: bool,
    /// None of a delete marker.
    pub object: Option<SourceObject>,
}

/// The object of a version of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourceObject {
    pub bytes: u64,
    /// Unknown before the bytes are read, in some sources.
    pub etag: Option<ETag>,
}

/// Settings of a bucket of the source.
#[derive(Clone, Debug, Default)]
pub(crate) struct BucketSettings {
    pub versioning: Versioning,
    /// Versions may be locked; its default.
    pub object_lock: Option<Option<DefaultRetention>>,
    pub lifecycle: Option<Lifecycle>,
    pub documents: Vec<(DocumentKind, Vec<u8>)>,
}

/// A failure of an import.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Something of the source cannot be read, or be taken: it is left out, with this reason.
    #[error("{0}")]
    LeftOut(String),
    /// Something of the source could not be read now: the newer versions of its key wait for it.
    #[error("{0}")]
    Unread(String),
    /// The source as a whole cannot be read any more.
    #[error("{0}")]
    Source(String),
    /// The target cannot take any more.
    #[error("{0}")]
    Target(#[from] StoreError),
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::Source(error.to_string())
    }
}

/// A key of the source.
pub(crate) trait SourceKey: Send {
    /// Its versions, the oldest first. Called once, before any is read.
    ///
    /// # Errors
    /// [`Failure::LeftOut`] when nothing of the key can be read.
    fn versions(&mut self) -> Result<Vec<SourceVersion>, Failure>;

    /// Reads the object of the version at that index.
    ///
    /// # Errors
    /// [`Failure::LeftOut`] when it is damaged or cannot be taken, [`Failure::Unread`] when it could not be read.
    fn read(&mut self, store: &Store, index: usize) -> Result<ImportedObject, Failure>;
}

/// A key to import.
pub(crate) struct Job {
    pub bucket: Arc<Bucket>,
    pub key: ObjectKey,
    pub source: Box<dyn SourceKey>,
}

impl Target {
    /// # Errors
    /// The reason why the directory cannot be opened, in one line.
    pub(crate) fn open(
        arguments: &ImportTargetArgs,
        source: Option<&Path>,
    ) -> Result<Target, String> {
        let path = arguments.data_dir.as_deref().unwrap_or(Path::new(DEFAULT_DIRECTORY));
        if let (Some(source), Some(path)) = (source.and_then(resolved), resolved(path))
            && (source.starts_with(&path) || path.starts_with(&source))
        {
            return Err(format!(
                "{} and the data directory are within each other: give another --data-dir",
                source.display()
            ));
        }
        let config = StoreConfig {
            scrub_interval: None,
            // What is imported is old. Lifecycle rules come into effect with the next start of the server.
            lifecycle_day: Duration::from_secs(10 * 365 * 24 * 60 * 60),
            ..StoreConfig::directory(path)
        };
        let store = Store::open(config).map_err(|error| format!("{}: {error}", path.display()))?;
        let of_key =
            |key: &str| Owner { id: canonical_id_of_key(key), display_name: key.to_owned() };
        let owner = match &arguments.owner {
            Some(access_key) => of_key(access_key),
            None => owner_of_all(&store).unwrap_or_else(|| of_key(DEFAULT_ACCESS_KEY)),
        };
        let tally = Tally::new(store.now_ms());
        let name = path.display().to_string();
        Ok(Target { store, tally, owner, overwrites: arguments.overwrite, name })
    }

    /// Imports what `source` finds, on several threads. `Ok(false)` when something was left out.
    ///
    /// # Errors
    /// The reason for the end before the end, in one line.
    pub(crate) fn import(
        self,
        source: impl FnOnce(&Target, &Jobs<'_>) -> Result<(), Failure>,
    ) -> Result<bool, String> {
        let (sender, receiver) = sync_channel(QUEUE);
        let receiver = Mutex::new(receiver);
        let has_failed = AtomicBool::new(false);
        let (target, receiver, has_failed) = (&self, &receiver, &has_failed);
        let result = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..THREADS).map(|_| scope.spawn(|| target.work(receiver, has_failed))).collect();
            let walked = source(target, &Jobs { sender, has_failed });
            if walked.is_err() {
                has_failed.store(true, Ordering::Release);
            }
            let done = threads.into_iter().map(|thread| {
                thread
                    .join()
                    .unwrap_or_else(|_| Err(Failure::Source("a thread panicked".to_owned())))
            });
            // A failure of a thread is the reason why the source was not asked further.
            done.fold(Ok(()), Result::and).and(walked)
        });
        self.store.close();
        let is_whole = self.tally.finish(&self.name);
        match result {
            Ok(()) => Ok(is_whole),
            Err(failure) => Err(format!("{failure}; the same command again goes on from here")),
        }
    }

    /// The bucket of that name, made if there is none.
    ///
    /// # Errors
    /// [`Failure::LeftOut`] when the name is none, or the bucket cannot take imports.
    pub(crate) fn bucket(&self, name: &str) -> Result<Arc<Bucket>, Failure> {
        let name = BucketName::new(name).map_err(|error| Failure::LeftOut(error.to_string()))?;
        let bucket = match self.store.bucket(&name) {
            Err(StoreError::NoSuchBucket { .. }) => {
                let region = "us-east-1".to_owned();
                self.store
                    .create_bucket(NewBucket::new(name.clone(), self.owner.clone(), region))
                    .wait()?;
                let owner = &self.owner.display_name;
                self.tally.note(&format!("the bucket {name} belongs to the access key {owner}"));
                self.store.bucket(&name)?
            }
            bucket => bucket?,
        };
        match bucket.settings.default_encryption {
            None => Ok(bucket),
            Some(_) => Err(Failure::LeftOut(format!(
                "the bucket {name} of the data directory encrypts new objects, and imported ones are not encrypted"
            ))),
        }
    }

    /// Sets what `bucket` has no setting of.
    ///
    /// # Errors
    /// [`Failure::Target`].
    pub(crate) fn set(
        &self,
        bucket: &Arc<Bucket>,
        settings: BucketSettings,
    ) -> Result<Arc<Bucket>, Failure> {
        let BucketSettings { versioning, object_lock, lifecycle, documents } = settings;
        let kept = |what: &str| {
            let name = &bucket.name;
            self.tally
                .note(&format!("the bucket {name} keeps its own {what}, which is another one"));
        };
        match (bucket.versioning, versioning) {
            (Versioning::Never, Versioning::Enabled | Versioning::Suspended) => {
                self.store.set_versioning(bucket, versioning).wait()?;
            }
            (own, wanted) if own != wanted && wanted != Versioning::Never => kept("versioning"),
            _ => {}
        }
        if let Some(default) = object_lock {
            match (bucket.object_lock, bucket.settings.default_retention) {
                (false, _) if bucket.versioning == Versioning::Suspended => kept("versioning"),
                (false, _) => self.store.set_object_lock(bucket, default).wait()?,
                (true, own) if own != default => kept("default retention"),
                (true, _) => {}
            }
        }
        match (&bucket.settings.lifecycle, lifecycle) {
            (None, Some(lifecycle)) => self.store.set_lifecycle(bucket, Some(lifecycle)).wait()?,
            (Some(own), Some(lifecycle)) if **own != lifecycle => kept("lifecycle"),
            _ => {}
        }
        for (kind, document) in documents {
            match bucket.settings.document(kind) {
                None => self.store.put_document(bucket, kind, document).wait()?,
                Some(own) if own != document => kept(&format!("document {kind:?}")),
                Some(_) => {}
            }
        }
        Ok(self.store.bucket(&bucket.name)?)
    }

    fn work(&self, jobs: &Mutex<Receiver<Job>>, has_failed: &AtomicBool) -> Result<(), Failure> {
        let mut in_flight =
            InFlight { tally: &self.tally, store: &self.store, waiting: VecDeque::new() };
        let mut result = Ok(());
        loop {
            // The lock is for taking alone.
            let next = jobs.lock().recv();
            let Ok(job) = next else { break };
            // What comes behind a failure is taken all the same, so that the source does not wait for ever.
            if has_failed.load(Ordering::Acquire) {
                continue;
            }
            result = self.key(job, &mut in_flight);
            if result.is_err() {
                has_failed.store(true, Ordering::Release);
            }
        }
        result.and(in_flight.end(0))
    }

    fn key(&self, mut job: Job, in_flight: &mut InFlight<'_>) -> Result<(), Failure> {
        let named = || format!("{}/{}", job.bucket.name, job.key.as_str());
        let versions = match job.source.versions() {
            Ok(versions) => versions,
            Err(Failure::LeftOut(reason) | Failure::Unread(reason)) => {
                self.tally.left_out(&named(), &reason);
                return Ok(());
            }
            Err(failure) => return Err(failure),
        };
        let mut known = self.store.versions_of_key(&job.bucket, &job.key)?;
        known.reverse();
        let missing = match missing(&versions, &known, self.overwrites) {
            Plan::Conflict => {
                let reason =
                    "the data directory has another content there; --overwrite replaces it";
                self.tally.left_out(&named(), reason);
                return Ok(());
            }
            Plan::Import { from, passed_over } => {
                for version in passed_over {
                    let reason = "newer versions are there already";
                    self.tally.left_out(&described(&named(), &versions[version]), reason);
                }
                from
            }
        };
        self.tally.present(missing.min(versions.len()), self.store.now_ms());
        let Some(newest) = versions.len().checked_sub(1).filter(|newest| missing <= *newest) else {
            return Ok(());
        };
        let newest_object =
            match self.read(&job.bucket, &mut *job.source, newest, &versions[newest]) {
                Ok(object) => object,
                Err(Failure::LeftOut(reason) | Failure::Unread(reason)) => {
                    let reason = match newest {
                        0 => reason,
                        _ => format!(
                            "{reason}; it is the newest version, and no older one takes its place"
                        ),
                    };
                    self.tally.left_out(&described(&named(), &versions[newest]), &reason);
                    return Ok(());
                }
                Err(failure) => return Err(failure),
            };
        // A version that could not be read ends the key, as far as possible before anything of it is imported.
        let mut staged = VecDeque::new();
        let mut is_first = true;
        let mut import = |(index, object): (usize, Option<ImportedObject>)| {
            let SourceVersion { modified_ms, is_null, object: described } = versions[index];
            // Else a version could fail after a newer one was imported, below which it could not be imported later.
            if !std::mem::take(&mut is_first) {
                in_flight.end(0)?;
            }
            let new = ImportedVersion { modified_ms, is_null, object };
            let pending = self.store.import_version(&job.bucket, job.key.clone(), new);
            let bytes = described.map_or(0, |object| object.bytes);
            in_flight.add(named(), bytes, pending)
        };
        for (index, version) in versions.iter().enumerate().take(newest).skip(missing) {
            match self.read(&job.bucket, &mut *job.source, index, version) {
                Ok(object) => staged.push_back((index, object)),
                Err(Failure::LeftOut(reason)) => {
                    self.tally.left_out(&described(&named(), version), &reason);
                }
                Err(Failure::Unread(reason)) => {
                    let reason = format!(
                        "{reason}; the newer versions wait for it: run the same command again"
                    );
                    self.tally.left_out(&described(&named(), version), &reason);
                    return Ok(());
                }
                Err(failure) => return Err(failure),
            }
            if staged.len() > STAGED_MAX
                && let Some(oldest) = staged.pop_front()
            {
                import(oldest)?;
            }
        }
        staged.push_back((newest, newest_object));
        staged.into_iter().try_for_each(import)
    }

    /// The object of a version, which the bucket can take.
    fn read(
        &self,
        bucket: &Bucket,
        source: &mut dyn SourceKey,
        index: usize,
        version: &SourceVersion,
    ) -> Result<Option<ImportedObject>, Failure> {
        if version.object.is_none() {
            return Ok(None);
        }
        let object = source.read(&self.store, index)?;
        if object.lock != ObjectLock::default() && !bucket.object_lock {
            let reason = "it is locked, and the bucket of the data directory has no object lock";
            return Err(Failure::LeftOut(reason.to_owned()));
        }
        Ok(Some(object))
    }
}

/// The owner of all buckets that are there, if they have one owner: the only user of the server, whatever its key.
fn owner_of_all(store: &Store) -> Option<Owner> {
    let query = ListBuckets { max: LIST_BUCKETS_MAX, ..ListBuckets::default() };
    let buckets = store.list_buckets(&query).ok()?.buckets;
    let owner = &buckets.first()?.owner;
    buckets.iter().all(|bucket| bucket.owner.id == owner.id).then(|| owner.clone())
}

/// The path without links, also of a directory that will be made.
fn resolved(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    let there = path.ancestors().find_map(|it| Some((it, it.canonicalize().ok()?)));
    let (ancestor, resolved) = there?;
    Some(resolved.join(path.strip_prefix(ancestor).ok()?))
}

/// Takes the keys that a source finds.
pub(crate) struct Jobs<'t> {
    sender: SyncSender<Job>,
    has_failed: &'t AtomicBool,
}

impl Jobs<'_> {
    /// Gives a key to a thread; waits while all are busy.
    ///
    /// # Errors
    /// [`Failure::Source`] when the import has failed, which ends the walk.
    pub(crate) fn push(&self, job: Job) -> Result<(), Failure> {
        let ended = || Failure::Source("the import has ended".to_owned());
        match self.has_failed.load(Ordering::Acquire) {
            true => Err(ended()),
            false => self.sender.send(job).map_err(|_| ended()),
        }
    }
}

/// Versions that are on their way to the log, in the order of their submission.
struct InFlight<'t> {
    tally: &'t Tally,
    store: &'t Store,
    waiting: VecDeque<(String, u64, Pending<VersionId>)>,
}

impl InFlight<'_> {
    fn add(
        &mut self,
        name: String,
        bytes: u64,
        pending: Pending<VersionId>,
    ) -> Result<(), Failure> {
        self.waiting.push_back((name, bytes, pending));
        self.end(IN_FLIGHT_MAX)
    }

    /// Waits until so many are left.
    fn end(&mut self, left: usize) -> Result<(), Failure> {
        while self.waiting.len() > left {
            let Some((name, bytes, pending)) = self.waiting.pop_front() else { break };
            match pending.wait() {
                Ok(_) => self.tally.imported(bytes, self.store.now_ms()),
                Err(
                    error @ (StoreError::ObjectLocked
                    | StoreError::InvalidRequest { .. }
                    | StoreError::InvalidBucketState { .. }
                    | StoreError::TooManyParts
                    | StoreError::ObjectTooLarge { .. }),
                ) => self.tally.left_out(&name, &error.to_string()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

fn described(name: &str, version: &SourceVersion) -> String {
    match version.is_null {
        true => name.to_owned(),
        false => format!("{name} (a version of {} ms after 1970)", version.modified_ms),
    }
}

/// The decision about a key.
#[derive(Debug, PartialEq, Eq)]
enum Plan {
    /// The versions of the source from this one on. Those that were passed over cannot be imported below newer ones.
    Import { from: usize, passed_over: Vec<usize> },
    /// The target has what the source does not have.
    Conflict,
}

/// The versions of `source` that are missing in `target`; both with the oldest first. Versions of the source are
/// imported in their order, so those that are there are in that order, with gaps where something was left out.
fn missing(source: &[SourceVersion], target: &[KnownVersion], overwrites: bool) -> Plan {
    if align(source, target).len() == source.len() {
        return Plan::Import { from: source.len(), passed_over: Vec::new() };
    }
    let is_foreign = |known: &KnownVersion| !source.iter().any(|version| version.is(known));
    let behind_foreign = target.iter().rposition(is_foreign).map_or(0, |last| last + 1);
    let own = &target[behind_foreign..];
    let aligned = align(source, own);
    if (behind_foreign > 0 || aligned.len() < own.len()) && !overwrites {
        return Plan::Conflict;
    }
    let from = aligned.last().map_or(0, |last| last + 1);
    let passed_over = (0..from).filter(|index| !aligned.contains(index)).collect();
    Plan::Import { from, passed_over }
}

/// The indexes of the versions of `source` that are in `target`, in its order.
fn align(source: &[SourceVersion], target: &[KnownVersion]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut rest = target.iter();
    let mut at = 0;
    while at < source.len() {
        let mut ahead = rest.clone();
        if ahead.any(|known| source[at].is(known)) {
            rest = ahead;
            found.push(at);
        }
        at += 1;
    }
    found
}

impl SourceVersion {
    /// `true` if it is this version of the target.
    fn is(&self, known: &KnownVersion) -> bool {
        let is_content = match (self.object, known.object) {
            (None, None) => true,
            (Some(object), Some((bytes, etag))) => {
                object.bytes == bytes && object.etag.is_none_or(|tag| tag == etag)
            }
            _ => false,
        };
        is_content
            && self.modified_ms == known.modified_ms
            && self.is_null == known.version_id.is_null()
    }
}

#[cfg(test)]
mod tests {
    use liteio_store::{ImportedContent, ObjectMetadata};

    use super::*;
    use crate::stage::Stager;

    /// Versions of a key, one with each of these contents, or the failure to read it.
    struct Versions(Vec<Result<&'static [u8], Failure>>);

    impl SourceKey for Versions {
        fn versions(&mut self) -> Result<Vec<SourceVersion>, Failure> {
            let version = |(number, content): (u64, &Result<&[u8], _>)| {
                let bytes = content.as_ref().map_or(1, |content| content.len() as u64);
                let object = Some(SourceObject { bytes, etag: None });
                SourceVersion { modified_ms: number, is_null: false, object }
            };
            Ok((1..).zip(&self.0).map(version).collect())
        }

        fn read(&mut self, store: &Store, index: usize) -> Result<ImportedObject, Failure> {
            let content = match &self.0[index] {
                Ok(content) => content,
                Err(Failure::Unread(reason)) => return Err(Failure::Unread(reason.clone())),
                Err(failure) => return Err(Failure::LeftOut(failure.to_string())),
            };
            let mut stager = Stager::new(store, content.len() as u64)?;
            stager.write(content)?;
            let (bodies, md5) = stager.finish()?;
            let content = ImportedContent::Whole { bodies, md5 };
            let lock = ObjectLock { legal_hold: index == 9, ..ObjectLock::default() };
            let metadata = ObjectMetadata::default();
            Ok(ImportedObject { content, etag: None, metadata, checksum: None, lock })
        }
    }

    #[test]
    fn no_older_version_takes_the_place_of_one_that_cannot_be_imported() {
        let owner = Owner { id: "0".repeat(64), display_name: "owner".to_owned() };
        let target = Target {
            store: Store::open(StoreConfig::memory()).expect("opens"),
            tally: Tally::new(0),
            owner,
            overwrites: false,
            name: "data".to_owned(),
        };
        let bucket = target.bucket("bucket").expect("made");
        let settings =
            BucketSettings { versioning: Versioning::Enabled, ..BucketSettings::default() };
        let bucket = target.set(&bucket, settings).expect("set");
        let damaged = || Err(Failure::LeftOut("it is damaged".to_owned()));
        let unread = || Err(Failure::Unread("no answer".to_owned()));
        let import = |name: &str, versions: Vec<Result<&'static [u8], Failure>>| {
            let key = ObjectKey::new(name.to_owned()).expect("a key");
            let (bucket, source) = (Arc::clone(&bucket), Box::new(Versions(versions)));
            let job = Job { bucket: Arc::clone(&bucket), key: key.clone(), source };
            let mut in_flight =
                InFlight { tally: &target.tally, store: &target.store, waiting: VecDeque::new() };
            target.key(job, &mut in_flight).expect("no end");
            in_flight.end(0).expect("imported");
            let known = target.store.versions_of_key(&bucket, &key).expect("readable");
            known.iter().rev().map(|it| it.modified_ms).collect::<Vec<u64>>()
        };
        assert_eq!(import("damaged", vec![Ok(b"1"), Ok(b"2"), damaged()]), [0; 0]);
        assert_eq!(import("unread", vec![Ok(b"1"), Ok(b"2"), unread()]), [0; 0]);
        assert_eq!(import("between", vec![Ok(b"1"), damaged(), Ok(b"3")]), [1, 3]);
        // A version that can be read later is not passed over by newer ones.
        assert_eq!(import("later", vec![Ok(b"1"), unread(), Ok(b"3")]), [0; 0]);
        assert_eq!(import("later", vec![Ok(b"1"), Ok(b"2"), Ok(b"3")]), [1, 2, 3]);
        // The tenth is locked, which this bucket cannot take.
        assert_eq!(import("locked", (0..10).map(|_| Ok(&b"x"[..])).collect()), [0; 0]);
        let mut many: Vec<_> = (0..STAGED_MAX + 20).map(|_| Ok(&b"x"[..])).collect();
        many[STAGED_MAX + 5] = unread();
        many[9] = damaged();
        let begun = import("many", many);
        assert!(!begun.is_empty() && begun.len() < 10, "{begun:?}");
        assert!(!target.tally.finish("data"));
    }

    fn version(number: u64) -> SourceVersion {
        let object =
            (!number.is_multiple_of(10)).then_some(SourceObject { bytes: number, etag: None });
        SourceVersion { modified_ms: number, is_null: false, object }
    }

    fn known(number: u64) -> KnownVersion {
        let object = (!number.is_multiple_of(10)).then_some((number, ETag::Md5([0; 16])));
        KnownVersion { version_id: VersionId::Id([1; 16]), modified_ms: number, object }
    }

    #[test]
    fn an_import_goes_on_behind_the_versions_that_are_there() {
        let import =
            |from, passed_over: &[usize]| Plan::Import { from, passed_over: passed_over.to_vec() };
        // Versions of the source, of the target; the decision without and with --overwrite.
        let rows: [(&[u64], &[u64], Plan, Plan); 9] = [
            (&[1, 2, 10], &[], import(0, &[]), import(0, &[])),
            (&[1, 2, 10], &[1], import(1, &[]), import(1, &[])),
            (&[1, 2, 10], &[1, 2, 10], import(3, &[]), import(3, &[])),
            // Its first version was left out.
            (&[1, 2, 3], &[2], import(2, &[0]), import(2, &[0])),
            // Somebody has written since.
            (&[1, 2], &[1, 2, 9], import(2, &[]), import(2, &[])),
            (&[1, 2], &[7], Plan::Conflict, import(0, &[])),
            (&[1, 2], &[1, 7], Plan::Conflict, import(0, &[])),
            // An import with --overwrite that was ended.
            (&[1, 2], &[7, 1], Plan::Conflict, import(1, &[])),
            (&[1, 1, 2], &[1], import(1, &[]), import(1, &[])),
        ];
        for (source, target, without, with) in rows {
            let source: Vec<_> = source.iter().map(|number| version(*number)).collect();
            let target: Vec<_> = target.iter().map(|number| known(*number)).collect();
            assert_eq!(missing(&source, &target, false), without, "{source:?} {target:?}");
            assert_eq!(missing(&source, &target, true), with, "{source:?} {target:?}");
        }
    }
}
