//! The errors of IAM and STS.

use http::StatusCode;
use liteio_policy::PolicyError;
use liteio_store::StoreError;
use liteio_wire::origin::log_failure;

pub(super) use liteio_wire::reply::ApiError;
use liteio_wire::reply::Dialect;

pub(super) type ApiResult<T> = Result<T, ApiError>;

/// An error in IAM's format; [`for_sts`] converts it to STS.
fn error(code: &'static str, status: StatusCode, message: impl Into<String>) -> ApiError {
    ApiError::with_status(Dialect::Iam, code, status, message.into())
}

pub(super) fn validation(message: impl Into<String>) -> ApiError {
    error("ValidationError", StatusCode::BAD_REQUEST, message)
}

pub(super) fn invalid_input(message: impl Into<String>) -> ApiError {
    error("InvalidInput", StatusCode::BAD_REQUEST, message)
}

pub(super) fn malformed_query(message: impl Into<String>) -> ApiError {
    error("MalformedQueryString", StatusCode::NOT_FOUND, message)
}

/// AWS has one sentence for many faults of a document. The fault itself stands in `Detail`.
pub(super) fn malformed_policy(error_of_policy: &PolicyError) -> ApiError {
    let message = error_of_policy.to_string();
    let malformed = error("MalformedPolicyDocument", StatusCode::BAD_REQUEST, message);
    match error_of_policy.detail() {
        Some(detail) => malformed.with("Detail", detail),
        None => malformed,
    }
}

pub(super) fn no_such_entity(message: impl Into<String>) -> ApiError {
    error("NoSuchEntity", StatusCode::NOT_FOUND, message)
}

pub(super) fn already_exists(message: impl Into<String>) -> ApiError {
    error("EntityAlreadyExists", StatusCode::CONFLICT, message)
}

pub(super) fn delete_conflict(message: impl Into<String>) -> ApiError {
    error("DeleteConflict", StatusCode::CONFLICT, message)
}

pub(super) fn limit_exceeded(message: impl Into<String>) -> ApiError {
    error("LimitExceeded", StatusCode::CONFLICT, message)
}

pub(super) fn access_denied(message: impl Into<String>) -> ApiError {
    error("AccessDenied", StatusCode::FORBIDDEN, message)
}

pub(super) fn not_implemented(message: impl Into<String>) -> ApiError {
    error("NotImplemented", StatusCode::NOT_IMPLEMENTED, message)
}

pub(super) fn missing_action() -> ApiError {
    error(
        "MissingAction",
        StatusCode::BAD_REQUEST,
        "The request must contain the parameter Action.",
    )
}

pub(super) fn invalid_action(action: &str, version: &str) -> ApiError {
    let action: String = action.chars().take(64).collect();
    let version: String = version.chars().take(16).collect();
    let message = format!("Could not find operation {action} for version {version}");
    error("InvalidAction", StatusCode::BAD_REQUEST, message)
}

pub(super) fn packed_policy_too_large() -> ApiError {
    let message = "The session policies are too long together.";
    error("PackedPolicyTooLarge", StatusCode::BAD_REQUEST, message)
}

pub(super) fn invalid_identity_token(message: impl Into<String>) -> ApiError {
    error("InvalidIdentityToken", StatusCode::BAD_REQUEST, message)
}

pub(super) fn expired_identity_token() -> ApiError {
    let message = "The web identity token has expired.";
    error("ExpiredTokenException", StatusCode::BAD_REQUEST, message)
}

pub(super) fn idp_communication(message: impl Into<String>) -> ApiError {
    error("IDPCommunicationError", StatusCode::BAD_REQUEST, message)
}

/// The error for a change that the store refuses.
pub(super) fn of_store(error_of_store: &StoreError) -> ApiError {
    if matches!(error_of_store, StoreError::ChangedMeanwhile) {
        return error(
            "ConcurrentModification",
            StatusCode::CONFLICT,
            "Another server has changed users at the same time; nothing was changed. Send the request again.",
        );
    }
    let unavailable =
        matches!(error_of_store, StoreError::Closed | StoreError::NoSpace | StoreError::Busy);
    if let StoreError::Suspended { reason } = error_of_store {
        return error("ServiceUnavailable", StatusCode::SERVICE_UNAVAILABLE, reason.clone());
    }
    if let StoreError::Poisoned { reason } = error_of_store {
        return error(
            "ServiceUnavailable",
            StatusCode::SERVICE_UNAVAILABLE,
            format!(
                "Nothing was changed: writing has stopped until the server is restarted. The reason: {reason}"
            ),
        );
    }
    log_failure("users could not be changed", error_of_store);
    if let StoreError::Unsettled { .. } = error_of_store {
        return error(
            "ServiceUnavailable",
            StatusCode::SERVICE_UNAVAILABLE,
            "The database does not answer. It is not known whether this was changed.",
        );
    }
    match unavailable {
        true => error(
            "ServiceUnavailable",
            StatusCode::SERVICE_UNAVAILABLE,
            "The server cannot write now; nothing was changed.",
        ),
        false => error(
            "ServiceFailure",
            StatusCode::INTERNAL_SERVER_ERROR,
            "We encountered an internal error. Please try again.",
        ),
    }
}

pub(super) fn invalid_token() -> ApiError {
    let message = "The security token included in the request is invalid.";
    error("InvalidClientTokenId", StatusCode::FORBIDDEN, message)
}

pub(super) fn expired_token() -> ApiError {
    let message = "The security token included in the request is expired";
    error("ExpiredToken", StatusCode::FORBIDDEN, message)
}

/// An error of the layers before the service, in IAM's format.
pub fn refusal(of: &ApiError) -> ApiError {
    let (code, status) = match of.code() {
        "InvalidAccessKeyId" | "InvalidToken" => {
            return invalid_token().with_headers(of.headers().clone());
        }
        "ExpiredToken" => return expired_token().with_headers(of.headers().clone()),
        "SignatureDoesNotMatch" => ("SignatureDoesNotMatch", StatusCode::FORBIDDEN),
        "RequestTimeTooSkewed" => ("RequestExpired", StatusCode::BAD_REQUEST),
        "AccessDenied" => ("AccessDenied", StatusCode::FORBIDDEN),
        "SlowDown" => ("Throttling", StatusCode::BAD_REQUEST),
        "EntityTooLarge" => ("MalformedInput", StatusCode::BAD_REQUEST),
        "InternalError" => ("ServiceFailure", StatusCode::INTERNAL_SERVER_ERROR),
        _ => ("IncompleteSignature", StatusCode::BAD_REQUEST),
    };
    error(code, status, of.message()).with_headers(of.headers().clone())
}

/// The same error in STS's format.
pub fn for_sts(of: &ApiError) -> ApiError {
    let (code, message) = (of.code().to_owned(), of.message().to_owned());
    let error = ApiError::with_status(Dialect::Sts, code, of.status(), message);
    let elements = of.elements().iter();
    let error = elements.fold(error, |error, (name, text)| error.with(name, text.as_str()));
    error.with_headers(of.headers().clone())
}
