//! [`Audience`]: the part of the trace that an account hears.

use std::sync::Arc;

use super::{Entry, Listener, Tracer};
use liteio_identity::CurrentDirectory;

/// The trace of a server for the users of its accounts.
///
/// An account hears of the requests of its users and of those that have reached its buckets: others tell keys, users
/// and metadata of strangers. Requests without either, refused before their sender or their bucket was known, may be
/// anybody's; they are told where there is one account only.
#[derive(Clone)]
pub struct Audience {
    tracer: Arc<Tracer>,
    directory: Arc<CurrentDirectory>,
}

impl Audience {
    /// The trace, for the accounts of this directory.
    pub fn new(tracer: Arc<Tracer>, directory: Arc<CurrentDirectory>) -> Audience {
        Audience { tracer, directory }
    }

    /// Lets a user of the account with this canonical id listen from now on, to what `wants` holds for.
    pub fn join(
        &self,
        account: &str,
        wants: impl Fn(&Entry) -> bool + Send + Sync + 'static,
    ) -> Listener {
        let (account, directory) = (account.to_owned(), Arc::clone(&self.directory));
        self.tracer.listen(move |entry| {
            let may_hear = entry.concerns(&account) || directory.now().has_one_account();
            may_hear && wants(entry)
        })
    }
}
