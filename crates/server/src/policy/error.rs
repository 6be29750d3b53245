//! Refusals of policy documents.

/// The reason why a document is no policy: one line, in AWS's words where AWS has some. The caller
/// makes `MalformedPolicy`, `MalformedPolicyDocument` or `ValidationException` of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct PolicyError {
    message: String,
    detail: Option<String>,
}

impl PolicyError {
    /// A refusal with this line.
    pub(super) fn new(message: impl Into<String>) -> PolicyError {
        PolicyError { message: message.into(), detail: None }
    }

    /// A refusal with this line, because of this part of the document.
    pub(super) fn about(message: impl Into<String>, part: &str) -> PolicyError {
        PolicyError { message: message.into(), detail: Some(part.to_owned()) }
    }

    /// The part of the document that is wrong, where AWS's line does not name it: for the element
    /// `Detail` of S3's answer.
    pub(crate) fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }
}
