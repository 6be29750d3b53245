//! The reason of a refusal, as the log has it, and as much of it as the sender is told.

use std::fmt;

use super::{Action, Resource};
use liteio_policy::Statement;

/// A request that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    pub reason: Reason,
    /// None when it does not matter.
    pub(super) action: Option<Action>,
    /// The ARN of the resource.
    pub(super) resource: String,
    /// The ARN of the sender; none of anonymous requests.
    pub(super) user: Option<String>,
    /// The sender belongs to the account of the resource, and may learn the reason.
    pub(super) is_told: bool,
}

/// The reason of a refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A statement denies it.
    Explicit {
        source: Source,
        /// Its `Sid` or its number.
        statement: String,
    },
    /// The request is anonymous, and nothing grants it to everybody.
    Anonymous,
    /// No policy of the sender allows it, and nothing else that would suffice.
    NoIdentityPolicy,
    /// The policy of the session does not allow it.
    NoSessionPolicy,
    /// The resource belongs to another account, and neither its policy nor its ACL allows it.
    NoResourcePolicy,
    /// A policy allows it to the public, and the public access block keeps it from them.
    PublicAccessBlock,
    /// The bucket is not that of the account that the request expects.
    UnexpectedOwner,
}

/// The policy that a statement is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// That of the bucket or vector bucket.
    Resource,
    /// One of the sender's, by its name.
    Identity(String),
    /// That of the session.
    Session,
}

impl Reason {
    /// The reason that `statement` gives.
    pub(super) fn explicit(source: Source, statement: &Statement) -> Reason {
        Reason::Explicit { source, statement: statement.label() }
    }

    /// As AWS words it ("Troubleshoot access denied errors" in the IAM user guide).
    fn words(&self, action: &str) -> String {
        let kind = match self {
            Reason::Explicit { source: Source::Resource, .. } => {
                "with an explicit deny in a resource-based policy"
            }
            Reason::Explicit { source: Source::Identity(_), .. } => {
                "with an explicit deny in an identity-based policy"
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
            Reason::NoResourcePolicy => {
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
    /// A refusal that has nothing to do with policies.
    pub(crate) fn new(reason: Reason, resource: Resource<'_>) -> Box<Denial> {
        let (action, resource) = (None, resource.arn());
        Box::new(Denial { reason, action, resource, user: None, is_told: false })
    }

    /// A statement denies it, or something that only the client can change.
    pub(crate) fn is_explicit(&self) -> bool {
        matches!(self.reason, Reason::Explicit { .. } | Reason::UnexpectedOwner)
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

/// The line for the log.
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
            Reason::PublicAccessBlock => formatter
                .write_str("allowed to the public, which the public access block keeps out"),
            Reason::UnexpectedOwner => formatter.write_str("not the bucket of the expected owner"),
        }
    }
}
