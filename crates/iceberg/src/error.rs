//! Refusals: of documents, of updates, of requirements.

/// Refusal of a document, a request or an update.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// It contradicts the specification, itself or the table. Sent again, it is refused again. The message names the field.
    #[error("{0}")]
    Malformed(String),
    /// Its parts exclude each other. Clients know such a refusal of the reference implementation, `IllegalArgumentException`,
    /// and some its words.
    #[error("{0}")]
    Illegal(String),
    /// A snapshot whose sequence number or row id is behind the table: another commit came first. The writer reads the
    /// table again and retries, so it is answered as a conflict.
    #[error("{0}")]
    Stale(String),
}

impl Invalid {
    pub(crate) fn new(message: impl Into<String>) -> Invalid {
        Invalid::Malformed(message.into())
    }

    pub(crate) fn illegal(message: impl Into<String>) -> Invalid {
        Invalid::Illegal(message.into())
    }

    pub(crate) fn stale(message: impl Into<String>) -> Invalid {
        Invalid::Stale(message.into())
    }
}

/// A requirement of a commit that the table or view does not meet: another commit came first.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Requirement failed: {0}")]
pub struct Failed(String);

impl Failed {
    pub(crate) fn new(message: impl Into<String>) -> Failed {
        Failed(message.into())
    }

    /// Compares the required UUID with that of the table or view.
    pub(crate) fn unless_same_uuid(what: &str, expected: &str, found: &str) -> Result<(), Failed> {
        match expected.eq_ignore_ascii_case(found) {
            true => Ok(()),
            false => Err(Failed::new(format!(
                "{what} does not match: expected {found} != {}",
                quoted(expected)
            ))),
        }
    }
}

/// Refuses with [`Invalid::Malformed`] and the formatted message.
macro_rules! refuse {
    ($($message:tt)*) => {
        return Err($crate::error::Invalid::new(format!($($message)*)))
    };
}
pub(crate) use refuse;

/// Text of a client in a message: in quotes, escaped, not too long.
pub(crate) fn quoted(text: &str) -> String {
    const CHARACTERS_MAX: usize = 100;
    match text.char_indices().nth(CHARACTERS_MAX) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}…", &text[..end]),
    }
}
