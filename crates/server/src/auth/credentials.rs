//! The table of users with their keys.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use sha2::{Digest, Sha256};

/// Shortest access key, in bytes.
const ACCESS_KEY_BYTES_MIN: usize = 3;
/// Longest access key, in bytes.
const ACCESS_KEY_BYTES_MAX: usize = 128;
/// Shortest secret key, in bytes.
const SECRET_KEY_BYTES_MIN: usize = 8;
/// Longest canonical id, in bytes. Those that are made here have 64.
const ID_BYTES_MAX: usize = 128;

/// A secret key. It is never printed: `Debug` hides it, and there is no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SecretKey(String);

impl SecretKey {
    pub(super) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[hidden]")
    }
}

/// One user: an owner of buckets, with one pair of keys.
#[derive(Debug, Clone)]
pub(crate) struct User {
    /// Name for people and logs; unique.
    pub(crate) name: String,
    /// The access key, which names the user in a signature; unique.
    pub(crate) access_key: String,
    /// The secret key, known to the user and to this server alone.
    pub(crate) secret_key: SecretKey,
    /// Canonical id, the owner in listings and access control lists; unique.
    pub(crate) id: String,
    /// Display name beside the id.
    pub(crate) display_name: String,
}

impl User {
    /// A user whose id and display name follow from the access key and the name.
    ///
    /// # Errors
    /// [`CredentialsError`] when a key is empty, too short or holds characters that no signature can
    /// carry.
    pub(crate) fn new(
        name: impl Into<String>,
        access_key: impl Into<String>,
        secret_key: impl Into<String>,
    ) -> Result<User, CredentialsError> {
        let (name, access_key) = (name.into(), access_key.into());
        let id = default_id(&access_key);
        let display_name = name.clone();
        let secret_key = SecretKey(secret_key.into());
        let user = User { name, access_key, secret_key, id, display_name };
        user.check()?;
        Ok(user)
    }

    fn check(&self) -> Result<(), CredentialsError> {
        if self.name.is_empty() || self.name.chars().any(char::is_control) {
            return fail("a user has an empty or unprintable name");
        }
        let name = &self.name;
        let key_bytes = self.access_key.len();
        if !(ACCESS_KEY_BYTES_MIN..=ACCESS_KEY_BYTES_MAX).contains(&key_bytes) {
            return fail(format!(
                "user {name:?}: access_key has {key_bytes} characters; it needs \
                 {ACCESS_KEY_BYTES_MIN} to {ACCESS_KEY_BYTES_MAX}"
            ));
        }
        let carried = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'/' | b',' | b'"');
        if !self.access_key.bytes().all(carried) {
            return fail(format!(
                "user {name:?}: access_key may hold visible ASCII characters only, without / , \""
            ));
        }
        if self.secret_key.0.len() < SECRET_KEY_BYTES_MIN {
            return fail(format!(
                "user {name:?}: secret_key is shorter than {SECRET_KEY_BYTES_MIN} characters"
            ));
        }
        if self.secret_key.0.chars().any(char::is_control) {
            return fail(format!("user {name:?}: secret_key holds a control character"));
        }
        let id_valid = (1..=ID_BYTES_MAX).contains(&self.id.len())
            && self.id.bytes().all(|byte| byte.is_ascii_graphic());
        if !id_valid {
            return fail(format!(
                "user {name:?}: id needs 1 to {ID_BYTES_MAX} visible ASCII characters"
            ));
        }
        if self.display_name.chars().any(char::is_control) {
            return fail(format!("user {name:?}: display_name holds a control character"));
        }
        Ok(())
    }
}

/// The canonical id of a user who was given none: stable, and telling nothing but the access key.
fn default_id(access_key: &str) -> String {
    let digest = Sha256::new_with_prefix("liteio:").chain_update(access_key).finalize();
    hex_simd::encode_to_string(digest.as_slice(), hex_simd::AsciiCase::Lower)
}

/// All users, found by access key.
#[derive(Debug, Clone, Default)]
pub(crate) struct Credentials {
    users: Vec<Arc<User>>,
    by_access_key: HashMap<String, u32>,
}

/// Credentials that cannot be used: one line that says what to change, without any secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct CredentialsError(String);

fn fail<T>(message: impl Into<String>) -> Result<T, CredentialsError> {
    Err(CredentialsError(message.into()))
}

impl Credentials {
    /// A table of these users.
    ///
    /// # Errors
    /// [`CredentialsError`] when there is no user, or two share a name, an access key or an id.
    pub(crate) fn new(users: Vec<User>) -> Result<Credentials, CredentialsError> {
        if users.is_empty() {
            return fail("there is no user");
        }
        let (mut names, mut ids) = (HashSet::new(), HashSet::new());
        let mut by_access_key = HashMap::with_capacity(users.len());
        for (index, user) in users.iter().enumerate() {
            user.check()?;
            let (name, access_key) = (&user.name, &user.access_key);
            if !names.insert(name.as_str()) {
                return fail(format!("two users are named {name:?}"));
            }
            // Before the id, which is made from it where none is given.
            let index = u32::try_from(index).or_else(|_| fail("there are too many users"))?;
            if by_access_key.insert(access_key.clone(), index).is_some() {
                return fail(format!("two users have the access_key {access_key:?}"));
            }
            if !ids.insert(user.id.as_str()) {
                return fail(format!("user {name:?} has the id of another user"));
            }
        }
        Ok(Credentials { users: users.into_iter().map(Arc::new).collect(), by_access_key })
    }

    /// Reads a credentials file: any number of `[[user]]` tables with `name`, `access_key`,
    /// `secret_key` and, if wanted, `id` and `display_name`.
    ///
    /// # Errors
    /// [`CredentialsError`] with one line that names the user or the line of the file.
    pub(crate) fn from_toml(text: &str) -> Result<Credentials, CredentialsError> {
        // The parser's own report quotes the line, which may hold a secret: only its words are kept.
        let document: toml::Table = text.parse().or_else(|error: toml::de::Error| {
            let line = error.span().map_or(0, |span| 1 + count_lines(text, span.start));
            fail(format!("line {line}: not valid TOML"))
        })?;
        if let Some(other) = document.keys().find(|key| *key != "user") {
            return fail(format!("unknown key {other:?}; only [[user]] tables are expected"));
        }
        let Some(toml::Value::Array(tables)) = document.get("user") else {
            return fail("there is no [[user]] table");
        };
        let users = tables.iter().enumerate().map(|(index, table)| read_user(index + 1, table));
        Credentials::new(users.collect::<Result<_, _>>()?)
    }

    /// The user with this access key.
    #[must_use]
    pub(crate) fn find(&self, access_key: &str) -> Option<&Arc<User>> {
        self.find_indexed(access_key).map(|(_, user)| user)
    }

    /// The user with this access key, and its place in the table.
    pub(super) fn find_indexed(&self, access_key: &str) -> Option<(u32, &Arc<User>)> {
        let index = *self.by_access_key.get(access_key)?;
        self.users.get(index as usize).map(|user| (index, user))
    }
}

fn count_lines(text: &str, end: usize) -> usize {
    text.as_bytes().iter().take(end).filter(|byte| **byte == b'\n').count()
}

/// One `[[user]]` table. Written out by hand, because derived errors quote wrong values.
fn read_user(number: usize, value: &toml::Value) -> Result<User, CredentialsError> {
    let Some(table) = value.as_table() else {
        return fail(format!("user {number} is not a [[user]] table"));
    };
    const KNOWN: [&str; 5] = ["name", "access_key", "secret_key", "id", "display_name"];
    if let Some(other) = table.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        return fail(format!("user {number}: unknown key {other:?}"));
    }
    let optional = |key: &str| match table.get(key) {
        None => Ok(None),
        Some(toml::Value::String(text)) if text.is_empty() => {
            fail(format!("user {number}: {key} is empty"))
        }
        Some(toml::Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => fail(format!("user {number}: {key} must be a string in quotes")),
    };
    let required = |key: &str| match optional(key)? {
        Some(text) => Ok(text),
        None => fail(format!("user {number}: {key} is missing")),
    };
    let mut user = User::new(required("name")?, required("access_key")?, required("secret_key")?)?;
    if let Some(id) = optional("id")? {
        user.id = id;
    }
    if let Some(display_name) = optional("display_name")? {
        user.display_name = display_name;
    }
    Ok(user)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_USERS: &str = r#"
        [[user]]
        name = "alice"
        access_key = "alice-key"
        secret_key = "alice-secret"

        [[user]]
        name = "bob"
        access_key = "bob-key"
        secret_key = "bob-secret"
        id = "79a59df900b949e55d96a1e698fbacedfd6e09d98eacf8f8d5218e7cd47ef2be"
        display_name = "Bob B."
    "#;

    #[test]
    fn a_file_gives_its_users() {
        let credentials = Credentials::from_toml(TWO_USERS).expect("valid file");
        let alice = credentials.find("alice-key").expect("alice is known");
        assert_eq!(alice.name, "alice");
        assert_eq!(alice.display_name, "alice");
        assert_eq!(alice.id.len(), 64);
        assert!(alice.id.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let bob = credentials.find("bob-key").expect("bob is known");
        assert_eq!(bob.display_name, "Bob B.");
        assert!(bob.id.starts_with("79a59df9"));
        assert!(credentials.find("alice").is_none());
    }

    #[test]
    fn a_secret_is_never_printed() {
        let credentials = Credentials::from_toml(TWO_USERS).expect("valid file");
        let printed = format!("{credentials:?}");
        assert!(printed.contains("alice-key") && printed.contains("[hidden]"));
        assert!(!printed.contains("alice-secret") && !printed.contains("bob-secret"));
    }

    #[test]
    fn errors_say_in_one_line_what_to_change_and_show_no_secret() {
        let user = |name: &str, access_key: &str, secret_key: &str| {
            format!(
                "[[user]]\nname={name:?}\naccess_key={access_key:?}\nsecret_key={secret_key:?}\n"
            )
        };
        let rows = [
            (String::new(), "there is no [[user]] table"),
            ("user = 1".into(), "there is no [[user]] table"),
            ("[[users]]\nname = 'a'".into(), "unknown key \"users\""),
            ("[[user]]\nname = 'a\nsecret_key = 'hush-hush'".into(), "line 2: not valid TOML"),
            ("[[user]]\nname = 'a'\naccess_key = 'abc'".into(), "secret_key is missing"),
            ("[[user]]\nname = 'a'\nsecret_key = 987654321".into(), "access_key is missing"),
            (
                "[[user]]\nname = 'a'\naccess_key = 'abc'\nsecret_key = 987654321".into(),
                "secret_key must be a string",
            ),
            (user("", "abc", "hush-hush"), "name is empty"),
            (user("a", "ab", "hush-hush"), "access_key has 2 characters"),
            (user("a", "a/b/c", "hush-hush"), "visible ASCII"),
            (user("a", "abc", "hush"), "secret_key is shorter than 8"),
            (user("a", "abc", "hush-hush") + &user("a", "abd", "hush-hush"), "are named \"a\""),
            (user("a", "abc", "hush-hush") + &user("b", "abc", "hush-hush"), "access_key \"abc\""),
            (user("a", "abc", "hush-hush") + &user("b", "abc", "hush-hush"), "access_key \"abc\""),
            (user("a", "abc", "hush-hush") + "colour = 'red'", "unknown key \"colour\""),
            (user("a", "abc", "hush-hush") + "id = ''", "id is empty"),
        ];
        for (text, expected) in rows {
            let error = Credentials::from_toml(&text).expect_err("refused").to_string();
            // Two users that share a key also share the id made from it; either line will do.
            let same_id = expected.starts_with("access_key \"abc\"") && error.contains("the id of");
            assert!(error.contains(expected) || same_id, "{error:?} lacks {expected:?}");
            assert!(!error.contains('\n') && !error.contains("hush") && !error.contains("98765"));
        }
    }
}
