//! The exceptions of S3 Vectors, and the only map from errors of the store to them.

use http::StatusCode;
use liteio_store::StoreError;

use super::BODY_BYTES_MAX;
pub(super) use crate::reply::ApiError;
use crate::reply::Dialect;

pub(super) type ApiResult<T> = Result<T, ApiError>;

fn exception(name: &'static str, status: StatusCode, message: impl Into<String>) -> ApiError {
    ApiError::with_status(Dialect::S3Vectors, name, status, message.into())
}

impl ApiError {
    /// The request as a whole is not valid.
    pub(super) fn invalid(message: impl Into<String>) -> ApiError {
        exception("ValidationException", StatusCode::BAD_REQUEST, message)
    }

    /// The body has more than [`BODY_BYTES_MAX`] bytes. The first words are those of AWS.
    pub(super) fn body_too_large() -> ApiError {
        ApiError::invalid(format!(
            "Request body exceeds max allowed size: {BODY_BYTES_MAX} bytes are allowed. Send less in \
             each request."
        ))
    }

    /// The field at `path` is not valid.
    pub(super) fn field(path: impl Into<String>, message: impl Into<String>) -> ApiError {
        let (path, message) = (path.into(), message.into());
        let whole = format!("Invalid value at '{path}': {message}");
        ApiError::invalid(whole).with("path", path).with("message", message)
    }

    pub(super) fn access_denied(message: impl Into<String>) -> ApiError {
        exception("AccessDeniedException", StatusCode::FORBIDDEN, message)
    }

    pub(super) fn unknown_operation() -> ApiError {
        exception(
            "UnknownOperationException",
            StatusCode::NOT_FOUND,
            "S3 Vectors has no such operation.",
        )
    }

    fn not_found(message: impl Into<String>) -> ApiError {
        exception("NotFoundException", StatusCode::NOT_FOUND, message)
    }

    fn conflict(message: impl Into<String>) -> ApiError {
        exception("ConflictException", StatusCode::CONFLICT, message)
    }

    fn unavailable(message: &str) -> ApiError {
        exception("ServiceUnavailableException", StatusCode::SERVICE_UNAVAILABLE, message)
    }

    pub(super) fn internal(error: &dyn std::error::Error) -> ApiError {
        tracing::error!(%error, "request for vectors failed");
        let message = "We encountered an internal error. Please try again.";
        exception("InternalServerException", StatusCode::INTERNAL_SERVER_ERROR, message)
    }
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> ApiError {
        match error {
            StoreError::InvalidField { path, message } => ApiError::field(path, message),
            StoreError::NoSuchVectorBucket { bucket } => {
                ApiError::not_found(format!("The vector bucket '{bucket}' does not exist."))
            }
            StoreError::NoSuchIndex { bucket, index } => ApiError::not_found(format!(
                "The index '{index}' of the vector bucket '{bucket}' does not exist."
            )),
            StoreError::NoSuchVectorPolicy { bucket } => {
                ApiError::not_found(format!("The vector bucket '{bucket}' has no policy."))
            }
            StoreError::VectorBucketExists { bucket } => {
                ApiError::conflict(format!("The vector bucket '{bucket}' already exists."))
            }
            StoreError::VectorBucketNotEmpty { bucket } => ApiError::conflict(format!(
                "The vector bucket '{bucket}' has indexes; delete them."
            )),
            StoreError::IndexExists { bucket, index } => ApiError::conflict(format!(
                "The index '{index}' of the vector bucket '{bucket}' already exists."
            )),
            StoreError::TextSearchExists { key } => {
                ApiError::conflict(format!("The key '{key}' already has text search."))
            }
            StoreError::NoSpace => exception(
                "ServiceQuotaExceededException",
                StatusCode::PAYMENT_REQUIRED,
                "The storage device is full. Nothing was stored; reading and deleting still work.",
            ),
            StoreError::Poisoned { .. } => ApiError::unavailable(
                "Writing has stopped, because the storage device failed to store data durably. \
                 Reading still works. The server must be restarted.",
            ),
            StoreError::Closed => ApiError::unavailable("The server is stopping."),
            StoreError::IndexDamaged { bucket, index, reason } => {
                tracing::error!(bucket, index, reason, "the vectors of an index cannot be used");
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
            error => ApiError::internal(&error),
        }
    }
}

/// The exception for a refusal of authentication, of the head or of the body.
pub(crate) fn refusal(error: &ApiError) -> ApiError {
    let (name, status) = match error.code() {
        "EntityTooLarge" => {
            return ApiError::body_too_large().with_headers(error.headers().clone());
        }
        "SignatureDoesNotMatch" => ("InvalidSignatureException", StatusCode::FORBIDDEN),
        "InvalidAccessKeyId" => ("UnrecognizedClientException", StatusCode::FORBIDDEN),
        "IncompleteBody" => ("ValidationException", StatusCode::BAD_REQUEST),
        "SlowDown" => ("TooManyRequestsException", StatusCode::TOO_MANY_REQUESTS),
        "RequestTimeout" => ("RequestTimeoutException", StatusCode::REQUEST_TIMEOUT),
        _ => ("AccessDeniedException", StatusCode::FORBIDDEN),
    };
    exception(name, status, error.message()).with_headers(error.headers().clone())
}
