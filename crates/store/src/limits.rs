//! Every limit of the store, with its unit in its name.

use std::time::Duration;

/// Longest object key. S3's limit.
pub const OBJECT_KEY_BYTES_MAX: usize = 1024;

/// Larger bodies get a blob of their own; up to here the bytes stand in the record, and one commit
/// makes both durable.
pub const INLINE_BYTES_MAX: usize = 16 << 10;

/// The bytes of a blob of up to this length may also stand in the log, whose sync makes them durable
/// with their record; the blob is synced later, with others. Longer ones are always synced before they
/// are acknowledged.
pub const LOGGED_BYTES_MAX: usize = 128 << 10;

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

/// A document of a bucket. S3's largest are lifecycle rules and CORS rules of some 100 KiB.
pub const DOCUMENT_BYTES_MAX: usize = 1 << 20;

/// Events that wait for one target, some 300 bytes each and the key.
pub const EVENTS_WAITING_MAX: u64 = 100_000;

/// Most keys that one request deletes. S3's limit.
pub const DELETE_OBJECTS_MAX: usize = 1000;

/// Most buckets on one page of a listing. S3's limit.
pub const LIST_BUCKETS_MAX: usize = 10_000;

/// Most extents of one copied part: a copy of a range that crosses more pieces than this writes its
/// bytes again, so that no record grows without bound.
pub const EXTENTS_MAX: usize = 1024;

/// Smallest piece that a reader hands out, but the last of a blob; a multiple of the block that the
/// blob's checksums cover.
pub const PIECE_BYTES: usize = 256 << 10;

/// Body bytes that are written at once past the page cache, where every write waits for the device.
/// A body of 10 MiB takes 13.3 ms in pieces of 256 KiB, 10.4 in these, 9.8 in pieces of 2 MiB.
pub const UNCACHED_PIECE_BYTES: usize = 2 * PIECE_BYTES;

/// Decrypted blocks of encrypted bodies that readers of short pieces keep until they are read: 16 MiB in all.
/// Every other such reader decrypts a block anew for each piece.
pub const BLOCKS_KEPT_MAX: usize = 64;

/// Entries of the deletion queue that one step of the reclaimer works off: one transaction, and the
/// bytes it keeps in memory.
pub const RECLAIM_BATCH: usize = 256;

/// Blob ids that one round of the orphan sweep holds in memory (16 bytes each, and as much again for
/// the table).
pub const SWEEP_BATCH: usize = 1 << 18;

/// Elements of a vector. S3 Vectors' limit.
pub const DIMENSION_MAX: u32 = 4096;

/// Longest vector key: up to 4,096 bytes. S3 Vectors' limit.
pub const VECTOR_KEY_CHARACTERS_MAX: usize = 1024;

/// Vectors that one request puts or deletes. S3 Vectors' limit.
pub const PUT_VECTORS_MAX: usize = 500;

/// Vectors that one request gets. S3 Vectors' limit.
pub const GET_VECTORS_MAX: usize = 100;

/// Most vectors on one page of a listing. S3 Vectors' limit.
pub const LIST_VECTORS_MAX: usize = 1000;

/// A page of vectors ends when it holds so much.
pub const VECTOR_PAGE_BYTES_MAX: usize = 1 << 20;

/// Most segments of a parallel listing. S3 Vectors' limit.
pub const LIST_SEGMENTS_MAX: u32 = 16;

/// Most vector buckets or indexes on one page of a listing. S3 Vectors' limit.
pub const LIST_INDEXES_MAX: usize = 500;

/// Most results of a query. S3 Vectors' limit.
pub const TOP_K_MAX: usize = 10_000;

/// All metadata of a vector, as [`Metadata::bytes`](crate::vectors::Metadata) counts it. S3 Vectors'
/// limit.
pub const METADATA_BYTES_MAX: usize = 40 << 10;

/// The filterable metadata of a vector. S3 Vectors' limit.
pub const FILTERABLE_BYTES_MAX: usize = 2 << 10;

/// Metadata keys of a vector. S3 Vectors' limit.
pub const METADATA_KEYS_MAX: usize = 50;

/// Characters of a metadata key. S3 Vectors' limit.
pub const METADATA_KEY_CHARACTERS_MAX: usize = 63;

/// Non-filterable metadata keys of an index, and keys that are searched by their words. S3 Vectors'
/// limit.
pub const CONFIGURED_KEYS_MAX: usize = 10;

/// Tags of a vector bucket or an index. S3 Vectors' limit.
pub const RESOURCE_TAGS_MAX: usize = 50;

/// Conditions of a filter.
pub const FILTER_CONDITIONS_MAX: usize = 1024;

/// The time between two looks of the store at the names of its files. Writes acknowledged after the removal
/// of the data directory are lost for as long.
pub const WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// Nesting of a filter.
pub const FILTER_DEPTH_MAX: usize = 16;

/// Days on which a store sees an orphan before it deletes it, see [`Store::sweep`](crate::Store::sweep).
pub const LOST_DAYS: u32 = 7;

/// Indexes whose files are open at a time; the idle one that was not used for longest makes room. In
/// memory all stay open.
pub const OPEN_INDEXES_MAX: usize = 256;

/// Bytes of the columns of all filters together. The least recently used are evicted; for a column that
/// does not fit at all, every query reads the records.
pub const COLUMN_BYTES_MAX: usize = 128 << 20;

/// Metadata keys of an index whose columns are made at a start, those that filters used last, and the bytes of
/// the file that remembers them.
pub(crate) const REMEMBERED_KEYS_MAX: usize = 32;
pub(crate) const REMEMBERED_BYTES_MAX: usize = 16 << 10;
const _: () = assert!(
    REMEMBERED_KEYS_MAX * (4 * METADATA_KEY_CHARACTERS_MAX + 2) + 64 <= REMEMBERED_BYTES_MAX
);

/// Bytes of the words of all searched texts together, as [`COLUMN_BYTES_MAX`].
pub const TEXT_BYTES_MAX: usize = 256 << 20;

/// Results of each search in a hybrid query before fusion; `topK` if that is more.
pub const FUSED_DEPTH: usize = 200;

/// Text searches of one query. S3 Vectors' limit.
pub const QUERY_TEXTS_MAX: usize = 10;

/// Characters of the text of a search. S3 Vectors' limit.
pub const QUERY_TEXT_CHARACTERS_MAX: usize = 1024;

const _: () =
    assert!((INLINE_BYTES_MAX as u64) < PART_BYTES_MIN && PART_BYTES_MIN < PART_BYTES_MAX);
const _: () = assert!(INLINE_BYTES_MAX < PIECE_BYTES && LOGGED_BYTES_MAX < PIECE_BYTES);
const _: () = assert!(OBJECT_BYTES_MAX >= 50_000_000_000_000);
const _: () = assert!(FILTERABLE_BYTES_MAX < METADATA_BYTES_MAX);
const _: () = assert!(DIMENSION_MAX as usize <= liteio_vector::DIMENSION_MAX);
const _: () = assert!(TOP_K_MAX <= liteio_vector::NEIGHBOURS_MAX);
