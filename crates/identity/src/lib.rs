//! Accounts, users and their keys, as values.
//!
//! A [`Directory`] holds them all as they are at one moment, and never changes. [`CurrentDirectory`] is the
//! one that requests are authenticated against: a change makes another directory and puts it in place of
//! the former at once, so a removed key is refused from then on.
//!
//! ```text
//!  Account ◄── User ◄── AccessKey
//!     ▲         └── AttachedPolicy …
//!     └── owner of buckets
//! ```
//! Every account has a root user, whom no policy of the account binds; its other users have the rights that
//! their policies give them. Nothing here knows where the users come from, but for [`file`], which reads
//! the text of a credentials file.

mod account;
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
pub use self::directory::{CurrentDirectory, Directory, DirectoryBuilder, KeyError, NameOf};
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
