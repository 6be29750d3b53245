//! Limits of deliveries.

/// Limit of the bytes of log lines that wait in one space. Further lines are lost: logs are best effort, as on AWS, and
/// memory is bounded.
pub(crate) const LOG_BYTES_WAITING_MAX: usize = 32 << 20;
/// Limit of the waiting bytes of one source bucket, so that a busy one leaves room for the others.
pub(crate) const LOG_BYTES_OF_BUCKET_MAX: usize = 8 << 20;
/// Waiting bytes of one source bucket that are delivered at once, before the interval has passed.
pub(crate) const LOG_OBJECT_BYTES: usize = 1 << 20;
/// Limit of the bytes of one field of a log line. Longer ones are cut off.
pub(crate) const LOG_FIELD_BYTES_MAX: usize = 8 << 10;

/// Rows of an inventory that are read at a time: a page of a listing.
pub(crate) const INVENTORY_PAGE_ROWS: usize = 1000;
/// Rows of a data file. AWS writes several files, too.
pub(crate) const INVENTORY_FILE_ROWS: u64 = 1_000_000;
/// Compressed bytes from which a data file ends.
pub(crate) const INVENTORY_FILE_BYTES: u64 = 256 << 20;
/// Rows of a row group in Parquet, which wait in memory.
pub(crate) const INVENTORY_GROUP_ROWS: usize = 50_000;
/// Bytes of values in a row group, likewise.
pub(crate) const INVENTORY_GROUP_BYTES: usize = 8 << 20;

const _: () = assert!(INVENTORY_PAGE_ROWS <= liteio_store::limits::LIST_KEYS_MAX);
const _: () = assert!(LOG_OBJECT_BYTES < LOG_BYTES_OF_BUCKET_MAX);
const _: () = assert!(LOG_BYTES_OF_BUCKET_MAX < LOG_BYTES_WAITING_MAX);
