//! The elements of an error document besides code and message: which key, which bucket, which argument, which limit.
//!
//! Clients read them: AWS's CRT learns the size of an empty object from `ActualObjectSize`, and SDKs put `Key` and
//! `BucketName` into their exceptions. An error gets the elements of its cause where it is made; `refusal::Facts` adds
//! what follows from the request alone.

use std::fmt;

use s3s::S3Error;

use liteio_wire::reply::ApiError;

/// Elements of an error document, as the source of an [`S3Error`]:
/// `s3_error!(Details::of("Key", key), NoSuchKey, "message")`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Details(Vec<(&'static str, String)>);

impl Details {
    /// One element. The text is raw; the writer of the document escapes it.
    pub(super) fn of(name: &'static str, text: impl ToString) -> Details {
        Details::default().and(name, text)
    }

    /// `ArgumentName` and `ArgumentValue`: a header, query parameter or element, and its value as
    /// sent.
    pub(super) fn argument(name: impl ToString, value: &str) -> Details {
        Details::named(name).and("ArgumentValue", quoted(value))
    }

    /// `ArgumentName` without the value: it is missing, or secret.
    pub(super) fn named(name: impl ToString) -> Details {
        Details::of("ArgumentName", name)
    }

    /// These elements and one more.
    pub(super) fn and(mut self, name: &'static str, text: impl ToString) -> Details {
        self.0.push((name, text.to_string()));
        self
    }

    /// Adds an element to an error.
    pub(super) fn add(mut error: S3Error, name: &'static str, text: impl ToString) -> S3Error {
        let details = Details::of_error(&error).cloned().unwrap_or_default();
        error.set_source(Box::new(details.and(name, text)));
        error
    }

    /// Copies the elements of an error into the one that leaves.
    pub(super) fn copy(from: &S3Error, to: ApiError) -> ApiError {
        let details = Details::of_error(from).into_iter().flat_map(|Details(details)| details);
        details.fold(to, |to, (name, text)| to.with(name, text.clone()))
    }

    fn of_error(error: &S3Error) -> Option<&Details> {
        error.source()?.downcast_ref()
    }
}

impl fmt::Display for Details {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(name, text)| write!(formatter, "<{name}>{text}</{name}>"))
    }
}

impl std::error::Error for Details {}

/// Shortens a client's text for use in a message.
pub(super) fn quoted(text: &str) -> &str {
    const BYTES_MAX: usize = 256;
    &text[..text.floor_char_boundary(BYTES_MAX)]
}
