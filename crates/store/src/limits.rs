//! Every limit of the store, with its unit in its name.

use std::time::Duration;

pub use liteio_blob::{PIECE_BYTES, UNCACHED_PIECE_BYTES};

/// Longest object key. S3's limit.
pub const OBJECT_KEY_BYTES_MAX: usize = 1024;

/// Largest body stored in the key space, so that one commit makes it durable with its record.
/// Larger bodies get a blob.
pub const INLINE_BYTES_MAX: usize = 16 << 10;

/// Largest body stored in the record of its object. Larger ones of the key space have a row of
/// their own, since every list reads the records.
pub const RECORD_BODY_BYTES_MAX: usize = 1 << 10;

/// Largest blob whose bytes may also be written to the log. The sync of the log then makes blob and
/// record durable at once, and the blob file is synced later, with others. Longer blobs are always
/// synced before they are acknowledged.
pub const LOGGED_BYTES_MAX: usize = 128 << 10;

/// Largest body that is put into a segment. Longer ones have a file, whose cost they outweigh.
pub const SEGMENT_BYTES_MAX: u64 = 1 << 20;

/// Longest name of an annotation. S3's limit.
pub const ANNOTATION_NAME_BYTES_MAX: usize = 512;

/// Largest payload of an annotation. S3's limit.
pub const ANNOTATION_BYTES_MAX: usize = 1 << 20;

/// Most annotations of a version. S3's limit.
pub const ANNOTATIONS_MAX: u32 = 1000;

/// Payload bytes that one transaction of a copy of annotations writes. It bounds the memory of the transaction.
pub(crate) const ANNOTATIONS_COPIED_BYTES: usize = 4 << 20;

/// Smallest part of a multipart upload except the last. S3's limit.
pub const PART_BYTES_MIN: u64 = 5 << 20;

/// Largest part, and largest body of one PUT. S3's limit.
pub const PART_BYTES_MAX: u64 = 5 << 30;

/// Highest part number, and therefore most parts of an upload. S3's limit.
pub const PART_NUMBER_MAX: u16 = 10_000;

/// Largest object: 10,000 parts of the largest size. S3's limit since December 2025.
pub const OBJECT_BYTES_MAX: u64 = PART_BYTES_MAX * PART_NUMBER_MAX as u64;

/// Most keys and common prefixes on one page of a listing. S3's limit.
pub const LIST_KEYS_MAX: usize = 1000;

/// Largest document of a bucket. S3's largest are lifecycle and CORS rules of some 100 KiB.
pub const DOCUMENT_BYTES_MAX: usize = 1 << 20;

/// Most events queued per target, of some 300 bytes each plus the key.
pub const EVENTS_WAITING_MAX: u64 = 100_000;

/// Most keys that one request deletes. S3's limit.
pub const DELETE_OBJECTS_MAX: usize = 1000;

/// Keys that one transaction changes where many change. Versions of one key that are removed together may need some
/// reads each that depend on each other, and a transaction over a database has a bound of them.
pub const CHANGED_TOGETHER: usize = 8;

/// Most buckets on one page of a listing. S3's limit.
pub const LIST_BUCKETS_MAX: usize = 10_000;

/// Most extents of a copied part. A copy of a range that crosses more pieces rewrites the bytes, so
/// that no record grows without bound.
pub const EXTENTS_MAX: usize = 1024;

/// Decrypted blocks cached for readers of short pieces: 16 MiB in all. Readers beyond it decrypt a
/// block again for each piece.
pub const BLOCKS_KEPT_MAX: usize = 64;

/// Entries of the deletion queue per step of the reclaimer. It bounds a transaction, and the memory
/// of a step.
pub const RECLAIM_BATCH: usize = 256;

/// Blob ids per round of the orphan sweep. It bounds the memory of a round: 16 bytes each, and as
/// much again for the hash table.
pub const SWEEP_BATCH: usize = 1 << 18;

/// Most elements of a vector. S3 Vectors' limit.
pub const DIMENSION_MAX: u32 = 4096;

/// Longest vector key, in characters of up to 4 bytes. S3 Vectors' limit.
pub const VECTOR_KEY_CHARACTERS_MAX: usize = 1024;

/// Most vectors that one request puts or deletes. S3 Vectors' limit.
pub const PUT_VECTORS_MAX: usize = 500;

/// Most vectors that one request gets. S3 Vectors' limit.
pub const GET_VECTORS_MAX: usize = 100;

/// Most vectors on one page of a listing. S3 Vectors' limit.
pub const LIST_VECTORS_MAX: usize = 1000;

/// Size at which a page of vectors ends.
pub const VECTOR_PAGE_BYTES_MAX: usize = 1 << 20;

/// Most segments of a parallel listing. S3 Vectors' limit.
pub const LIST_SEGMENTS_MAX: u32 = 16;

/// Most vector buckets or indexes on one page of a listing. S3 Vectors' limit.
pub const LIST_INDEXES_MAX: usize = 500;

/// Most results of a query. S3 Vectors' limit.
pub const TOP_K_MAX: usize = 10_000;

/// Size of all metadata of a vector, as [`Metadata::bytes`](crate::vectors::Metadata) counts it. S3
/// Vectors' limit.
pub const METADATA_BYTES_MAX: usize = 40 << 10;

/// Size of the filterable metadata of a vector. S3 Vectors' limit.
pub const FILTERABLE_BYTES_MAX: usize = 2 << 10;

/// Most metadata keys of a vector. S3 Vectors' limit.
pub const METADATA_KEYS_MAX: usize = 50;

/// Longest metadata key, in characters. S3 Vectors' limit.
pub const METADATA_KEY_CHARACTERS_MAX: usize = 63;

/// Most non-filterable metadata keys of an index, and most keys with text search. S3 Vectors'
/// limit.
pub const CONFIGURED_KEYS_MAX: usize = 10;

/// Most tags of a vector bucket or an index. S3 Vectors' limit.
pub const RESOURCE_TAGS_MAX: usize = 50;

/// Longest name of a table, a view or a level of a namespace, in bytes.
pub const CATALOG_NAME_BYTES_MAX: usize = 255;

/// Most levels of a namespace.
pub const NAMESPACE_LEVELS_MAX: usize = 16;

/// Longest path of a namespace, in bytes.
pub const NAMESPACE_BYTES_MAX: usize = 1024;

/// Most names on one page of a listing of a catalog.
pub const LIST_TABLES_MAX: usize = 1000;

/// Most tables that a page of a walk looks at for those with a prefix.
pub const WALKED_TABLES_MAX: usize = 10_000;

/// Files on a page of those that no table names, and most that one transaction notes.
pub const UNREFERENCED_PAGE: usize = 256;

/// Purges on a page of those that have not ended.
pub const PURGES_PAGE: usize = 64;

/// Most tables of one commit. It bounds the transaction.
pub const COMMITTED_TABLES_MAX: usize = 64;

/// Most conditions of a filter.
pub const FILTER_CONDITIONS_MAX: usize = 1024;

/// Interval at which the store checks the names of its files. Writes acknowledged after the removal
/// of the data directory are lost for at most this long.
pub const WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// Deepest nesting of a filter.
pub const FILTER_DEPTH_MAX: usize = 16;

/// Days on which a store must see an orphan before it deletes it, see
/// [`Store::sweep`](crate::Store::sweep).
pub const LOST_DAYS: u32 = 7;

/// Most indexes with open files. The least recently used idle one makes room. In memory all stay
/// open.
pub const OPEN_INDEXES_MAX: usize = 256;

/// Where several servers share a database: changes of an index from which the next snapshot of its vectors is
/// due. Until then a server that has none of them reads them from the database, and from a snapshot afterwards.
pub const VECTOR_SNAPSHOT_CHANGES: u64 = 65_536;

/// Size of the cache of vectors of one of several servers, unless it is set.
pub const VECTOR_CACHE_BYTES: u64 = 1 << 30;

/// Size of all filter columns together. The least recently used are evicted. If a column does not
/// fit at all, every query reads the records instead.
pub const COLUMN_BYTES_MAX: usize = 128 << 20;

/// Metadata keys per index whose columns are made at start (the keys that filters used last), and
/// size of the file that remembers them.
pub(crate) const REMEMBERED_KEYS_MAX: usize = 32;
pub(crate) const REMEMBERED_BYTES_MAX: usize = 16 << 10;
const _: () = assert!(
    REMEMBERED_KEYS_MAX * (4 * METADATA_KEY_CHARACTERS_MAX + 2) + 64 <= REMEMBERED_BYTES_MAX
);

/// Size of the word lists of all searched texts together, evicted like [`COLUMN_BYTES_MAX`].
pub const TEXT_BYTES_MAX: usize = 256 << 20;

/// Results of each search of a hybrid query that enter fusion; `topK` if that is more.
pub const FUSED_DEPTH: usize = 200;

/// Most text searches of one query. S3 Vectors' limit.
pub const QUERY_TEXTS_MAX: usize = 10;

/// Longest search text, in characters. S3 Vectors' limit.
pub const QUERY_TEXT_CHARACTERS_MAX: usize = 1024;

/// Time by which the stamp of a replica may be ahead of the clock, in milliseconds: clocks that are a
/// day apart are set wrongly, and a stamp of the far future would leave no later one for its key.
pub const REPLICA_AHEAD_MS_MAX: u64 = 24 * 60 * 60 * 1000;

const _: () =
    assert!((INLINE_BYTES_MAX as u64) < PART_BYTES_MIN && PART_BYTES_MIN < PART_BYTES_MAX);
const _: () = assert!(RECORD_BODY_BYTES_MAX < INLINE_BYTES_MAX);
const _: () = assert!(INLINE_BYTES_MAX < PIECE_BYTES && LOGGED_BYTES_MAX < PIECE_BYTES);
const _: () = assert!(OBJECT_BYTES_MAX >= 50_000_000_000_000);
const _: () = assert!(FILTERABLE_BYTES_MAX < METADATA_BYTES_MAX);
const _: () = assert!(DIMENSION_MAX as usize <= liteio_vector::DIMENSION_MAX);
const _: () = assert!(TOP_K_MAX <= liteio_vector::NEIGHBOURS_MAX);
