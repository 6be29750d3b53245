//! The trait of event targets.

use bytes::Bytes;

/// A message to a target.
#[derive(Clone, Debug)]
pub struct Message {
    /// The message ID: unique per event, and the same in every attempt.
    pub(super) id: String,
    /// The message body.
    pub(super) body: Bytes,
    /// The object that it tells of; none for a test message.
    pub(super) entry: Option<Entry>,
}

/// The object that a message tells of.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// `BUCKET/KEY`.
    pub(super) path: String,
    /// The event is that a version was deleted.
    pub(super) is_gone: bool,
    /// The time of the event, as in the message.
    pub(super) time: String,
}

/// The reason why a message was not accepted, in one line without secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotTaken(pub(super) String);

/// A receiver of messages. Delivery is at least once: a message may arrive twice.
#[async_trait::async_trait]
pub trait Target: Send + Sync {
    /// The name that notifications refer to.
    fn name(&self) -> &str;

    /// True for a target to which messages about an object must come in their order. It gets one
    /// message at a time, and after one that it has not taken, first that one again.
    fn keeps_order(&self) -> bool {
        false
    }

    /// True for a kind of target that MinIO has, too: in its place it gets MinIO's messages.
    fn is_of_minio(&self) -> bool {
        true
    }

    /// Delivers a message. Returns once the target has accepted it.
    ///
    /// # Errors
    /// [`NotTaken`]: the message must be sent again later.
    async fn give(&self, message: &Message) -> Result<(), NotTaken>;
}
