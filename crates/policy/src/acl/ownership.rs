//! Object ownership: the ownership controls of a bucket.

use serde::{Deserialize, Serialize};

use super::stored::encode;

/// The owner of objects that others write, and with it the validity of ACLs. The order of the variants is part
/// of the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ownership {
    /// The owner of the bucket owns every object in it, and ACLs do not count. AWS's default.
    #[default]
    BucketOwnerEnforced,
    /// The owner of the bucket owns the objects that are written with `bucket-owner-full-control`.
    BucketOwnerPreferred,
    /// The writer owns its objects.
    ObjectWriter,
    /// As [`Ownership::ObjectWriter`], of buckets whose ownership controls were deleted.
    Deleted,
}

impl Ownership {
    /// The ownership of that name in documents and headers.
    pub fn of_name(name: &str) -> Option<Ownership> {
        let named = [Self::BucketOwnerEnforced, Self::BucketOwnerPreferred, Self::ObjectWriter];
        named.into_iter().find(|ownership| ownership.name() == Some(name))
    }

    /// The name in documents and headers; none of [`Ownership::Deleted`].
    pub fn name(self) -> Option<&'static str> {
        match self {
            Ownership::BucketOwnerEnforced => Some("BucketOwnerEnforced"),
            Ownership::BucketOwnerPreferred => Some("BucketOwnerPreferred"),
            Ownership::ObjectWriter => Some("ObjectWriter"),
            Ownership::Deleted => None,
        }
    }

    /// The document of a bucket with that ownership; none for the one that needs none.
    pub fn document(self) -> Option<Vec<u8>> {
        (self != Ownership::default()).then(|| encode(&self))
    }

    /// ACLs of the bucket and of its objects count.
    pub fn acls_count(self) -> bool {
        self != Ownership::BucketOwnerEnforced
    }
}
