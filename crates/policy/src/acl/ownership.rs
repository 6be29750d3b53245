//! Object ownership: the ownership controls of a bucket.

use serde::{Deserialize, Serialize};

use super::stored::encode;

/// The owner of objects written by other accounts, and with it the validity of ACLs. The order of
/// the variants is part of the stored format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ownership {
    /// The bucket owner owns every object, and ACLs do not apply. AWS's default.
    #[default]
    BucketOwnerEnforced,
    /// The bucket owner owns objects written with `bucket-owner-full-control`.
    BucketOwnerPreferred,
    /// The writer owns its objects.
    ObjectWriter,
    /// Like [`Ownership::ObjectWriter`], for buckets whose ownership controls were deleted.
    Deleted,
}

impl Ownership {
    /// The ownership with this name in documents and headers.
    pub fn of_name(name: &str) -> Option<Ownership> {
        let named = [Self::BucketOwnerEnforced, Self::BucketOwnerPreferred, Self::ObjectWriter];
        named.into_iter().find(|ownership| ownership.name() == Some(name))
    }

    /// The name in documents and headers; `None` for [`Ownership::Deleted`].
    pub fn name(self) -> Option<&'static str> {
        match self {
            Ownership::BucketOwnerEnforced => Some("BucketOwnerEnforced"),
            Ownership::BucketOwnerPreferred => Some("BucketOwnerPreferred"),
            Ownership::ObjectWriter => Some("ObjectWriter"),
            Ownership::Deleted => None,
        }
    }

    /// The document of a bucket with this ownership; `None` for the default.
    pub fn document(self) -> Option<Vec<u8>> {
        (self != Ownership::default()).then(|| encode(&self))
    }

    /// `true` if the ACLs of the bucket and its objects apply.
    pub fn acls_count(self) -> bool {
        self != Ownership::BucketOwnerEnforced
    }
}
