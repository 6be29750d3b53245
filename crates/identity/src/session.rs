//! Sessions: temporary keys, whose token contains the whole session.
//!
//! A token is sealed (AES-256-GCM) with a key that only this server has, for one data directory or
//! test space. So nothing is stored for a session, and a truncated, changed or foreign token does
//! not open. Its user or role is looked up in the directory at every use: when it is removed, so is
//! the session. The id of a configured user stays the same when its keys change, so its sessions
//! are also bound to its keys.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use liteio_store::{SecretKeys, StoreError, SystemRandom};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use zeroize::{Zeroize as _, Zeroizing};

use super::directory::Directory;
use super::key::{AccessKey, SecretKey};
use super::user::{AttachedPolicy, SessionFacts, User};
use liteio_policy::{Caller, CallerKind, Kind, Policy, PolicyError};

/// The purpose for which tokens are sealed, followed by the id of their directory.
const PURPOSE: &str = "session token";
/// Maximum bytes of a token. The longest issued ones have about 6 KiB.
const TOKEN_BYTES_MAX: usize = 12 << 10;
/// Maximum number of cached opened tokens.
const KEPT_MAX: usize = 1024;

/// The contents of a token.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Session {
    /// The access key of the session, and its secret.
    key: String,
    secret: SecretText,
    /// The unique id of the user or role; for a root user, the account.
    pub of: String,
    /// The fingerprint of the keys of a configured user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keys: Option<String>,
    /// The name of a role's session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The start, in seconds since 1970.
    pub issued: i64,
    /// The end, in seconds since 1970.
    pub expires: i64,
    /// Inline policies that narrow the session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policies: Vec<String>,
    /// ARNs of managed policies that narrow it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub policy_arns: Vec<String>,
    /// The provider that vouched for a web identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    /// The source identity, if one was set.
    pub source_identity: Option<String>,
    /// `true` for a session of the console, which may call IAM.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_console: bool,
}

/// A secret in a token. Its memory is cleared when it is dropped.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
struct SecretText(String);

impl Drop for SecretText {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[hidden]")
    }
}

/// The issued keys of a session.
pub struct Issued {
    /// The temporary access key.
    pub access_key: String,
    /// Its secret key.
    pub secret_key: String,
    /// The sealed session token.
    pub token: String,
    /// The end of the session, in seconds since 1970.
    pub expires: i64,
}

/// The reason why a token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenError {
    /// It was not issued here, or for another key, or its user is gone.
    Invalid,
    /// It has expired.
    Expired,
}

impl Session {
    /// A session that starts now, without name and policies.
    pub fn new(of: &str, issued: i64, seconds: u32) -> Session {
        Session {
            key: String::new(),
            secret: SecretText::default(),
            of: of.to_owned(),
            keys: None,
            name: None,
            issued,
            expires: issued.saturating_add(seconds.into()),
            policies: Vec::new(),
            policy_arns: Vec::new(),
            provider: None,
            source_identity: None,
            is_of_console: false,
        }
    }
}

/// Issues and opens session tokens.
#[derive(Debug, Default)]
pub struct Sessions {
    keys: Option<SecretKeys>,
    purpose: String,
    opened: Mutex<HashMap<String, Kept>>,
}

/// A cached opened token.
#[derive(Debug)]
struct Kept {
    /// The serial number of the directory in which its user was found.
    directory: u64,
    expires: i64,
    key: Arc<AccessKey>,
}

impl Sessions {
    /// Sessions whose tokens are sealed with these keys, for the data directory or space with this
    /// id. Servers may share a master key.
    pub fn new(keys: SecretKeys, directory: &[u8]) -> Sessions {
        let id = base64_simd::URL_SAFE_NO_PAD.encode_to_string(directory);
        Sessions { keys: Some(keys), purpose: format!("{PURPOSE} {id}"), opened: Mutex::default() }
    }

    /// Issues the keys of a session.
    ///
    /// # Errors
    /// [`StoreError`] without random bytes.
    pub(super) fn issue(
        &self,
        directory: &Directory,
        mut session: Session,
    ) -> Result<Issued, StoreError> {
        session.keys = directory.user_of_id(&session.of).and_then(|it| keys_of(directory, it));
        let keys = self.keys.as_ref().ok_or(StoreError::NoMasterKey)?;
        session.key = super::key::random_id("ASIA")?;
        session.secret = SecretText(super::key::random_secret()?);
        let json = Zeroizing::new(serde_json::to_vec(&session).unwrap_or_default());
        let sealed = keys.seal(&self.purpose, &json, &SystemRandom)?;
        let token = base64_simd::URL_SAFE_NO_PAD.encode_to_string(sealed);
        Ok(Issued {
            access_key: session.key,
            secret_key: std::mem::take(&mut session.secret.0),
            token,
            expires: session.expires,
        })
    }

    /// The key of the session in `token`, if its id is `access_key`.
    pub(super) fn key(
        &self,
        directory: &Directory,
        access_key: &str,
        token: &str,
        now: i64,
    ) -> Result<Arc<AccessKey>, TokenError> {
        if let Some(kept) = self.opened.lock().get(token)
            && kept.directory == directory.serial()
        {
            return match kept.key.id == access_key {
                true if now < kept.expires => Ok(Arc::clone(&kept.key)),
                true => Err(TokenError::Expired),
                false => Err(TokenError::Invalid),
            };
        }
        let session = self.open(token).filter(|session| session.key == access_key);
        let mut session = session.ok_or(TokenError::Invalid)?;
        if now >= session.expires {
            return Err(TokenError::Expired);
        }
        let user = user_of(directory, &session).ok_or(TokenError::Invalid)?;
        let secret = SecretKey::new(std::mem::take(&mut session.secret.0))
            .map_err(|_| TokenError::Invalid)?;
        let key = AccessKey::new(session.key, secret, Arc::new(user));
        let mut key = key.map_err(|_| TokenError::Invalid)?;
        key.token = Some(token.to_owned());
        let key = Arc::new(key);
        let mut opened = self.opened.lock();
        if opened.len() >= KEPT_MAX {
            opened.clear();
        }
        let (directory, expires) = (directory.serial(), session.expires);
        opened.insert(token.to_owned(), Kept { directory, expires, key: Arc::clone(&key) });
        Ok(key)
    }

    /// A session of the holder of `key` from now on, narrowed by `policy`, for at most `seconds`; `None`
    /// if the token of the key does not open.
    ///
    /// A session that is narrowed already keeps its policies instead: those of a session add up, so
    /// another one would widen it.
    pub(super) fn narrowed(
        &self,
        key: &AccessKey,
        now: i64,
        seconds: u32,
        policy: String,
    ) -> Option<Session> {
        let mut session = match &key.token {
            None => Session::new(&key.user.caller.user_id, now, seconds),
            Some(token) => self.open(token)?,
        };
        session.expires = session.expires.min(now.saturating_add(seconds.into()));
        session.is_of_console = false;
        if session.policies.is_empty() && session.policy_arns.is_empty() {
            session.policies.push(policy);
        }
        Some(session)
    }

    /// `true` for a token of this access key, expired or not, whose user is in the directory.
    /// Directories may share a master key, so opening the token is not sufficient proof.
    pub(super) fn issued(&self, directory: &Directory, access_key: &str, token: &str) -> bool {
        let session = self.open(token).filter(|session| session.key == access_key);
        session.is_some_and(|session| user_of(directory, &session).is_some())
    }

    fn open(&self, token: &str) -> Option<Session> {
        if token.len() > TOKEN_BYTES_MAX {
            return None;
        }
        let sealed = base64_simd::URL_SAFE_NO_PAD.decode_to_vec(token).ok()?;
        let json = Zeroizing::new(self.keys.as_ref()?.open(&self.purpose, &sealed)?);
        serde_json::from_slice(&json).ok()
    }
}

/// The user of a session, with the current rights of its user or role.
fn user_of(directory: &Directory, session: &Session) -> Option<User> {
    let narrowed = narrowing(directory, session).ok()?;
    let facts = SessionFacts {
        issued: session.issued,
        provider: session.provider.clone(),
        source_identity: session.source_identity.clone(),
        is_of_console: session.is_of_console,
        expires: session.expires,
    };
    if let Some(user) = directory.user_of_id(&session.of) {
        if session.keys != keys_of(directory, user) {
            return None;
        }
        let mut user = User::clone(user);
        user.session = Some(facts);
        user.session_policies = narrowed;
        return Some(user);
    }
    let role = directory.role_of_id(&session.of)?;
    let name = session.name.as_ref()?;
    let account = &role.account;
    let caller = Caller {
        account: account.id.clone(),
        canonical_id: account.canonical_id.clone(),
        arn: format!("arn:aws:sts::{}:assumed-role/{}/{name}", account.id, role.name),
        aliases: vec![role.arn.clone()],
        user_id: format!("{}:{name}", role.unique_id),
        name: None,
        kind: CallerKind::AssumedRole,
    };
    Some(User {
        name: caller.arn.clone(),
        caller,
        account: Arc::clone(account),
        tags: role.tags.clone(),
        policies: Arc::clone(&role.policies),
        session_policies: narrowed,
        session: Some(facts),
    })
}

/// The fingerprint of the long-term keys of a configured user; `None` for a user created at run
/// time, whose id is random, and whose keys are created and deleted one by one.
fn keys_of(directory: &Directory, user: &User) -> Option<String> {
    if user.name == user.caller.arn {
        return None;
    }
    let mut keys: Vec<_> = directory.long_term_keys(&user.caller.user_id).collect();
    keys.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    let mut digest = Sha256::new_with_prefix("liteio keys of a session:");
    for text in keys.iter().flat_map(|key| [key.id.as_str(), key.secret.expose()]) {
        digest.update((text.len() as u64).to_be_bytes());
        digest.update(text);
    }
    Some(base64_simd::URL_SAFE_NO_PAD.encode_to_string(digest.finalize()))
}

/// The policies that narrow the session. A missing managed policy denies everything, because it may
/// have denied anything.
fn narrowing(
    directory: &Directory,
    session: &Session,
) -> Result<Option<Arc<[AttachedPolicy]>>, PolicyError> {
    if session.policies.is_empty() && session.policy_arns.is_empty() {
        return Ok(None);
    }
    let mut policies = Vec::new();
    for text in &session.policies {
        let policy = Policy::parse(text.as_bytes(), Kind::Session)?;
        let name = "session policy".to_owned();
        policies.push(AttachedPolicy { name, policy: Arc::new(policy) });
    }
    for arn in &session.policy_arns {
        policies.push(match directory.policy(arn) {
            Some(policy) => AttachedPolicy { name: arn.clone(), policy },
            None => AttachedPolicy::missing(arn.clone()),
        });
    }
    Ok(Some(policies.into()))
}

#[cfg(test)]
mod tests {
    use liteio_store::{EncryptionKey, KeyRing};

    use super::super::current::{CurrentDirectory, KeyError};
    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn keys(byte: u8) -> SecretKeys {
        let ring = KeyRing::new(vec![EncryptionKey::new([byte; 32])], Vec::new());
        SecretKeys::new(&ring, None)
    }

    fn directory() -> Directory {
        Directory::of_roots(&[("alice", "alice-key", "alice-secret")]).expect("valid")
    }

    #[test]
    fn a_token_is_good_until_its_last_second_for_its_key_alone() {
        let current = CurrentDirectory::new(directory(), Sessions::new(keys(1), b"here"));
        let account = current.now().find("alice-key").expect("alice").user.account.id.clone();
        let issued = current.begin(Session::new(&account, NOW, 900)).expect("random bytes");
        let other = current.begin(Session::new(&account, NOW, 900)).expect("random bytes");
        let at = |token: &str, now: i64| current.key(&issued.access_key, Some(token), now);
        for _ in 0..2 {
            let key = at(&issued.token, NOW + 899).expect("valid");
            assert_eq!((key.secret.expose(), &*key.user.name), (&*issued.secret_key, "alice"));
            assert!(key.user.session.is_some() && key.user.session_policies.is_none());
            let expired = KeyError::Token(TokenError::Expired);
            assert_eq!(at(&issued.token, NOW + 900).expect_err("expired"), expired);
        }
        let knows = |token: Option<&str>| current.knows(&issued.access_key, token);
        assert!(knows(Some(&issued.token)), "at any time");
        assert!(!knows(Some(&other.token)) && !knows(None));
        let invalid = KeyError::Token(TokenError::Invalid);
        assert_eq!(at(&other.token, NOW).expect_err("another key"), invalid);
        let unknown = current.key(&issued.access_key, None, NOW).expect_err("no token");
        assert_eq!(unknown, KeyError::Unknown);
        assert_eq!(
            current.key("alice-key", Some(&issued.token), NOW).expect_err("not its key"),
            invalid
        );
        // A server with another master key, another directory of the same one, other keys.
        let of_roots = |roots| Directory::of_roots(roots).expect("valid");
        let rows = [
            (directory(), keys(2), &b"here"[..], false),
            (directory(), keys(1), &b"there"[..], false),
            (directory(), keys(1), &b""[..], false),
            (of_roots(&[("alice", "alice-key", "changed-secret")]), keys(1), &b"here"[..], false),
            (directory(), keys(1), &b"here"[..], true),
        ];
        for (directory, keys, id, is_valid) in rows {
            let elsewhere = CurrentDirectory::new(directory, Sessions::new(keys, id));
            let found = elsewhere.key(&issued.access_key, Some(&issued.token), NOW);
            assert_eq!(found.map(drop), if is_valid { Ok(()) } else { Err(invalid) });
            assert_eq!(elsewhere.knows(&issued.access_key, Some(&issued.token)), is_valid);
        }
        let before = at(&issued.token, NOW).expect("valid");
        assert!(current.again(&before, NOW + 899).is_ok());
        assert!(current.again(&before, NOW + 900).is_err());
        // A policy of the session is gone.
        let narrowed = Session {
            policy_arns: vec!["arn:gone".to_owned()],
            ..Session::new(&account, NOW, 900)
        };
        let narrowed = current.begin(narrowed).expect("random bytes");
        let narrowed = current.key(&narrowed.access_key, Some(&narrowed.token), NOW);
        let policies = narrowed.expect("valid").user.session_policies.clone().expect("narrowed");
        assert!(matches!(&*policies, [gone] if gone.name == "arn:gone"));
        // The user is gone.
        current.replace(Directory::default());
        assert!(current.again(&before, NOW).is_err());
        assert_eq!(at(&issued.token, NOW).expect_err("nobody"), invalid);
        assert!(!knows(Some(&issued.token)));
    }
}
