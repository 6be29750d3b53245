//! [`Remote`]: the bucket of a blob store, with the names of its objects.

use std::sync::Arc;

use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::{GetOptions, ObjectStore};

use super::blocks;
use super::call::{Failure, Patience, attempt, persist};
use crate::file_path::parse_id;
use crate::identity::IDENTITY;
use crate::{BlobError, BlobId};

/// The directory of all blobs, below the prefix.
const BLOBS: &str = "blobs";

/// A service with what a blob store needs of it.
pub(super) trait Bucket: ObjectStore + MultipartStore {}

impl<T: ObjectStore + MultipartStore> Bucket for T {}

/// A bucket, or the part of it below a prefix. Tasks hold it, too.
#[derive(Debug)]
pub(super) struct Remote {
    pub(super) bucket: Arc<dyn Bucket>,
    /// The location without secrets, for messages.
    pub(super) shown: String,
    /// Empty, or without a slash at the end.
    pub(super) prefix: String,
    pub(super) patience: Patience,
}

impl Remote {
    fn below(&self, name: &str) -> Path {
        let slash = if self.prefix.is_empty() { "" } else { "/" };
        Path::from(format!("{}{slash}{name}", self.prefix))
    }

    /// The object of a blob: `blobs/RUN/ID`, so that those of a run are found by a listing.
    pub(super) fn object(&self, id: &BlobId) -> Path {
        self.below(&format!("{BLOBS}/{:08x}/{id}", id.run()))
    }

    /// The directory of all blobs, or of those of a run.
    pub(super) fn directory(&self, run: Option<u32>) -> Path {
        match run {
            Some(run) => self.below(&format!("{BLOBS}/{run:08x}")),
            None => self.below(BLOBS),
        }
    }

    /// The object with the identity of the cluster.
    pub(super) fn identity(&self) -> Path {
        self.below(IDENTITY)
    }

    /// The id of the blob whose object this is; `None` for objects of others.
    pub(super) fn id_of(&self, object: &Path) -> Option<BlobId> {
        let id = parse_id(object.filename()?)?;
        (self.object(&id) == *object).then_some(id)
    }

    pub(super) fn told(&self, failure: Failure) -> BlobError {
        failure.told(&self.shown, self.patience.total)
    }

    /// The error of a failed call about a blob.
    pub(super) fn told_of(&self, id: &BlobId, failure: Failure) -> BlobError {
        match failure {
            Failure::Missing => BlobError::NotFound { id: *id },
            failure => self.told(failure),
        }
    }

    /// Length of an object; `None` if it is missing.
    pub(super) async fn length(&self, object: &Path) -> Result<Option<u64>, Failure> {
        let head =
            || self.bucket.get_opts(object, GetOptions { head: true, ..GetOptions::default() });
        match persist(self.patience, head).await {
            Ok(found) => Ok(Some(found.meta.size)),
            Err(Failure::Missing) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Damage, if the object of a blob has another length than its record tells. Asked where a range was
    /// refused: it may be behind the end of the object.
    pub(super) async fn check_length(&self, id: &BlobId, body_bytes: u64) -> Result<(), BlobError> {
        let object = self.object(id);
        let head =
            self.bucket.get_opts(&object, GetOptions { head: true, ..GetOptions::default() });
        let found =
            attempt(self.patience, head).await.map_err(|failure| self.told_of(id, failure))?;
        if found.meta.size == blocks::object_bytes(body_bytes) {
            return Ok(());
        }
        Err(wrong_length(id))
    }
}

/// The damage of an object that is shorter or longer than the body in the record of its blob.
pub(super) fn wrong_length(id: &BlobId) -> BlobError {
    BlobError::Corrupt {
        id: *id,
        what: "the length of its object differs from the length in its record",
    }
}
