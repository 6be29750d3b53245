//! The report of a verification.

use crate::encryption::MissingKeys;
use crate::error::StoreError;
use crate::meta::annotation::{SetHead, SetId};
use crate::name::{BucketId, BucketName, ObjectKey, VersionId};

/// The progress of [`Store::verify`](crate::Store::verify).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyProgress {
    /// Number of records checked.
    pub done: u64,
    /// Total number of records.
    pub total: u64,
}

/// One piece of damage: an object; without a key, a record or document of a bucket; without bucket
/// and key, a vector or index, whose name is in `what`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The bucket; `None` if only its number is known.
    pub bucket: Option<BucketName>,
    /// The key.
    pub key: Option<ObjectKey>,
    /// The version.
    pub version: Option<VersionId>,
    /// A description of the damage.
    pub what: String,
    /// The remedy that repair has for it.
    pub(crate) remedy: Remedy,
}

/// The remedy that [`Store::repair`](crate::Store::repair) has for damage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// None: the damaged record is unknown, or it may be whole and merely could not be read.
    #[default]
    None,
    /// Remove the record with this key.
    Remove(Vec<u8>),
    /// Write the row of the null-version index again, for the version with this stamp.
    Index { row: Vec<u8>, stamp: [u8; 16] },
    /// Write the head of this set of annotations again, with the number of its rows.
    Annotations { set: SetId, head: SetHead },
    /// Remove the record with this key, unless the set of annotations that it belongs to has a head by now.
    Headless(Vec<u8>),
    /// Count the objects of this bucket again.
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
    /// Number of objects and parts that are encrypted with keys of clients: only their ciphertext
    /// was verified.
    pub sealed: u64,
    /// Number of objects and parts by the key that is not configured: only their ciphertext was
    /// verified, and nobody can read them without the key.
    pub missing: MissingKeys,
    /// The damage found.
    pub damaged: Vec<Damage>,
    /// The first objects and parts whose bytes are only in a backup yet, and the number of all.
    pub outstanding: Vec<Damage>,
    /// Number of these objects and parts.
    pub outstanding_count: u64,
    /// Blobs that no record references; 0 if a record is damaged, because its blobs are unknown.
    pub orphans: u64,
    /// Paths of the orphans that a sweep has moved to `blobs/lost/`.
    pub lost: Vec<String>,
    /// `true` if the lock of the directory could not be taken, so that a process that uses it would
    /// not have been noticed. Only for a closed store.
    pub is_unlocked: bool,
    /// The place and reason of the log's end, if it did not end in order. Only for a closed store.
    pub log_end: Option<String>,
}

impl VerifyReport {
    /// Turns damage that ends a part of the verification into an entry of the report.
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
