//! [`Audience`]: restricts the trace to the entries that an account may see.

use std::sync::Arc;

use super::{Entry, Listener, Tracer};
use liteio_identity::CurrentDirectory;

/// The trace of a server, by account.
///
/// An account sees the requests of its users and the ones that reached its buckets: other requests
/// reveal keys, users and metadata of other accounts. Of a request by another account it does not
/// see the names of that account's policies, nor the sources of copies. Requests without either, refused before their
/// sender or bucket was known, could belong to any account, so they are shown only if there is a
/// single account.
#[derive(Clone)]
pub struct Audience {
    tracer: Arc<Tracer>,
    directory: Arc<CurrentDirectory>,
}

impl Audience {
    /// Creates the audience for the accounts in this directory.
    pub fn new(tracer: Arc<Tracer>, directory: Arc<CurrentDirectory>) -> Audience {
        Audience { tracer, directory }
    }

    /// Subscribes a user of the account with this canonical ID to the entries that `wants` accepts.
    pub fn join(
        &self,
        account: &str,
        wants: impl Fn(&Entry) -> bool + Send + Sync + 'static,
    ) -> Listener {
        let (account, directory) = (account.to_owned(), Arc::clone(&self.directory));
        self.tracer.listen(move |entry| {
            let seen = match directory.now().has_one_account() {
                true => Some(Arc::clone(entry)),
                false => entry.seen_by(&account),
            };
            seen.filter(|seen| wants(seen))
        })
    }
}
