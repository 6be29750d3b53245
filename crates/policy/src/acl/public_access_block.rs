//! The public access block of a bucket.

use serde::{Deserialize, Serialize};

use super::grant::PublicGrants;

/// The four parts of a public access block. A bucket without one has none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublicAccessBlock {
    /// ACLs with public grants are refused.
    pub block_public_acls: bool,
    /// Public grants do not count.
    pub ignore_public_acls: bool,
    /// Public policies are refused.
    pub block_public_policy: bool,
    /// A public policy is for the account of the owner alone.
    pub restrict_public_buckets: bool,
}

impl PublicAccessBlock {
    /// The validity of public grants under it.
    pub fn public_grants(self) -> PublicGrants {
        match self.ignore_public_acls {
            true => PublicGrants::Ignored,
            false => PublicGrants::Count,
        }
    }
}
