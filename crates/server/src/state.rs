//! The state that the handlers of one server share. It knows nothing of those who use it.

use liteio_store::Store;

use crate::offload::Offload;

/// The shared state of one server.
#[derive(Debug)]
pub(crate) struct App {
    /// Buckets, objects and vectors.
    pub(crate) store: Store,
    /// The region of the server and of its buckets.
    pub(crate) region: String,
    /// The way to blocking threads.
    pub(crate) offload: Offload,
}
