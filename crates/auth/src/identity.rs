//! [`Identity`]: the authenticated sender of a request.

use std::sync::Arc;

use liteio_identity::{AccessKey, User};

/// The sender of a request as proved by its signature. Every request leaves the authentication
/// layer with one in its extensions.
#[derive(Debug, Clone)]
pub enum Identity {
    /// The request carried no signature.
    Anonymous,
    /// The request was signed with this access key.
    User(Arc<AccessKey>),
}

impl Identity {
    /// The user; `None` if anonymous.
    #[must_use]
    pub fn user(&self) -> Option<&Arc<User>> {
        match self {
            Identity::Anonymous => None,
            Identity::User(key) => Some(&key.user),
        }
    }

    /// The access key; `None` if anonymous.
    pub fn key(&self) -> Option<&Arc<AccessKey>> {
        match self {
            Identity::Anonymous => None,
            Identity::User(key) => Some(key),
        }
    }
}
