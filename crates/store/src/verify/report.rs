//! The report of a verification.

use crate::error::StoreError;
use crate::name::{BucketId, BucketName, ObjectKey, VersionId};

/// The progress of [`Store::verify`](crate::Store::verify).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyProgress {
    /// Records checked.
    pub done: u64,
    /// Records in all.
    pub total: u64,
}

/// One damaged object; with no key a damaged record or document of a bucket; with no bucket and no key a
/// damaged vector or index, whose name is in `what`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Its bucket; none if only its number is known.
    pub bucket: Option<BucketName>,
    /// Its key.
    pub key: Option<ObjectKey>,
    /// Its version.
    pub version: Option<VersionId>,
    /// The damage, in words.
    pub what: String,
    /// The remedy for it, if repair has one.
    pub(crate) remedy: Remedy,
}

/// The remedy that [`Store::repair`](crate::Store::repair) has for damage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// Nothing: the damaged record is not known, or it may be whole, and could only not be read.
    #[default]
    None,
    /// Removing the record at this key.
    Remove(Vec<u8>),
    /// Writing the row of the index of null versions at this key again, for the version of this stamp.
    Index { row: Vec<u8>, stamp: [u8; 16] },
    /// Counting the objects of this bucket again.
    Recount(BucketName, BucketId),
}

/// The result of [`Store::verify`](crate::Store::verify).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Objects (versions) checked.
    pub objects: u64,
    /// Blobs on the disk.
    pub blobs: u64,
    /// Vectors checked.
    pub vectors: u64,
    /// Bytes read and verified.
    pub bytes: u64,
    /// Objects and parts of uploads that are encrypted with keys which are not there: only their cipher
    /// text was verified.
    pub sealed: u64,
    /// The damage found.
    pub damaged: Vec<Damage>,
    /// Blobs that no record references; 0 if a record is damaged, because its blobs are unknown.
    pub orphans: u64,
    /// The paths of blobs that no record referenced, which a sweep has moved to `blobs/lost/`.
    pub lost: Vec<String>,
    /// The place where the log ends and the reason, if it does not end in order. Only of a closed store.
    pub log_end: Option<String>,
}

impl VerifyReport {
    /// Damage that ends a part of the verification, as an entry of the report.
    pub(super) fn or_damage<T>(
        &mut self,
        result: Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        match result {
            Err(error @ (StoreError::Corrupt { .. } | StoreError::FormatTooNew { .. })) => {
                self.damaged.push(Damage::of_store(&error));
                Ok(None)
            }
            result => result.map(Some),
        }
    }
}

impl Damage {
    /// Damage of the store as a whole.
    pub(crate) fn of_store(error: &StoreError) -> Self {
        Self {
            bucket: None,
            key: None,
            version: None,
            what: error.to_string(),
            remedy: Remedy::None,
        }
    }
}
