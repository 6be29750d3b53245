//! The sender of a request.

use std::sync::Arc;

use liteio_store::Owner;

use liteio_auth::Identity;
use liteio_identity::User;

/// The sender of a request as proved by its signature.
#[derive(Clone, Debug)]
pub enum Principal {
    /// The request carried no signature.
    Anonymous,
    /// A user, or a session of a user or role.
    User(Arc<User>),
}

impl Principal {
    /// The principal of an identity; anonymous if no layer has authenticated the request.
    pub fn new(identity: Option<&Identity>) -> Principal {
        match identity.and_then(Identity::user) {
            Some(user) => Principal::User(Arc::clone(user)),
            None => Principal::Anonymous,
        }
    }

    pub(super) fn user(&self) -> Option<&User> {
        match self {
            Principal::Anonymous => None,
            Principal::User(user) => Some(user),
        }
    }

    /// The canonical id of the account; `None` if anonymous.
    pub(super) fn id(&self) -> Option<&str> {
        self.user().map(User::canonical_id)
    }

    /// The name; `None` if anonymous.
    pub(super) fn user_name(&self) -> Option<&str> {
        self.user().map(|user| &*user.name)
    }

    /// The name without account and path; `None` if anonymous.
    pub(super) fn plain_name(&self) -> Option<&str> {
        self.user().map(User::plain_name)
    }

    /// The owner of what the principal creates, its account; `None` if anonymous.
    pub(super) fn owner(&self) -> Option<Owner> {
        self.user().map(owner)
    }
}

/// The account of a user, as an owner.
pub(super) fn owner(user: &User) -> Owner {
    let account = &user.account;
    Owner { id: account.canonical_id.clone(), display_name: account.display_name.clone() }
}
