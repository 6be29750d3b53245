//! Delivery of records of requests (audit entries, spans) to targets that may be slow or down.
//!
//! A request adds its record to a [`Queue`], which bounds its bytes and counts losses, and goes on.
//! A thread or a [`Sender`] delivers it, with retries until the target accepts it.

mod queue;
mod sender;

use http::HeaderValue;
use http::header::InvalidHeaderValue;
use serde_json::Value;

pub use self::queue::Queue;
pub use self::sender::{Destination, Sender};
use liteio_wire::front::Observer;

/// An observer that delivers records of requests to targets.
#[async_trait::async_trait]
pub trait Follower: Observer {
    /// Its name in the details of the health check.
    fn name(&self) -> &'static str;

    /// Starts the delivery.
    fn start(&self);

    /// Reopens files, after log rotation moved them.
    fn reopen(&self) {}

    /// The state for the details of the health check.
    fn state(&self) -> Value;

    /// The number of records lost since the start.
    fn lost(&self) -> u64;

    /// The reason to report the server as degraded, if any.
    fn loss(&self) -> Option<String> {
        None
    }

    /// Stops after the queues are delivered, or after a timeout.
    async fn close(&self);
}

/// The value of `Authorization` for the token of a webhook. As in MinIO, a token with a scheme is sent unchanged, and one
/// without follows `Bearer`.
pub(crate) fn authorization(token: &str) -> Result<HeaderValue, InvalidHeaderValue> {
    let mut value = match token.contains(' ') {
        true => HeaderValue::try_from(token)?,
        false => HeaderValue::try_from(format!("Bearer {token}"))?,
    };
    value.set_sensitive(true);
    Ok(value)
}
