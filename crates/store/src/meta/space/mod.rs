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
//! | `65` | bucket id (4), key | [`UnreferencedRecord`](super::table::UnreferencedRecord): the time for which no table has named the file |
//! | `66` | | nothing: files that no table names are being deleted, so changes of tables and views are noted |
//! | `67` | the key of a table or view | [`ChangeRecord`](super::table::ChangeRecord): it has changed meanwhile |
//! | `68` | key of a request (16) | [`AnswerRecord`](super::answer::AnswerRecord): the answer that it got |
//! | `69` | encoded account, time (8), key of a request (16) | nothing: finds the answers to an account by their age |
//! | `6A` | bucket id (4), prefix of keys | [`PurgeRecord`](super::table::PurgeRecord): files of a dropped table to delete |
//!
//! The encoding of object keys with something behind them is in [`super::key`]. Each submodule builds and parses
//! the keys of one family. Other modules name all of them `space::…`.

mod annotation_sets;
mod archive;
mod buckets;
mod catalog;
mod contents;
mod queues;
mod servers;
mod store;
mod uploads;
mod vector_indexes;
mod versions;

use super::key::split_ended;
use crate::name::BucketId;

pub(crate) use self::annotation_sets::*;
pub(crate) use self::archive::*;
pub(crate) use self::buckets::*;
pub(crate) use self::catalog::*;
pub(crate) use self::contents::*;
pub(crate) use self::queues::*;
pub(crate) use self::servers::*;
pub(crate) use self::store::*;
pub(crate) use self::uploads::*;
pub(crate) use self::vector_indexes::*;
pub(crate) use self::versions::*;
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
const CATALOG_WATCH: u8 = 0x66;
const CATALOG_CHANGE: u8 = 0x67;
const ANSWER: u8 = 0x68;
const ANSWER_TIME: u8 = 0x69;
const PURGE: u8 = 0x6A;

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
mod tests;
