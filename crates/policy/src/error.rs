//! [`PolicyError`]: the refusal of a policy document.

/// The reason why a policy document is refused: one line, in AWS's words where they exist. The
/// caller turns it into `MalformedPolicy`, `MalformedPolicyDocument` or `ValidationException`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PolicyError {
    message: String,
    detail: Option<String>,
}

impl PolicyError {
    /// A refusal with this message.
    pub(super) fn new(message: impl Into<String>) -> PolicyError {
        PolicyError { message: one_line(message.into()), detail: None }
    }

    /// A refusal with this message, caused by this part of the document.
    pub(super) fn about(message: impl Into<String>, part: &str) -> PolicyError {
        let detail = Some(one_line(part.to_owned()));
        PolicyError { message: one_line(message.into()), detail }
    }

    /// The faulty part of the document, where AWS's message does not name it; for the element
    /// `Detail` of S3's answer.
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }
}

/// Escapes control characters, because the text may quote the document.
fn one_line(text: String) -> String {
    match text.contains(char::is_control) {
        true => text.escape_debug().to_string(),
        false => text,
    }
}
