//! [`ApiError`]: the error of a request, as a value.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use http::{HeaderMap, StatusCode};

use super::code::ErrorCode;

/// The API whose error document the client expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// XML with Code, Message, the elements, Resource, RequestId and HostId.
    S3,
    /// JSON with `__type`, `message` and the elements as the one entry of `fieldList`; the code is
    /// also in `x-amzn-errortype`.
    S3Vectors,
    /// JSON with `error`, an object with `message`, `type` (the code) and `code` (the status): Iceberg's REST catalog.
    Iceberg,
    /// The XML of S3 in an `ErrorResponse`, as S3 Control has it.
    S3Control,
    /// XML of the query protocol: Type, Code and Message in an `ErrorResponse` of IAM.
    Iam,
    /// The same for STS.
    Sts,
    /// JSON with Code, Message, the elements, Resource, RequestId and HostId: MinIO's admin API.
    Admin,
    /// An HTML page with the content of the XML document; code and message are also in
    /// `x-amz-error-…`.
    Website,
}

/// The error answer of a request: code, status, message, elements and headers.
///
/// It never contains a secret or an expected signature.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiError(Box<Inner>);

#[derive(Clone, Debug, PartialEq)]
struct Inner {
    dialect: Dialect,
    code: Cow<'static, str>,
    status: StatusCode,
    message: Cow<'static, str>,
    elements: Vec<(&'static str, String)>,
    headers: HeaderMap,
}

impl ApiError {
    /// An error of S3 with the status of its code.
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> ApiError {
        ApiError::with_status(Dialect::S3, code.name(), code.status(), message)
    }

    /// An error of any API. An empty message is omitted from the document.
    pub fn with_status(
        dialect: Dialect,
        code: impl Into<Cow<'static, str>>,
        status: StatusCode,
        message: impl Into<Cow<'static, str>>,
    ) -> ApiError {
        ApiError(Box::new(Inner {
            dialect,
            code: code.into(),
            status,
            message: message.into(),
            elements: Vec::new(),
            headers: HeaderMap::new(),
        }))
    }

    /// The same error in the dialect of another API.
    pub fn in_dialect(mut self, dialect: Dialect) -> ApiError {
        self.0.dialect = dialect;
        self
    }

    /// Adds an element to the error document. The text is raw; the writer of the document escapes
    /// it.
    pub fn with(mut self, name: &'static str, text: impl Into<String>) -> ApiError {
        self.0.elements.push((name, text.into()));
        self
    }

    /// Appends a sentence to the message.
    pub fn with_sentence(mut self, sentence: &str) -> ApiError {
        let message = self.0.message.trim_end_matches('.');
        self.0.message = format!("{message}. {sentence}").into();
        self
    }

    /// Sets the headers of the response.
    pub fn with_headers(mut self, headers: HeaderMap) -> ApiError {
        self.0.headers = headers;
        self
    }

    /// Adds headers to the response.
    pub fn with_more_headers(mut self, headers: HeaderMap) -> ApiError {
        self.0.headers.extend(headers);
        self
    }

    /// The API that the error belongs to.
    pub fn dialect(&self) -> Dialect {
        self.0.dialect
    }

    /// The error code.
    pub fn code(&self) -> &str {
        &self.0.code
    }

    /// The HTTP status.
    pub fn status(&self) -> StatusCode {
        self.0.status
    }

    /// The message for the client.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The elements of the document in addition to code and message, in order.
    pub fn elements(&self) -> &[(&'static str, String)] {
        &self.0.elements
    }

    /// The headers of the response in addition to the headers of the document.
    pub fn headers(&self) -> &HeaderMap {
        &self.0.headers
    }

    /// The same headers, to be changed.
    pub(crate) fn headers_mut(&mut self) -> &mut HeaderMap {
        &mut self.0.headers
    }

    /// The first `ApiError` among an error and its sources. Bodies pass their errors through the
    /// error types of other libraries.
    pub fn find<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a ApiError> {
        let mut next = Some(error);
        // Bounded, in case an error is its own source.
        for _ in 0..16 {
            let error = next?;
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            next = error.source();
        }
        None
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.0.code, self.0.message)
    }
}

impl Error for ApiError {}
