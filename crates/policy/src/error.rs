//! Refusals of policy documents.

/// The reason why a document is no policy: one line, in AWS's words where AWS has some. The caller
/// makes `MalformedPolicy`, `MalformedPolicyDocument` or `ValidationException` of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PolicyError {
    message: String,
    detail: Option<String>,
}

impl PolicyError {
    /// A refusal with this line.
    pub(super) fn new(message: impl Into<String>) -> PolicyError {
        PolicyError { message: one_line(message.into()), detail: None }
    }

    /// A refusal with this line, because of this part of the document.
    pub(super) fn about(message: impl Into<String>, part: &str) -> PolicyError {
        let detail = Some(one_line(part.to_owned()));
        PolicyError { message: one_line(message.into()), detail }
    }

    /// The part of the document that is wrong, where AWS's line does not name it: for the element
    /// `Detail` of S3's answer.
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }
}

/// A text with its control characters written out: it may quote the document.
fn one_line(text: String) -> String {
    match text.contains(char::is_control) {
        true => text.escape_debug().to_string(),
        false => text,
    }
}
