//! The decision: a pure function of documents and request, in the order documented by AWS ("Policy
//! evaluation logic" in the IAM user guide, "How Amazon S3 authorizes a request" in the S3 user
//! guide).
//!
//! 1. An explicit deny in any policy is final. Exception: the root user of an account always has
//!    access to the policies of its own buckets.
//! 2. A sender of the resource's account needs one allow: of its own policies or of the resource's
//!    policy. The root user has no policies and is allowed everything.
//! 3. A sender of another account needs two allows: one of its own policies, and one of the
//!    resource's policy or ACL.
//! 4. An anonymous sender needs an allow of the resource's policy or ACL.
//! 5. A session also needs an allow of its session policy, which narrows the rights of its user.
//!
//! An object of another account than its bucket's (only where ACLs apply) is a resource of that
//! account: the bucket's policy can deny access to it, but not allow it.

mod reason;
#[cfg(test)]
mod tests;

use std::cell::OnceCell;

pub(crate) use self::reason::{Denial, Reason, Source};
use super::action::Action;
use liteio_identity::{AttachedPolicy, User};
use liteio_policy::acl::{
    Acl, Grant, Grantee as AclGrantee, Granting, Group, Permission, PublicAccessBlock,
    permission_for,
};
use liteio_policy::{
    self as policy, Alias, Caller, Context, ContextKey, Grantee, Policy, Value, Verdict,
};

/// The documents of a resource that determine access to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Documents<'d> {
    /// The canonical id of the owner of the bucket or vector bucket.
    pub(super) owner_id: &'d str,
    /// The policy of the resource.
    pub(super) policy: Option<&'d Policy>,
    /// The policy of what is around the resource, which counts as much: a table is in a table bucket.
    pub(super) outer: Option<&'d Policy>,
    /// The access control lists, if they apply.
    pub(super) acls: Option<Acls<'d>>,
    /// The public access block, which limits all grants to the public.
    pub(super) block: PublicAccessBlock,
}

/// The access control lists of a bucket and of one object in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acls<'d> {
    /// The ACL of the bucket; `None` if it names its owner only.
    pub(super) bucket: Option<&'d Acl>,
    /// The object, if the action concerns an existing one.
    pub(super) object: Option<ObjectAcl<'d>>,
}

/// The access control list of an object.
#[derive(Clone, Copy, Debug)]
pub(super) struct ObjectAcl<'d> {
    /// The canonical id of the object's owner.
    pub(super) owner_id: &'d str,
    /// The ACL of the object; `None` if it names its owner only.
    pub(super) acl: Option<&'d Acl>,
}

/// The parts of a request that a decision depends on.
#[derive(Clone, Copy)]
pub(super) struct Request<'r> {
    /// The sender; `None` if anonymous.
    pub(super) user: Option<&'r User>,
    pub(super) action: Action,
    pub(super) resource: Resource<'r>,
    pub(super) context: &'r dyn Context,
}

/// The resource of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource<'r> {
    /// All resources.
    Any,
    /// A bucket, which may not exist yet.
    Bucket(&'r str),
    /// An object, which may not exist.
    Object { bucket: &'r str, key: &'r str },
    /// A resource by its ARN.
    Arn(&'r str),
    /// A resource by one of its ARNs, and by the others.
    Arns(&'r str, &'r [Alias<'r>]),
}

impl Resource<'_> {
    /// The ARN in policies.
    pub(super) fn arn(&self) -> String {
        match self {
            Resource::Any => "*".to_owned(),
            Resource::Bucket(bucket) => format!("arn:aws:s3:::{bucket}"),
            Resource::Object { bucket, key } => format!("arn:aws:s3:::{bucket}/{key}"),
            Resource::Arn(arn) | Resource::Arns(arn, _) => (*arn).to_owned(),
        }
    }

    /// Other ARNs of the same resource.
    fn aliases(&self) -> &[Alias<'_>] {
        match self {
            Resource::Arns(_, others) => others,
            _ => &[],
        }
    }
}

/// The kind of document that an allowed request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    /// A policy, or the ownership.
    Policy,
    /// An ACL: without it, the request would be refused.
    Acl,
}

/// The server whose rules say which action a request needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rules {
    /// AWS.
    #[default]
    Aws,
    /// MinIO: the action for the current version of an object allows all versions, and the action
    /// for a list of keys a list of versions.
    Minio,
}

/// Decides about `request` by `rules`. A deny of either action counts, so that nothing that a
/// policy protects on one of the servers is open.
pub(super) fn decide_by(
    rules: Rules,
    documents: Option<Documents<'_>>,
    request: &Request<'_>,
) -> Result<Basis, Box<Denial>> {
    let decided = decide(documents, request);
    let other = match rules {
        Rules::Aws => None,
        Rules::Minio => request.action.without_version(),
    };
    let Some(action) = other else { return decided };
    let by_other = decide(documents, &Request { action, ..*request });
    match (decided, by_other) {
        (Err(denial), _) if denial.is_explicit() => Err(denial),
        (_, Err(denial)) if denial.is_explicit() => Err(denial),
        (Ok(basis), _) | (Err(_), Ok(basis)) => Ok(basis),
        (Err(denial), Err(_)) => Err(denial),
    }
}

/// Decides about `request`. `documents` belong to the resource; an action on the account has none.
pub(super) fn decide(
    documents: Option<Documents<'_>>,
    request: &Request<'_>,
) -> Result<Basis, Box<Denial>> {
    let asked = Asked { request, arn: OnceCell::new() };
    asked.decide(documents.as_ref()).map_err(|reason| Box::new(asked.denial(reason, documents)))
}

/// Decides about the delivery of an object by a service of AWS, which needs an allow of the bucket's policy. For
/// access logs, a grant of the bucket's ACL to the log delivery group suffices where ACLs apply.
pub(super) fn decide_delivery(
    documents: &Documents<'_>,
    service: &Caller,
    resource: Resource<'_>,
    context: &dyn Context,
) -> Result<(), Box<Denial>> {
    let action = Action::PutObject;
    let request = policy::Request {
        caller: Some(service),
        action: action.name(),
        resource: &resource.arn(),
        aliases: resource.aliases(),
        context,
    };
    let verdict = documents.policy.map_or(Verdict::Neutral, |policy| policy.evaluate(&request));
    let by_acl = || {
        let acl = documents.acls.and_then(|acls| acls.bucket);
        acl.is_some_and(|acl| acl.grants().iter().any(is_for_log_delivery))
    };
    let reason = match verdict {
        Verdict::Allowed(..) => return Ok(()),
        Verdict::Denied(statement) => Reason::explicit(Source::Resource, statement),
        Verdict::Neutral if service.arn == LOG_DELIVERY && by_acl() => return Ok(()),
        Verdict::Neutral => Reason::NoDelivery,
    };
    Err(Box::new(Denial {
        reason,
        action: Some(action),
        resource: resource.arn(),
        user: Some(service.arn.clone()),
        is_told: false,
    }))
}

/// The service that delivers access logs.
pub(super) const LOG_DELIVERY: &str = "logging.s3.amazonaws.com";

/// `true` for a grant that lets the log delivery group write.
fn is_for_log_delivery(grant: &Grant) -> bool {
    grant.grantee == AclGrantee::Group(Group::LogDelivery)
        && matches!(grant.permission, Permission::Write | Permission::FullControl)
}

/// A request with derived values that are computed once.
struct Asked<'a, 'r> {
    request: &'a Request<'r>,
    arn: OnceCell<String>,
}

impl Asked<'_, '_> {
    fn decide(&self, documents: Option<&Documents<'_>>) -> Result<Basis, Reason> {
        let Request { user, action, .. } = *self.request;
        let is_root = user.is_some_and(User::is_root);
        let own =
            documents.is_some_and(|documents| user.is_some_and(|it| it.is_of(documents.owner_id)));
        // The fast path: it covers most requests of most servers.
        let is_plain = documents.is_some_and(Documents::is_plain);
        let is_narrowed = user.is_some_and(|user| user.session_policies.is_some());
        if is_root && own && is_plain && !is_narrowed {
            return Ok(Basis::Policy);
        }
        let policies = documents.into_iter().flat_map(|documents| documents.policies());
        let verdicts = policies.map(|policy| self.evaluate(policy));
        let by_resource = verdicts.reduce(of_both).unwrap_or(Verdict::Neutral);
        if let Verdict::Denied(statement) = by_resource
            && !(is_root && own && action.is_of_policy())
        {
            return Err(Reason::explicit(Source::Resource, statement));
        }
        let Some(user) = user else {
            return self.of_nobody(documents, &by_resource);
        };
        let by_user = self.by_policies(&user.policies, of_identity)?;
        let by_session = match &user.session_policies {
            None => true,
            Some(policies) => self.by_policies(policies, |_| Source::Session)?,
        };
        let by_user = by_user || is_root;
        let Some(documents) = documents else {
            return match (by_user, by_session) {
                (false, _) => Err(Reason::NoIdentityPolicy),
                (true, false) => Err(Reason::NoSessionPolicy),
                (true, true) => Ok(Basis::Policy),
            };
        };
        let owner_id = self.owner_of(documents);
        let is_of_bucket_owner = owner_id == documents.owner_id;
        let by_policy = match by_resource {
            Verdict::Allowed(_, grantee) if is_of_bucket_owner => Some(grantee),
            _ => None,
        };
        if !by_session {
            return Err(Reason::NoSessionPolicy);
        }
        if user.is_of(owner_id) {
            let by_policy = by_policy.is_some_and(|grantee| grantee != Grantee::Account);
            return match by_user || by_policy {
                true => Ok(Basis::Policy),
                false => Err(Reason::NoIdentityPolicy),
            };
        }
        if !by_user {
            return Err(Reason::NoIdentityPolicy);
        }
        // The account of the bucket does not count as public.
        let is_kept = documents.keeps_from_others() && !own;
        match by_policy {
            Some(_) if !is_kept => return Ok(Basis::Policy),
            _ => {}
        }
        match self.by_acl(documents, Some(user.canonical_id())) {
            true => Ok(Basis::Acl),
            false if by_policy.is_some() => Err(Reason::PublicAccessBlock),
            false => Err(Reason::NoResourcePolicy),
        }
    }

    /// Decides about an anonymous request.
    fn of_nobody(
        &self,
        documents: Option<&Documents<'_>>,
        by_resource: &Verdict<'_>,
    ) -> Result<Basis, Reason> {
        let Some(documents) = documents else { return Err(Reason::Anonymous) };
        let is_of_bucket_owner = self.owner_of(documents) == documents.owner_id;
        let by_policy =
            is_of_bucket_owner && matches!(by_resource, Verdict::Allowed(_, Grantee::Everyone));
        if by_policy && !documents.keeps_from_others() {
            return Ok(Basis::Policy);
        }
        if self.by_acl(documents, None) {
            return Ok(Basis::Acl);
        }
        Err(if by_policy { Reason::PublicAccessBlock } else { Reason::Anonymous })
    }

    /// The canonical id of the owner of the resource.
    fn owner_of<'d>(&self, documents: &Documents<'d>) -> &'d str {
        let object = documents.acls.and_then(|acls| acls.object);
        object.map_or(documents.owner_id, |object| object.owner_id)
    }

    /// `true` if an ACL allows the request to the account with this canonical id, or to a group
    /// that includes it.
    fn by_acl(&self, documents: &Documents<'_>, canonical_id: Option<&str>) -> bool {
        let Some(acls) = documents.acls else { return false };
        let public = documents.block.public_grants();
        let (acl, permission) = match permission_for(self.request.action.name()) {
            None => return false,
            Some(Granting::Bucket(permission)) => (acls.bucket, permission),
            Some(Granting::Object(permission)) => {
                (acls.object.and_then(|object| object.acl), permission)
            }
        };
        acl.is_some_and(|acl| acl.allows(canonical_id, permission, public).is_some())
    }

    /// `true` if one of the policies allows the request.
    fn by_policies(
        &self,
        policies: &[AttachedPolicy],
        source: impl Fn(String) -> Source,
    ) -> Result<bool, Reason> {
        let mut is_allowed = false;
        for attached in policies {
            match self.evaluate(&attached.policy) {
                Verdict::Denied(statement) => {
                    return Err(Reason::explicit(source(attached.name.clone()), statement));
                }
                Verdict::Allowed(..) => is_allowed = true,
                Verdict::Neutral => {}
            }
        }
        Ok(is_allowed)
    }

    fn evaluate<'p>(&self, policy: &'p Policy) -> Verdict<'p> {
        let Request { user, action, resource, context } = *self.request;
        policy.evaluate(&policy::Request {
            caller: user.map(|user| &user.caller),
            action: action.name(),
            resource: self.arn.get_or_init(|| resource.arn()),
            aliases: resource.aliases(),
            context: &WithSender { user, context },
        })
    }

    fn denial(&self, reason: Reason, documents: Option<Documents<'_>>) -> Denial {
        let Request { user, action, resource, .. } = *self.request;
        let is_own = |user: &&User| documents.is_none_or(|it| user.is_of(it.owner_id));
        Denial {
            reason,
            action: Some(action),
            resource: self.arn.get_or_init(|| resource.arn()).clone(),
            user: user.map(|user| user.caller.arn.clone()),
            is_told: user.filter(is_own).is_some(),
        }
    }
}

/// The source of a denial by the sender's policy of this name.
fn of_identity(name: String) -> Source {
    match AttachedPolicy::disabled_group(&name) {
        Some(group) => Source::DisabledGroup(group.to_owned()),
        None => Source::Identity(name),
    }
}

/// The verdict of two policies of a resource.
fn of_both<'p>(one: Verdict<'p>, other: Verdict<'p>) -> Verdict<'p> {
    match (one, other) {
        (Verdict::Denied(_), _) | (Verdict::Allowed(..), Verdict::Neutral) => one,
        (Verdict::Allowed(_, by_one), Verdict::Allowed(_, by_other)) if by_one >= by_other => one,
        _ => other,
    }
}

/// The context of a request, extended by facts about its sender.
struct WithSender<'c> {
    user: Option<&'c User>,
    context: &'c dyn Context,
}

impl Context for WithSender<'_> {
    fn value(&self, key: &ContextKey) -> Value<'_> {
        let of_sender = self.user.and_then(|user| user.value(key));
        of_sender.unwrap_or_else(|| self.context.value(key))
    }
}

impl Documents<'_> {
    fn policies(&self) -> impl Iterator<Item = &Policy> {
        self.policy.into_iter().chain(self.outer)
    }

    /// `true` without documents that allow or deny something.
    fn is_plain(&self) -> bool {
        self.policies().next().is_none() && self.acls.is_none()
    }

    /// `true` if the public access block withholds the grants of the policy from other accounts,
    /// because the policy is public.
    fn keeps_from_others(&self) -> bool {
        self.block.restrict_public_buckets && self.policies().any(Policy::is_public)
    }
}
