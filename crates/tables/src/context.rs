//! A request of the catalog as the context of policy conditions.

use super::Sent;
use liteio_access::circumstances;
use liteio_policy::{Context, ContextKey, Value};

/// The head of a request.
pub(crate) struct Asked<'a>(pub(crate) &'a Sent);

impl Context for Asked<'_> {
    fn value(&self, key: &ContextKey) -> Value<'_> {
        circumstances::value(key, self.0.origin.as_deref(), &self.0.headers)
    }
}
