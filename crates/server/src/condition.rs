//! The condition of a running server, for its service manager.

use liteio_store::{ListBuckets, Store, StoreHealth};

/// Describes a store in a few words each time it is called; a server without one is ready. It reads a record, so it
/// returns only if the store answers. The database of several servers is not asked: a start would not bring it back.
pub(crate) fn of(store: Option<Store>) -> impl Fn() -> String + Clone + Send + use<> {
    move || {
        let Some(store) = &store else { return "ready".to_owned() };
        if let Some(figures) = store.cluster_figures() {
            return figures.suspended.unwrap_or_else(|| "ready".to_owned());
        }
        let one = ListBuckets { max: 1, ..ListBuckets::default() };
        match store.health() {
            // Damage is for operators: `/_liteio/health/ready` has it.
            StoreHealth::Ready => match store.list_buckets(&one) {
                Ok(_) => "ready".to_owned(),
                Err(error) => error.to_string(),
            },
            StoreHealth::ReadOnly { reason } => format!("read-only: {reason}"),
            StoreHealth::Full => "the storage device is full".to_owned(),
        }
    }
}
