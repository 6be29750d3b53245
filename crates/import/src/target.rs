//! The data directory to import into.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use jiff::Timestamp;
use liteio_store::limits::LIST_BUCKETS_MAX;
use liteio_store::{
    Bucket, BucketName, Cause, DefaultEncryption, DefaultRetention, DocumentKind, ImportedObject,
    ImportedVersion, KeyRing, Lifecycle, ListBuckets, NewBucket, Notifications, ObjectKey,
    ObjectLock, Owner, Pending, Quota, Store, StoreConfig, StoreError, VersionId, Versioning,
};
use parking_lot::Mutex;

pub(crate) use super::failure::Failure;
use super::plan::{Plan, missing};
pub(crate) use super::plan::{SourceObject, SourceVersion};
use super::same::are_same_policies;
use super::seal::{Destination, Sealer};
use super::tally::Tally;
use crate::cli::ImportTargetArgs;
use liteio_identity::canonical_id_of_key;
use liteio_policy::acl::Ownership;
use liteio_store::DEFAULT_DIRECTORY;

/// Threads that read the source. They mostly wait for a disk or network.
const THREADS: usize = 16;
/// Keys queued for the threads.
const QUEUE: usize = 64;
/// Small objects per thread in flight to the log, which makes them durable together with one sync.
const IN_FLIGHT_MAX: usize = 64;

/// Versions of a key that are staged before the oldest of them is imported.
const STAGED_MAX: usize = 64;

/// The opened data directory.
#[derive(Debug)]
pub(crate) struct Target {
    pub store: Store,
    pub(crate) tally: Tally,
    owner: Owner,
    overwrites: bool,
    name: String,
    /// The data directory belongs to a volume of MinIO whose place a server takes.
    is_of_volume: bool,
    /// Chooses the encryption of versions.
    pub(crate) sealer: Sealer,
    /// The targets of events that the server will have.
    pub(crate) event_targets: Vec<KnownTarget>,
    /// The tiers that the server will have, by their names and classes.
    pub(crate) tiers: Vec<String>,
    /// The settings that the server gives new buckets.
    pub(crate) new_buckets: NewBuckets,
    /// Set if the caller no longer waits.
    given_up: Arc<AtomicBool>,
}

/// The properties of new buckets that no setting of the source has.
#[derive(Clone, Debug)]
pub struct NewBuckets {
    /// The region.
    pub region: String,
    /// The object ownership.
    pub object_ownership: Ownership,
}

impl Default for NewBuckets {
    fn default() -> NewBuckets {
        let region = "us-east-1".to_owned();
        NewBuckets { region, object_ownership: Ownership::default() }
    }
}

/// A target of events that the server has, as notifications refer to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownTarget {
    /// Its name.
    pub name: String,
    /// Its kind, as MinIO's ARNs name it.
    pub kind: &'static str,
}

impl KnownTarget {
    pub(crate) fn webhook(name: &str) -> KnownTarget {
        KnownTarget { name: name.to_owned(), kind: "webhook" }
    }
}

/// Settings of a bucket in the source.
#[derive(Clone, Debug, Default)]
pub(crate) struct BucketSettings {
    pub versioning: Versioning,
    /// Object lock is enabled, with this default retention.
    pub object_lock: Option<Option<DefaultRetention>>,
    pub lifecycle: Option<Lifecycle>,
    pub quota: Option<Quota>,
    pub encryption: Option<DefaultEncryption>,
    pub notifications: Option<Notifications>,
    pub documents: Vec<(DocumentKind, Vec<u8>)>,
}

/// A key in the source.
pub(crate) trait SourceKey: Send {
    /// The versions, the oldest first. Called once, before any of them is read.
    ///
    /// # Errors
    /// [`Failure::LeftOut`] if nothing of the key can be read.
    fn versions(&mut self) -> Result<Vec<SourceVersion>, Failure>;

    /// Reads the object of the version at that index.
    ///
    /// # Errors
    /// [`Failure::LeftOut`] if it is damaged or cannot be imported, [`Failure::Unread`] if it could
    /// not be read.
    fn read(&mut self, to: Destination<'_>, index: usize) -> Result<ImportedObject, Failure>;
}

/// A key to import.
pub(crate) struct Job {
    pub bucket: Arc<Bucket>,
    pub key: ObjectKey,
    pub source: Box<dyn SourceKey>,
}

fn directory_of(arguments: &ImportTargetArgs) -> &Path {
    arguments.data_dir.as_deref().unwrap_or(Path::new(DEFAULT_DIRECTORY))
}

impl Target {
    /// `true` if opening the data directory would make it.
    pub(crate) fn is_new(arguments: &ImportTargetArgs) -> bool {
        let entries = std::fs::read_dir(directory_of(arguments));
        entries.map_or(true, |mut entries| entries.next().is_none())
    }

    /// The data directory of the arguments. Without an owner, new buckets belong to that of the existing ones,
    /// and in a new directory to the access key `root`.
    ///
    /// # Errors
    /// The reason why the directory cannot be opened, in one line.
    pub(crate) fn open(
        arguments: &ImportTargetArgs,
        ring: KeyRing,
        source: Option<&Path>,
        root: &str,
    ) -> Result<Target, String> {
        let path = directory_of(arguments);
        if let (Some(source), Some(path)) = (source.and_then(resolved), resolved(path))
            && (source.starts_with(&path) || path.starts_with(&source))
        {
            return Err(format!(
                "{} and the data directory are within each other: give another --data-dir",
                source.display()
            ));
        }
        let store = open_store(path, ring)?;
        let of_key =
            |key: &str| Owner { id: canonical_id_of_key(key), display_name: key.to_owned() };
        let owner = match &arguments.owner {
            Some(access_key) => of_key(access_key),
            None => owner_of_all(&store).unwrap_or_else(|| of_key(root)),
        };
        let tally = Tally::new(store.now_ms());
        let target = Target::of(store, tally, owner, path);
        let sealer = Sealer::new(arguments.decrypt);
        Ok(Target { overwrites: arguments.overwrite, sealer, ..target })
    }

    /// The directory for the data of a volume of MinIO with so many keys. All its buckets belong to `owner`.
    ///
    /// # Errors
    /// The reason why the directory cannot be opened, in one line.
    pub(crate) fn of_volume(
        path: &Path,
        owner: Owner,
        keys: u64,
        ring: KeyRing,
        event_targets: Vec<KnownTarget>,
        given_up: Arc<AtomicBool>,
    ) -> Result<Target, String> {
        let store = open_store(path, ring)?;
        let tally = Tally::logging(store.now_ms(), keys);
        let target = Target::of(store, tally, owner, path);
        Ok(Target { is_of_volume: true, event_targets, given_up, ..target })
    }

    pub(crate) fn of(store: Store, tally: Tally, owner: Owner, path: &Path) -> Target {
        if let Some(end) = store.log_end() {
            tally.note(end);
        }
        let name = path.display().to_string();
        Target {
            store,
            tally,
            owner,
            overwrites: false,
            name,
            is_of_volume: false,
            sealer: Sealer::default(),
            event_targets: Vec::new(),
            tiers: Vec::new(),
            new_buckets: NewBuckets::default(),
            given_up: Arc::default(),
        }
    }

    /// True if a server takes the place of the MinIO.
    pub(crate) fn is_of_volume(&self) -> bool {
        self.is_of_volume
    }

    /// Reports a file or directory that is no object of the source. A server that takes the place of
    /// MinIO leaves out nothing by that: MinIO does not serve it, either.
    pub(crate) fn no_object(&self, what: &str, reason: &str) {
        match self.is_of_volume {
            true => self.tally.note(&format!("{what}: {reason}")),
            false => self.tally.left_out(what, reason),
        }
    }

    /// Imports the keys that `source` finds, on several threads. `Ok(false)` if an item was
    /// skipped.
    ///
    /// # Errors
    /// The reason why the import ended early, in one line.
    pub(crate) fn import(
        self,
        source: impl FnOnce(&Target, &Jobs<'_>) -> Result<(), Failure>,
    ) -> Result<bool, String> {
        let result = self.run(source);
        self.finish(result)
    }

    /// Imports the keys that `source` finds, on several threads. The store stays open.
    ///
    /// # Errors
    /// The failure that ended the import early.
    pub(crate) fn run(
        &self,
        source: impl FnOnce(&Target, &Jobs<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (sender, receiver) = sync_channel(QUEUE);
        let receiver = Mutex::new(receiver);
        let has_failed = AtomicBool::new(false);
        let (target, receiver, has_failed) = (self, &receiver, &has_failed);
        std::thread::scope(|scope| {
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
            // A failed thread is reported first: it is the cause of the failed walk.
            done.fold(Ok(()), Result::and).and(walked)
        })
    }

    /// Closes the data directory, and prints the totals. `Ok(false)` if an item was skipped.
    ///
    /// # Errors
    /// The reason in `result`, in one line.
    pub(crate) fn finish(self, result: Result<(), Failure>) -> Result<bool, String> {
        self.store.close();
        self.sealer.notes().iter().for_each(|note| self.tally.note(note));
        let is_whole = self.tally.finish(&self.name);
        match result {
            Ok(()) => Ok(is_whole),
            Err(failure) => Err(format!("{failure}; the same command again goes on from here")),
        }
    }

    /// Finds the bucket, or creates it.
    ///
    /// # Errors
    /// [`Failure::LeftOut`] if the name is invalid.
    pub(crate) fn bucket(&self, name: &str) -> Result<Arc<Bucket>, Failure> {
        let name = BucketName::new(name).map_err(|error| Failure::LeftOut(error.to_string()))?;
        let bucket = match self.store.bucket(&name) {
            Err(StoreError::NoSuchBucket { .. }) => {
                let NewBuckets { region, object_ownership } = &self.new_buckets;
                let new = NewBucket::new(name.clone(), self.owner.clone(), region.clone());
                let documents = object_ownership.document();
                let documents = documents.map(|it| (DocumentKind::OwnershipControls, it));
                let new = NewBucket { documents: documents.into_iter().collect(), ..new };
                self.store.create_bucket(new).wait()?;
                let owner = &self.owner.display_name;
                self.tally.note(&format!("the bucket {name} belongs to the access key {owner}"));
                self.store.bucket(&name)?
            }
            bucket => bucket?,
        };
        Ok(bucket)
    }

    /// Applies the settings that `bucket` does not have yet.
    ///
    /// # Errors
    /// [`Failure::Target`].
    pub(crate) fn set(
        &self,
        bucket: &Arc<Bucket>,
        settings: BucketSettings,
    ) -> Result<Arc<Bucket>, Failure> {
        let BucketSettings { versioning, object_lock, lifecycle, quota, .. } = settings;
        let BucketSettings { encryption, notifications, documents, .. } = settings;
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
        match (bucket.settings.quota, quota) {
            (None, Some(quota)) => self.store.set_quota(bucket, Some(quota)).wait()?,
            (Some(own), Some(quota)) if own != quota => kept("quota"),
            _ => {}
        }
        match (&bucket.settings.default_encryption, encryption) {
            (None, Some(default)) => {
                self.store.set_default_encryption(bucket, Some(default), None).wait()?;
            }
            (Some(own), Some(default)) if *own != default => kept("default encryption"),
            _ => {}
        }
        match (&bucket.settings.notifications, notifications) {
            (None, Some(new)) => {
                self.store.set_notifications(bucket, Some(new), Cause::Unknown).wait()?;
            }
            // Rules without an id get a new one each time.
            (Some(own), Some(new)) if own.rules.len() != new.rules.len() => kept("notifications"),
            _ => {}
        }
        for (kind, document) in documents {
            match bucket.settings.document(kind) {
                None => self.store.put_document(bucket, kind, document).wait()?,
                Some(own) if kind == DocumentKind::Policy && are_same_policies(own, &document) => {}
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
            // The lock is held only to receive the next key.
            let next = jobs.lock().recv();
            let Ok(job) = next else { break };
            // After a failure, keys are still received, so that the source does not block on a full
            // queue.
            if has_failed.load(Ordering::Acquire) {
                continue;
            }
            result = match self.given_up.load(Ordering::Relaxed) {
                true => Err(Failure::Source("it was interrupted".to_owned())),
                false => self.key(job, &mut in_flight),
            };
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
        // An unreadable version ends the key. Versions are staged first, so that this is noticed
        // before any of them is imported if possible.
        let mut staged = VecDeque::new();
        let mut is_first = true;
        let mut import = |(index, object): (usize, Option<ImportedObject>)| {
            let SourceVersion { modified_ms, is_null, object: described } = versions[index];
            // Versions are committed one by one: if one failed after a newer one was imported, it
            // could never be imported, because versions are only added on top.
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

    /// Reads the object of a version, and checks that the bucket can take it.
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
        let to = Destination { store: &self.store, bucket, sealer: &self.sealer };
        let object = source.read(to, index)?;
        if object.lock != ObjectLock::default() && !bucket.object_lock {
            let reason = "it is locked, and the bucket of the data directory has no object lock";
            return Err(Failure::LeftOut(reason.to_owned()));
        }
        Ok(Some(object))
    }
}

/// True for a name that a bucket can have.
pub(crate) fn is_bucket_name(name: &str) -> bool {
    BucketName::new(name).is_ok()
}

/// Opens a data directory for an import.
fn open_store(path: &Path, ring: KeyRing) -> Result<Store, String> {
    let config = StoreConfig {
        keys: Arc::new(ring),
        scrub_interval: None,
        // Imported objects are old; lifecycle rules must not expire them before the server is
        // started.
        lifecycle_day: Duration::from_secs(10 * 365 * 24 * 60 * 60),
        ..StoreConfig::directory(path)
    };
    Store::open(config).map_err(|error| format!("{}: {error}", path.display()))
}

/// The owner of all buckets, if there is exactly one: the server's only user, whatever its access
/// key.
fn owner_of_all(store: &Store) -> Option<Owner> {
    let query = ListBuckets { max: LIST_BUCKETS_MAX, ..ListBuckets::default() };
    let buckets = store.list_buckets(&query).ok()?.buckets;
    let owner = &buckets.first()?.owner;
    buckets.iter().all(|bucket| bucket.owner.id == owner.id).then(|| owner.clone())
}

/// The canonical path, also of a directory that does not exist yet.
fn resolved(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    let there = path.ancestors().find_map(|it| Some((it, it.canonicalize().ok()?)));
    let (ancestor, resolved) = there?;
    Some(resolved.join(path.strip_prefix(ancestor).ok()?))
}

/// Receives the keys that a source finds.
pub(crate) struct Jobs<'t> {
    sender: SyncSender<Job>,
    has_failed: &'t AtomicBool,
}

impl Jobs<'_> {
    /// Queues a key for the threads; waits while the queue is full (back-pressure).
    ///
    /// # Errors
    /// [`Failure::Source`] if the import has failed, to end the walk.
    pub(crate) fn push(&self, job: Job) -> Result<(), Failure> {
        let ended = || Failure::Source("the import has ended".to_owned());
        match self.has_failed.load(Ordering::Acquire) {
            true => Err(ended()),
            false => self.sender.send(job).map_err(|_| ended()),
        }
    }
}

/// Pending writes, in submission order.
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

    /// Waits until at most `left` writes are pending.
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
        false => {
            let time = i64::try_from(version.modified_ms).map(Timestamp::from_millisecond);
            let time = time.ok().and_then(Result::ok).unwrap_or_default();
            format!("{name} (the version of {time})")
        }
    }
}

#[cfg(test)]
mod tests {
    use liteio_store::ObjectMetadata;

    use super::*;
    use crate::seal::Shape;

    /// A key with one version per content, or the failure to read it.
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

        fn read(&mut self, to: Destination<'_>, index: usize) -> Result<ImportedObject, Failure> {
            let content = match &self.0[index] {
                Ok(content) => content,
                Err(Failure::Unread(reason)) => return Err(Failure::Unread(reason.clone())),
                Err(failure) => return Err(Failure::LeftOut(failure.to_string())),
            };
            let bytes = content.len() as u64;
            let mut bodies = to.object(Shape::Whole(bytes), None)?;
            let mut stager = bodies.stager(bytes)?;
            stager.write(content)?;
            bodies.add(stager)?;
            let (content, etag) = bodies.finish(None);
            let legal_hold = match index {
                9 => liteio_store::LegalHold::On,
                _ => liteio_store::LegalHold::Never,
            };
            let lock = ObjectLock { legal_hold, ..ObjectLock::default() };
            let metadata = ObjectMetadata::default();
            Ok(ImportedObject { content, etag, metadata, checksum: None, lock })
        }
    }

    #[test]
    fn a_version_is_named_by_its_time() {
        let version =
            |is_null| SourceVersion { modified_ms: 1_796_049_979_149, is_null, object: None };
        assert_eq!(described("b/k", &version(true)), "b/k");
        assert_eq!(
            described("b/k", &version(false)),
            "b/k (the version of 2026-11-30T14:46:19.149Z)"
        );
    }

    #[test]
    fn buckets_are_as_those_that_the_server_makes() {
        let store = Store::open(StoreConfig::memory()).expect("opens");
        let mut target = Target::of(store, Tally::new(0), Owner::default(), Path::new("data"));
        let properties = |bucket: &Bucket| {
            let ownership = bucket.settings.document(DocumentKind::OwnershipControls);
            (bucket.region.clone(), ownership.map(<[u8]>::to_vec))
        };
        let plain = target.bucket("plain").expect("made");
        assert_eq!(properties(&plain), ("us-east-1".to_owned(), None));
        let object_ownership = Ownership::BucketOwnerPreferred;
        target.new_buckets = NewBuckets { region: "eu-central-1".to_owned(), object_ownership };
        let like_others = target.bucket("like-others").expect("made");
        let expected = ("eu-central-1".to_owned(), object_ownership.document());
        assert_eq!(properties(&like_others), expected);
    }

    #[test]
    fn no_older_version_takes_the_place_of_one_that_cannot_be_imported() {
        let owner = Owner { id: "0".repeat(64), display_name: "owner".to_owned() };
        let store = Store::open(StoreConfig::memory()).expect("opens");
        let target = Target::of(store, Tally::new(0), owner, Path::new("data"));
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
        // A version that may be readable later blocks the newer ones.
        assert_eq!(import("later", vec![Ok(b"1"), unread(), Ok(b"3")]), [0; 0]);
        assert_eq!(import("later", vec![Ok(b"1"), Ok(b"2"), Ok(b"3")]), [1, 2, 3]);
        // The tenth version is locked, which this bucket cannot take.
        assert_eq!(import("locked", (0..10).map(|_| Ok(&b"x"[..])).collect()), [0; 0]);
        let mut many: Vec<_> = (0..STAGED_MAX + 20).map(|_| Ok(&b"x"[..])).collect();
        many[STAGED_MAX + 5] = unread();
        many[9] = damaged();
        let begun = import("many", many);
        assert!(!begun.is_empty() && begun.len() < 10, "{begun:?}");
        assert!(!target.tally.finish("data"));
    }
}
