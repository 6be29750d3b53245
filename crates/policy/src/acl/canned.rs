//! Canned ACLs: names for common lists of grants.

use super::grant::{Acl, Grant, Grantee, Group, Permission};

/// A canned ACL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CannedAcl {
    /// `private`
    Private,
    /// `public-read`
    PublicRead,
    /// `public-read-write`
    PublicReadWrite,
    /// `authenticated-read`
    AuthenticatedRead,
    /// `aws-exec-read`
    AwsExecRead,
    /// `bucket-owner-read`
    BucketOwnerRead,
    /// `bucket-owner-full-control`
    BucketOwnerFullControl,
    /// `log-delivery-write`
    LogDeliveryWrite,
}

/// An account as named in grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Party<'p> {
    /// The canonical id.
    pub id: &'p str,
    /// The name shown in ACL documents.
    pub display_name: &'p str,
}

/// The EC2 account that fetches bundles of machine images.
const EC2: Party<'_> = Party {
    id: "6aa5a366c34c1cbe25dc49211496e913e0351eb0e8c37aa3477e40942ec6b97c",
    display_name: "za-team",
};

impl Party<'_> {
    /// The account as a grantee.
    pub fn grantee(self) -> Grantee {
        Grantee::Account { id: self.id.to_owned(), display_name: self.display_name.to_owned() }
    }
}

impl CannedAcl {
    /// The canned ACL with this header name.
    pub fn of_name(name: &str) -> Option<CannedAcl> {
        Some(match name {
            "private" => CannedAcl::Private,
            "public-read" => CannedAcl::PublicRead,
            "public-read-write" => CannedAcl::PublicReadWrite,
            "authenticated-read" => CannedAcl::AuthenticatedRead,
            "aws-exec-read" => CannedAcl::AwsExecRead,
            "bucket-owner-read" => CannedAcl::BucketOwnerRead,
            "bucket-owner-full-control" => CannedAcl::BucketOwnerFullControl,
            "log-delivery-write" => CannedAcl::LogDeliveryWrite,
            _ => return None,
        })
    }

    /// The grants on a bucket. Grants to its own owner are redundant.
    pub fn of_bucket(self, owner: Party<'_>) -> Acl {
        self.expand(owner, None)
    }

    /// The grants on an object.
    pub fn of_object(self, owner: Party<'_>, bucket_owner: Party<'_>) -> Acl {
        self.expand(owner, Some(bucket_owner))
    }

    fn expand(self, owner: Party<'_>, bucket_owner: Option<Party<'_>>) -> Acl {
        let group = |group, permission| Some((Grantee::Group(group), permission));
        let other = bucket_owner.filter(|bucket_owner| bucket_owner.id != owner.id);
        let added = match self {
            CannedAcl::Private => [None, None],
            CannedAcl::PublicRead => [group(Group::AllUsers, Permission::Read), None],
            CannedAcl::PublicReadWrite => [
                group(Group::AllUsers, Permission::Read),
                group(Group::AllUsers, Permission::Write),
            ],
            CannedAcl::AuthenticatedRead => {
                [group(Group::AuthenticatedUsers, Permission::Read), None]
            }
            CannedAcl::AwsExecRead => [Some((EC2.grantee(), Permission::Read)), None],
            CannedAcl::BucketOwnerRead => {
                [other.map(|other| (other.grantee(), Permission::Read)), None]
            }
            CannedAcl::BucketOwnerFullControl => {
                [other.map(|other| (other.grantee(), Permission::FullControl)), None]
            }
            CannedAcl::LogDeliveryWrite => [
                group(Group::LogDelivery, Permission::Write),
                group(Group::LogDelivery, Permission::ReadAcp),
            ],
        };
        let of_owner = (owner.grantee(), Permission::FullControl);
        let grants = std::iter::once(of_owner).chain(added.into_iter().flatten());
        let grants = grants.map(|(grantee, permission)| Grant { grantee, permission });
        Acl::new(grants.collect()).unwrap_or_default()
    }
}
