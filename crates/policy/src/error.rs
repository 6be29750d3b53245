//! [`PolicyError`]: the refusal of a policy document.

/// The reason why a policy document is refused: one line, in AWS's words where they exist. The
/// caller turns it into `MalformedPolicy`, `MalformedPolicyDocument` or `ValidationException`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PolicyError {
    message: String,
    detail: Option<String>,
    stage: Stage,
}

/// The stages of IAM's validation of a document, in their order: of several faults it reports the
/// one of the first stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    Json,
    /// The elements and their types.
    Syntax,
    Version,
    /// Values that its former parser refused.
    Legacy,
    Sids,
    Actions,
    Resources,
    /// Signs of actions.
    Signs,
}

/// The fault to report of a document.
#[derive(Debug)]
pub(super) struct Faults {
    found: Option<PolicyError>,
    /// `true`: the fault of the first stage. `false`: the first fault of the document.
    by_stage: bool,
}

impl Faults {
    pub(super) fn new(by_stage: bool) -> Faults {
        Faults { found: None, by_stage }
    }

    /// The value, or `None` for a fault, which is noted.
    pub(super) fn note<T>(&mut self, result: Result<T, PolicyError>) -> Option<T> {
        let error = match result {
            Ok(value) => return Some(value),
            Err(error) => error,
        };
        let is_before = |found: &PolicyError| self.by_stage && error.stage < found.stage;
        if self.found.as_ref().is_none_or(is_before) {
            self.found = Some(error);
        }
        None
    }

    /// The fault to report, if there is one: with the words of IAM, if faults have stages.
    pub(super) fn first(self) -> Option<PolicyError> {
        match self.by_stage {
            true => self.found.map(PolicyError::in_words_of_iam),
            false => self.found,
        }
    }
}

impl PolicyError {
    /// A refusal with this message.
    pub(super) fn new(message: impl Into<String>) -> PolicyError {
        PolicyError { message: one_line(message.into()), detail: None, stage: Stage::Syntax }
    }

    /// A refusal with this message, caused by this part of the document.
    pub(super) fn about(message: impl Into<String>, part: &str) -> PolicyError {
        let detail = Some(one_line(part.to_owned()));
        PolicyError { message: one_line(message.into()), detail, stage: Stage::Syntax }
    }

    /// The same refusal, of another stage than [`Stage::Syntax`].
    pub(super) fn at(self, stage: Stage) -> PolicyError {
        PolicyError { stage, ..self }
    }

    /// IAM has one sentence for all faults of some stages: the fault becomes the detail.
    fn in_words_of_iam(self) -> PolicyError {
        let sentence = match self.stage {
            Stage::Syntax => "Syntax errors in policy.",
            Stage::Legacy => "The policy failed legacy parsing",
            _ => return self,
        };
        let detail = Some(self.explained());
        PolicyError { message: sentence.to_owned(), detail, stage: self.stage }
    }

    /// The message with the detail.
    pub fn explained(&self) -> String {
        match &self.detail {
            Some(detail) => format!("{} ({detail})", self.message),
            None => self.message.clone(),
        }
    }

    /// The fault, or the faulty part of the document, where AWS's message does not name it; for the
    /// element `Detail` of an answer.
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
