//! The object ownership of new buckets.

use super::{ConfigError, error};
use liteio_policy::acl::Ownership;

/// The object ownership of a bucket: the owner of objects, and whether ACLs are enabled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ObjectOwnership {
    /// The bucket owner owns all objects, and ACLs are disabled. AWS's default.
    #[default]
    BucketOwnerEnforced,
    /// The bucket owner owns objects written with the ACL `bucket-owner-full-control`; others
    /// belong to their writers. ACLs are enabled.
    BucketOwnerPreferred,
    /// Objects belong to their writers. ACLs are enabled.
    ObjectWriter,
}

impl From<ObjectOwnership> for Ownership {
    fn from(ownership: ObjectOwnership) -> Ownership {
        match ownership {
            ObjectOwnership::BucketOwnerEnforced => Ownership::BucketOwnerEnforced,
            ObjectOwnership::BucketOwnerPreferred => Ownership::BucketOwnerPreferred,
            ObjectOwnership::ObjectWriter => Ownership::ObjectWriter,
        }
    }
}

pub(super) fn resolve(ownership: Option<&str>) -> Result<ObjectOwnership, ConfigError> {
    match ownership {
        None | Some("bucket-owner-enforced") => Ok(ObjectOwnership::BucketOwnerEnforced),
        Some("bucket-owner-preferred") => Ok(ObjectOwnership::BucketOwnerPreferred),
        Some("object-writer") => Ok(ObjectOwnership::ObjectWriter),
        Some(other) => error(format!(
            "the object ownership {other:?} is unknown: give bucket-owner-enforced, \
             bucket-owner-preferred or object-writer"
        )),
    }
}
