//! Access keys and their secrets.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use liteio_store::{RandomSource as _, StoreError, SystemRandom};

use zeroize::Zeroizing;

use super::user::User;
use super::{IdentityError, fail};

/// Shortest access key, in bytes.
const ACCESS_KEY_BYTES_MIN: usize = 3;
/// Longest access key, in bytes.
const ACCESS_KEY_BYTES_MAX: usize = 128;
/// Shortest secret key, in bytes.
const SECRET_KEY_BYTES_MIN: usize = 8;
pub(super) const LOCALSTACK_SECRET_KEY: &str = "test";

/// A secret key. `Debug` hides it, and it has no `Display`, so it is never printed. Its memory is
/// cleared when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretKey(Zeroizing<String>);

impl SecretKey {
    /// A secret of at least 8 characters.
    ///
    /// # Errors
    /// [`IdentityError`] if it is too short or has a control character.
    pub fn new(secret: impl Into<String>) -> Result<SecretKey, IdentityError> {
        let secret = Zeroizing::new(secret.into());
        if secret.len() < SECRET_KEY_BYTES_MIN {
            return fail(format!("secret_key is shorter than {SECRET_KEY_BYTES_MIN} characters"));
        }
        if secret.chars().any(char::is_control) {
            return fail("secret_key holds a control character");
        }
        Ok(SecretKey(secret))
    }

    /// LocalStack's well-known secret, which is shorter than the minimum.
    pub(super) fn of_localstack() -> SecretKey {
        SecretKey(Zeroizing::new(LOCALSTACK_SECRET_KEY.to_owned()))
    }

    /// The secret, for signing.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[hidden]")
    }
}

/// An access key: a key pair with its user.
#[derive(Debug, Clone)]
pub struct AccessKey {
    /// The public id, which names the key in a signature; unique in a directory.
    pub id: String,
    /// The secret, known only to the user and this server.
    pub secret: SecretKey,
    /// The user who signs with it.
    pub user: Arc<User>,
    /// The session token, without which the keys of a session are refused.
    pub(super) token: Option<String>,
    /// The time from which it is refused, in seconds since 1970; `None` if it does not expire.
    pub(super) expires: Option<i64>,
    /// `true` for a service account. It cannot start sessions: they are bound to the user, so they
    /// would have rights that a policy takes from the key, and could outlive it.
    pub is_of_service: bool,
    /// A serial number, unique among all keys of this process, even with equal ids: caches of a
    /// removed key are never used for another one that reuses the id.
    pub serial: u64,
}

impl AccessKey {
    /// A key pair of `user`.
    ///
    /// # Errors
    /// [`IdentityError`] if the id is too short or too long, or has characters that no signature
    /// can carry.
    pub fn new(
        id: impl Into<String>,
        secret: SecretKey,
        user: Arc<User>,
    ) -> Result<AccessKey, IdentityError> {
        static NEXT_SERIAL: AtomicU64 = AtomicU64::new(0);
        let id = id.into();
        check_key_id(&id)?;
        let serial = NEXT_SERIAL.fetch_add(1, Ordering::Relaxed);
        Ok(AccessKey { id, secret, user, token: None, expires: None, is_of_service: false, serial })
    }

    /// The same key pair as a service account, refused from `expires` (in seconds since 1970) on.
    pub fn of_service(self, expires: Option<i64>) -> AccessKey {
        AccessKey { expires, is_of_service: true, ..self }
    }

    /// `true` if it is refused before a key of its user with this end, `None` for one without. By
    /// creating or changing such a key it would outlive itself.
    pub fn ends_before(&self, user_id: &str, end: Option<i64>) -> bool {
        let ends_before = |own| end.is_none_or(|end| own < end);
        self.user.caller.user_id == user_id && self.expires.is_some_and(ends_before)
    }
}

/// Checks the id of a key.
///
/// # Errors
/// [`IdentityError`] if it is too short or too long, or has characters that no signature can carry.
pub fn check_key_id(id: &str) -> Result<(), IdentityError> {
    let bytes = id.len();
    if !(ACCESS_KEY_BYTES_MIN..=ACCESS_KEY_BYTES_MAX).contains(&bytes) {
        return fail(format!(
            "access_key has {bytes} characters; it needs {ACCESS_KEY_BYTES_MIN} to \
             {ACCESS_KEY_BYTES_MAX}"
        ));
    }
    let carried = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'/' | b',' | b'"');
    match id.bytes().all(carried) {
        true => Ok(()),
        false => fail("access_key may hold visible ASCII characters only, without / , \""),
    }
}

/// A new id in AWS's format: a prefix for its kind, and 16 or more characters.
///
/// # Errors
/// [`StoreError::Io`] without random bytes.
pub fn random_id(prefix: &str) -> Result<String, StoreError> {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut bytes = [0; 17];
    SystemRandom.fill(&mut bytes)?;
    let characters = bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)]));
    // Access keys have 20 characters, other ids 21.
    let more = if matches!(prefix, "AKIA" | "ASIA") { 16 } else { 17 };
    Ok(prefix.chars().chain(characters.take(more)).collect())
}

/// A new secret of 40 characters.
///
/// # Errors
/// [`StoreError::Io`] without random bytes.
pub fn random_secret() -> Result<String, StoreError> {
    let mut bytes = [0; 30];
    SystemRandom.fill(&mut bytes)?;
    Ok(base64_simd::STANDARD.encode_to_string(bytes))
}
