//! Buckets, objects, versions, multipart uploads and vectors, durable, without a network.
//!
//! A [`Store`] keeps metadata in one ordered, transactional key space ([`liteio_kv`]) and the bytes of
//! larger objects in immutable blobs ([`liteio_blob`]). Everything is synchronous. A write returns a [`Pending`], to
//! be awaited or waited for, which resolves once the write has the store's [`Durability`].
//!
//! ```text
//! body ──► staged blob (sealed) ──┐
//!                                 ├─► one transaction: record, references, events ──► acknowledged
//! record, preconditions ──────────┘
//!                crash before the transaction: an orphan blob, which the sweep removes
//! ```
//!
//! A write is one transaction; there is no other way for data to become visible. Content that loses
//! its last reference goes to the deletion queue in the same transaction, and a reclaimer deletes
//! it later.
//!
//! | Task | Calls |
//! |---|---|
//! | [Buckets](#buckets) | [`Store::create_bucket`], [`Store::bucket`], [`Store::list_buckets`], [`Store::delete_bucket`] |
//! | [Settings of a bucket](#settings-of-a-bucket) | [`Store::set_versioning`], [`Store::put_document`], [`Store::get_document`] |
//! | [Objects](#objects) | [`Store::begin_body`], [`Store::put_object`], [`Store::get_object`], [`Store::copy_object`], [`Store::delete_object`] |
//! | [Versions](#versions) | [`Store::list_versions`], [`Store::get_object`] with a version |
//! | [Multipart uploads](#multipart-uploads) | [`Store::create_upload`], [`Store::put_part`], [`Store::complete_upload`] |
//! | [Listings](#listings) | [`Store::list_objects`], [`Store::list_uploads`], [`Store::list_parts`] |
//! | [Vectors](#vectors) | [`Store::create_index`], [`Store::put_vectors`], [`Store::query_vectors`] |
//! | [Tables](tables) | [`Store::create_namespace`], [`Store::commit_tables`], [`Store::table`] |
//! | Care | [`Store::verify`], [`Store::health`], [`Store::sync`], [`Store::close`] |
//!
//! # Buckets
//! Everything else takes a bucket and not its name: a name is resolved once, and may belong to
//! another bucket a moment later.
//!
//! ```
//! use liteio_store::{BucketName, ListBuckets, NewBucket, Owner, Store, StoreConfig, StoreError};
//!
//! # fn main() -> Result<(), StoreError> {
//! let store = Store::open(StoreConfig::memory())?;
//! let name = BucketName::new("photos")?;
//! store.create_bucket(NewBucket::new(name.clone(), Owner::default(), "us-east-1".to_owned())).wait()?;
//! let bucket = store.bucket(&name)?;
//!
//! let page = store.list_buckets(&ListBuckets { max: 100, ..ListBuckets::default() })?;
//! assert_eq!(page.buckets[0].name, name);
//!
//! store.delete_bucket(&bucket).wait()?;
//! assert!(matches!(store.bucket(&name), Err(StoreError::NoSuchBucket { .. })));
//! store.close();
//! # Ok(())
//! # }
//! ```
//!
//! # Modules
//! | Module | Content |
//! |---|---|
//! | `name`, `etag`, `range`, `precondition/`, `limits`, `error`, `catalog_error`, `invalid_field` | Values that are checked once, on entry |
//! | `clock`, `random` | Time and randomness, passed in |
//! | `encryption/` | Keys and their ring, wrapped data keys, the block cipher; below records, above blobs |
//! | `kv/` | The key space: snapshots, cursors, transactions; write-ahead log, tables in memory, sorted runs, the tree |
//! | `meta/` | Records, their encoding, every key space; the pure rules of locks and lifecycles |
//! | `process/` | State in memory that relies on one process per store: bucket cache, ids, pins, staged blobs, signals; the decisions made from it |
//! | `indexes/` | Open vector indexes: slots in use, filter columns, text search, rank fusion |
//! | `store` | The handle: snapshots, updates, health, close |
//! | `bucket/`, `object/`, `multipart/`, `vectors/`, `tables/` | The operations, one file each |
//! | `attachment` | Connects the key space ([`liteio_kv`]) and the blobs ([`liteio_blob`]): a record does not become durable before its blob |
//! | `keyed_answer` | The answer to a request, written with its change |
//! | `queue/` | Queues for targets, written in the transaction of the change |
//! | `outbox/` | The queues of events |
//! | `replication/` | The queues of versions for the targets of replication; resynchronizations |
//! | `identities` | Entries about users, kept without interpretation |
//! | `usage/`, `lifecycle/`, `rewrap` | Usage of buckets; execution of lifecycle rules; rewrapping of data keys |
//! | `reclaim/`, `recover`, `verify/`, `scrub`, `repair` | Deletion of unreferenced content; the sweep after a crash; verification, on request and in the background; salvage of a damaged store |
//! | [`backup`] | what a backup reads of a store in use, and how a directory is made from it again |
//! | `image`, `reset` | Copies of a store in memory; emptying a store, for tests |
//! | `directory`, `open`, `watch` | The files of a data directory, opening them in order, watching their names |
//!
//! The crate knows no HTTP, JSON, XML, credentials, environment variables or async runtime. Within
//! it, redb is named only in `kv/engine/on_redb`, and files are reached only through `liteio_disk`.
//!
//! # Settings of a bucket
//! Documents (policies, CORS rules, …) are stored as they are given. A [`Bucket`] has all of its
//! settings, of one moment. [`Store::bucket`] returns it with every change that was acknowledged
//! before. The id of the bucket and [`Bucket::settings_stamp`] identify one state of all settings.
//!
//! ```
//! # use liteio_store::{BucketName, NewBucket, Owner, Store, StoreConfig, StoreError};
//! use liteio_store::{DocumentKind, Versioning};
//!
//! # fn main() -> Result<(), StoreError> {
//! # let store = Store::open(StoreConfig::memory())?;
//! # let name = BucketName::new("photos")?;
//! # store.create_bucket(NewBucket::new(name.clone(), Owner::default(), "us-east-1".to_owned())).wait()?;
//! let bucket = store.bucket(&name)?;
//! store.put_document(&bucket, DocumentKind::Policy, b"{}".to_vec()).wait()?;
//! store.set_versioning(&bucket, Versioning::Enabled).wait()?;
//!
//! let changed = store.bucket(&name)?;
//! assert_ne!(changed.settings_stamp, bucket.settings_stamp);
//! assert_eq!(store.get_document(&changed, DocumentKind::Policy)?.as_deref(), Some(&b"{}"[..]));
//! # Ok(())
//! # }
//! ```
//!
//! # Objects
//! A body is staged first, piece by piece, and becomes an object in one transaction. A read opens
//! what it needs at once: later writes and deletes do not disturb it.
//!
//! ```
//! # use liteio_store::{BucketName, NewBucket, Owner, Store, StoreConfig, StoreError};
//! use liteio_store::{BodyOptions, ByteRange, GetOptions, ObjectKey, PutOptions, Selection};
//!
//! # fn main() -> Result<(), StoreError> {
//! # let store = Store::open(StoreConfig::memory())?;
//! # let name = BucketName::new("photos")?;
//! # store.create_bucket(NewBucket::new(name.clone(), Owner::default(), "us-east-1".to_owned())).wait()?;
//! # let bucket = store.bucket(&name)?;
//! let mut body = store.begin_body(BodyOptions::default())?;
//! body.write(b"hello")?;
//! let key = ObjectKey::new("2026/hello.txt")?;
//! let put = store.put_object(&bucket, key.clone(), body.finish()?, PutOptions::default());
//! assert_eq!(put.wait()?.etag.to_string(), "5d41402abc4b2a76b9719d911017c592");
//!
//! let select = Selection::Range(ByteRange::FromTo { first: 1, last: 3 });
//! let options = GetOptions { select, ..GetOptions::default() };
//! let mut opened = store.get_object(&bucket, &key, &options)?;
//! assert_eq!(opened.found.object.bytes, 5);
//! assert_eq!(opened.reader.next()?.as_deref(), Some(&b"ell"[..]));
//!
//! let deleted = store.delete_object(&bucket, liteio_store::DeleteTarget::new(key, None)).wait()?;
//! assert!(deleted.existed);
//! # Ok(())
//! # }
//! ```
//!
//! # Versions
//! With versioning enabled, a put archives the version that it replaces, and a delete adds a delete
//! marker (a tombstone).
//!
//! ```
//! # use liteio_store::{BodyOptions, BucketName, NewBucket, Owner, PutOptions, Store, StoreConfig};
//! # use liteio_store::StoreError;
//! use liteio_store::{ListVersionsQuery, ObjectKey, VersionEntry, Versioning};
//!
//! # fn main() -> Result<(), StoreError> {
//! # let store = Store::open(StoreConfig::memory())?;
//! # let name = BucketName::new("photos")?;
//! # store.create_bucket(NewBucket::new(name.clone(), Owner::default(), "us-east-1".to_owned())).wait()?;
//! # let bucket = store.bucket(&name)?;
//! # let stage = |bytes: &[u8]| {
//! #     let mut body = store.begin_body(BodyOptions::default())?;
//! #     body.write(bytes)?;
//! #     body.finish()
//! # };
//! store.set_versioning(&bucket, Versioning::Enabled).wait()?;
//! let key = ObjectKey::new("notes")?;
//! let first = store.put_object(&bucket, key.clone(), stage(b"1")?, PutOptions::default()).wait()?;
//! store.put_object(&bucket, key.clone(), stage(b"2")?, PutOptions::default()).wait()?;
//! store.delete_object(&bucket, liteio_store::DeleteTarget::new(key.clone(), None)).wait()?;
//!
//! let query = ListVersionsQuery { max: 100, ..ListVersionsQuery::default() };
//! let versions = store.list_versions(&bucket, &query)?.entries;
//! assert!(matches!(versions[0], VersionEntry::DeleteMarker(_)));
//! assert_eq!(versions.len(), 3);
//!
//! let VersionEntry::Version(oldest) = &versions[2] else { panic!("no delete marker") };
//! assert_eq!(oldest.version_id, first.version_id);
//! # Ok(())
//! # }
//! ```
//!
//! # Multipart uploads
//! Parts may be uploaded in any order. Completing an upload copies no byte.
//!
//! ```
//! # use liteio_store::{BodyOptions, BucketName, NewBucket, Owner, Store, StoreConfig, StoreError};
//! use liteio_store::{CompleteOptions, CompletePart, ObjectKey, PartNumber, UploadOptions};
//!
//! # fn main() -> Result<(), StoreError> {
//! # let store = Store::open(StoreConfig::memory())?;
//! # let name = BucketName::new("photos")?;
//! # store.create_bucket(NewBucket::new(name.clone(), Owner::default(), "us-east-1".to_owned())).wait()?;
//! # let bucket = store.bucket(&name)?;
//! let key = ObjectKey::new("large")?;
//! let upload = store.create_upload(&bucket, key.clone(), UploadOptions::default()).wait()?;
//!
//! let mut body = store.begin_body(BodyOptions::default())?;
//! body.write(b"the last part may be short")?;
//! let number = PartNumber::new(1)?;
//! let part = store.put_part(&bucket, &key, &upload.id, number, body.finish()?, None).wait()?;
//!
//! let etag = Some(part.etag.to_string());
//! let parts = vec![CompletePart { number, etag, checksum: None }];
//! let options = CompleteOptions::default();
//! let object = store.complete_upload(&bucket, &key, &upload.id, parts, options).wait()?;
//! assert_eq!(object.part_count, Some(1));
//! # Ok(())
//! # }
//! ```
//!
//! # Listings
//! Keys are in the order of their bytes. With a delimiter, keys that have it after the prefix are
//! rolled up into common prefixes, each of which costs one seek, however many keys it has.
//!
//! ```
//! # use liteio_store::{BodyOptions, BucketName, ObjectKey, Owner, PutOptions, Store};
//! # use liteio_store::{NewBucket, StoreConfig, StoreError};
//! use liteio_store::{ListEntry, ListQuery, ListStart};
//!
//! # fn main() -> Result<(), StoreError> {
//! # let store = Store::open(StoreConfig::memory())?;
//! # let name = BucketName::new("photos")?;
//! # store.create_bucket(NewBucket::new(name.clone(), Owner::default(), "us-east-1".to_owned())).wait()?;
//! # let bucket = store.bucket(&name)?;
//! for key in ["2025/a", "2025/b", "2026/a", "index"] {
//!     let body = store.begin_body(BodyOptions::default())?.finish()?;
//!     store.put_object(&bucket, ObjectKey::new(key)?, body, PutOptions::default()).wait()?;
//! }
//! let delimiter = Some("/".to_owned());
//! let mut query = ListQuery { delimiter, max: 2, ..ListQuery::default() };
//! let mut shown = Vec::new();
//! loop {
//!     let page = store.list_objects(&bucket, &query)?;
//!     shown.extend(page.entries.into_iter().map(|entry| match entry {
//!         ListEntry::Object(object) => object.key,
//!         ListEntry::Prefix(prefix) => prefix,
//!     }));
//!     let Some(next) = page.next else { break };
//!     query.after = ListStart::Token(next);
//! }
//! assert_eq!(shown, ["2025/", "2026/", "index"]);
//! # Ok(())
//! # }
//! ```
//!
//! # Vectors
//! Vectors have keys and metadata, and are found by their distance. See [`vectors`].
//!
//! ```
//! # use liteio_store::{NewBucket, Owner, Store, StoreConfig, StoreError};
//! use liteio_store::vectors::{
//!     CreateIndex, DistanceMetric, NewVectors, VectorName, VectorQuery,
//! };
//!
//! # fn main() -> Result<(), StoreError> {
//! # let store = Store::open(StoreConfig::memory())?;
//! let name = VectorName::bucket("media")?;
//! let bucket = store.create_vector_bucket(name, Owner::default(), None, Vec::new()).wait()?;
//! let options = CreateIndex::new(2, DistanceMetric::Cosine);
//! let index = store.create_index(&bucket, VectorName::index("films")?, options).wait()?;
//!
//! let mut vectors = NewVectors::default();
//! vectors.push("alien", &[1.0, 0.1]);
//! vectors.push("amelie", &[0.1, 1.0]);
//! store.put_vectors(&index, vectors)?;
//! let found = store.query_vectors(&index, &VectorQuery::nearest(vec![1.0, 0.0], 1))?;
//! assert_eq!(found.hits[0].key, "alien");
//! # Ok(())
//! # }
//! ```

mod catalog_error;
pub mod cluster;
mod config;
pub mod error;
pub mod invalid_field;
pub mod limits;
pub mod name;

pub mod etag;
pub mod precondition;
pub mod range;

mod encryption;

#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;

mod meta;

mod bucket;
mod multipart;
mod object;

mod indexes;
pub mod vectors;

pub mod tables;

mod agreement;
mod attachment;
mod backend;
pub mod backup;
pub mod cluster_move;
#[cfg(test)]
mod damage_tests;
mod directory;
#[cfg(test)]
mod job_tests;
mod keyed_answer;
mod open;
mod pending;
mod process;
mod store;

mod identities;
mod image;
mod lifecycle;
mod outbox;
mod replication;

mod lazy;
mod queue;
mod reclaim;
mod recover;
mod repair;
mod reset;
mod rewrap;
mod scrub;
pub mod standby;
mod stats;
mod tiers;
mod usage;
mod verify;
mod watch;

pub use agreement::{AboutObject, Agreed};
pub use backend::{ClusterBackend, ClusterBlobs, ClusterDatabase};
pub use bucket::{BucketPage, ListBuckets, ListedBucket, NewBucket};
pub use cluster::{ClusterFigures, ClusterJob, ClusterServer, ClusterView};
pub use config::{
    Backend, DEFAULT_DIRECTORY, DirectoryUse, RESERVE_BYTES, Role, StoreConfig, VectorCache,
};
pub use encryption::{
    DefaultEncryption, DefaultMethod, Encryption, EncryptionKey, EncryptionScheme, KeyRing,
    MissingKeys, NamedKey, Sealing, SecretKeys, WrappingKeyId,
};
pub use error::{DeleteMarker, StoreError, Wording};
pub use identities::{Identities, IdentityEntry};
pub use image::StoreImage;
pub use lifecycle::{ClockTrust, LifecycleState};
#[cfg(all(feature = "cluster", any(test, feature = "test-util")))]
pub use liteio_blob::shared_blobs_contract;
#[cfg(feature = "cluster")]
pub use liteio_blob::{
    BlobAccess, BlobCache, BlobError, BlobLocation, BucketLocation, ClusterId, SharedBlobs,
};
#[cfg(any(test, feature = "test-util"))]
pub use liteio_blob::{BlobCall, BlobFate, BlobFates, SimulatedBlobs};
pub use liteio_disk::{Clock, Durability, RandomSource, ShiftedClock, SystemClock, SystemRandom};
#[cfg(any(test, feature = "test-util"))]
pub use liteio_disk::{ManualClock, SeededRandom};
pub use liteio_kv::{Ahead, silence_panics_of_damage};
pub use meta::{
    AnnotationFacts, AnnotationName, AnnotationNameError, BlobSource, Cause, ChangeTimes,
    DefaultRetention, DocumentKind, Due, Event, EventHold, EventHoldChange, EventKind,
    EventObserver, Expiration, LegalHold, Lifecycle, LifecycleFilter, LifecycleRule, MetadataFacts,
    NoncurrentExpiration, NoncurrentTransition, NotificationRule, Notifications, ObjectLock,
    OutboxState, QueueState, Quota, Replication, ReplicationRow, ReplicationRule,
    ReplicationStatus, ReplicationTask, Requester, Restore, RestoreFacts, RestoreRequest,
    RestoreState, Resync, Retention, RetentionMode, RetentionPeriod, RetrievalTier, ScrubState,
    Settings, Subject, Transition, Usage, Versioning, is_archive_class,
};
pub use multipart::{
    CompleteOptions, CompletePart, CopyPartOptions, CopyPartOutcome, ListUploadsQuery, Part,
    PartPage, Upload, UploadEntry, UploadOptions, UploadPage,
};
pub use name::{
    BucketId, BucketName, IndexId, NameError, ObjectKey, PartNumber, UploadId, VersionId,
    zone_of_bucket_name,
};
pub use object::{
    Annotate, Annotation, AnnotationChange, AnnotationDirective, AnnotationPage, AnnotationQuery,
    ArchiveAccess, BodyHasher, BodyOptions, BodySink, BodyWriter, ContentHeaders, CopyOptions,
    CopyOutcome, DeleteOutcome, DeleteTarget, FoundAnnotation, FoundObject, GetOptions,
    ImportedContent, ImportedObject, ImportedVersion, KnownVersion, ListEntry, ListPage, ListQuery,
    ListStart, ListToken, ListVersionsQuery, ListedObject, NewAnnotation, ObjectId, ObjectMetadata,
    ObjectPartPage, ObjectReader, ObjectVersion, OpenedObject, Owner, PartInfo, PartsSealing,
    PutOptions, ReadError, RenameOptions, Replica, ReplicatedVersion, SeenVersion, Selection,
    StagedBody, StoredBytes, VersionChange, VersionEntry, VersionPage,
};
pub use outbox::QueuedEvent;
pub use pending::{Pending, PendingAll};
#[cfg(any(test, feature = "test-util"))]
pub use process::Several;
pub use process::{Bucket, Job, Observing, TierBodies, TierError};
pub use reclaim::ReclaimReport;
pub use recover::SweepReport;
pub use repair::RepairReport;
pub use replication::{
    NewResync, QueuedReplication, ReplicationOutcome, ReplicationQueue, ReplicationResult,
};
pub use rewrap::{Rewrapped, WrappingReport};
pub use stats::StoreStats;
pub use store::{Store, StoreHealth};
pub use tiers::{MoveId, QueuedMove, TierDeletion, TierMove, TierMoveState, TierPiece, TierQueues};
pub use usage::BucketUsage;
pub use verify::{Damage, VerifyProgress, VerifyReport};

pub use etag::ETag;
pub use liteio_checksum::{
    ChecksumAlgorithm, ChecksumSet, ChecksumType, ChecksumValue, DigestSet, Digests, ObjectChecksum,
};
pub use precondition::{
    ConditionResult, ETagText, EtagCondition, RangeCondition, ReadConditions, WriteConditions,
};
pub use range::ByteRange;
