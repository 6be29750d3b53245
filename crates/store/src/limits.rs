//! Every limit of the store, with its unit in its name.

/// Longest object key. S3's limit.
pub const OBJECT_KEY_BYTES_MAX: usize = 1024;

/// Larger bodies get a blob of their own; up to here the bytes stand in the record, and one commit
/// makes both durable.
pub const INLINE_BYTES_MAX: usize = 16 << 10;

/// Smallest part of a multipart upload but the last. S3's limit.
pub const PART_BYTES_MIN: u64 = 5 << 20;

/// Largest part, and largest body of one PUT. S3's limit.
pub const PART_BYTES_MAX: u64 = 5 << 30;

/// Highest part number, and so the most parts of an upload. S3's limit.
pub const PART_NUMBER_MAX: u16 = 10_000;

/// Largest object: what 10,000 parts of the largest size hold. S3's limit since December 2025.
pub const OBJECT_BYTES_MAX: u64 = PART_BYTES_MAX * PART_NUMBER_MAX as u64;

/// Most keys and common prefixes on one page of a listing. S3's limit.
pub const LIST_KEYS_MAX: usize = 1000;

/// Most keys that one request deletes. S3's limit.
pub const DELETE_OBJECTS_MAX: usize = 1000;

/// Most buckets on one page of a listing. S3's limit.
pub const LIST_BUCKETS_MAX: usize = 10_000;

/// Most extents of one copied part: a copy of a range that crosses more pieces than this writes its
/// bytes anew, so that no record grows without bound.
pub const EXTENTS_MAX: usize = 1024;

/// Smallest piece that a reader hands out, but the last of a blob; a multiple of the block that the
/// blob's checksums cover.
pub const PIECE_BYTES: usize = 256 << 10;

/// Entries of the deletion queue that one step of the reclaimer works off: one transaction, and the
/// bytes it keeps in memory.
pub const RECLAIM_BATCH: usize = 256;

/// Blob ids that one round of the orphan sweep holds in memory (16 bytes each, and as much again for
/// the table).
pub const SWEEP_BATCH: usize = 1 << 18;

const _: () =
    assert!((INLINE_BYTES_MAX as u64) < PART_BYTES_MIN && PART_BYTES_MIN < PART_BYTES_MAX);
const _: () = assert!(INLINE_BYTES_MAX < PIECE_BYTES);
const _: () = assert!(OBJECT_BYTES_MAX >= 50_000_000_000_000);
