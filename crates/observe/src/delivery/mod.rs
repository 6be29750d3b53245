//! Delivery of what requests leave behind, entries of the audit log and spans, to targets that may be slow or down.
//!
//! A request puts it into a [`Queue`], which bounds its bytes and counts what it loses, and goes on. A thread or a
//! [`Sender`] gives it to the target, and again until the target takes it.

mod queue;
mod sender;

use serde_json::Value;

pub use self::queue::Queue;
pub use self::sender::{Destination, Sender};
use liteio_wire::front::Observer;

/// An observer that gives what it makes of requests to targets.
#[async_trait::async_trait]
pub trait Follower: Observer {
    /// Its name among the details of the health.
    fn name(&self) -> &'static str;

    /// Begins to give to the targets.
    fn start(&self);

    /// Opens files anew, which may have been moved away.
    fn reopen(&self) {}

    /// The state, for who asks for the health.
    fn state(&self) -> Value;

    /// The reason why the health is not well.
    fn loss(&self) -> Option<String> {
        None
    }

    /// Ends after what waits was given to the targets, or some time.
    async fn close(&self);
}
