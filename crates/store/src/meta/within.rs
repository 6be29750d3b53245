//! Cursors over the keys with a prefix.

use std::ops::Bound;

use liteio_kv::{Cursor, KvError, Read};

use super::key::successor;

/// A cursor over the keys that begin with `prefix`, and no others: a transaction that looks beyond them
/// would depend on what it does not claim.
pub(crate) fn within<'r>(from: &'r impl Read, prefix: &[u8]) -> Result<Cursor<'r>, KvError> {
    let end = successor(prefix);
    from.cursor(Bound::Included(prefix), end.as_deref().map_or(Bound::Unbounded, Bound::Excluded))
}
