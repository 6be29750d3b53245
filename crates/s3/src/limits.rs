//! Limits of the S3 API, with their units in their names.

use liteio_store::limits::{PIECE_BYTES, UNCACHED_PIECE_BYTES};

use liteio_wire::front::limits::{ANSWER_PIECE_BYTES, BODY_WINDOW_BYTES_MAX};

/// Largest XML document in a request: enough for 1,000 keys to delete of 1,024 characters written
/// as entities, and for 10,000 parts with checksums.
pub(super) const XML_BODY_BYTES_MAX: usize = 8 << 20;

/// Largest CORS configuration. S3's limit.
pub(super) const CORS_DOCUMENT_BYTES_MAX: usize = 64 << 10;

/// Largest website configuration. S3's limit.
pub(super) const WEBSITE_DOCUMENT_BYTES_MAX: usize = 128 << 10;

/// Deepest nesting of an XML document in a request. S3's deepest document has five levels.
pub(super) const XML_DEPTH_MAX: usize = 16;

/// Elements of an XML document in a request: 10,000 parts with all their fields have fewer.
pub(super) const XML_ELEMENTS_MAX: usize = 100_000;

/// User metadata, names and values together. S3's limit.
pub(super) const USER_METADATA_BYTES_MAX: usize = 2 << 10;

/// Tags per object. S3's limit.
pub(super) const TAGS_MAX: usize = 10;

/// Tags per bucket. S3's limit.
pub(super) const BUCKET_TAGS_MAX: usize = 50;

/// Configurations of one kind per bucket. S3's limit.
pub(super) const CONFIGURATIONS_MAX: usize = 1000;

/// Configurations per page. S3's limit.
pub(super) const LIST_CONFIGURATIONS_MAX: usize = 100;

/// Lifecycle rules per bucket. S3's limit.
pub(super) const LIFECYCLE_RULES_MAX: usize = 1000;

/// Replication rules per bucket. S3's limit.
pub(super) const REPLICATION_RULES_MAX: usize = 1000;

/// Length of a lifecycle rule's ID in bytes. S3's limit.
pub(super) const RULE_ID_BYTES_MAX: usize = 255;

/// Noncurrent versions that a lifecycle rule may retain. S3's limit.
pub(super) const NEWER_NONCURRENT_MAX: u32 = 100;

/// Longest default retention in days, and in years. S3's limits.
pub(super) const RETENTION_DAYS_MAX: u32 = 36_500;
pub(super) const RETENTION_YEARS_MAX: u32 = 100;

/// Days of a restore. S3 documents no limit; later dates could not be written in a header.
pub(super) const RESTORE_DAYS_MAX: u32 = 36_500;

/// Length of a tag name in characters. S3's limit.
pub(super) const TAG_KEY_CHARACTERS_MAX: usize = 128;

/// Length of a tag value in characters. S3's limit.
pub(super) const TAG_VALUE_CHARACTERS_MAX: usize = 256;

/// Parts and uploads per page of a listing. S3's limit.
pub(super) const LIST_PARTS_MAX: usize = 1000;

/// Longest body that the task of its connection digests and encrypts: some 0.3 ms, during which other
/// connections of the thread wait.
pub(super) const TASK_BYTES_MAX: usize = 128 << 10;

/// Bytes of a body that are hashed and written as one batch.
pub(super) const BATCH_BYTES: usize = 256 << 10;

/// Batches of one body that are queued or being processed; one more is being received. Four instead
/// of two save a tenth of the time for bodies from 1 MiB, because receiving continues during a slow
/// write.
pub(super) const LANE_BATCHES_MAX: usize = 4;

// Memory of one body: the batches of a lane, the one handed over, the one being received, and the
// data being written.
const _: () = assert!(
    (LANE_BATCHES_MAX + 2) * BATCH_BYTES + UNCACHED_PIECE_BYTES <= BODY_WINDOW_BYTES_MAX as usize
);

/// Shorter chunks of a body are copied together. Each chunk keeps its read buffer alive (8 KiB at
/// least), so a body that arrives byte by byte would hold thousands of buffers.
pub(super) const COPIED_CHUNK_BYTES: usize = 8 << 10;

const _: () = assert!(PIECE_BYTES as u64 == ANSWER_PIECE_BYTES);

/// Notification configurations per bucket. S3's limit.
pub(super) const NOTIFICATION_RULES_MAX: usize = 100;

/// Bytes of a notification filter value. S3's limit, the same as for a key.
pub(super) const FILTER_VALUE_BYTES_MAX: usize = 1024;

/// Routing rules per website. S3's limit.
pub(super) const ROUTING_RULES_MAX: usize = 50;
/// Members of an archive that becomes objects. AWS's limit for Snowball's batches.
pub(super) const ARCHIVE_MEMBERS_MAX: usize = 10_000;
/// An archive may unpack to this many times its length, and this many bytes more: gzip makes a
/// thousandth of zeros.
pub(super) const ARCHIVE_RATIO_MAX: u64 = 100;
pub(super) const ARCHIVE_BYTES_FREE: u64 = 64 << 20;
/// Members whose names are checked in one go, and members that are being written at a time.
pub(super) const ARCHIVE_BATCH: usize = 64;

/// CORS rules per bucket. S3's limit.
pub(super) const CORS_RULES_MAX: usize = 100;
/// Smallest object that a transition moves unless its rule names sizes, in bytes: AWS's limit.
pub(super) const TRANSITION_BYTES_MIN: u64 = 128 << 10;
