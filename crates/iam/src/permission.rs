//! Decisions about requests of IAM and STS, and the condition keys for them.

use std::borrow::Cow;

use super::error::{self, ApiResult};
use super::xml::time;
use liteio_identity::{AttachedPolicy, Role, User};
use liteio_policy::{CallerKind, Context, ContextKey, Grantee, Request, Value, Verdict};
use liteio_wire::origin::{DenialBy, Found, Peer};

/// The circumstances of a request.
pub struct Circumstances<'c> {
    /// The sender, if the request is signed.
    pub sender: Option<&'c User>,
    /// The other end of the connection.
    pub peer: Peer,
    /// The `User-Agent` header.
    pub user_agent: Option<&'c str>,
    /// The time in seconds since 1970.
    pub now: i64,
    /// Condition keys of the operation: `sts:ExternalId`, `iam:PolicyARN`, …
    pub more: Vec<(String, Vec<String>)>,
}

impl Context for Circumstances<'_> {
    fn value(&self, key: &ContextKey) -> Value<'_> {
        let one = |text: String| Value::One(Cow::Owned(text));
        if let Some(value) = self.sender.and_then(|sender| sender.value(key)) {
            return value;
        }
        match key {
            ContextKey::CurrentTime => one(time(self.now)),
            ContextKey::EpochTime => one(self.now.to_string()),
            ContextKey::SecureTransport => Value::bool(self.peer.secure),
            ContextKey::SourceIp => one(self.peer.address.ip().to_canonical().to_string()),
            ContextKey::UserAgent => Value::of(self.user_agent),
            other => self.of_operation(&other.to_string()),
        }
    }
}

impl Circumstances<'_> {
    fn of_operation(&self, name: &str) -> Value<'_> {
        let found = self.more.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        match found.map(|(_, values)| values.as_slice()) {
            None => Value::None,
            Some([value]) => Value::text(value),
            Some(values) => {
                Value::Many(values.iter().map(|it| Cow::Borrowed(it.as_str())).collect())
            }
        }
    }
}

/// The combined verdict of a set of policies: a deny of any is a deny of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Denied,
    Allowed,
    Neutral,
}

fn word_of(policies: &[AttachedPolicy], request: &Request<'_>) -> Word {
    let mut word = Word::Neutral;
    for attached in policies {
        match attached.policy.evaluate(request) {
            Verdict::Denied(statement) => {
                tracing::info!(
                    action = request.action,
                    policy = attached.name,
                    statement = statement.label(),
                    "denied"
                );
                return Word::Denied;
            }
            Verdict::Allowed(..) => word = Word::Allowed,
            Verdict::Neutral => {}
        }
    }
    word
}

/// The verdicts of the user's own policies and of its session policies.
fn words(user: &User, request: &Request<'_>) -> (Word, Word) {
    let own = match user.caller.kind {
        CallerKind::Root => Word::Allowed,
        _ => word_of(&user.policies, request),
    };
    let session = user.session_policies.as_ref();
    (own, session.map_or(Word::Allowed, |policies| word_of(policies, request)))
}

/// Decides about an operation on users or on the server.
///
/// # Errors
/// `AccessDenied`.
pub fn check(
    user: &User,
    action: &str,
    resource: &str,
    context: &Circumstances<'_>,
) -> ApiResult<()> {
    let request = Request { caller: Some(&user.caller), action, resource, aliases: &[], context };
    match words(user, &request) {
        (Word::Allowed, Word::Allowed) => Ok(()),
        words => Err(denied(user, action, resource, words == (Word::Denied, Word::Allowed))),
    }
}

/// `true` if a policy denies `action`, or a policy that narrows the user does not allow it.
pub fn is_denied(user: &User, action: &str, resource: &str, context: &Circumstances<'_>) -> bool {
    let request = Request { caller: Some(&user.caller), action, resource, aliases: &[], context };
    !matches!(words(user, &request), (Word::Allowed | Word::Neutral, Word::Allowed))
}

fn denied(user: &User, action: &str, resource: &str, by_statement: bool) -> error::ApiError {
    let disabled = user.policies.iter().find_map(|it| AttachedPolicy::disabled_group(&it.name));
    let because = match (by_statement, disabled) {
        (true, Some(group)) => format!("because the group {group} is disabled"),
        (true, None) => "with an explicit deny in an identity-based policy".to_owned(),
        (false, _) => format!("because no identity-based policy allows the {action} action"),
    };
    error::access_denied(format!(
        "User: {} is not authorized to perform: {action} on resource: {resource} {because}",
        user.caller.arn
    ))
}

/// Decides whether a user may assume a role, or perform `action` while doing so. The log gets the reason, unless the role
/// is another account's: the answer must not tell it from a missing one.
///
/// # Errors
/// `AccessDenied`.
pub(super) fn check_role(
    user: &User,
    action: &str,
    role: &Role,
    context: &Circumstances<'_>,
    found: &Found,
) -> ApiResult<()> {
    let resource = &*role.arn;
    let request = Request { caller: Some(&user.caller), action, resource, aliases: &[], context };
    let (own, session) = words(user, &request);
    let is_same = user.account.id == role.account.id;
    let reason = match role.trust.evaluate(&request) {
        Verdict::Denied(_) => "denied by the trust policy of the role",
        Verdict::Neutral => "the trust policy of the role does not allow it",
        _ if own == Word::Denied => "denied by a policy of the user",
        _ if session != Word::Allowed => "the policy of the session does not allow it",
        // A trust policy that names the account leaves the choice to the account's own policies; a
        // user of another account always needs both.
        Verdict::Allowed(_, grantee) => {
            if own == Word::Allowed || (is_same && grantee != Grantee::Account) {
                return Ok(());
            }
            "no policy of the user allows it"
        }
    };
    if is_same {
        found.note_denial(DenialBy::Sender, || format!("{action}: {reason}"));
    }
    Err(cannot_assume(&user.caller.arn, action, resource))
}

/// The refusal for a role, the same for a missing one.
pub(super) fn cannot_assume(who: &str, action: &str, role: &str) -> error::ApiError {
    let role: String = role.chars().take(256).collect();
    error::access_denied(format!(
        "User: {who} is not authorized to perform: {action} on resource: {role}"
    ))
}
