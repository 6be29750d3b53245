//! Grants, and the question that they answer.

use serde::{Deserialize, Serialize};

/// Maximum number of grants in one ACL (as AWS).
pub(crate) const GRANTS_MAX: usize = 100;

/// The access control list of a bucket or of one version of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acl {
    grants: Vec<Grant>,
}

/// One permission for one grantee.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The receiver of the permission.
    pub grantee: Grantee,
    /// The permission.
    pub permission: Permission,
}

/// An account or a group. The order of the variants is part of the stored format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Grantee {
    /// An account.
    Account {
        /// The canonical id.
        id: String,
        /// The name shown with the id; it has no meaning.
        display_name: String,
    },
    /// A group.
    Group(Group),
}

/// A group defined by AWS. The order of the variants is part of the stored format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Group {
    /// Everyone, including anonymous senders.
    AllUsers,
    /// Every authenticated sender of any account.
    AuthenticatedUsers,
    /// The service that delivers access logs.
    LogDelivery,
}

/// A grantable permission. The order of the variants is part of the stored format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Permission {
    /// On a bucket: list it. On an object: read it.
    Read,
    /// On a bucket: write and delete objects. On an object: no effect.
    Write,
    /// Read the ACL.
    ReadAcp,
    /// Write the ACL.
    WriteAcp,
    /// All other permissions.
    FullControl,
}

/// The treatment of grants to the public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublicGrants {
    /// They apply like others.
    Count,
    /// They are ignored (`IgnorePublicAcls`).
    Ignored,
}

/// More than [`GRANTS_MAX`] grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyGrants;

impl Acl {
    /// An ACL of these grants, sorted with groups first and without duplicates.
    ///
    /// # Errors
    /// [`TooManyGrants`].
    pub fn new(given: Vec<Grant>) -> Result<Acl, TooManyGrants> {
        if given.len() > GRANTS_MAX {
            return Err(TooManyGrants);
        }
        let mut grants: Vec<Grant> = Vec::with_capacity(given.len());
        for grant in given {
            if !grants.contains(&grant) {
                grants.push(grant);
            }
        }
        grants.sort_by_key(|grant| matches!(grant.grantee, Grantee::Account { .. }));
        Ok(Acl { grants })
    }

    /// The grants.
    pub fn grants(&self) -> &[Grant] {
        &self.grants
    }

    /// The grant that allows `permission` to the account with this canonical id, or to an anonymous
    /// sender (`None`).
    ///
    /// The rights of owners do not come from grants: an owner may always read and write the ACL.
    pub fn allows(
        &self,
        canonical_id: Option<&str>,
        permission: Permission,
        public: PublicGrants,
    ) -> Option<&Grant> {
        self.grants.iter().find(|grant| {
            grant.permission.includes(permission)
                && grant.grantee.includes(canonical_id)
                && (public == PublicGrants::Count || !grant.is_public())
        })
    }

    /// `true` if a grant is public: to everyone, or to everyone with an account.
    pub fn is_public(&self) -> bool {
        self.grants.iter().any(Grant::is_public)
    }

    /// `true` if every grant is to the account with this canonical id.
    pub fn is_only_for(&self, canonical_id: &str) -> bool {
        self.grants.iter().all(
            |grant| matches!(&grant.grantee, Grantee::Account { id, .. } if id == canonical_id),
        )
    }
}

impl Grant {
    /// `true` if the grant is to everyone, or to everyone with an account.
    pub fn is_public(&self) -> bool {
        let public = [Group::AllUsers, Group::AuthenticatedUsers];
        matches!(&self.grantee, Grantee::Group(group) if public.contains(group))
    }
}

impl Grantee {
    fn includes(&self, canonical_id: Option<&str>) -> bool {
        match self {
            Grantee::Account { id, .. } => canonical_id == Some(id),
            Grantee::Group(Group::AllUsers) => true,
            Grantee::Group(Group::AuthenticatedUsers) => canonical_id.is_some(),
            // No sender of requests belongs to this group.
            Grantee::Group(Group::LogDelivery) => false,
        }
    }
}

impl Group {
    const ALL: [Group; 3] = [Group::AllUsers, Group::AuthenticatedUsers, Group::LogDelivery];

    /// The group with this URI.
    pub fn of_uri(uri: &str) -> Option<Group> {
        Group::ALL.into_iter().find(|group| group.uri() == uri)
    }

    /// The URI.
    pub fn uri(self) -> &'static str {
        match self {
            Group::AllUsers => "http://acs.amazonaws.com/groups/global/AllUsers",
            Group::AuthenticatedUsers => {
                "http://acs.amazonaws.com/groups/global/AuthenticatedUsers"
            }
            Group::LogDelivery => "http://acs.amazonaws.com/groups/s3/LogDelivery",
        }
    }
}

impl Permission {
    /// All permissions, in the order of documents.
    pub const ALL: [Permission; 5] = [
        Permission::Read,
        Permission::Write,
        Permission::ReadAcp,
        Permission::WriteAcp,
        Permission::FullControl,
    ];

    /// The permission with this document name.
    pub fn of_name(name: &str) -> Option<Permission> {
        Permission::ALL.into_iter().find(|permission| permission.name() == name)
    }

    /// The name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Permission::Read => "READ",
            Permission::Write => "WRITE",
            Permission::ReadAcp => "READ_ACP",
            Permission::WriteAcp => "WRITE_ACP",
            Permission::FullControl => "FULL_CONTROL",
        }
    }

    /// The header that grants it.
    pub fn header(self) -> &'static str {
        match self {
            Permission::Read => "x-amz-grant-read",
            Permission::Write => "x-amz-grant-write",
            Permission::ReadAcp => "x-amz-grant-read-acp",
            Permission::WriteAcp => "x-amz-grant-write-acp",
            Permission::FullControl => "x-amz-grant-full-control",
        }
    }

    fn includes(self, other: Permission) -> bool {
        self == Permission::FullControl || self == other
    }
}
