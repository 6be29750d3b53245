//! The sender of a request.

use std::sync::Arc;

use liteio_store::Owner;

use crate::auth::Identity;
use crate::identity::User;
use crate::policy::CallerKind;

/// The sender of a request, as its signature proves. Sessions will be a third kind: a user whose
/// rights a policy of the session narrows.
#[derive(Clone, Debug)]
pub(crate) enum Principal {
    /// The request carried no signature.
    Anonymous,
    /// A user.
    User(Arc<User>),
}

impl Principal {
    /// The principal behind an identity; anonymous for a request that no layer has vouched for.
    pub(crate) fn new(identity: Option<&Identity>) -> Principal {
        match identity.and_then(Identity::user) {
            Some(user) => Principal::User(Arc::clone(user)),
            None => Principal::Anonymous,
        }
    }

    /// The canonical id of a root user, the unique id of others; none of anonymous senders.
    pub(super) fn id(&self) -> Option<&str> {
        match self {
            Principal::Anonymous => None,
            // Until policies decide, only the root user has the rights of the owner.
            Principal::User(user) if user.caller.kind != CallerKind::Root => {
                Some(&user.caller.user_id)
            }
            Principal::User(user) => Some(&user.account.canonical_id),
        }
    }

    /// The name; none of anonymous senders.
    pub(super) fn user_name(&self) -> Option<&str> {
        match self {
            Principal::Anonymous => None,
            Principal::User(user) => Some(&user.name),
        }
    }

    /// The owner of what the principal creates; none of anonymous senders.
    pub(super) fn owner(&self) -> Option<Owner> {
        match self {
            Principal::Anonymous => None,
            Principal::User(user) => Some(owner(user)),
        }
    }
}

/// The account of a user, the owner of what it creates.
pub(super) fn owner(user: &User) -> Owner {
    let account = &user.account;
    Owner { id: account.canonical_id.clone(), display_name: account.display_name.clone() }
}
