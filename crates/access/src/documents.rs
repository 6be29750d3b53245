//! The access documents of a bucket, parsed once after each change of its settings.

use std::convert::Infallible;
use std::sync::{Arc, LazyLock};

use liteio_store::{Bucket, DocumentKind, ObjectVersion, StoreError};

use super::decision::{Acls, Documents, ObjectAcl};
use liteio_identity::User;
use liteio_policy::acl::{
    Acl, Grant, Grantee, Group, Ownership, Permission, PublicAccessBlock, decode,
};
use liteio_policy::{Kind, Policy};

/// The ACL of an object that anyone may write.
static ANYBODYS: LazyLock<Acl> = LazyLock::new(|| {
    let grantee = Grantee::Group(Group::AllUsers);
    Acl::new(vec![Grant { grantee, permission: Permission::WriteAcp }]).unwrap_or_default()
});

/// The access documents of one bucket.
pub(super) struct BucketDocuments {
    policy: Option<Arc<Policy>>,
    ownership: Ownership,
    acl: Option<Arc<Acl>>,
    block: PublicAccessBlock,
}

impl BucketDocuments {
    /// The documents of `bucket`.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] for an unreadable document: without it the bucket would be open to
    /// senders that it excludes. An unreadable policy denies everything instead, so that the root
    /// user can replace it.
    pub(super) fn of(bucket: &Bucket) -> Result<BucketDocuments, StoreError> {
        let settings = &bucket.settings;
        let policy = policy_of(bucket);
        let ownership = object_ownership(bucket)?;
        let acl = match ownership.acls_count() {
            true => settings.parsed(DocumentKind::Acl, decode::<Acl>),
            false => Ok(None),
        };
        Ok(BucketDocuments {
            policy,
            ownership,
            acl: acl.or_else(|_| unreadable("the ACL of a bucket"))?,
            block: public_access_block(bucket)?.unwrap_or_default(),
        })
    }

    /// `true` if a decision about an object depends on its owner, its ACL or its tags.
    pub(super) fn needs_object(&self, user: Option<&User>) -> bool {
        let asks = |policy: &Policy| policy.asks_for_existing_tags();
        self.ownership.acls_count()
            || self.policy.as_deref().is_some_and(asks)
            || user.is_some_and(|user| user.policies.iter().any(|it| asks(&it.policy)))
            || user
                .and_then(|user| user.session_policies.as_ref())
                .is_some_and(|policies| policies.iter().any(|it| asks(&it.policy)))
    }

    /// The ACL of an object, if ACLs apply and it is not the default.
    pub(super) fn object_acl(
        &self,
        object: &ObjectVersion,
    ) -> Result<Option<Arc<Acl>>, StoreError> {
        match object.acl.as_deref().filter(|_| self.ownership.acls_count()) {
            None => Ok(None),
            Some(bytes) => match decode(bytes) {
                Ok(acl) => Ok(Some(Arc::new(acl))),
                Err(_) => unreadable("the ACL of an object"),
            },
        }
    }

    /// The documents for a decision about one action.
    pub(super) fn for_decision<'d>(
        &'d self,
        owner_id: &'d str,
        object: Option<&'d ObjectVersion>,
        acl: Option<&'d Acl>,
    ) -> Documents<'d> {
        let acls = self.ownership.acls_count().then(|| Acls {
            bucket: self.acl.as_deref(),
            object: object.map(|object| ObjectAcl { owner_id: &object.owner.id, acl }),
        });
        Documents { owner_id, policy: self.policy.as_deref(), outer: None, acls, block: self.block }
    }
}

impl BucketDocuments {
    /// The documents for a decision about the ACL of a new object; `None` where ACLs do not apply.
    /// The object will belong to the writer, or to the bucket owner if the request is anonymous.
    /// Then any sender may set the ACL, unless a policy denies it.
    pub(super) fn of_new_object<'d>(
        &'d self,
        owner_id: &'d str,
        writer_id: Option<&'d str>,
    ) -> Option<Documents<'d>> {
        let object = match writer_id {
            Some(owner_id) => ObjectAcl { owner_id, acl: None },
            None => ObjectAcl { owner_id, acl: Some(&ANYBODYS) },
        };
        let documents = self.for_decision(owner_id, None, None);
        let acls = Acls { object: Some(object), ..documents.acls? };
        Some(Documents { acls: Some(acls), ..documents })
    }
}

/// The policy of a bucket, if any. An unreadable one denies everything.
pub fn policy_of(bucket: &Bucket) -> Option<Arc<Policy>> {
    let Ok(policy) = bucket.settings.parsed(DocumentKind::Policy, |document| {
        let kind = Kind::Bucket(bucket.name.as_str());
        Ok::<_, Infallible>(Policy::parse(document, kind).unwrap_or_else(|error| {
            tracing::warn!(bucket = %bucket.name, %error, "the policy of a bucket denies all");
            Policy::unreadable(kind)
        }))
    });
    policy
}

/// The public access block of a bucket, if any.
///
/// # Errors
/// [`StoreError::Corrupt`].
pub fn public_access_block(bucket: &Bucket) -> Result<Option<PublicAccessBlock>, StoreError> {
    let kind = DocumentKind::PublicAccessBlock;
    let block = bucket.settings.parsed(kind, decode::<PublicAccessBlock>);
    let block = block.or_else(|_| unreadable("the public access block of a bucket"))?;
    Ok(block.map(|block| *block))
}

/// The object ownership of a bucket; bucket owner enforced by default.
///
/// # Errors
/// [`StoreError::Corrupt`].
pub fn object_ownership(bucket: &Bucket) -> Result<Ownership, StoreError> {
    let kind = DocumentKind::OwnershipControls;
    let ownership = bucket.settings.parsed(kind, decode::<Ownership>);
    let ownership = ownership.or_else(|_| unreadable("ownership controls of a bucket"))?;
    Ok(ownership.map_or_else(Ownership::default, |ownership| *ownership))
}

fn unreadable<T>(what: &'static str) -> Result<T, StoreError> {
    Err(StoreError::Corrupt { what: what.into() })
}
