//! Holds every record against the bytes it names.

use crate::error::StoreError;
use crate::name::{BucketName, ObjectKey, VersionId};
use crate::store::Store;

/// How far [`Store::verify`] is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyProgress {
    /// Records looked at.
    pub done: u64,
    /// Records in all.
    pub total: u64,
}

/// One damaged object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Its bucket; none if only its number is known.
    pub bucket: Option<BucketName>,
    /// Its key.
    pub key: Option<ObjectKey>,
    /// Its version.
    pub version: Option<VersionId>,
    /// What is wrong.
    pub what: String,
}

/// What [`Store::verify`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Objects (versions) checked.
    pub objects: u64,
    /// Blobs on the disk.
    pub blobs: u64,
    /// Bytes read and verified.
    pub bytes: u64,
    /// What is damaged.
    pub damaged: Vec<Damage>,
    /// Blobs that nothing refers to.
    pub orphans: u64,
}

impl Store {
    /// Reads every object and holds it against its checksums. Changes nothing.
    ///
    /// # Errors
    /// When metadata cannot be read at all. Damage is in the report.
    pub fn verify(
        &self,
        progress: &mut dyn FnMut(VerifyProgress),
    ) -> Result<VerifyReport, StoreError> {
        progress(VerifyProgress::default());
        todo!()
    }
}
