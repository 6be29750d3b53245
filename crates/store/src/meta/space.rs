//! The key space: every kind of key, in one place. Numbers are big-endian, so that their bytes sort
//! as the numbers do.
//!
//! | Tag | Key | Value |
//! |---|---|---|
//! | `00` | | [`StoreRecord`](super::bucket::StoreRecord): format, next bucket id |
//! | `01` | bucket name | [`BucketRecord`](super::bucket::BucketRecord) |
//! | `02` | bucket id (4), kind (1) | a [document](super::document) of a bucket: policy, CORS, … |
//! | `03` | | the scrub: [`ScrubState`](crate::ScrubState) |
//! | `04` | | the lifecycle: [`LifecycleState`](crate::LifecycleState) |
//! | `05` | | of earlier programs: the [queues](super::queue) of events |
//! | `06` | encoded name of a target, number (8) | an [`Event`](crate::Event) that waits |
//! | `07` | key of an entry | an [entry](super::identity) about users |
//! | `08` | bucket id (4) | [`UsageRecord`](super::usage::UsageRecord) |
//! | `09` | | of a standby only: its [position](super::standby) in the backup that it follows |
//! | `0A` | id of a backup (16) | token (16) of the lease at it that the directory has had |
//! | `0B` | encoded ARN of a target, number (8) | a [row](super::replication::ReplicationRow) of the queue of replication |
//! | `0C` | | of earlier programs: the [queues](super::queue) of replication |
//! | `0D` | bucket id (4), ARN of a target | a [`Resync`](crate::Resync) |
//! | `0E` | bucket id (4), stamp (16) | a [version](super::remote::MoveRow) that is to move into a tier |
//! | `0F` | id of a body in a tier (16) | [remote objects](super::remote::RemoteDeletion) to delete |
//! | `10` | bucket id (4), object key | the current object: [`ObjectRecord`](super::object::ObjectRecord) |
//! | `11` | bucket id (4), encoded object key, version (16) | every other version and every delete marker |
//! | `12` | bucket id (4), object key | the version id (16) of the version `null`, if it is in `11` |
//! | `13` | version id (16), its stamp in order of time | the [body](super::body) of a version, if it is not in its record |
//! | `14` | step (1), time (8), bucket id (4), stamp (16) | a [version](super::restore::RestoreRow) whose restore completes or expires then |
//! | `15` | id of a set (16) | the [head](super::annotation::SetHead) of the annotations of a version |
//! | `16` | id of a set (16), name | an [annotation](super::annotation::AnnotationRecord) |
//! | `17` | id of a set (16), name | its payload |
//! | `18` | id of a set (16) | a set to [remove](super::annotation::SetDeletion) |
//! | `20` | upload id (16) | [`UploadRecord`](super::upload::UploadRecord) |
//! | `21` | upload id (16), part number (2) | [`PartRecord`](super::upload::PartRecord) |
//! | `22` | bucket id (4), encoded object key, upload id (16) | nothing: uploads in progress, by key |
//! | `30` | kind (1), id (16) | number of references to a blob or a list of parts; absent means one |
//! | `31` | kind (1), id (16) | nothing: content to delete |
//! | `32` | id of a blob (16) | its [place](super::backup_place) in a backup |
//! | `33` | id of a blob (16) | length of a blob that is only in the backup yet, after a [lazy](crate::lazy) restore |
//! | `34` | id of a body in a tier (16), number of a piece (4) | the [digests](super::remote::PieceRow) of the piece |
//! | `36` | tag of the rows of a queue (1), its target | the [numbers and counts](super::queue::QueueRecord) of the queue |
//! | `38` | location of a backup | its [identity](super::backup_location) |
//! | `40` | vector bucket name | [`VectorBucketRecord`](super::vector::VectorBucketRecord) |
//! | `41` | vector bucket id (4) | the policy of a vector bucket, as it was given |
//! | `42` | id of a vector bucket or an index (4) | [`TagsRecord`](super::vector::TagsRecord) |
//! | `43` | vector bucket id (4), index name | [`IndexRecord`](super::vector::IndexRecord) |
//! | `44` | index id (4), vector key | [`VectorRecord`](super::vector::VectorRecord) |
//! | `45` | index id (4), slot (4) | the vector key |
//! | `46` | index id (4) | nothing: index to delete |
//! | `47` | index id (4), slot (4) | the elements of a slot, in backups and while one is restored only |
//! | `48` | index id (4) | of several servers only: the [head](super::vector_log::LogHead) of the log of an index |
//! | `49` | index id (4), number (8) | of several servers only: a [change](super::vector_log::Change) of a vector |
//! | `4A` | index id (4) | in the cache of a server only: the [mirror](super::vector_log::MirrorRecord) of an index |
//! | `50` | number of a run (4) | of several servers only: a [server](super::server::ServerRecord) |
//! | `51` | number of a run (4) | nothing: the server of the run may commit |
//! | `52` | name of a job | its [lease](super::server::LeaseRecord) |
//! | `53` | | of several servers only: stamp (8) of the entries `07` |
//! | `54` | | of several servers only: the directory that is being [moved](super::moving) into them |
//! | `60` | bucket id (4), encoded path of the parent, name | [`NamespaceRecord`](super::table::NamespaceRecord) |
//! | `61` | bucket id (4), encoded path of the namespace, name | [`TableRecord`](super::table::TableRecord) of a table |
//! | `62` | bucket id (4), encoded path of the namespace, name | [`TableRecord`](super::table::TableRecord) of a view |
//! | `63` | bucket id (4), encoded path of the namespace, name | [`TableSettings`](super::table::TableSettings) of a table |
//! | `64` | bucket id (4), id of a table (16), encoded path of its namespace, name | nothing: finds a table by its id |
//! | `65` | bucket id (4), key | [`UnreferencedRecord`](super::table::UnreferencedRecord): no table has named the file since then |
//!
//! The encoding of object keys with something behind them is in [`super::key`].

use super::content::ContentId;
use super::key::{append_ended, append_escaped, split_ended, unescaped};
use crate::error::StoreError;
use crate::name::{BucketId, IndexId, UploadId};

pub(crate) use super::within::within;

const STORE: u8 = 0x00;
const BUCKET: u8 = 0x01;
const DOCUMENT: u8 = 0x02;
const SCRUB: u8 = 0x03;
const LIFECYCLE: u8 = 0x04;
const OUTBOX: u8 = 0x05;
const EVENT: u8 = 0x06;
const IDENTITY: u8 = 0x07;
const USAGE: u8 = 0x08;
const STANDBY: u8 = 0x09;
const LEASE: u8 = 0x0A;
const REPLICATION_ROW: u8 = 0x0B;
const REPLICATION: u8 = 0x0C;
const RESYNC: u8 = 0x0D;
const TIER_MOVE: u8 = 0x0E;
const REMOTE_DELETION: u8 = 0x0F;
const CURRENT: u8 = 0x10;
const HISTORY: u8 = 0x11;
const NULL_VERSION: u8 = 0x12;
const BODY: u8 = 0x13;
const RESTORE: u8 = 0x14;
const ANNOTATIONS: u8 = 0x15;
const ANNOTATION: u8 = 0x16;
const PAYLOAD: u8 = 0x17;
const ANNOTATION_DELETION: u8 = 0x18;
const UPLOAD: u8 = 0x20;
const PART: u8 = 0x21;
const UPLOAD_BY_KEY: u8 = 0x22;
const REFERENCE: u8 = 0x30;
const DELETION: u8 = 0x31;
const BACKUP_PLACE: u8 = 0x32;
const OUTSTANDING: u8 = 0x33;
const PIECE: u8 = 0x34;
const QUEUE: u8 = 0x36;
const BACKUP_LOCATION: u8 = 0x38;
const VECTOR_BUCKET: u8 = 0x40;
const VECTOR_POLICY: u8 = 0x41;
const VECTOR_TAGS: u8 = 0x42;
const INDEX: u8 = 0x43;
const VECTOR: u8 = 0x44;
const VECTOR_SLOT: u8 = 0x45;
const INDEX_DELETION: u8 = 0x46;
const ELEMENTS: u8 = 0x47;
const VECTOR_LOG: u8 = 0x48;
const VECTOR_CHANGE: u8 = 0x49;
const MIRROR: u8 = 0x4A;
const SERVER: u8 = 0x50;
const RUNNING: u8 = 0x51;
const JOB: u8 = 0x52;
const USERS_STAMP: u8 = 0x53;
const MOVING: u8 = 0x54;
const NAMESPACE: u8 = 0x60;
const TABLE: u8 = 0x61;
const VIEW: u8 = 0x62;
const TABLE_SETTINGS: u8 = 0x63;
const TABLE_ID: u8 = 0x64;
const UNREFERENCED: u8 = 0x65;

/// The stamp of the entries about users.
pub(crate) const USERS_STAMP_KEY: &[u8] = &[USERS_STAMP];

/// The mark of a move into the cluster.
pub(crate) const MOVING_KEY: &[u8] = &[MOVING];

/// All servers.
pub(crate) const ALL_SERVERS: &[u8] = &[SERVER];

/// All leases of jobs.
pub(crate) const ALL_JOBS: &[u8] = &[JOB];

/// The record of the server with this run.
pub(crate) fn server(run: u32) -> Vec<u8> {
    [&[SERVER], &run.to_be_bytes()[..]].concat()
}

/// The run of a server.
pub(crate) fn split_server(key: &[u8]) -> Option<u32> {
    let run = key.strip_prefix(ALL_SERVERS)?;
    Some(u32::from_be_bytes(run.try_into().ok()?))
}

/// The row that lets the server of this run commit.
pub(crate) fn running(run: u32) -> Vec<u8> {
    [&[RUNNING], &run.to_be_bytes()[..]].concat()
}

/// The lease of a job.
pub(crate) fn job(name: &str) -> Vec<u8> {
    [&[JOB], name.as_bytes()].concat()
}

/// The key of the store's own record.
pub(crate) const STORE_KEY: &[u8] = &[STORE];
/// The key of the record of the scrub.
pub(crate) const SCRUB_KEY: &[u8] = &[SCRUB];

/// The key of the record of the lifecycle.
pub(crate) const LIFECYCLE_KEY: &[u8] = &[LIFECYCLE];

/// The key of the record of all queues of events, of earlier programs.
pub(crate) const OUTBOX_KEY: &[u8] = &[OUTBOX];

/// The token of the lease at a backup.
pub(crate) fn lease(backup: &[u8; 16]) -> Vec<u8> {
    [&[LEASE], &backup[..]].concat()
}

/// `true` for rows that are of one directory only, and in no backup.
pub(crate) fn is_of_directory(key: &[u8]) -> bool {
    matches!(key.first(), Some(&(STANDBY | LEASE | BACKUP_PLACE | OUTSTANDING)))
}

/// `true` for rows that are of several servers only.
pub(crate) fn is_of_servers(key: &[u8]) -> bool {
    matches!(key.first(), Some(&(SERVER | RUNNING | JOB | USERS_STAMP | MOVING)))
}

/// `true` for rows that vectors have in slots, or in a log.
pub(crate) fn is_of_vectors(key: &[u8]) -> bool {
    matches!(
        key.first(),
        Some(&(VECTOR | VECTOR_SLOT | ELEMENTS | VECTOR_LOG | VECTOR_CHANGE | MIRROR))
    )
}

/// The key of the position of a standby.
pub(crate) const STANDBY_KEY: &[u8] = &[STANDBY];
/// The key of the record of all queues of replication, of earlier programs.
pub(crate) const REPLICATION_KEY: &[u8] = &[REPLICATION];
/// The prefix of all keys of the records of queues.
pub(crate) const ALL_QUEUES: &[u8] = &[QUEUE];
/// The prefix of all keys of rows of the queues of replication.
pub(crate) const ALL_REPLICATION_ROWS: &[u8] = &[REPLICATION_ROW];
/// The prefix of all keys of resynchronizations.
pub(crate) const ALL_RESYNCS: &[u8] = &[RESYNC];

/// The prefix of all keys of moves into tiers.
pub(crate) const ALL_TIER_MOVES: &[u8] = &[TIER_MOVE];
/// The prefix of all keys of deletions in tiers.
pub(crate) const ALL_REMOTE_DELETIONS: &[u8] = &[REMOTE_DELETION];

/// The prefix of all keys of events.
pub(crate) const ALL_EVENTS: &[u8] = &[EVENT];
/// The prefix of all keys of buckets.
pub(crate) const ALL_BUCKETS: &[u8] = &[BUCKET];
/// The prefix of all keys of entries about users.
pub(crate) const ALL_IDENTITIES: &[u8] = &[IDENTITY];
/// The prefix of all keys of documents.
pub(crate) const ALL_DOCUMENTS: &[u8] = &[DOCUMENT];
/// The prefix of all keys of usage rows.
pub(crate) const ALL_USAGE: &[u8] = &[USAGE];
/// The prefix of all keys of current objects.
pub(crate) const ALL_CURRENT: &[u8] = &[CURRENT];
/// The prefix of all keys of older versions.
pub(crate) const ALL_HISTORY: &[u8] = &[HISTORY];
/// The prefix of all keys of the index of `null` versions.
pub(crate) const ALL_NULL_VERSIONS: &[u8] = &[NULL_VERSION];
/// The prefix of all keys of bodies.
pub(crate) const ALL_BODIES: &[u8] = &[BODY];
/// The prefix of all keys of rows of restores.
pub(crate) const ALL_RESTORES: &[u8] = &[RESTORE];
/// The prefix of all keys of heads of sets of annotations.
pub(crate) const ALL_ANNOTATION_SETS: &[u8] = &[ANNOTATIONS];
/// The prefix of all keys of annotations.
pub(crate) const ALL_ANNOTATIONS: &[u8] = &[ANNOTATION];
/// The prefix of all keys of payloads of annotations.
pub(crate) const ALL_PAYLOADS: &[u8] = &[PAYLOAD];
/// The prefix of all keys of sets of annotations to remove.
pub(crate) const ALL_ANNOTATION_DELETIONS: &[u8] = &[ANNOTATION_DELETION];
/// The prefix of all keys of uploads in progress.
pub(crate) const ALL_UPLOADS: &[u8] = &[UPLOAD];
/// The prefix of all keys of parts.
pub(crate) const ALL_PARTS: &[u8] = &[PART];
/// The prefix of all keys of content to delete.
pub(crate) const ALL_DELETIONS: &[u8] = &[DELETION];
/// The prefix of all keys of places in a backup.
pub(crate) const ALL_BACKUP_PLACES: &[u8] = &[BACKUP_PLACE];
/// The prefix of all keys of blobs that are only in a backup.
pub(crate) const ALL_OUTSTANDING: &[u8] = &[OUTSTANDING];
/// The prefix of all keys of elements of slots.
pub(crate) const ALL_ELEMENTS: &[u8] = &[ELEMENTS];
/// The prefix of all keys of vectors.
pub(crate) const ALL_VECTORS: &[u8] = &[VECTOR];
/// The prefix of all keys of used slots.
pub(crate) const ALL_VECTOR_SLOTS: &[u8] = &[VECTOR_SLOT];
/// The prefix of all keys of vector buckets.
pub(crate) const ALL_VECTOR_BUCKETS: &[u8] = &[VECTOR_BUCKET];
/// The prefix of all keys of indexes.
pub(crate) const ALL_INDEXES: &[u8] = &[INDEX];
/// The prefix of all keys of indexes to delete.
pub(crate) const ALL_INDEX_DELETIONS: &[u8] = &[INDEX_DELETION];

/// The prefix of all keys of namespaces.
pub(crate) const ALL_NAMESPACES: &[u8] = &[NAMESPACE];
/// The prefix of all keys of tables.
pub(crate) const ALL_TABLES: &[u8] = &[TABLE];
/// The prefix of all keys of views.
pub(crate) const ALL_VIEWS: &[u8] = &[VIEW];
/// The prefix of all keys of settings of tables.
pub(crate) const ALL_TABLE_SETTINGS: &[u8] = &[TABLE_SETTINGS];
/// The prefix of all keys of ids of tables.
pub(crate) const ALL_TABLE_IDS: &[u8] = &[TABLE_ID];
/// The prefix of all keys of files that no table names.
pub(crate) const ALL_UNREFERENCED: &[u8] = &[UNREFERENCED];

/// The prefix of all keys of the heads of logs of vectors.
pub(crate) const ALL_VECTOR_LOGS: &[u8] = &[VECTOR_LOG];
/// The prefix of all keys of changes of vectors.
pub(crate) const ALL_VECTOR_CHANGES: &[u8] = &[VECTOR_CHANGE];
/// The prefix of all keys of mirrors.
pub(crate) const ALL_MIRRORS: &[u8] = &[MIRROR];

/// The location of a backup.
pub(crate) fn backup_location(location: &str) -> Vec<u8> {
    [&[BACKUP_LOCATION], location.as_bytes()].concat()
}

pub(crate) fn bucket(name: &str) -> Vec<u8> {
    [&[BUCKET], name.as_bytes()].concat()
}

/// The name in a key made by [`bucket`].
pub(crate) fn bucket_name(key: &[u8]) -> Option<&str> {
    std::str::from_utf8(key.strip_prefix(&[BUCKET])?).ok()
}

/// A document of a bucket.
pub(crate) fn document(id: BucketId, kind: u8) -> Vec<u8> {
    let mut bytes = of_bucket(DOCUMENT, id, 1);
    bytes.push(kind);
    bytes
}

/// The bucket in a key made by [`document`].
pub(crate) fn split_document(bytes: &[u8]) -> Option<(BucketId, u8)> {
    match split_bucket(DOCUMENT, bytes)? {
        (bucket, &[kind]) => Some((bucket, kind)),
        _ => None,
    }
}

/// The prefix of the keys of all documents of a bucket.
pub(crate) fn documents(id: BucketId) -> Vec<u8> {
    of_bucket(DOCUMENT, id, 0)
}

/// A kind of queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueKind {
    /// Events for the targets of notifications, by their names.
    Events,
    /// Versions for the targets of replication, by their ARNs.
    Replication,
}

impl QueueKind {
    fn tag(self) -> u8 {
        match self {
            Self::Events => EVENT,
            Self::Replication => REPLICATION_ROW,
        }
    }

    /// The key of the record of all queues of this kind, as programs before this one had it.
    pub(crate) fn former_place(self) -> &'static [u8] {
        match self {
            Self::Events => OUTBOX_KEY,
            Self::Replication => REPLICATION_KEY,
        }
    }
}

/// The record of the queue for a target.
pub(crate) fn queue_counter(kind: QueueKind, target: &str) -> Vec<u8> {
    [&[QUEUE, kind.tag()], target.as_bytes()].concat()
}

/// Kind and target in a key made by [`queue_counter`].
pub(crate) fn split_queue_counter(bytes: &[u8]) -> Option<(QueueKind, &str)> {
    let (&tag, target) = bytes.strip_prefix(&[QUEUE])?.split_first()?;
    let mut kinds = [QueueKind::Events, QueueKind::Replication].into_iter();
    let kind = kinds.find(|kind| kind.tag() == tag)?;
    Some((kind, std::str::from_utf8(target).ok()?))
}

/// The prefix of the keys of all rows of the queue for a target; a number of 8 bytes follows.
pub(crate) fn queue_rows(kind: QueueKind, target: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(target.len() + 11);
    bytes.push(kind.tag());
    append_ended(target.as_bytes(), &mut bytes);
    bytes
}

/// Kind, target and number in the key of a row of a queue.
pub(crate) fn split_queue_row(bytes: &[u8]) -> Option<(QueueKind, String, u64)> {
    let mut kinds = [QueueKind::Events, QueueKind::Replication].into_iter();
    let kind = kinds.find(|kind| bytes.first() == Some(&kind.tag()))?;
    let (target, number) = split_ended(&bytes[1..])?;
    Some((kind, String::from_utf8(target).ok()?, u64::from_be_bytes(number.try_into().ok()?)))
}

pub(crate) fn resync(bucket: BucketId, target: &str) -> Vec<u8> {
    let mut bytes = of_bucket(RESYNC, bucket, target.len());
    bytes.extend_from_slice(target.as_bytes());
    bytes
}

/// `true` for a key made by [`resync`].
pub(crate) fn is_resync(bytes: &[u8]) -> bool {
    bytes.first() == Some(&RESYNC)
}

/// A version that is to move into a tier.
pub(crate) fn tier_move(bucket: BucketId, stamp: &[u8; 16]) -> Vec<u8> {
    let mut bytes = of_bucket(TIER_MOVE, bucket, stamp.len());
    bytes.extend_from_slice(stamp);
    bytes
}

/// `true` for a key made by [`tier_move`].
pub(crate) fn is_tier_move(bytes: &[u8]) -> bool {
    bytes.first() == Some(&TIER_MOVE)
}

/// The remote objects of a body to delete.
pub(crate) fn remote_deletion(id: &[u8; 16]) -> Vec<u8> {
    [&[REMOTE_DELETION], &id[..]].concat()
}

/// The id in a key made by [`remote_deletion`].
pub(crate) fn split_remote_deletion(bytes: &[u8]) -> Option<[u8; 16]> {
    bytes.strip_prefix(&[REMOTE_DELETION])?.try_into().ok()
}

/// The digests of a piece of a body in a tier.
pub(crate) fn piece(id: &[u8; 16], number: u32) -> Vec<u8> {
    [&[PIECE], &id[..], &number.to_be_bytes()].concat()
}

/// An entry about users.
pub(crate) fn identity(key: &[u8]) -> Vec<u8> {
    [&[IDENTITY], key].concat()
}

/// `true` for a key made by [`identity`].
pub(crate) fn is_identity(bytes: &[u8]) -> bool {
    bytes.first() == Some(&IDENTITY)
}

/// The inverse of [`identity`].
pub(crate) fn identity_key(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(&[IDENTITY]).unwrap_or_default()
}

/// The usage row of a bucket.
pub(crate) fn usage(id: BucketId) -> Vec<u8> {
    of_bucket(USAGE, id, 0)
}

/// The bucket in a key made by [`usage`].
pub(crate) fn split_usage(bytes: &[u8]) -> Option<BucketId> {
    split_bucket(USAGE, bytes).filter(|(_, rest)| rest.is_empty()).map(|(id, _)| id)
}

/// The prefix of the keys of all current objects of a bucket; an object key follows as it is.
pub(crate) fn current_of(id: BucketId) -> Vec<u8> {
    of_bucket(CURRENT, id, 0)
}

pub(crate) fn current(id: BucketId, key: &str) -> Vec<u8> {
    let mut bytes = of_bucket(CURRENT, id, key.len());
    bytes.extend_from_slice(key.as_bytes());
    bytes
}

/// Bucket and object key in a key made by [`current`].
pub(crate) fn split_current(bytes: &[u8]) -> Option<(BucketId, &[u8])> {
    split_bucket(CURRENT, bytes)
}

/// The prefix of the keys of the older versions of objects whose key begins with `prefix`.
pub(crate) fn history_prefix(id: BucketId, prefix: &[u8]) -> Vec<u8> {
    let mut bytes = of_bucket(HISTORY, id, prefix.len());
    append_escaped(prefix, &mut bytes);
    bytes
}

/// The prefix of the keys of the older versions of one object.
pub(crate) fn history_of(id: BucketId, key: &str) -> Vec<u8> {
    let mut bytes = of_bucket(HISTORY, id, key.len() + 18);
    append_ended(key.as_bytes(), &mut bytes);
    bytes
}

pub(crate) fn history(id: BucketId, key: &str, version: &[u8; 16]) -> Vec<u8> {
    let mut bytes = history_of(id, key);
    bytes.extend_from_slice(version);
    bytes
}

/// Bucket, object key and version in a key made by [`history`].
pub(crate) fn split_history(bytes: &[u8]) -> Option<(BucketId, Vec<u8>, [u8; 16])> {
    split_ended_id(HISTORY, bytes)
}

pub(crate) fn null_version(id: BucketId, key: &str) -> Vec<u8> {
    let mut bytes = of_bucket(NULL_VERSION, id, key.len());
    bytes.extend_from_slice(key.as_bytes());
    bytes
}

/// Bucket and object key in a key made by [`null_version`].
pub(crate) fn split_null_version(bytes: &[u8]) -> Option<(BucketId, &[u8])> {
    split_bucket(NULL_VERSION, bytes)
}

/// The body of the version with the stamp `stamp`.
pub(crate) fn body(stamp: &[u8; 16]) -> [u8; 17] {
    let mut bytes = [BODY; 17];
    bytes[1..].copy_from_slice(&in_time_order(stamp));
    bytes
}

/// The stamp in a key made by [`body`].
pub(crate) fn split_body(bytes: &[u8]) -> Option<[u8; 16]> {
    let stamp = bytes.strip_prefix(&[BODY])?.try_into().ok()?;
    Some(in_time_order(&stamp))
}

/// The head of a set of annotations.
pub(crate) fn annotations(set: &[u8; 16]) -> [u8; 17] {
    of_set(ANNOTATIONS, set)
}

/// The set in a key made by [`annotations`].
pub(crate) fn split_annotations(bytes: &[u8]) -> Option<[u8; 16]> {
    bytes.strip_prefix(&[ANNOTATIONS])?.try_into().ok()
}

/// The annotation `name` of a set. With an empty name it is the prefix of the keys of all.
pub(crate) fn annotation(set: &[u8; 16], name: &str) -> Vec<u8> {
    [&of_set(ANNOTATION, set)[..], name.as_bytes()].concat()
}

/// Set and name in a key made by [`annotation`].
pub(crate) fn split_annotation(bytes: &[u8]) -> Option<([u8; 16], &str)> {
    split_set_and_name(ANNOTATION, bytes)
}

/// The payload of the annotation `name` of a set.
pub(crate) fn payload(set: &[u8; 16], name: &str) -> Vec<u8> {
    [&of_set(PAYLOAD, set)[..], name.as_bytes()].concat()
}

/// Set and name in a key made by [`payload`].
pub(crate) fn split_payload(bytes: &[u8]) -> Option<([u8; 16], &str)> {
    split_set_and_name(PAYLOAD, bytes)
}

/// A set of annotations to remove.
pub(crate) fn annotation_deletion(set: &[u8; 16]) -> [u8; 17] {
    of_set(ANNOTATION_DELETION, set)
}

/// The set in a key made by [`annotation_deletion`].
pub(crate) fn split_annotation_deletion(bytes: &[u8]) -> Option<[u8; 16]> {
    bytes.strip_prefix(&[ANNOTATION_DELETION])?.try_into().ok()
}

fn of_set(tag: u8, set: &[u8; 16]) -> [u8; 17] {
    let mut bytes = [tag; 17];
    bytes[1..].copy_from_slice(set);
    bytes
}

fn split_set_and_name(tag: u8, bytes: &[u8]) -> Option<([u8; 16], &str)> {
    let (set, name) = bytes.strip_prefix(&[tag])?.split_first_chunk()?;
    Some((*set, std::str::from_utf8(name).ok()?))
}

/// Stamps of versions are inverted times. Inverted again, those of new versions are the last ones,
/// and rows are appended, which is cheapest for a tree. It is its own inverse.
fn in_time_order(stamp: &[u8; 16]) -> [u8; 16] {
    let mut id = *stamp;
    id[..8].iter_mut().for_each(|byte| *byte = !*byte);
    id
}

/// The end of a restore that a row is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RestoreStep {
    /// The version becomes readable.
    Completes = 0,
    /// The restored copy expires.
    Expires = 1,
}

/// The prefix of all rows of a step.
pub(crate) fn restores_of(step: RestoreStep) -> [u8; 2] {
    [RESTORE, step as u8]
}

/// The row of a restore with a step at `at_ms`.
pub(crate) fn restore(
    step: RestoreStep,
    at_ms: u64,
    bucket: BucketId,
    stamp: &[u8; 16],
) -> Vec<u8> {
    [&restores_of(step)[..], &at_ms.to_be_bytes(), &bucket.0.to_be_bytes(), stamp].concat()
}

/// Step, time, bucket and stamp in a key made by [`restore`].
pub(crate) fn split_restore(bytes: &[u8]) -> Option<(RestoreStep, u64, BucketId, [u8; 16])> {
    let (step, rest) = bytes.strip_prefix(&[RESTORE])?.split_first()?;
    let step = match step {
        0 => RestoreStep::Completes,
        1 => RestoreStep::Expires,
        _ => return None,
    };
    let (at_ms, rest) = rest.split_first_chunk()?;
    let (bucket, stamp) = rest.split_first_chunk()?;
    let bucket = BucketId(u32::from_be_bytes(*bucket));
    Some((step, u64::from_be_bytes(*at_ms), bucket, stamp.try_into().ok()?))
}

pub(crate) fn upload(id: &UploadId) -> Vec<u8> {
    [&[UPLOAD][..], &id.0].concat()
}

/// `true` for a key made by [`upload`].
pub(crate) fn is_upload(bytes: &[u8]) -> bool {
    bytes.first() == Some(&UPLOAD)
}

/// The inverse of [`upload`].
pub(crate) fn split_upload(bytes: &[u8]) -> Option<UploadId> {
    match bytes.split_first() {
        Some((&UPLOAD, id)) => id.try_into().ok().map(UploadId),
        _ => None,
    }
}

/// The prefix of the keys of all parts of an upload.
pub(crate) fn parts(id: &UploadId) -> Vec<u8> {
    [&[PART][..], &id.0].concat()
}

pub(crate) fn part(id: &UploadId, number: u16) -> Vec<u8> {
    [&[PART][..], &id.0, &number.to_be_bytes()].concat()
}

/// Upload and number in a key made by [`part`].
pub(crate) fn split_part(bytes: &[u8]) -> Option<(UploadId, u16)> {
    let (id, number) = bytes.strip_prefix(&[PART])?.split_first_chunk()?;
    Some((UploadId(*id), u16::from_be_bytes(number.try_into().ok()?)))
}

/// The prefix of the keys of the uploads for object keys that begin with `prefix`.
pub(crate) fn uploads_prefix(id: BucketId, prefix: &[u8]) -> Vec<u8> {
    let mut bytes = of_bucket(UPLOAD_BY_KEY, id, prefix.len());
    append_escaped(prefix, &mut bytes);
    bytes
}

/// The prefix of the keys of the uploads for one object key.
pub(crate) fn uploads_of(id: BucketId, key: &str) -> Vec<u8> {
    let mut bytes = of_bucket(UPLOAD_BY_KEY, id, key.len() + 18);
    append_ended(key.as_bytes(), &mut bytes);
    bytes
}

pub(crate) fn upload_by_key(id: BucketId, key: &str, upload: &UploadId) -> Vec<u8> {
    let mut bytes = uploads_of(id, key);
    bytes.extend_from_slice(&upload.0);
    bytes
}

/// What object keys begin with, in a key made by [`uploads_prefix`].
pub(crate) fn key_of_uploads(bytes: &[u8]) -> Option<Vec<u8>> {
    unescaped(split_bucket(UPLOAD_BY_KEY, bytes)?.1)
}

/// What object keys begin with, in a key made by [`history_prefix`].
pub(crate) fn key_of_history(bytes: &[u8]) -> Option<Vec<u8>> {
    unescaped(split_bucket(HISTORY, bytes)?.1)
}

/// Bucket, object key and upload in a key made by [`upload_by_key`].
pub(crate) fn split_upload_by_key(bytes: &[u8]) -> Option<(BucketId, Vec<u8>, UploadId)> {
    let (bucket, key, id) = split_ended_id(UPLOAD_BY_KEY, bytes)?;
    Some((bucket, key, UploadId(id)))
}

pub(crate) fn reference(content: &ContentId) -> Vec<u8> {
    of_content(REFERENCE, content)
}

pub(crate) fn deletion(content: &ContentId) -> Vec<u8> {
    of_content(DELETION, content)
}

/// The content in a key made by [`deletion`].
pub(crate) fn split_deletion(bytes: &[u8]) -> Option<ContentId> {
    let (kind, id) = bytes.strip_prefix(&[DELETION])?.split_first()?;
    let id: [u8; 16] = id.try_into().ok()?;
    match *kind {
        BLOB_KIND => Some(ContentId::Blob(id)),
        PARTS_KIND => Some(ContentId::Parts(UploadId(id))),
        UPLOADS_KIND => {
            let (bucket, rest) = id.split_first_chunk::<4>()?;
            let is_canonical = rest.iter().all(|byte| *byte == 0);
            is_canonical.then(|| ContentId::Uploads(BucketId(u32::from_be_bytes(*bucket))))
        }
        _ => None,
    }
}

/// The place of a blob in a backup.
pub(crate) fn backup_place(blob: &[u8; 16]) -> Vec<u8> {
    [&[BACKUP_PLACE], &blob[..]].concat()
}

/// The blob in a key made by [`backup_place`].
pub(crate) fn split_backup_place(bytes: &[u8]) -> Result<[u8; 16], StoreError> {
    let blob = bytes.strip_prefix(&[BACKUP_PLACE]).and_then(|blob| blob.try_into().ok());
    blob.ok_or_else(|| StoreError::corrupt("the key of a place in a backup"))
}

/// A blob that is only in a backup.
pub(crate) fn outstanding(blob: &[u8; 16]) -> Vec<u8> {
    [&[OUTSTANDING], &blob[..]].concat()
}

/// The blob in a key made by [`outstanding`].
pub(crate) fn split_outstanding(bytes: &[u8]) -> Result<[u8; 16], StoreError> {
    let blob = bytes.strip_prefix(&[OUTSTANDING]).and_then(|blob| blob.try_into().ok());
    blob.ok_or_else(|| StoreError::corrupt("the key of an outstanding blob"))
}

pub(crate) fn vector_bucket(name: &str) -> Vec<u8> {
    [&[VECTOR_BUCKET], name.as_bytes()].concat()
}

/// The name in a key made by [`vector_bucket`].
pub(crate) fn vector_bucket_name(key: &[u8]) -> Option<&str> {
    std::str::from_utf8(key.strip_prefix(&[VECTOR_BUCKET])?).ok()
}

pub(crate) fn vector_policy(bucket: BucketId) -> Vec<u8> {
    of_bucket(VECTOR_POLICY, bucket, 0)
}

/// The tags of a vector bucket or an index, whose ids come from one sequence.
pub(crate) fn vector_tags(resource: u32) -> Vec<u8> {
    of_number(VECTOR_TAGS, resource, 0)
}

/// The prefix of the keys of the indexes of a vector bucket; the name of the index follows.
pub(crate) fn indexes_of(bucket: BucketId) -> Vec<u8> {
    of_bucket(INDEX, bucket, 0)
}

pub(crate) fn index(bucket: BucketId, name: &str) -> Vec<u8> {
    let mut bytes = of_bucket(INDEX, bucket, name.len());
    bytes.extend_from_slice(name.as_bytes());
    bytes
}

/// Vector bucket and name in a key made by [`index`].
pub(crate) fn split_index(bytes: &[u8]) -> Option<(BucketId, &str)> {
    let (bucket, name) = split_bucket(INDEX, bytes)?;
    Some((bucket, std::str::from_utf8(name).ok()?))
}

/// The prefix of the keys of the vectors of an index; the key of the vector follows.
pub(crate) fn vectors_of(index: IndexId) -> Vec<u8> {
    of_number(VECTOR, index.0, 0)
}

pub(crate) fn vector(index: IndexId, key: &str) -> Vec<u8> {
    let mut bytes = of_number(VECTOR, index.0, key.len());
    bytes.extend_from_slice(key.as_bytes());
    bytes
}

/// Index and key of a vector in a key made by [`vector`].
pub(crate) fn split_vector(bytes: &[u8]) -> Option<(IndexId, &str)> {
    let (id, key) = bytes.strip_prefix(&[VECTOR])?.split_first_chunk()?;
    Some((IndexId(u32::from_be_bytes(*id)), std::str::from_utf8(key).ok()?))
}

/// The prefix of the keys of the used slots of an index.
pub(crate) fn vector_slots_of(index: IndexId) -> Vec<u8> {
    of_number(VECTOR_SLOT, index.0, 0)
}

pub(crate) fn vector_slot(index: IndexId, slot: u32) -> Vec<u8> {
    let mut bytes = of_number(VECTOR_SLOT, index.0, 4);
    bytes.extend_from_slice(&slot.to_be_bytes());
    bytes
}

/// Index and slot in a key made by [`vector_slot`].
pub(crate) fn split_vector_slot(bytes: &[u8]) -> Option<(IndexId, u32)> {
    let (id, slot) = bytes.strip_prefix(&[VECTOR_SLOT])?.split_first_chunk()?;
    Some((IndexId(u32::from_be_bytes(*id)), u32::from_be_bytes(slot.try_into().ok()?)))
}

/// The elements of a slot, in a backup.
pub(crate) fn elements(index: IndexId, slot: u32) -> Vec<u8> {
    let mut bytes = of_number(ELEMENTS, index.0, 4);
    bytes.extend_from_slice(&slot.to_be_bytes());
    bytes
}

pub(crate) fn index_deletion(index: IndexId) -> Vec<u8> {
    of_number(INDEX_DELETION, index.0, 0)
}

/// The index in a key made by [`index_deletion`].
pub(crate) fn split_index_deletion(bytes: &[u8]) -> Option<IndexId> {
    let id = bytes.strip_prefix(&[INDEX_DELETION])?.try_into().ok()?;
    Some(IndexId(u32::from_be_bytes(id)))
}

/// The head of the log of an index.
pub(crate) fn vector_log(index: IndexId) -> Vec<u8> {
    of_number(VECTOR_LOG, index.0, 0)
}

/// The index in a key made by [`vector_log`].
pub(crate) fn split_vector_log(bytes: &[u8]) -> Option<IndexId> {
    let id = bytes.strip_prefix(&[VECTOR_LOG])?.try_into().ok()?;
    Some(IndexId(u32::from_be_bytes(id)))
}

/// The prefix of the keys of the changes of an index.
pub(crate) fn vector_changes_of(index: IndexId) -> Vec<u8> {
    of_number(VECTOR_CHANGE, index.0, 0)
}

/// The change of an index with this number.
pub(crate) fn vector_change(index: IndexId, number: u64) -> Vec<u8> {
    let mut bytes = of_number(VECTOR_CHANGE, index.0, 8);
    bytes.extend_from_slice(&number.to_be_bytes());
    bytes
}

/// Index and number in a key made by [`vector_change`].
pub(crate) fn split_vector_change(bytes: &[u8]) -> Option<(IndexId, u64)> {
    let (id, number) = bytes.strip_prefix(&[VECTOR_CHANGE])?.split_first_chunk()?;
    Some((IndexId(u32::from_be_bytes(*id)), u64::from_be_bytes(number.try_into().ok()?)))
}

/// The record of the mirror of an index.
pub(crate) fn mirror(index: IndexId) -> Vec<u8> {
    of_number(MIRROR, index.0, 0)
}

/// The index in a key made by [`mirror`].
pub(crate) fn split_mirror(bytes: &[u8]) -> Option<IndexId> {
    let id = bytes.strip_prefix(&[MIRROR])?.try_into().ok()?;
    Some(IndexId(u32::from_be_bytes(id)))
}

/// The prefix of the keys of all namespaces, tables or views of a bucket.
pub(crate) fn catalog_of(bucket: BucketId) -> [Vec<u8>; 3] {
    [NAMESPACE, TABLE, VIEW].map(|tag| of_bucket(tag, bucket, 0))
}

/// The prefixes of the keys of what belongs to the tables of a bucket: settings, ids, and files that none names.
pub(crate) fn of_tables_in(bucket: BucketId) -> [Vec<u8>; 3] {
    [TABLE_SETTINGS, TABLE_ID, UNREFERENCED].map(|tag| of_bucket(tag, bucket, 0))
}

/// The prefix of the keys of the namespaces directly in the one with the path `parent`; the name follows. The
/// path of the root is empty.
pub(crate) fn namespaces_in(bucket: BucketId, parent: &str) -> Vec<u8> {
    of_path(NAMESPACE, bucket, parent, "")
}

pub(crate) fn namespace(bucket: BucketId, parent: &str, name: &str) -> Vec<u8> {
    of_path(NAMESPACE, bucket, parent, name)
}

pub(crate) fn table(bucket: BucketId, namespace: &str, name: &str) -> Vec<u8> {
    of_path(TABLE, bucket, namespace, name)
}

pub(crate) fn view(bucket: BucketId, namespace: &str, name: &str) -> Vec<u8> {
    of_path(VIEW, bucket, namespace, name)
}

pub(crate) fn table_settings(bucket: BucketId, namespace: &str, name: &str) -> Vec<u8> {
    of_path(TABLE_SETTINGS, bucket, namespace, name)
}

/// The prefix of the keys of the tables with an id; encoded path and name follow.
pub(crate) fn tables_with_id(bucket: BucketId, id: &[u8; 16]) -> Vec<u8> {
    let mut bytes = of_bucket(TABLE_ID, bucket, id.len());
    bytes.extend_from_slice(id);
    bytes
}

pub(crate) fn table_id(bucket: BucketId, id: &[u8; 16], namespace: &str, name: &str) -> Vec<u8> {
    let mut bytes = tables_with_id(bucket, id);
    append_ended(namespace.as_bytes(), &mut bytes);
    bytes.extend_from_slice(name.as_bytes());
    bytes
}

/// Bucket, id, path and name in a key made by [`table_id`].
pub(crate) fn split_table_id(bytes: &[u8]) -> Option<(BucketId, [u8; 16], String, &str)> {
    let (bucket, rest) = split_bucket(TABLE_ID, bytes)?;
    let (id, rest) = rest.split_first_chunk()?;
    let (path, name) = split_ended(rest)?;
    Some((bucket, *id, String::from_utf8(path).ok()?, std::str::from_utf8(name).ok()?))
}

pub(crate) fn unreferenced(bucket: BucketId, key: &str) -> Vec<u8> {
    let mut bytes = of_bucket(UNREFERENCED, bucket, key.len());
    bytes.extend_from_slice(key.as_bytes());
    bytes
}

/// Bucket and key in a key made by [`unreferenced`].
pub(crate) fn split_unreferenced(bytes: &[u8]) -> Option<(BucketId, &str)> {
    let (bucket, key) = split_bucket(UNREFERENCED, bytes)?;
    Some((bucket, std::str::from_utf8(key).ok()?))
}

/// Bucket, path and name in a key made by [`namespace`], [`table`], [`view`] or [`table_settings`].
pub(crate) fn split_catalog(bytes: &[u8]) -> Option<(BucketId, String, &str)> {
    let (&tag, _) = bytes.split_first()?;
    let (bucket, rest) = match tag {
        NAMESPACE | TABLE | VIEW | TABLE_SETTINGS => split_bucket(tag, bytes)?,
        _ => return None,
    };
    let (path, name) = split_ended(rest)?;
    Some((bucket, String::from_utf8(path).ok()?, std::str::from_utf8(name).ok()?))
}

/// `true` for a key made by [`namespace`].
pub(crate) fn is_namespace(bytes: &[u8]) -> bool {
    bytes.first() == Some(&NAMESPACE)
}

/// `true` for a key made by [`table_settings`].
pub(crate) fn is_table_settings(bytes: &[u8]) -> bool {
    bytes.first() == Some(&TABLE_SETTINGS)
}

fn of_path(tag: u8, bucket: BucketId, path: &str, name: &str) -> Vec<u8> {
    let mut bytes = of_bucket(tag, bucket, path.len() + 2 + name.len());
    append_ended(path.as_bytes(), &mut bytes);
    bytes.extend_from_slice(name.as_bytes());
    bytes
}

const BLOB_KIND: u8 = 0;
const PARTS_KIND: u8 = 1;
/// The bucket's number, then zeros.
const UPLOADS_KIND: u8 = 2;

fn of_content(tag: u8, content: &ContentId) -> Vec<u8> {
    let (kind, id) = match content {
        ContentId::Blob(id) => (BLOB_KIND, *id),
        ContentId::Parts(list) => (PARTS_KIND, list.0),
        ContentId::Uploads(bucket) => {
            let mut id = [0; 16];
            id[..4].copy_from_slice(&bucket.0.to_be_bytes());
            (UPLOADS_KIND, id)
        }
    };
    [&[tag, kind][..], &id].concat()
}

fn of_bucket(tag: u8, id: BucketId, more: usize) -> Vec<u8> {
    of_number(tag, id.0, more)
}

fn of_number(tag: u8, number: u32, more: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(5 + more);
    bytes.push(tag);
    bytes.extend_from_slice(&number.to_be_bytes());
    bytes
}

fn split_bucket(tag: u8, bytes: &[u8]) -> Option<(BucketId, &[u8])> {
    let (id, rest) = bytes.strip_prefix(&[tag])?.split_first_chunk()?;
    Some((BucketId(u32::from_be_bytes(*id)), rest))
}

fn split_ended_id(tag: u8, bytes: &[u8]) -> Option<(BucketId, Vec<u8>, [u8; 16])> {
    let (bucket, rest) = split_bucket(tag, bytes)?;
    let (key, id) = split_ended(rest)?;
    Some((bucket, key, id.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_taken_apart_again_and_foreign_bytes_refused() {
        let bucket = BucketId(7);
        let id = [9; 16];
        let history = history(bucket, "a\0b", &id);
        assert_eq!(split_history(&history), Some((bucket, b"a\0b".to_vec(), id)));
        let by_key = upload_by_key(bucket, "k", &UploadId(id));
        assert_eq!(split_upload_by_key(&by_key), Some((bucket, b"k".to_vec(), UploadId(id))));
        assert_eq!(split_part(&part(&UploadId(id), 258)), Some((UploadId(id), 258)));
        let uploads = ContentId::Uploads(BucketId(0x0102_0304));
        for content in [ContentId::Blob(id), ContentId::Parts(UploadId(id)), uploads] {
            assert_eq!(split_deletion(&deletion(&content)), Some(content));
        }
        assert_eq!(split_document(&document(bucket, 3)), Some((bucket, 3)));
        assert_eq!(split_document(&documents(bucket)), None);
        let mut longer_number = deletion(&uploads);
        longer_number[6] = 1;
        assert_eq!(split_deletion(&longer_number), None);
        let index_id = IndexId(258);
        assert_eq!(split_index(&index(bucket, "i")), Some((bucket, "i")));
        assert_eq!(split_vector(&vector(index_id, "k")), Some((index_id, "k")));
        assert_eq!(split_vector_slot(&vector_slot(index_id, 9)), Some((index_id, 9)));
        assert_eq!(split_index_deletion(&index_deletion(index_id)), Some(index_id));
        assert_eq!(split_vector_log(&vector_log(index_id)), Some(index_id));
        assert_eq!(split_vector_change(&vector_change(index_id, 259)), Some((index_id, 259)));
        assert_eq!(split_vector_change(&vector_changes_of(index_id)), None);
        assert_eq!(split_mirror(&mirror(index_id)), Some(index_id));
        assert_eq!(split_annotations(&annotations(&id)), Some(id));
        assert_eq!(split_annotation(&annotation(&id, "n")), Some((id, "n")));
        assert_eq!(split_payload(&payload(&id, "n")), Some((id, "n")));
        assert_eq!(split_annotation_deletion(&annotation_deletion(&id)), Some(id));
        assert_eq!(split_annotation(&payload(&id, "n")), None);
        assert_eq!(split_payload(&annotations(&id)), None);
        assert_eq!(split_annotations(&annotation_deletion(&id)), None);
        for kind in [QueueKind::Events, QueueKind::Replication] {
            let rows = queue_rows(kind, "t");
            let row = [&rows[..], &258_u64.to_be_bytes()].concat();
            assert_eq!(split_queue_row(&row), Some((kind, "t".to_owned(), 258)));
            assert_eq!(split_queue_row(&rows), None);
            let counter = queue_counter(kind, "t");
            assert_eq!(split_queue_counter(&counter), Some((kind, "t")));
            assert_eq!(split_queue_row(&counter), None);
            assert_eq!(split_queue_counter(&row), None);
        }
        assert_eq!(split_queue_counter(&[QUEUE, CURRENT, b't']), None);
        let restore = restore(RestoreStep::Expires, 258, bucket, &id);
        assert_eq!(split_restore(&restore), Some((RestoreStep::Expires, 258, bucket, id)));
        assert!((0..restore.len()).all(|length| split_restore(&restore[..length]).is_none()));
        let of_names = [namespace, table, view, table_settings].map(|of| of(bucket, "a", "b"));
        for key in of_names {
            assert_eq!(split_catalog(&key), Some((bucket, "a".to_owned(), "b")));
            assert!((0..7).all(|length| split_catalog(&key[..length]).is_none()));
        }
        assert_eq!(split_catalog(&index(bucket, "i")), None);
        let by_id = table_id(bucket, &[7; 16], "a", "b");
        assert_eq!(split_table_id(&by_id), Some((bucket, [7; 16], "a".to_owned(), "b")));
        assert!((0..22).all(|length| split_table_id(&by_id[..length]).is_none()));
        assert_eq!(split_unreferenced(&unreferenced(bucket, "k")), Some((bucket, "k")));
        assert_eq!(split_unreferenced(&by_id), None);
        let current = current(bucket, "k");
        assert_eq!(split_current(&current), Some((bucket, &b"k"[..])));
        let null = null_version(bucket, "k");
        assert_eq!(split_null_version(&null), Some((bucket, &b"k"[..])));
        for key in [&history, &by_key, &current] {
            for length in 0..5 {
                assert_eq!(split_history(&key[..length]), None);
                assert_eq!(split_upload_by_key(&key[..length]), None);
                assert_eq!(split_current(&key[..length]), None);
            }
            assert_eq!(split_part(key), None);
            assert_eq!(split_queue_row(key), None);
            assert_eq!(split_queue_counter(key), None);
            assert_eq!(split_deletion(key), None);
            assert_eq!(split_index(key), None);
            assert_eq!(split_vector(key), None);
            assert_eq!(split_vector_slot(key), None);
            assert_eq!(split_index_deletion(key), None);
        }
    }
}
