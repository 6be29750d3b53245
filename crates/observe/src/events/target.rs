//! A target of events: whatever takes messages.

use bytes::Bytes;

/// A message to a target.
#[derive(Clone, Debug)]
pub struct Message {
    /// The same each time that the event is sent, and of no other event.
    pub(super) id: String,
    /// The document.
    pub(super) body: Bytes,
}

/// The reason for which a message was not taken, in one line, without secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotTaken(pub(super) String);

/// Whatever takes messages. It may be given one twice.
#[async_trait::async_trait]
pub trait Target: Send + Sync {
    /// The name by which notifications name it.
    fn name(&self) -> &str;

    /// Gives a message to it. Returns once it has taken it.
    ///
    /// # Errors
    /// [`NotTaken`]: it has to be given again, later.
    async fn give(&self, message: &Message) -> Result<(), NotTaken>;
}
