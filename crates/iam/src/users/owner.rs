//! The owner of all data in a store.

use liteio_store::vectors::ListVectorBuckets;
use liteio_store::{ListBuckets, Store, StoreError};

use liteio_identity::canonical_id_of_key;

/// The canonical id of the owner of all buckets and vector buckets. `None` if there are several
/// owners, or if it is the default of this access key.
///
/// # Errors
/// Errors of the store.
pub fn other_owner_of_all(store: &Store, access_key: &str) -> Result<Option<String>, StoreError> {
    let own = canonical_id_of_key(access_key);
    let mut found: Option<String> = None;
    let mut is_other = |id: String| {
        let is_the_same = found.as_ref().is_none_or(|it| *it == id);
        let is_other = is_the_same && id != own;
        found = Some(id);
        is_other
    };
    let mut query = ListBuckets { max: usize::MAX, ..ListBuckets::default() };
    loop {
        let page = store.list_buckets(&query)?;
        if !page.buckets.into_iter().all(|bucket| is_other(bucket.owner.id)) {
            return Ok(None);
        }
        query.after = page.next;
        if query.after.is_none() {
            break;
        }
    }
    let mut query = ListVectorBuckets { max: usize::MAX, ..ListVectorBuckets::default() };
    loop {
        let page = store.list_vector_buckets(&query)?;
        if !page.buckets.into_iter().all(|bucket| is_other(bucket.owner.id)) {
            return Ok(None);
        }
        query.after = page.next;
        if query.after.is_none() {
            return Ok(found);
        }
    }
}
