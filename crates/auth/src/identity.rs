//! The identity of a sender.

use std::sync::Arc;

use liteio_identity::{AccessKey, User};

/// The sender of a request, as its signature proves. Every request leaves the authentication layer with
/// one in its extensions.
#[derive(Debug, Clone)]
pub enum Identity {
    /// The request carried no signature.
    Anonymous,
    /// The request was signed with this key of a user.
    User(Arc<AccessKey>),
}

impl Identity {
    /// The user, unless anonymous.
    #[must_use]
    pub fn user(&self) -> Option<&Arc<User>> {
        match self {
            Identity::Anonymous => None,
            Identity::User(key) => Some(&key.user),
        }
    }

    /// The key, unless anonymous.
    pub fn key(&self) -> Option<&Arc<AccessKey>> {
        match self {
            Identity::Anonymous => None,
            Identity::User(key) => Some(key),
        }
    }
}
