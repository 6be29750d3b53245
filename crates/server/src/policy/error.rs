//! Refusals of policy documents.

/// The reason why a document is no policy: one line that tells what to change, in AWS's words where AWS
/// has some. The caller makes `MalformedPolicy`, `MalformedPolicyDocument` or `ValidationException` of
/// it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct PolicyError {
    message: String,
}

impl PolicyError {
    /// A refusal with this line.
    pub(super) fn new(message: impl Into<String>) -> PolicyError {
        PolicyError { message: message.into() }
    }
}
