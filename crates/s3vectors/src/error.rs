//! The exceptions of S3 Vectors, and the only mapping from store errors to them.

use http::StatusCode;
use liteio_store::{RESERVE_BYTES, StoreError, Wording};

use super::BODY_BYTES_MAX;
use liteio_wire::origin::log_failure;
use liteio_wire::reply::{ApiError, Dialect};

/// Characters of an operation that an exception shows.
const OPERATION_CHARACTERS_MAX: usize = 100;

pub(super) type ApiResult<T> = Result<T, Exception>;

fn exception(name: &'static str, status: StatusCode, message: impl Into<String>) -> Exception {
    Exception(ApiError::with_status(Dialect::S3Vectors, name, status, message.into()))
}

/// An exception of S3 Vectors. Errors of other layers keep their own format.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Exception(ApiError);

impl From<ApiError> for Exception {
    fn from(error: ApiError) -> Exception {
        Exception(error)
    }
}

impl From<Exception> for ApiError {
    fn from(exception: Exception) -> ApiError {
        exception.0
    }
}

impl Exception {
    /// An error for the request as a whole.
    pub(super) fn invalid(message: impl Into<String>) -> Exception {
        exception("ValidationException", StatusCode::BAD_REQUEST, message)
    }

    /// The body is not JSON.
    pub(super) fn malformed(message: &str) -> Exception {
        Exception::invalid(format!("The request body is not valid JSON: {message}"))
    }

    /// The body exceeds [`BODY_BYTES_MAX`]. The message starts with AWS's words.
    pub(super) fn body_too_large() -> Exception {
        Exception::invalid(format!(
            "Request body exceeds max allowed size: {BODY_BYTES_MAX} bytes are allowed. Send less in \
             each request."
        ))
    }

    /// An error for the field at `path`, a JSON pointer.
    pub(super) fn field(path: impl Into<String>, message: impl Into<String>) -> Exception {
        StoreError::field(path, message).into()
    }

    /// An error for the filter of a query.
    pub(super) fn filter(path: &str, message: impl Into<String>) -> Exception {
        StoreError::filter(path, message).into()
    }

    /// An error for a rule that a field violates.
    fn of_field(path: String, message: String, wording: Wording) -> Exception {
        let whole = match wording {
            Wording::Plain => format!("Invalid value at '{path}': {message}"),
            Wording::Constraint => format!("1 validation error detected. {message}"),
            Wording::Record(key) => format!("Invalid record for key '{key}': {message}"),
            Wording::Filter => format!("Invalid query filter: at '{path}', {message}"),
            Wording::Sentence(sentence) => format!("{sentence}: {message}"),
        };
        let Exception(error) = Exception::invalid(whole);
        Exception(error.with("path", path).with("message", message))
    }

    pub(super) fn access_denied(message: impl Into<String>) -> Exception {
        exception("AccessDeniedException", StatusCode::FORBIDDEN, message)
    }

    /// There is no operation at this path. Only the paths of tags have a slash in them.
    pub(super) fn unknown_operation(path: &str) -> Exception {
        let path = path.trim_start_matches('/');
        let is_below = path.contains('/') && !path.starts_with("tags/");
        let hint = if is_below { ": the endpoint has no path" } else { "" };
        let shown: String = path.chars().take(OPERATION_CHARACTERS_MAX).collect();
        exception(
            "UnknownOperationException",
            StatusCode::NOT_FOUND,
            format!("S3 Vectors has no operation {shown:?}{hint}"),
        )
    }

    /// There is no index, because there is no vector bucket for it. The message starts with AWS's words.
    pub(super) fn no_bucket_of_index(bucket: &str) -> Exception {
        Exception::not_found(format!(
            "The specified index could not be found: there is no vector bucket '{bucket}'"
        ))
    }

    fn not_found(message: impl Into<String>) -> Exception {
        exception("NotFoundException", StatusCode::NOT_FOUND, message)
    }

    fn conflict(message: impl Into<String>) -> Exception {
        exception("ConflictException", StatusCode::CONFLICT, message)
    }

    fn unavailable(message: &str) -> Exception {
        exception("ServiceUnavailableException", StatusCode::SERVICE_UNAVAILABLE, message)
    }

    pub(super) fn internal(error: &dyn std::error::Error) -> Exception {
        log_failure("request for vectors failed", &error);
        let message = "We encountered an internal error. Please try again.";
        exception("InternalServerException", StatusCode::INTERNAL_SERVER_ERROR, message)
    }
}

impl From<StoreError> for Exception {
    fn from(error: StoreError) -> Exception {
        match error {
            StoreError::InvalidField { path, message, wording } => {
                Exception::of_field(path, message, wording)
            }
            StoreError::NoSuchVectorBucket { bucket } => Exception::not_found(format!(
                "The specified vector bucket could not be found: there is no vector bucket '{bucket}'"
            )),
            StoreError::NoSuchIndex { bucket, index } => Exception::not_found(format!(
                "The specified index could not be found: there is no index '{index}' in the vector \
                 bucket '{bucket}'"
            )),
            StoreError::NoSuchVectorPolicy { .. } => {
                Exception::not_found("The specified vector bucket policy could not be found")
            }
            StoreError::VectorBucketExists { .. } => {
                Exception::conflict("A vector bucket with the specified name already exists")
            }
            StoreError::VectorBucketNotEmpty { .. } => Exception::conflict(
                "The specified vector bucket is not empty: delete its indexes first",
            ),
            StoreError::IndexExists { .. } => {
                Exception::conflict("An index with the specified name already exists")
            }
            StoreError::TextSearchExists { key } => {
                Exception::conflict(format!("The key '{key}' already has text search."))
            }
            StoreError::NoSpace => exception(
                "ServiceQuotaExceededException",
                StatusCode::PAYMENT_REQUIRED,
                format!(
                    "The storage device is full: {} MiB are kept free for deletions. Nothing was stored; reading and \
                     deleting still work.",
                    RESERVE_BYTES >> 20
                ),
            ),
            StoreError::Poisoned { reason } => Exception::unavailable(&format!(
                "Writing has stopped until the server is restarted; reading still works. The reason: {reason}"
            )),
            StoreError::Closed => Exception::unavailable("The server is stopping."),
            StoreError::Busy => exception(
                "TooManyRequestsException",
                StatusCode::TOO_MANY_REQUESTS,
                "Too many requests change the same data at the same time. Try again.",
            ),
            StoreError::Unsettled { reason } => {
                log_failure("it is not known whether a write has happened", &reason);
                Exception::unavailable(
                    "The database does not answer. It is not known whether this was written.",
                )
            }
            StoreError::Suspended { reason } => Exception::unavailable(&reason),
            StoreError::IndexDamaged { bucket, index, reason } => {
                log_failure("the vectors of an index cannot be used", &reason);
                exception(
                    "InternalServerException",
                    StatusCode::INTERNAL_SERVER_ERROR,
                    format!(
                        "The vectors of the index '{index}' of the vector bucket '{bucket}' cannot be \
                         used: {reason}. If the storage device failed, restart the server once it works \
                         again; else delete the index and put its vectors again."
                    ),
                )
            }
            error => Exception::internal(&error),
        }
    }
}

/// Converts an authentication error, for the head or the body, to an exception.
pub fn refusal(error: &ApiError) -> ApiError {
    let (name, status) = match error.code() {
        "EntityTooLarge" => {
            let Exception(too_large) = Exception::body_too_large();
            return too_large.with_headers(error.headers().clone());
        }
        "SignatureDoesNotMatch" => ("InvalidSignatureException", StatusCode::FORBIDDEN),
        "InvalidAccessKeyId" => ("UnrecognizedClientException", StatusCode::FORBIDDEN),
        "IncompleteBody" => ("ValidationException", StatusCode::BAD_REQUEST),
        "SlowDown" => ("TooManyRequestsException", StatusCode::TOO_MANY_REQUESTS),
        "RequestTimeout" => ("RequestTimeoutException", StatusCode::REQUEST_TIMEOUT),
        _ => ("AccessDeniedException", StatusCode::FORBIDDEN),
    };
    let Exception(refusal) = exception(name, status, error.message());
    refusal.with_headers(error.headers().clone())
}
