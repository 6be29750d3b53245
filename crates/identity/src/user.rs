//! Users: the senders of signed requests, and their policies.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use jiff::Timestamp;
use sha2::{Digest, Sha256};

use super::account::Account;
use super::{IdentityError, fail};
use liteio_policy::{Caller, CallerKind, ContextKey, Kind, Policy, Value};

/// Maximum characters of the name of a user or any other named entity (as AWS).
const NAME_CHARACTERS_MAX: usize = 64;

/// The end of the name of the policy of a disabled group. Names of policies have no blank.
const DISABLED: &str = " (disabled)";

/// A policy attached to a user.
#[derive(Debug, Clone)]
pub struct AttachedPolicy {
    /// The name, for the log.
    pub name: String,
    /// The document.
    pub policy: Arc<Policy>,
}

impl AttachedPolicy {
    /// The replacement for a policy that cannot be found or read. It denies everything, because the
    /// original may have denied anything.
    pub fn missing(name: String) -> AttachedPolicy {
        AttachedPolicy::deny_all(name)
    }

    /// The policy for members of a disabled group, who may do nothing.
    pub fn of_disabled_group(group: &str) -> AttachedPolicy {
        AttachedPolicy::deny_all(format!("{group}{DISABLED}"))
    }

    /// The group, if this is the name of a policy [of a disabled one](AttachedPolicy::of_disabled_group).
    pub fn disabled_group(name: &str) -> Option<&str> {
        name.strip_suffix(DISABLED)
    }

    /// A policy that denies everything.
    fn deny_all(name: String) -> AttachedPolicy {
        static DENY_ALL: LazyLock<Arc<Policy>> = LazyLock::new(|| {
            let text = br#"{"Version":"2012-10-17","Statement":{"Effect":"Deny","Action":"*","Resource":"*"}}"#;
            Arc::new(Policy::parse(text, Kind::Identity).expect("a valid policy"))
        });
        AttachedPolicy { name, policy: Arc::clone(&DENY_ALL) }
    }
}

/// The sender of signed requests: the root user of an account, another user of it, or a session.
#[derive(Debug, Clone)]
pub struct User {
    /// The sender in the terms of policies.
    pub caller: Caller,
    /// The owner of everything that the user creates.
    pub account: Arc<Account>,
    /// The name for people and logs, unique in a directory. Configured users have names; all others
    /// are named by their ARN, so that none has the name of a user in another account.
    pub name: String,
    /// The tags, which policies read as `aws:PrincipalTag/…`.
    pub tags: Vec<(String, String)>,
    /// The policies of the user and its groups; for a session, the policies of its role. Empty for
    /// a root user, whom no policy binds.
    pub policies: Arc<[AttachedPolicy]>,
    /// The session policies: the session may do only what one of them allows. `None` narrows
    /// nothing.
    pub session_policies: Option<Arc<[AttachedPolicy]>>,
    /// The session, if the request was signed with the keys of one.
    pub session: Option<SessionFacts>,
}

/// The condition keys and the kind of a session.
#[derive(Debug, Clone)]
pub struct SessionFacts {
    /// The start in seconds since 1970: `aws:TokenIssueTime`.
    pub issued: i64,
    /// `aws:FederatedProvider`.
    pub provider: Option<String>,
    /// `aws:SourceIdentity`.
    pub source_identity: Option<String>,
    /// `true` for a session of the console.
    pub is_of_console: bool,
    /// The end, in seconds since 1970.
    pub expires: i64,
}

impl User {
    /// The root user of an account, with its own name.
    ///
    /// # Errors
    /// [`IdentityError`] if the name is empty or unprintable.
    pub fn root(name: &str, account: Arc<Account>) -> Result<User, IdentityError> {
        if name.is_empty() || name.chars().any(char::is_control) {
            return fail("the name is empty or unprintable");
        }
        let Account { id, canonical_id, .. } = &*account;
        let caller = Caller {
            account: id.clone(),
            canonical_id: canonical_id.clone(),
            arn: format!("arn:aws:iam::{id}:root"),
            aliases: vec![format!("arn:aws:iam::{id}:user/{name}")],
            user_id: id.clone(),
            name: Some(name.to_owned()),
            kind: CallerKind::Root,
        };
        let name = name.to_owned();
        Ok(User {
            caller,
            account,
            name,
            tags: Vec::new(),
            policies: Arc::default(),
            session_policies: None,
            session: None,
        })
    }

    /// A user of an account, with the rights that `policies` grant.
    ///
    /// # Errors
    /// [`IdentityError`] if AWS does not permit the name.
    pub fn member(
        name: &str,
        account: Arc<Account>,
        policies: Arc<[AttachedPolicy]>,
    ) -> Result<User, IdentityError> {
        check_name(name)?;
        let unique_id = unique_id("AIDA", &[&account.id, name]);
        let user = User::made(name, "/", unique_id, account, policies, Vec::new());
        Ok(User { name: name.to_owned(), ..user })
    }

    /// A user of an account, created at run time, with a path that begins and ends with `/`.
    pub fn made(
        name: &str,
        path: &str,
        unique_id: String,
        account: Arc<Account>,
        policies: Arc<[AttachedPolicy]>,
        tags: Vec<(String, String)>,
    ) -> User {
        let Account { id, canonical_id, .. } = &*account;
        let caller = Caller {
            account: id.clone(),
            canonical_id: canonical_id.clone(),
            arn: format!("arn:aws:iam::{id}:user{path}{name}"),
            aliases: Vec::new(),
            user_id: unique_id,
            name: Some(name.to_owned()),
            kind: CallerKind::User,
        };
        let name = caller.arn.clone();
        User { caller, account, name, tags, policies, session_policies: None, session: None }
    }
}

impl User {
    /// `true` for the root user of its account, or a session of it.
    pub fn is_root(&self) -> bool {
        self.caller.kind == CallerKind::Root
    }

    /// `true` for keys of the user with this unique id whose rights a policy narrows. By creating
    /// or changing other keys of the user, they would gain all of its rights.
    pub fn is_narrowed_to_less_than(&self, user_id: &str) -> bool {
        self.is_narrowed() && self.caller.user_id == user_id
    }

    /// `true` for keys whose rights a policy narrows. A session of the console has all rights of its
    /// user: its policy names an address only.
    pub fn is_narrowed(&self) -> bool {
        let is_of_console = self.session.as_ref().is_some_and(|session| session.is_of_console);
        self.session_policies.is_some() && !is_of_console
    }

    /// The name without account and path, as MinIO tells it; a session has that of its user. Sessions of roles, which are no
    /// users, have their ARN.
    pub fn plain_name(&self) -> &str {
        self.caller.name.as_deref().unwrap_or(&self.name)
    }

    /// The canonical id of its account.
    pub fn canonical_id(&self) -> &str {
        &self.account.canonical_id
    }

    /// `true` if it belongs to the account with this canonical id.
    pub fn is_of(&self, canonical_id: &str) -> bool {
        self.account.canonical_id == canonical_id
    }

    /// The value of a condition key about the user or its session that its [`Caller`] does not
    /// determine; `None` for other keys.
    pub fn value(&self, key: &ContextKey) -> Option<Value<'_>> {
        let session = self.session.as_ref();
        Some(match key {
            ContextKey::TokenIssueTime => {
                let issued = session.and_then(|it| Timestamp::from_second(it.issued).ok());
                issued.map_or(Value::None, |issued| Value::One(Cow::Owned(issued.to_string())))
            }
            ContextKey::FederatedProvider => {
                Value::of(session.and_then(|it| it.provider.as_deref()))
            }
            ContextKey::SourceIdentity => {
                Value::of(session.and_then(|it| it.source_identity.as_deref()))
            }
            ContextKey::PrincipalTag(tag) => {
                let found = self.tags.iter().find(|(key, _)| key.eq_ignore_ascii_case(tag));
                Value::of(found.map(|(_, value)| value.as_str()))
            }
            _ => return None,
        })
    }
}

/// Checks a name: AWS permits letters, digits and `+=,.@-_`.
pub(super) fn check_name(name: &str) -> Result<(), IdentityError> {
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"+=,.@-_".contains(&byte);
    match (1..=NAME_CHARACTERS_MAX).contains(&name.len()) && name.bytes().all(is_of_name) {
        true => Ok(()),
        false => fail(format!(
            "the name needs 1 to {NAME_CHARACTERS_MAX} letters, digits and characters of +=,.@-_"
        )),
    }
}

/// The default unique id of an entity: AWS's prefix for its kind, and 17 characters derived from
/// `parts`.
pub(super) fn unique_id(prefix: &str, parts: &[&str]) -> String {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut hasher = Sha256::new_with_prefix("liteio unique id:");
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    let digest = hasher.finalize();
    let characters =
        digest.iter().take(17).map(|byte| char::from(ALPHABET[usize::from(byte % 32)]));
    prefix.chars().chain(characters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account() -> Arc<Account> {
        let (id, name) = ("123456789012".to_owned(), "alice".to_owned());
        Arc::new(Account::new(id, "alice-id".to_owned(), name).expect("valid"))
    }

    #[test]
    fn a_root_user_and_a_member_are_named_as_aws_names_them() {
        let root = User::root("alice", account()).expect("valid");
        assert_eq!(root.caller.arn, "arn:aws:iam::123456789012:root");
        assert_eq!(root.caller.aliases, ["arn:aws:iam::123456789012:user/alice"]);
        assert_eq!((&*root.caller.user_id, root.caller.kind), ("123456789012", CallerKind::Root));
        let member = User::member("bob", account(), Arc::default()).expect("valid");
        assert_eq!(member.caller.arn, "arn:aws:iam::123456789012:user/bob");
        assert_eq!(member.caller.canonical_id, "alice-id");
        let user_id = &member.caller.user_id;
        assert!(user_id.starts_with("AIDA") && user_id.len() == 21, "{user_id}");
        assert_ne!(*user_id, unique_id("AIDA", &["123456789012", "carol"]));
        for wrong in ["", "a b", "a/b", "é", &"a".repeat(65)] {
            assert!(User::member(wrong, account(), Arc::default()).is_err(), "{wrong}");
        }
        assert!(User::root("two words", account()).is_ok());
        assert!(User::root("a\nb", account()).is_err());
    }
}
