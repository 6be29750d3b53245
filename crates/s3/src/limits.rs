//! Limits of the S3 API, with their units in their names.

use liteio_store::limits::{PIECE_BYTES, UNCACHED_PIECE_BYTES};

use liteio_wire::front::limits::{ANSWER_PIECE_BYTES, BODY_WINDOW_BYTES_MAX};

/// Largest XML document in a request: room for 1,000 keys to delete, each of 1,024 characters
/// written as entities, and for 10,000 parts with their checksums.
pub(super) const XML_BODY_BYTES_MAX: usize = 8 << 20;

/// Deepest nesting of an XML document in a request. The deepest of S3 has five levels.
pub(super) const XML_DEPTH_MAX: usize = 16;

/// Elements of an XML document in a request: 10,000 parts with all that may be said of each have
/// fewer.
pub(super) const XML_ELEMENTS_MAX: usize = 100_000;

/// User metadata, names and values together. S3's limit.
pub(super) const USER_METADATA_BYTES_MAX: usize = 2 << 10;

/// Tags of one object. S3's limit.
pub(super) const TAGS_MAX: usize = 10;

/// Tags of one bucket. S3's limit.
pub(super) const BUCKET_TAGS_MAX: usize = 50;

/// Configurations of one family that a bucket has. S3's limit.
pub(super) const CONFIGURATIONS_MAX: usize = 1000;

/// Configurations on one page. S3's limit.
pub(super) const LIST_CONFIGURATIONS_MAX: usize = 100;

/// Lifecycle rules of a bucket. S3's limit.
pub(super) const LIFECYCLE_RULES_MAX: usize = 1000;

/// Bytes of the id of a lifecycle rule. S3's limit.
pub(super) const RULE_ID_BYTES_MAX: usize = 255;

/// Noncurrent versions that a lifecycle rule lets stay. S3's limit.
pub(super) const NEWER_NONCURRENT_MAX: u32 = 100;

/// Longest default retention in days, and in years. S3's limits.
pub(super) const RETENTION_DAYS_MAX: u32 = 36_500;
pub(super) const RETENTION_YEARS_MAX: u32 = 100;

/// Characters of a tag's name. S3's limit.
pub(super) const TAG_KEY_CHARACTERS_MAX: usize = 128;

/// Characters of a tag's value. S3's limit.
pub(super) const TAG_VALUE_CHARACTERS_MAX: usize = 256;

/// Parts and uploads on one page of a listing. S3's limit.
pub(super) const LIST_PARTS_MAX: usize = 1000;

/// Bytes of a body that are handed over at once to be hashed and written.
pub(super) const BATCH_BYTES: usize = 256 << 10;

/// Batches of one body that are queued or being hashed or written; one more is being received. With four,
/// bodies of 1 MiB and more take a tenth less time than with two: receiving continues during a slow write.
pub(super) const LANE_BATCHES_MAX: usize = 4;

// Those of a lane, the one that is handed over, the one that is received, and what is written at once.
const _: () = assert!(
    (LANE_BATCHES_MAX + 2) * BATCH_BYTES + UNCACHED_PIECE_BYTES <= BODY_WINDOW_BYTES_MAX as usize
);

/// Shorter chunks of a body are copied together. Each keeps the buffer alive that it was read into (8 KiB
/// at least), so a body that arrives byte by byte would keep thousands of buffers.
pub(super) const COPIED_CHUNK_BYTES: usize = 8 << 10;

const _: () = assert!(PIECE_BYTES as u64 == ANSWER_PIECE_BYTES);

/// Notification configurations of a bucket. S3's limit.
pub(super) const NOTIFICATION_RULES_MAX: usize = 100;

/// The value of a filter of notifications. S3's limit, that of a key.
pub(super) const FILTER_VALUE_BYTES_MAX: usize = 1024;

/// Routing rules of a website. S3's limit.
pub(super) const ROUTING_RULES_MAX: usize = 50;
/// CORS rules of a bucket. S3's limit.
pub(super) const CORS_RULES_MAX: usize = 100;
