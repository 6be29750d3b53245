//! The reason of a refusal for the log, and the part of it that the sender is told.

use std::fmt;

use super::{Action, Resource};
use liteio_policy::Statement;
use liteio_wire::origin::DenialBy;

/// A refused request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    pub reason: Reason,
    /// The action; `None` if it does not matter.
    pub(super) action: Option<Action>,
    /// The ARN of the resource.
    pub(super) resource: String,
    /// The ARN of the sender; `None` if anonymous.
    pub(super) user: Option<String>,
    /// `true` if the sender belongs to the account of the resource, and so may learn the reason.
    pub(super) is_told: bool,
}

/// The reason of a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A statement denies the request.
    Explicit {
        source: Source,
        /// The `Sid` of the statement, or its number.
        statement: String,
    },
    /// The request is anonymous, and nothing grants it to the public.
    Anonymous,
    /// No policy of the sender allows it, nor does another document that would suffice.
    NoIdentityPolicy,
    /// The session policy does not allow it.
    NoSessionPolicy,
    /// The resource belongs to another account, and neither its policy nor its ACL allows it.
    NoResourcePolicy,
    /// Neither the policy nor the ACL of the bucket allows it to the service.
    NoDelivery,
    /// A policy allows it to the public, but the public access block withholds that.
    PublicAccessBlock,
    /// The bucket belongs to another account than the request expects.
    UnexpectedOwner,
}

/// The policy of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The policy of the bucket or vector bucket.
    Resource,
    /// A policy of the sender, by name.
    Identity(String),
    /// A group of the sender by name, whose members may do nothing because it is disabled.
    DisabledGroup(String),
    /// The session policy.
    Session,
}

impl Reason {
    /// The reason for a denial by `statement`.
    pub(super) fn explicit(source: Source, statement: &Statement) -> Reason {
        Reason::Explicit { source, statement: statement.label() }
    }

    /// The reason in AWS's words ("Troubleshoot access denied errors" in the IAM user guide).
    fn words(&self, action: &str) -> String {
        let kind = match self {
            Reason::Explicit { source: Source::Resource, .. } => {
                "with an explicit deny in a resource-based policy"
            }
            Reason::Explicit { source: Source::Identity(_), .. } => {
                "with an explicit deny in an identity-based policy"
            }
            Reason::Explicit { source: Source::DisabledGroup(group), .. } => {
                return format!("because the group {group} is disabled");
            }
            Reason::Explicit { source: Source::Session, .. } => {
                "with an explicit deny in a session policy"
            }
            Reason::NoIdentityPolicy | Reason::Anonymous | Reason::UnexpectedOwner => {
                return format!("because no identity-based policy allows the {} action", action);
            }
            Reason::NoSessionPolicy => {
                return format!("because no session policy allows the {} action", action);
            }
            Reason::NoResourcePolicy | Reason::NoDelivery => {
                return format!("because no resource-based policy allows the {} action", action);
            }
            Reason::PublicAccessBlock => {
                "because public policies are prevented by the RestrictPublicBuckets setting in S3 Block \
                 Public Access"
            }
        };
        kind.to_owned()
    }
}

impl Denial {
    /// A refusal independent of policies.
    pub(crate) fn new(reason: Reason, resource: Resource<'_>) -> Box<Denial> {
        let (action, resource) = (None, resource.arn());
        Box::new(Denial { reason, action, resource, user: None, is_told: false })
    }

    /// `true` if a statement denies it, or only the client can resolve it.
    pub(crate) fn is_explicit(&self) -> bool {
        matches!(self.reason, Reason::Explicit { .. } | Reason::UnexpectedOwner)
    }

    /// The account whose policies the line for the log names.
    pub fn by(&self) -> DenialBy {
        match &self.reason {
            Reason::Explicit { source: Source::Resource, .. } => DenialBy::Owner,
            Reason::Explicit { .. } => DenialBy::Sender,
            _ => DenialBy::Nobody,
        }
    }

    /// The message for the sender.
    pub fn message(&self) -> String {
        match (&self.user, self.action.map(Action::name)) {
            (Some(user), Some(action)) if self.is_told => format!(
                "User: {user} is not authorized to perform: {action} on resource: \"{}\" {}",
                self.resource,
                self.reason.words(action)
            ),
            _ => "Access Denied".to_owned(),
        }
    }
}

/// Formats the line for the log.
impl fmt::Display for Denial {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(action) = self.action {
            write!(formatter, "{}: ", action.name())?;
        }
        match &self.reason {
            Reason::Explicit { source, statement } => match source {
                Source::Resource => {
                    write!(formatter, "denied by the policy of the bucket, {statement}")
                }
                Source::Identity(name) => {
                    write!(formatter, "denied by the policy {name:?}, {statement}")
                }
                Source::DisabledGroup(group) => {
                    write!(formatter, "the group {group:?} of the user is disabled")
                }
                Source::Session => {
                    write!(formatter, "denied by the policy of the session, {statement}")
                }
            },
            Reason::Anonymous => formatter.write_str("not signed, and granted to nobody"),
            Reason::NoIdentityPolicy => formatter.write_str("no policy of the user allows it"),
            Reason::NoSessionPolicy => {
                formatter.write_str("the policy of the session does not allow it")
            }
            Reason::NoResourcePolicy => {
                formatter.write_str("of another account, and neither policy nor ACL allows it")
            }
            Reason::NoDelivery => formatter
                .write_str("neither the policy nor the ACL of the bucket allows it to the service"),
            Reason::PublicAccessBlock => formatter
                .write_str("allowed to the public, which the public access block keeps out"),
            Reason::UnexpectedOwner => formatter.write_str("not the bucket of the expected owner"),
        }
    }
}
