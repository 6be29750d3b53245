//! The policy language of AWS: documents in, verdicts out. Pure: nothing of HTTP, the store or the clock.
//!
//! [`Policy::parse`] checks a document once, with the rules of its [`Kind`]. [`Policy::evaluate`] then
//! answers a [`Request`] without another look at the text. A policy only says what its own statements
//! decide; combining policies is the business of `access`.

mod error;
mod key;
mod request;

pub(crate) use self::error::PolicyError;
pub(crate) use self::key::ContextKey;
pub(crate) use self::request::{Caller, CallerKind, Context, NoContext, Request, Value};

/// The longest policy of a bucket or vector bucket, in bytes.
pub(crate) const BUCKET_POLICY_BYTES_MAX: usize = 20_480;
/// The longest managed policy, in characters without white space.
pub(crate) const MANAGED_POLICY_CHARACTERS_MAX: usize = 6_144;
/// The longest inline policies of one user together, in characters without white space.
pub(crate) const USER_POLICY_CHARACTERS_MAX: usize = 2_048;
/// The longest inline policies of one group together, in characters without white space.
pub(crate) const GROUP_POLICY_CHARACTERS_MAX: usize = 5_120;
/// The longest inline policies of one role together, in characters without white space.
pub(crate) const ROLE_POLICY_CHARACTERS_MAX: usize = 10_240;
/// The longest trust policy of a role, in characters without white space.
pub(crate) const TRUST_POLICY_CHARACTERS_MAX: usize = 2_048;
/// The longest session policy, in characters.
pub(crate) const SESSION_POLICY_CHARACTERS_MAX: usize = 2_048;

/// The place of a policy, which decides what it may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind<'k> {
    /// Of the bucket with this name.
    Bucket(&'k str),
    /// Of the vector bucket with this ARN.
    VectorBucket(&'k str),
    /// Of users and groups; what roles may do.
    Identity,
    /// Of roles: who may assume them.
    Trust,
    /// Of sessions: narrows what their user or role may do.
    Session,
}

/// A policy, checked and ready to be evaluated.
#[derive(Debug)]
pub(crate) struct Policy {
    statements: Vec<Statement>,
}

/// A statement of a policy.
#[derive(Debug)]
pub(crate) struct Statement {
    sid: Option<String>,
    number: usize,
}

/// The answer of one policy.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Verdict<'p> {
    /// The statement denies; nothing can allow what it denies.
    Denied(&'p Statement),
    /// The statement allows, and none denies.
    Allowed(&'p Statement, Grantee),
    /// No statement is about the request.
    Neutral,
}

/// The way in which the allowing statement names the sender. Of several statements that allow, the one
/// counts that grants most: to the caller, then to everyone, then to the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Grantee {
    /// The account: its root ARN, its 12 digits or its canonical id. The account's own policies decide
    /// which of its users may.
    Account,
    /// `*`, or all but some.
    Everyone,
    /// The user, role or session itself; in policies without principals: whoever they are attached to.
    Caller,
}

impl Policy {
    /// Checks a document.
    ///
    /// # Errors
    /// One line that says what to change.
    pub(crate) fn parse(text: &[u8], kind: Kind<'_>) -> Result<Policy, PolicyError> {
        let _ = (text, kind);
        Ok(Policy { statements: Vec::new() })
    }

    /// The verdict about a request: an explicit deny wins.
    pub(crate) fn evaluate<'p>(&'p self, request: &Request<'_>) -> Verdict<'p> {
        let _ = request;
        Verdict::Neutral
    }

    /// A statement allows to the public, by AWS's "The meaning of public".
    pub(crate) fn is_public(&self) -> bool {
        false
    }

    /// A condition or variable needs the tags of the object that the request is about.
    pub(crate) fn asks_for_existing_tags(&self) -> bool {
        false
    }
}

impl Statement {
    /// The `Sid`, or the number in the policy from 1: for the log.
    pub(crate) fn label(&self) -> String {
        match &self.sid {
            Some(sid) => sid.clone(),
            None => format!("statement {}", self.number),
        }
    }
}
