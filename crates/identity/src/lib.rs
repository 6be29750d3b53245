//! Accounts, users, access keys and sessions, as values.
//!
//! A [`Directory`] holds all of them at one moment and is immutable. [`CurrentDirectory`] holds the current one: a
//! change builds a new directory and replaces the old one in one step, so a removed key is refused from then on.
//!
//! ```text
//!  Account ◄── User ◄── AccessKey
//!     ▲         └── AttachedPolicy …
//!     └── owner of buckets
//! ```
//!
//! Every account has a root user, whom no policy of the account restricts. Its other users have the rights that
//! their policies grant.
//!
//! | Module | Content |
//! |---|---|
//! | `account`, `user`, `role`, `key` | The values: accounts and canonical ids, users with their policies, roles, access keys with their secrets |
//! | `directory`, `current` | All of them at one moment; the directory that is current, with its sessions |
//! | `session` | Temporary keys, whose sealed token holds their session |
//! | `managed` | Managed policies of AWS that exist without being created |
//! | `issuer` | Issuers of web identities (OpenID Connect) |
//! | `file` | The users of a credentials file (text in, directory out) |
//! | [`tables`] | TOML tables that may hold secrets; no error quotes a line or a value |
//!
//! The crate must not know requests, signatures, files or the source of users: `auth` authenticates against a
//! directory, and `iam` builds it from the configuration and from records.
//!
//! ```
//! use liteio_identity::{CurrentDirectory, Sessions, canonical_id_of_key, only_user, random_id};
//!
//! let directory = only_user("alice-key", "alice's secret", None)?;
//! let users = CurrentDirectory::new(directory, Sessions::default());
//!
//! let key = users.key("alice-key", None, 0).expect("a key of the directory");
//! assert_eq!(key.user.canonical_id(), canonical_id_of_key("alice-key"));
//! assert!(users.key("bob-key", None, 0).is_err());
//!
//! // No `Debug` output shows a secret.
//! assert!(!format!("{key:?}").contains("alice's secret"));
//! assert_eq!(random_id("AKIA")?.len(), 20);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod account;
mod current;
mod directory;
mod file;
mod issuer;
mod key;
mod managed;
mod role;
mod session;
pub mod tables;
mod user;

pub use self::account::{Account, canonical_id_of_key, id_of_canonical_id};
pub use self::current::{CurrentDirectory, KeyError};
pub use self::directory::{Directory, DirectoryBuilder, NameOf};
pub use self::file::{only_user, read_credentials};
pub use self::issuer::Issuer;
pub use self::key::{AccessKey, SecretKey, check_key_id, random_id, random_secret};
pub use self::managed::{MANAGED_ARN, MANAGED_POLICIES, ManagedPolicy, managed};
pub use self::role::{Role, SESSION_SECONDS_DEFAULT, SESSION_SECONDS_MAX};
#[cfg(any(test, feature = "fuzzing"))]
pub use self::session::Issued;
pub use self::session::{Session, Sessions, TokenError};
#[cfg(any(test, feature = "fuzzing"))]
pub use self::user::SessionFacts;
pub use self::user::{AttachedPolicy, User};

/// The default access key.
pub const DEFAULT_ACCESS_KEY: &str = "liteio";
/// The default secret key.
pub const DEFAULT_SECRET_KEY: &str = "liteio123";

/// An invalid identity: one line that tells what to change, without secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct IdentityError(String);

impl From<String> for IdentityError {
    fn from(message: String) -> IdentityError {
        IdentityError(message)
    }
}

fn fail<T>(message: impl Into<String>) -> Result<T, IdentityError> {
    Err(IdentityError(message.into()))
}
