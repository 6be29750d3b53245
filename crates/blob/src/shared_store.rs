//! [`SharedBlobStore`]: what a blob store of several servers does beyond the contract of all.

use super::identity::ClusterId;
use super::{BlobError, BlobStore};

/// The part of a blob store of several servers beyond [`BlobStore`]. Their ids begin with the number of the run of
/// the server that wrote them.
pub(super) trait SharedBlobStore: BlobStore {
    /// The cluster that the blobs belong to; `None` if none was created there.
    ///
    /// # Errors
    /// [`BlobError::Unavailable`], also for an identity that is damaged or of a newer program, or [`BlobError::Io`].
    fn read_identity(&self) -> Result<Option<ClusterId>, BlobError>;

    /// [`BlobStore::probe`]: reads the identity, which is as small as any, and is missing where a
    /// directory is not mounted.
    ///
    /// # Errors
    /// The errors of [`SharedBlobStore::read_identity`].
    fn probe_identity(&self) -> Result<(), BlobError> {
        match self.read_identity()? {
            Some(_) => Ok(()),
            None => Err(BlobError::Unavailable {
                reason: format!(
                    "The blob store {} has lost the identity of its cluster: check that it is mounted.",
                    self.shown()
                ),
            }),
        }
    }

    /// Gives the blobs to a cluster, unless they belong to one; `false` if that is another.
    ///
    /// # Errors
    /// [`BlobError::Unavailable`] or [`BlobError::Io`].
    fn create_identity(&self, id: &ClusterId) -> Result<bool, BlobError>;

    /// The location without secrets, for messages.
    fn shown(&self) -> &str;
}
