//! Limits of names and ids.

/// Bytes of one level of a namespace, and of the name of a table or view. Clients make directories of them, and those have
/// this limit in most file systems.
pub const NAME_BYTES_MAX: usize = 255;

/// Levels of a namespace.
pub const NAMESPACE_LEVELS_MAX: usize = 16;

/// Bytes of all levels of a namespace with their separators, so that a key made of an identifier stays short.
pub const NAMESPACE_BYTES_MAX: usize = 1024;

/// Highest id of a column. The 200 ids above it are reserved for metadata columns (specification, "Reserved Field IDs").
pub(crate) const FIELD_ID_MAX: i32 = i32::MAX - 201;

/// Id of the first partition field.
pub(crate) const PARTITION_FIELD_ID_MIN: i32 = 1000;

/// Entries of the metadata log, where the table has no `write.metadata.previous-versions-max`.
pub(crate) const METADATA_LOG_ENTRIES: usize = 100;

/// Versions of a view, where it has no `version.history.num-entries`.
pub(crate) const VIEW_VERSIONS: usize = 10;

/// Milliseconds by which clocks of writers may differ: logs of snapshots and metadata are ordered up to this.
pub(crate) const CLOCK_SKEW_MS_MAX: i64 = 60_000;

/// Milliseconds by which the time of a new snapshot may be ahead of the catalog's. The time of the table follows it, so a
/// writer whose clock is years ahead would keep all others from committing.
pub(crate) const CLOCK_AHEAD_MS_MAX: i64 = 24 * 60 * 60 * 1000;

const _: () =
    assert!(NAME_BYTES_MAX < NAMESPACE_BYTES_MAX && CLOCK_SKEW_MS_MAX < CLOCK_AHEAD_MS_MAX);
