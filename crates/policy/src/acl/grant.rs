//! Grants, and the question that they answer.

use serde::{Deserialize, Serialize};

/// The grants of one ACL, at most.
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

/// An account or a group. The order of the variants is part of the format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Grantee {
    /// An account.
    Account {
        /// The canonical id.
        id: String,
        /// Shown beside the id; it has no meaning.
        display_name: String,
    },
    /// A group.
    Group(Group),
}

/// A group that AWS defines. The order of the variants is part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Group {
    /// Everybody, anonymous senders too.
    AllUsers,
    /// Every sender with a valid signature, of any account.
    AuthenticatedUsers,
    /// The delivery of access logs.
    LogDelivery,
}

/// A permission that can be granted. The order of the variants is part of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Permission {
    /// Of a bucket: listing it. Of an object: reading it.
    Read,
    /// Of a bucket: writing and deleting objects in it. Of an object: nothing.
    Write,
    /// Reading the ACL.
    ReadAcp,
    /// Writing the ACL.
    WriteAcp,
    /// All of the others.
    FullControl,
}

/// The validity of grants to everybody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublicGrants {
    /// They are as good as others.
    Count,
    /// They are passed over: `IgnorePublicAcls`.
    Ignored,
}

/// More than [`GRANTS_MAX`] grants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyGrants;

impl Acl {
    /// The list of these grants, those to groups first. Grants that are there twice are kept once.
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

    /// The grant that allows `permission` to the account with that canonical id, or to an anonymous sender.
    ///
    /// The rights of owners do not follow from grants: an owner may always read and write the ACL.
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

    /// Some grant is to everybody, or to everybody with an account.
    pub fn is_public(&self) -> bool {
        self.grants.iter().any(Grant::is_public)
    }

    /// Every grant is to the account with that canonical id.
    pub fn is_only_for(&self, canonical_id: &str) -> bool {
        self.grants.iter().all(
            |grant| matches!(&grant.grantee, Grantee::Account { id, .. } if id == canonical_id),
        )
    }
}

impl Grant {
    /// The grant is to everybody, or to everybody with an account.
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
            // No sender of a request belongs to it.
            Grantee::Group(Group::LogDelivery) => false,
        }
    }
}

impl Group {
    const ALL: [Group; 3] = [Group::AllUsers, Group::AuthenticatedUsers, Group::LogDelivery];

    /// The group with that URI.
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
    /// All, in the order in which they are told.
    pub const ALL: [Permission; 5] = [
        Permission::Read,
        Permission::Write,
        Permission::ReadAcp,
        Permission::WriteAcp,
        Permission::FullControl,
    ];

    /// The permission of that name in documents.
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
