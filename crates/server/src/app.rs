//! What every handler needs: the store and the way to blocking threads.

use liteio_store::Store;

use crate::offload::Offload;

/// The state that the handlers of one server share.
#[derive(Debug)]
pub struct App {
    /// Buckets and objects.
    pub store: Store,
    /// The region that this server is, and that its buckets are in.
    pub region: String,
    /// The way to blocking threads.
    pub offload: Offload,
}
