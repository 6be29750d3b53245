//! Failures of servers and engines.

/// A failure, in the words of the server or engine.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The engine lacks the operation: not a fault, but a row without a figure.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoSuchThing(pub &'static str);
