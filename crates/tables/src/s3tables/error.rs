//! The exceptions of S3 Tables, and the only map from those of the catalog to them.

use http::StatusCode;
use liteio_store::StoreError;
use liteio_wire::reply::{ApiError, Dialect};

use crate::error::{Exception, exception};

pub(super) fn access_denied(message: impl Into<String>) -> Exception {
    exception("AccessDeniedException", StatusCode::FORBIDDEN, message)
}

pub(super) fn not_found(message: impl Into<String>) -> Exception {
    exception("NotFoundException", StatusCode::NOT_FOUND, message)
}

pub(super) fn conflict(message: impl Into<String>) -> Exception {
    exception("ConflictException", StatusCode::CONFLICT, message)
}

pub(super) fn method_not_allowed() -> Exception {
    let message = "The specified method is not allowed against this resource.";
    exception("MethodNotAllowedException", StatusCode::METHOD_NOT_ALLOWED, message)
}

/// The operation, or a field of it, is known and not served.
pub(super) fn not_implemented(message: impl Into<String>) -> Exception {
    exception("NotImplemented", StatusCode::NOT_IMPLEMENTED, message)
}

pub(super) fn unknown_operation() -> Exception {
    let message =
        "S3 Tables has no such operation. Its Iceberg REST catalog is below /iceberg/v1/.";
    exception("UnknownOperationException", StatusCode::NOT_IMPLEMENTED, message)
}

/// The version token of a request is not that of the table.
pub(super) fn stale() -> Exception {
    conflict("The version token is out of date: the table was changed meanwhile.")
}

/// An error of the store for an operation on a bucket as a whole.
pub(super) fn of_bucket(error: StoreError) -> Exception {
    match error {
        StoreError::BucketAlreadyOwnedByYou { .. } | StoreError::BucketAlreadyExists { .. } => {
            conflict("The bucket that you tried to create already exists: choose another name.")
        }
        StoreError::BucketNotEmpty { .. } => conflict(
            "The bucket that you tried to delete is not empty: it has namespaces, tables or objects.",
        ),
        StoreError::InvalidBucketName { .. } => {
            Exception::bad_request("The specified bucket name is not valid.")
        }
        error => error.into(),
    }
}

/// An exception of the catalog as one of S3 Tables.
pub(super) fn translated(exception: Exception) -> ApiError {
    let error = ApiError::from(exception);
    let (code, status) = match error.code() {
        "NoSuchWarehouseException"
        | "NoSuchNamespaceException"
        | "NoSuchTableException"
        | "NoSuchViewException" => ("NotFoundException", StatusCode::NOT_FOUND),
        "AlreadyExistsException" | "NamespaceNotEmptyException" | "CommitFailedException" => {
            ("ConflictException", StatusCode::CONFLICT)
        }
        "ValidationException" | "UnprocessableEntityException" => {
            ("BadRequestException", StatusCode::BAD_REQUEST)
        }
        "ForbiddenException" | "NotAuthorizedException" => {
            ("AccessDeniedException", StatusCode::FORBIDDEN)
        }
        "InternalServerError" => {
            ("InternalServerErrorException", StatusCode::INTERNAL_SERVER_ERROR)
        }
        "CommitStateUnknownException" => {
            ("ServiceUnavailableException", StatusCode::SERVICE_UNAVAILABLE)
        }
        own => (own, error.status()),
    };
    with_code(&error, code, status)
}

/// An authentication error, for the head or the body, as an exception of S3 Tables. The headers are kept.
pub fn refusal(error: &ApiError) -> ApiError {
    let (code, status) = match error.code() {
        "SignatureDoesNotMatch" => ("InvalidSignatureException", StatusCode::FORBIDDEN),
        "InvalidAccessKeyId" => ("UnrecognizedClientException", StatusCode::FORBIDDEN),
        "ExpiredToken" => ("ExpiredTokenException", StatusCode::FORBIDDEN),
        "EntityTooLarge" | "IncompleteBody" => ("BadRequestException", StatusCode::BAD_REQUEST),
        "SlowDown" => ("TooManyRequestsException", StatusCode::TOO_MANY_REQUESTS),
        "RequestTimeout" => ("RequestTimeoutException", StatusCode::REQUEST_TIMEOUT),
        _ if error.status().is_server_error() => ("ServiceUnavailableException", error.status()),
        _ => ("AccessDeniedException", StatusCode::FORBIDDEN),
    };
    with_code(error, code, status)
}

/// The error in AWS's JSON form, with the code in a header, too.
fn with_code(error: &ApiError, code: &str, status: StatusCode) -> ApiError {
    let message = error.message().to_owned();
    ApiError::with_status(Dialect::S3Vectors, code.to_owned(), status, message)
        .with_headers(error.headers().clone())
}

#[cfg(test)]
mod tests {
    use liteio_store::tables::CatalogError;

    use super::*;

    #[test]
    fn errors_of_the_catalog_are_exceptions_of_the_service() {
        let name = || "n.t".to_owned();
        let of = |error: CatalogError| StoreError::from(error).into();
        let rows: [(Exception, u16, &str); 6] = [
            (of(CatalogError::NoSuchTable { table: name() }), 404, "NotFoundException"),
            (of(CatalogError::NoSuchNamespace { namespace: name() }), 404, "NotFoundException"),
            (of(CatalogError::TableExists { name: name() }), 409, "ConflictException"),
            (of(CatalogError::Changed { name: name() }), 409, "ConflictException"),
            (Exception::validation("wrong"), 400, "BadRequestException"),
            (not_implemented("not yet"), 501, "NotImplemented"),
        ];
        for (exception, status, code) in rows {
            let error = translated(exception);
            assert_eq!((error.status().as_u16(), error.code()), (status, code));
            assert_eq!(error.dialect(), Dialect::S3Vectors);
        }
    }
}
