//! Requests in the form that policies evaluate.

use std::borrow::Cow;

use super::key::ContextKey;

/// The sender in the terms of policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The account, 12 digits.
    pub account: String,
    /// The canonical id of the account.
    pub canonical_id: String,
    /// `arn:aws:iam::ACCOUNT:root`, `arn:aws:iam::ACCOUNT:user/PATH/NAME`,
    /// `arn:aws:sts::ACCOUNT:assumed-role/ROLE/SESSION` or
    /// `arn:aws:sts::ACCOUNT:federated-user/NAME`.
    pub arn: String,
    /// Its other names in a `Principal`: for a session, first the ARN of its role; for a named root
    /// user, its ARN as a user; for a federated user, its identity provider.
    pub aliases: Vec<String>,
    /// `aws:userid`.
    pub user_id: String,
    /// `aws:username`, for users and for root users with a name.
    pub name: Option<String>,
    /// User, root user, role, service or anonymous sender.
    pub kind: CallerKind,
}

impl Caller {
    /// A service of AWS, by its name, such as `logging.s3.amazonaws.com`. It belongs to no account.
    pub fn service(name: &str) -> Caller {
        Caller {
            account: String::new(),
            canonical_id: String::new(),
            arn: name.to_owned(),
            aliases: Vec::new(),
            user_id: String::new(),
            name: None,
            kind: CallerKind::Service,
        }
    }
}

/// The kind of a sender, `aws:PrincipalType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallerKind {
    /// `Account`.
    Root,
    /// `User`.
    User,
    /// `AssumedRole`.
    AssumedRole,
    /// `FederatedUser`.
    FederatedUser,
    /// A service of AWS, for which this server acts; its ARN is its name.
    Service,
}

/// A request to be evaluated.
#[derive(Clone, Copy)]
pub struct Request<'r> {
    /// The sender; `None` if anonymous.
    pub caller: Option<&'r Caller>,
    /// The action, such as `s3:GetObject`.
    pub action: &'r str,
    /// The ARN of the resource, such as `arn:aws:s3:::bucket/key`; `*` for actions without one.
    pub resource: &'r str,
    /// Other ARNs of the same resource. A pattern of one of them is a pattern of the resource.
    pub aliases: &'r [Alias<'r>],
    /// Evaluated lazily, when a condition or a variable reads it.
    pub context: &'r dyn Context,
}

/// Another ARN of a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alias<'r> {
    /// One that any pattern may match.
    Arn(&'r str),
    /// One that ends with a random id, behind `base`. A pattern matches it that has the whole id, or that matches all ids. A pattern with a part of an id means a name: it would match a sixteenth of all ids by chance.
    WithId {
        /// The ARN up to the id.
        base: &'r str,
        /// The id.
        id: &'r str,
    },
}

/// The values of condition keys for one request.
pub trait Context {
    /// The value of `key`. It is never called for keys that follow from the [`Caller`].
    fn value(&self, key: &ContextKey) -> Value<'_>;
}

/// The value of a condition key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<'v> {
    /// The request has no such key.
    None,
    /// One value. Booleans are `true` and `false`; times ISO 8601 or seconds since 1970.
    One(Cow<'v, str>),
    /// Several values, or a possibly empty list.
    Many(Vec<Cow<'v, str>>),
}

impl<'v> Value<'v> {
    /// A single borrowed value.
    pub fn text(text: &'v str) -> Value<'v> {
        Value::One(Cow::Borrowed(text))
    }

    /// A single value, or none.
    pub fn of(text: Option<&'v str>) -> Value<'v> {
        text.map_or(Value::None, Value::text)
    }

    /// The value, if there is exactly one.
    pub(super) fn single(self) -> Option<Cow<'v, str>> {
        match self {
            Value::None => None,
            Value::One(value) => Some(value),
            Value::Many(mut values) if values.len() == 1 => values.pop(),
            Value::Many(_) => None,
        }
    }

    /// `true` if the request has the key. An empty list counts as missing.
    pub(super) fn is_there(&self) -> bool {
        match self {
            Value::None => false,
            Value::One(_) => true,
            Value::Many(values) => !values.is_empty(),
        }
    }

    /// The values.
    pub(super) fn as_slice(&self) -> &[Cow<'v, str>] {
        match self {
            Value::None => &[],
            Value::One(value) => std::slice::from_ref(value),
            Value::Many(values) => values,
        }
    }

    /// The value `true` or `false`.
    pub fn bool(flag: bool) -> Value<'v> {
        Value::text(if flag { "true" } else { "false" })
    }
}

impl<'r> Request<'r> {
    /// The value of a condition key: from the sender where it determines it, otherwise from the
    /// context.
    pub(super) fn value(&self, key: &ContextKey) -> Value<'r> {
        let caller = self.caller;
        if let Some(service) = caller.filter(|caller| caller.kind == CallerKind::Service) {
            return self.value_of_service(service, key);
        }
        match key {
            ContextKey::PrincipalArn => Value::of(caller.map(Caller::principal_arn)),
            ContextKey::PrincipalAccount => {
                Value::text(caller.map_or(ANONYMOUS, |caller| &caller.account))
            }
            ContextKey::PrincipalType => {
                Value::text(caller.map_or("Anonymous", |caller| caller.kind.name()))
            }
            ContextKey::UserId => Value::text(caller.map_or(ANONYMOUS, |caller| &caller.user_id)),
            ContextKey::UserName => Value::of(caller.and_then(|caller| caller.name.as_deref())),
            ContextKey::PrincipalIsAwsService | ContextKey::ViaAwsService => Value::bool(false),
            _ => self.context.value(key),
        }
    }

    /// The value of a condition key of a service: it is neither a user nor of an account.
    fn value_of_service(&self, service: &'r Caller, key: &ContextKey) -> Value<'r> {
        match key {
            ContextKey::PrincipalIsAwsService => Value::bool(true),
            ContextKey::ViaAwsService => Value::bool(false),
            ContextKey::PrincipalServiceName | ContextKey::PrincipalServiceNamesList => {
                Value::text(&service.arn)
            }
            ContextKey::PrincipalArn
            | ContextKey::PrincipalAccount
            | ContextKey::PrincipalType
            | ContextKey::UserId
            | ContextKey::UserName => Value::None,
            _ => self.context.value(key),
        }
    }
}

/// The account and the user id of anonymous senders.
pub(super) const ANONYMOUS: &str = "anonymous";

/// A context without values.
#[cfg(any(test, feature = "fuzzing"))]
pub struct NoContext;

#[cfg(any(test, feature = "fuzzing"))]
impl Context for NoContext {
    fn value(&self, _key: &ContextKey) -> Value<'_> {
        Value::None
    }
}

impl CallerKind {
    /// The value of `aws:PrincipalType`.
    pub fn name(self) -> &'static str {
        match self {
            CallerKind::Root => "Account",
            CallerKind::User => "User",
            CallerKind::AssumedRole => "AssumedRole",
            CallerKind::FederatedUser => "FederatedUser",
            CallerKind::Service => "Service",
        }
    }
}

impl Caller {
    /// The value of `aws:PrincipalArn`; for a session, the ARN of its role.
    pub(crate) fn principal_arn(&self) -> &str {
        match self.kind {
            CallerKind::AssumedRole => self.aliases.first().unwrap_or(&self.arn),
            CallerKind::Root
            | CallerKind::User
            | CallerKind::FederatedUser
            | CallerKind::Service => &self.arn,
        }
    }
}
