//! The identity of a sender.

use std::sync::Arc;

use crate::identity::User;

/// The sender of a request, as its signature proves. Every request leaves the authentication layer with
/// one in its extensions.
#[derive(Debug, Clone)]
pub(crate) enum Identity {
    /// The request carried no signature.
    Anonymous,
    /// The request was signed with this user's secret key.
    User(Arc<User>),
}

impl Identity {
    /// The user, unless anonymous.
    #[must_use]
    pub(crate) fn user(&self) -> Option<&Arc<User>> {
        match self {
            Identity::Anonymous => None,
            Identity::User(user) => Some(user),
        }
    }
}
