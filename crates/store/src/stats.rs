//! Counters.

/// A snapshot of the store's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Blobs deleted since the store was opened.
    pub blobs_deleted: u64,
    /// Orphaned blobs swept since the store was opened.
    pub orphans_swept: u64,
}
