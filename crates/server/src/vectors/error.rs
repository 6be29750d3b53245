//! What went wrong, as S3 Vectors says it.

use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use liteio_store::StoreError;
use s3s::Body;
use serde_json::json;

use crate::auth::{AuthBodyError, AuthError};
use crate::offload::OffloadError;

const ERROR_TYPE: HeaderName = HeaderName::from_static("x-amzn-errortype");

/// An exception of the service model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApiError {
    exception: &'static str,
    status: StatusCode,
    message: String,
    /// Path and message of the field that is not valid.
    field: Option<(String, String)>,
}

pub(super) type ApiResult<T> = Result<T, ApiError>;

impl ApiError {
    fn new(exception: &'static str, status: StatusCode, message: impl Into<String>) -> ApiError {
        ApiError { exception, status, message: message.into(), field: None }
    }

    /// The request makes no sense as a whole.
    pub(super) fn invalid(message: impl Into<String>) -> ApiError {
        ApiError::new("ValidationException", StatusCode::BAD_REQUEST, message)
    }

    /// The field at `path` is not valid.
    pub(super) fn field(path: impl Into<String>, message: impl Into<String>) -> ApiError {
        let (path, message) = (path.into(), message.into());
        let whole = format!("Invalid value at '{path}': {message}");
        ApiError { field: Some((path, message)), ..ApiError::invalid(whole) }
    }

    pub(super) fn access_denied() -> ApiError {
        ApiError::new("AccessDeniedException", StatusCode::FORBIDDEN, "Access Denied")
    }

    pub(super) fn unknown_operation() -> ApiError {
        ApiError::new(
            "UnknownOperationException",
            StatusCode::NOT_FOUND,
            "S3 Vectors has no such operation.",
        )
    }

    fn not_found(message: impl Into<String>) -> ApiError {
        ApiError::new("NotFoundException", StatusCode::NOT_FOUND, message)
    }

    fn conflict(message: impl Into<String>) -> ApiError {
        ApiError::new("ConflictException", StatusCode::CONFLICT, message)
    }

    fn unavailable(message: &str) -> ApiError {
        ApiError::new("ServiceUnavailableException", StatusCode::SERVICE_UNAVAILABLE, message)
    }

    pub(super) fn internal(error: &dyn std::error::Error) -> ApiError {
        tracing::error!(%error, "request for vectors failed");
        let message = "We encountered an internal error. Please try again.";
        ApiError::new("InternalServerException", StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    /// The response to send.
    pub(crate) fn into_response(self) -> Response<Body> {
        let mut body = json!({ "__type": self.exception, "message": self.message });
        if let Some((path, message)) = &self.field {
            body["fieldList"] = json!([{ "path": path, "message": message }]);
        }
        let mut response = Response::new(Body::from(body.to_string()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ERROR_TYPE, HeaderValue::from_static(self.exception));
        response
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
                ApiError::conflict(format!("A vector bucket with the name '{bucket}' exists."))
            }
            StoreError::VectorBucketNotEmpty { bucket } => {
                ApiError::conflict(format!("The vector bucket '{bucket}' has indexes."))
            }
            StoreError::IndexExists { bucket, index } => ApiError::conflict(format!(
                "The vector bucket '{bucket}' has an index with the name '{index}'."
            )),
            StoreError::TextSearchExists { key } => {
                ApiError::conflict(format!("The key '{key}' is configured for text search."))
            }
            StoreError::NoSpace => ApiError::new(
                "ServiceQuotaExceededException",
                StatusCode::PAYMENT_REQUIRED,
                "The storage device is full. Nothing was stored; reading and deleting still work.",
            ),
            StoreError::Poisoned { .. } => ApiError::unavailable(
                "Writing has stopped, because the storage device failed to store data durably. \
                 Reading still works. The server must be restarted.",
            ),
            StoreError::Closed => ApiError::unavailable("The server is stopping."),
            error => ApiError::internal(&error),
        }
    }
}

impl From<OffloadError> for ApiError {
    fn from(error: OffloadError) -> ApiError {
        match error {
            OffloadError::Panicked => ApiError::internal(&error),
            OffloadError::Stopping => ApiError::unavailable("The server is stopping."),
        }
    }
}

impl From<&AuthError> for ApiError {
    fn from(error: &AuthError) -> ApiError {
        let (exception, status) = match error.code().as_str() {
            "SignatureDoesNotMatch" => ("InvalidSignatureException", StatusCode::FORBIDDEN),
            "InvalidAccessKeyId" => ("UnrecognizedClientException", StatusCode::FORBIDDEN),
            "EntityTooLarge" | "IncompleteBody" => ("ValidationException", StatusCode::BAD_REQUEST),
            "RequestTimeout" => ("RequestTimeoutException", StatusCode::REQUEST_TIMEOUT),
            _ => ("AccessDeniedException", StatusCode::FORBIDDEN),
        };
        ApiError::new(exception, status, error.message())
    }
}

impl From<&AuthBodyError> for ApiError {
    fn from(error: &AuthBodyError) -> ApiError {
        ApiError::from(&AuthError::from(error.clone()))
    }
}
