//! The public access block of a bucket.

use serde::{Deserialize, Serialize};

use super::grant::PublicGrants;

/// The four settings of a public access block. A bucket without one has all of them off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicAccessBlock {
    /// Refuse ACLs with public grants.
    pub block_public_acls: bool,
    /// Ignore public grants.
    pub ignore_public_acls: bool,
    /// Refuse public policies.
    pub block_public_policy: bool,
    /// Limit a public policy to the owner's account.
    pub restrict_public_buckets: bool,
}

impl PublicAccessBlock {
    /// All four settings, as new buckets on AWS have them.
    pub const ALL: PublicAccessBlock = PublicAccessBlock {
        block_public_acls: true,
        ignore_public_acls: true,
        block_public_policy: true,
        restrict_public_buckets: true,
    };

    /// The treatment of public grants under these settings.
    pub fn public_grants(self) -> PublicGrants {
        match self.ignore_public_acls {
            true => PublicGrants::Ignored,
            false => PublicGrants::Count,
        }
    }
}
