//! The policy language of AWS and its access control lists: documents in, verdicts out. Pure.
//!
//! [`Policy::parse`] checks a document once, by the rules of its [`Kind`]. [`Policy::evaluate`] then answers a
//! [`Request`] without parsing again. A verdict is about the statements of one policy; the crate `access` combines
//! policies and ACLs.
//!
//! Source: "IAM JSON policy reference" of AWS's IAM User Guide.
//!
//! ```text
//! document ──► json ──► statement: principal, action, resource, condition ──► Policy
//!                                                                               │ evaluate
//! Request (caller, action, resource) ──► Context: values on demand ─────────────┴─► Verdict
//! ```
//!
//! | Module | Content |
//! |---|---|
//! | [`acl`] | Access control lists, object ownership, the public access block: values and rules |
//! | `json`, `error`, `limits` | JSON without repeated names; refusals of a document; lengths of documents |
//! | `statement`, `principal`, `action`, `resource`, `condition` | A statement and its elements |
//! | `key`, `operand`, `pattern`, `template` | Condition keys; numbers, times, addresses and ARNs; `*` and `?`; texts with variables |
//! | `catalogue` | Actions of S3 and S3 Vectors by resource |
//! | `request` | The request and its facts, as policies see them |
//! | `public` | AWS's "meaning of public" |
//! | `fuzzing` | Checks for fuzz targets (feature `fuzzing`) |
//!
//! The crate must not know any other crate of the workspace, HTTP, the store or the clock. `acl` does not read
//! policies.
//!
//! ```
//! use liteio_policy::{Context, ContextKey, Kind, Policy, Request, Value, Verdict};
//!
//! let document = br#"{"Version": "2012-10-17", "Statement": [
//!     {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject",
//!         "Resource": "arn:aws:s3:::photos/*"},
//!     {"Effect": "Deny", "Principal": "*", "Action": "s3:*",
//!         "Resource": ["arn:aws:s3:::photos", "arn:aws:s3:::photos/*"],
//!         "Condition": {"Bool": {"aws:SecureTransport": "false"}}}
//! ]}"#;
//! let policy = Policy::parse(document, Kind::Bucket("photos"))?;
//!
//! // The facts of a request, by condition key.
//! struct Facts {
//!     is_secure: bool,
//! }
//! impl Context for Facts {
//!     fn value(&self, key: &ContextKey) -> Value<'_> {
//!         match key {
//!             ContextKey::SecureTransport => Value::bool(self.is_secure),
//!             _ => Value::None,
//!         }
//!     }
//! }
//!
//! for (is_secure, is_allowed) in [(true, true), (false, false)] {
//!     let request = Request {
//!         caller: None,
//!         action: "s3:GetObject",
//!         resource: "arn:aws:s3:::photos/cat.jpg",
//!         aliases: &[],
//!         context: &Facts { is_secure },
//!     };
//!     assert_eq!(matches!(policy.evaluate(&request), Verdict::Allowed(..)), is_allowed);
//! }
//! # Ok::<(), liteio_policy::PolicyError>(())
//! ```

pub mod acl;
mod action;
mod catalogue;
mod condition;
mod error;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod json;
mod key;
mod limits;
mod operand;
mod pattern;
mod principal;
mod public;
mod request;
mod resource;
mod statement;
mod template;
#[cfg(test)]
mod tests;

pub use self::catalogue::is_s3_action;
pub use self::error::PolicyError;
pub use self::key::ContextKey;
pub use self::limits::{
    BUCKET_POLICY_BYTES_MAX, GROUP_POLICY_CHARACTERS_MAX, MANAGED_POLICY_CHARACTERS_MAX,
    ROLE_POLICY_CHARACTERS_MAX, SESSION_POLICY_CHARACTERS_MAX, TRUST_POLICY_CHARACTERS_MAX,
    USER_POLICY_CHARACTERS_MAX, characters,
};
#[cfg(any(test, feature = "fuzzing"))]
pub use self::request::NoContext;
pub use self::request::{Alias, Caller, CallerKind, Context, Request, Value};
pub use self::statement::Statement;

use self::error::{Faults, Stage};
use self::json::Json;
use self::statement::Effect;

/// The policy that replaces an unreadable one.
const UNREADABLE: &[u8] = br#"{"Version": "2012-10-17", "Statement": {"Sid": "UnreadablePolicy",
    "Effect": "Deny", "Principal": "*", "Action": "*", "Resource": "*"}}"#;

/// The kind of a policy, which determines the permitted elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind<'k> {
    /// The policy of the bucket with this name.
    Bucket(&'k str),
    /// The policy of the vector bucket with this ARN.
    VectorBucket(&'k str),
    /// The policy of the table bucket with this ARN.
    TableBucket(&'k str),
    /// The policy of the table with this ARN.
    Table(&'k str),
    /// A policy of users, groups or roles: the rights of an identity.
    Identity,
    /// The trust policy of a role: the principals that may assume it.
    Trust,
    /// A session policy: narrows the rights of its user or role.
    Session,
}

/// A checked policy, ready for evaluation.
#[derive(Debug)]
pub struct Policy {
    statements: Box<[Statement]>,
    is_public: bool,
    asks_for_existing_tags: bool,
}

/// The verdict of one policy.
#[derive(Clone, Copy, Debug)]
pub enum Verdict<'p> {
    /// The statement denies; no other policy can override it.
    Denied(&'p Statement),
    /// The statement allows, and none denies.
    Allowed(&'p Statement, Grantee),
    /// No statement applies to the request.
    Neutral,
}

/// The way in which the allowing statement names the sender. If several statements allow, the
/// strongest counts: the caller, then everyone, then the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grantee {
    /// The account: its root ARN, its 12 digits or its canonical id. The account's own policies
    /// determine which of its users have the right.
    Account,
    /// `*`
    Everyone,
    /// The user, role or session itself. In a policy without principals: its holder.
    Caller,
}

impl Policy {
    /// Parses and checks a document. Length limits, except for buckets, are the caller's task.
    ///
    /// # Errors
    /// The words of AWS, and a detail that tells what to change.
    pub fn parse(text: &[u8], kind: Kind<'_>) -> Result<Policy, PolicyError> {
        Policy::read(text, kind, false)
    }

    /// Parses and checks the document of a new managed policy, which has the version 2012-10-17.
    ///
    /// # Errors
    /// As [`Policy::parse`].
    pub fn parse_managed(text: &[u8]) -> Result<Policy, PolicyError> {
        Policy::read(text, Kind::Identity, true)
    }

    fn read(text: &[u8], kind: Kind<'_>, is_managed: bool) -> Result<Policy, PolicyError> {
        let mut faults = Faults::new(matches!(kind, Kind::Identity | Kind::Session));
        let policy = Policy::read_into(text, kind, is_managed, &mut faults);
        match faults.first() {
            Some(fault) => Err(fault),
            None => policy.ok_or_else(|| PolicyError::new("Invalid policy syntax")),
        }
    }

    /// Reads a policy; `None` if there are faults.
    fn read_into(
        text: &[u8],
        kind: Kind<'_>,
        is_managed: bool,
        faults: &mut Faults,
    ) -> Option<Policy> {
        let Elements { version, statements } = faults.note(elements(text, kind))?;
        let variables = faults.note(has_variables(version.as_ref()));
        if is_managed && variables == Some(false) {
            let message = "Policy document must be version 2012-10-17 or greater.";
            faults.note::<()>(Err(PolicyError::new(message).at(Stage::Version)));
        }
        let statements = faults.note(match statements {
            None => Err(PolicyError::new("Missing required field Statement")),
            Some(Json::List(statements)) if statements.is_empty() => {
                Err(PolicyError::new("Could not parse the policy: Statement is empty!"))
            }
            Some(Json::List(statements)) => Ok(statements),
            Some(statement) => Ok(vec![statement]),
        })?;
        if let Kind::Identity | Kind::Trust | Kind::Session = kind {
            faults.note(check_sids(&statements));
        }
        let variables = variables.unwrap_or_default();
        let mut read = Vec::with_capacity(statements.len());
        for (number, json) in (1..).zip(&statements) {
            read.extend(Statement::parse(json, number, kind, variables, faults));
        }
        let statements = read.into_boxed_slice();
        let mut keys = statements.iter().flat_map(Statement::keys);
        let asks_for_existing_tags =
            keys.any(|key| matches!(key, ContextKey::ExistingObjectTag(_)));
        drop(keys);
        let is_public = statements.iter().any(public::is_public);
        Some(Policy { statements, is_public, asks_for_existing_tags })
    }

    /// The replacement for an unreadable policy of a resource, written by a version
    /// that checked less or knew more. It denies everything, because the denials of the original
    /// are unknown. The root user of the account can still replace it.
    pub fn unreadable(kind: Kind<'_>) -> Policy {
        Policy::parse(UNREADABLE, kind).expect("it is one of any bucket")
    }

    /// The verdict about a request. An explicit deny wins over every allow.
    pub fn evaluate<'p>(&'p self, request: &Request<'_>) -> Verdict<'p> {
        let mut verdict = Verdict::Neutral;
        let mut most = None;
        for statement in &self.statements {
            let Some(grantee) = statement.applies(request) else { continue };
            match statement.effect {
                Effect::Deny => return Verdict::Denied(statement),
                Effect::Allow if Some(grantee) > most => {
                    most = Some(grantee);
                    verdict = Verdict::Allowed(statement, grantee);
                }
                Effect::Allow => {}
            }
        }
        verdict
    }

    /// `true` if a statement allows the public, as defined in AWS's "The meaning of public".
    pub fn is_public(&self) -> bool {
        self.is_public
    }

    /// `true` if a condition or variable reads the tags of the requested object.
    pub fn asks_for_existing_tags(&self) -> bool {
        self.asks_for_existing_tags
    }
}

/// `true` if the version has variables (2012-10-17). A missing version is the older one.
fn has_variables(version: Option<&Json>) -> Result<bool, PolicyError> {
    match version {
        None => Ok(false),
        Some(Json::Text(version)) if version == "2012-10-17" => Ok(true),
        Some(Json::Text(version)) if version == "2008-10-17" => Ok(false),
        Some(_) => Err(PolicyError::new("The policy must contain a valid version string")),
    }
}

/// The elements of a document.
struct Elements {
    version: Option<Json>,
    statements: Option<Json>,
}

/// Reads the elements of a document.
fn elements(text: &[u8], kind: Kind<'_>) -> Result<Elements, PolicyError> {
    if let Kind::Bucket(_) | Kind::VectorBucket(_) | Kind::TableBucket(_) | Kind::Table(_) = kind {
        if text.len() > BUCKET_POLICY_BYTES_MAX {
            return Err(PolicyError::new(
                "Policy exceeds the maximum allowed document size of 20480 bytes",
            ));
        }
        if text.first() != Some(&b'{') {
            return Err(PolicyError::new(
                "Policies must be valid JSON and the first byte must be '{'",
            ));
        }
    }
    let Json::Object(elements) = json::parse(text)? else {
        return Err(PolicyError::new("Invalid policy syntax: a policy must be an object"));
    };
    let mut found = Elements { version: None, statements: None };
    for (name, value) in elements {
        match name.as_str() {
            "Version" => found.version = Some(value),
            "Statement" => found.statements = Some(value),
            "Id" if matches!(value, Json::Text(_)) => {}
            "Id" => return Err(PolicyError::new("Invalid policy syntax: an Id must be a text")),
            _ => return Err(PolicyError::new(format!("Unknown field {name}"))),
        }
    }
    Ok(found)
}

/// Refuses duplicate `Sid`s where IAM does. S3 accepts them, and clients send them.
fn check_sids(statements: &[Json]) -> Result<(), PolicyError> {
    let mut sids: Vec<&str> = statements.iter().filter_map(statement::sid_of).collect();
    sids.retain(|sid| !sid.is_empty());
    sids.sort_unstable();
    match sids.windows(2).find(|pair| pair[0] == pair[1]) {
        None => Ok(()),
        Some(pair) => Err(PolicyError::about(
            "Statement IDs (SID) in a single policy must be unique.",
            pair[0],
        )
        .at(Stage::Sids)),
    }
}
