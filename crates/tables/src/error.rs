//! Errors by the error model of the specification, and the only mapping from store errors to them.

use std::borrow::Cow;

use http::StatusCode;
use http::header::{HeaderMap, HeaderValue, RETRY_AFTER};
use liteio_access::Refusal;
use liteio_iceberg::{Failed, Invalid};
use liteio_store::StoreError;
use liteio_store::tables::CatalogError;
use liteio_wire::origin::log_failure;
use liteio_wire::reply::{ApiError, Dialect};

pub(crate) type ApiResult<T> = Result<T, Exception>;

/// An exception of the REST catalog.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Exception {
    error: ApiError,
    /// The same request may succeed later, since the reason is none in the request or the catalog.
    is_passing: bool,
}

/// The code for a request that was answered before.
const ANSWERED: &str = "RequestAnsweredException";

pub(crate) fn exception(
    name: impl Into<Cow<'static, str>>,
    status: StatusCode,
    message: impl Into<String>,
) -> Exception {
    ApiError::with_status(Dialect::Iceberg, name, status, message.into()).into()
}

impl From<ApiError> for Exception {
    fn from(error: ApiError) -> Exception {
        Exception { error, is_passing: false }
    }
}

impl From<Exception> for ApiError {
    fn from(exception: Exception) -> ApiError {
        exception.error
    }
}

impl Exception {
    /// The request is malformed.
    pub(crate) fn bad_request(message: impl Into<String>) -> Exception {
        exception("BadRequestException", StatusCode::BAD_REQUEST, message)
    }

    /// The values of the request contradict the specification.
    pub(crate) fn validation(message: impl Into<String>) -> Exception {
        exception("ValidationException", StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn not_authorized(message: impl Into<String>) -> Exception {
        exception("NotAuthorizedException", StatusCode::UNAUTHORIZED, message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Exception {
        exception("ForbiddenException", StatusCode::FORBIDDEN, message)
    }

    /// The sender must wait for as many seconds.
    pub(crate) fn too_many(seconds: u64, message: impl Into<String>) -> Exception {
        let error: ApiError =
            exception("TooManyRequestsException", StatusCode::TOO_MANY_REQUESTS, message).into();
        let retry_after = (RETRY_AFTER, HeaderValue::from(seconds));
        error.with_headers(HeaderMap::from_iter([retry_after])).into()
    }

    /// The server does not have that part of the specification.
    pub(crate) fn unsupported(message: impl Into<String>) -> Exception {
        exception("UnsupportedOperationException", StatusCode::NOT_ACCEPTABLE, message)
    }

    pub(crate) fn no_such_route() -> Exception {
        let message = "The Iceberg REST catalog has no such route.";
        exception("NotFoundException", StatusCode::NOT_FOUND, message)
    }

    pub(crate) fn no_such_warehouse(message: impl Into<String>) -> Exception {
        exception("NoSuchWarehouseException", StatusCode::NOT_FOUND, message)
    }

    pub(crate) fn unprocessable(message: impl Into<String>) -> Exception {
        exception("UnprocessableEntityException", StatusCode::UNPROCESSABLE_ENTITY, message)
    }

    /// An error that Iceberg's clients throw under this name of Java's.
    pub(crate) fn illegal_argument(message: impl Into<String>) -> Exception {
        exception("IllegalArgumentException", StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn commit_failed(message: impl Into<String>) -> Exception {
        exception("CommitFailedException", StatusCode::CONFLICT, message)
    }

    /// It is not known whether the request was executed.
    pub(crate) fn state_unknown(message: impl Into<String>) -> Exception {
        exception("CommitStateUnknownException", StatusCode::SERVICE_UNAVAILABLE, message)
    }

    fn not_found(name: &'static str, error: &CatalogError) -> Exception {
        exception(name, StatusCode::NOT_FOUND, sentence(error))
    }

    fn exists(error: &CatalogError) -> Exception {
        exception("AlreadyExistsException", StatusCode::CONFLICT, sentence(error))
    }

    fn unavailable(message: impl Into<String>) -> Exception {
        exception("ServiceUnavailableException", StatusCode::SERVICE_UNAVAILABLE, message)
    }

    fn internal(error: &dyn std::error::Error) -> Exception {
        log_failure("a request of the catalog failed", &error);
        let message = "The server has failed. Please try again.";
        exception("InternalServerError", StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    /// The same, for a reason that may pass.
    fn passing(self) -> Exception {
        Exception { is_passing: true, ..self }
    }

    /// `true` if the request has a key to which an answer was given. No client sees that.
    pub(crate) fn is_answered(&self) -> bool {
        self.error.code() == ANSWERED
    }

    /// `true` for refusals that the same request meets again, whenever it is sent: they depend neither on the state of the
    /// server nor on the rights of the sender.
    pub(crate) fn is_final(&self) -> bool {
        let status = self.error.status();
        let passes =
            [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN, StatusCode::TOO_MANY_REQUESTS];
        status.is_client_error() && !self.is_passing && !passes.contains(&status)
    }

    /// `true` if the sender may not do what he asks for.
    pub(crate) fn is_forbidden(&self) -> bool {
        self.error.status() == StatusCode::FORBIDDEN
    }

    /// The message.
    pub(crate) fn message(&self) -> &str {
        self.error.message()
    }
}

impl From<Invalid> for Exception {
    fn from(invalid: Invalid) -> Exception {
        match invalid {
            Invalid::Malformed(message) => Exception::validation(message),
            Invalid::Illegal(message) => Exception::illegal_argument(message),
            Invalid::Stale(message) => Exception::commit_failed(message),
        }
    }
}

impl From<Failed> for Exception {
    fn from(failed: Failed) -> Exception {
        Exception::commit_failed(failed.to_string())
    }
}

impl From<CatalogError> for Exception {
    fn from(error: CatalogError) -> Exception {
        match &error {
            CatalogError::NoSuchNamespace { .. } => {
                Exception::not_found("NoSuchNamespaceException", &error)
            }
            CatalogError::NoSuchTable { .. } => {
                Exception::not_found("NoSuchTableException", &error)
            }
            CatalogError::NoSuchView { .. } => Exception::not_found("NoSuchViewException", &error),
            CatalogError::NamespaceExists { .. }
            | CatalogError::TableExists { .. }
            | CatalogError::ViewExists { .. }
            | CatalogError::NameTaken { .. }
            | CatalogError::IdTaken { .. }
            | CatalogError::RenameTaken { .. } => Exception::exists(&error),
            CatalogError::NamespaceNotEmpty { .. } => {
                exception("NamespaceNotEmptyException", StatusCode::CONFLICT, sentence(&error))
            }
            // Other commits came first, which the next attempt need not meet.
            CatalogError::Changed { .. } => Exception::commit_failed(sentence(&error)).passing(),
            CatalogError::Answered => exception(ANSWERED, StatusCode::CONFLICT, sentence(&error)),
            CatalogError::InvalidName { .. } | CatalogError::InvalidCommit(_) => {
                Exception::bad_request(sentence(&error))
            }
        }
    }
}

impl From<StoreError> for Exception {
    fn from(error: StoreError) -> Exception {
        match error {
            StoreError::Catalog(error) => error.into(),
            StoreError::NoSuchBucket { .. } | StoreError::InvalidBucketName { .. } => {
                Exception::no_such_warehouse(format!("The warehouse does not exist: {error}."))
            }
            StoreError::InvalidRequest { .. }
            | StoreError::KeyTooLong { .. }
            | StoreError::InvalidKey
            | StoreError::CustomerKeyRequired => Exception::validation(sentence(&error)),
            // Space is freed, keys are added, and locks end.
            StoreError::QuotaExceeded { .. }
            | StoreError::NoMasterKey
            | StoreError::NoSuchNamedKey { .. }
            | StoreError::ObjectLocked => Exception::validation(sentence(&error)).passing(),
            StoreError::NoSpace | StoreError::Poisoned { .. } | StoreError::Closed => {
                Exception::unavailable(sentence(&error))
            }
            StoreError::Suspended { reason } => Exception::unavailable(reason),
            StoreError::Busy | StoreError::ChangedMeanwhile => {
                Exception::commit_failed(sentence(&error)).passing()
            }
            StoreError::Unsettled { reason } => {
                log_failure("it is not known whether a commit has happened", &reason);
                Exception::state_unknown(
                    "The database does not answer. It is not known whether this was written.",
                )
            }
            error => Exception::internal(&error),
        }
    }
}

/// The error for a refused decision.
pub(crate) fn refused(refusal: Refusal, note: impl FnOnce(&Refusal)) -> Exception {
    note(&refusal);
    match refusal {
        Refusal::Denied(denial) => Exception::forbidden(denial.message()),
        Refusal::AnonymousOverride => Exception::forbidden("Access Denied"),
        Refusal::Store(error) => error.into(),
    }
}

/// An authentication error, for the head or the body, as an exception. The headers are kept.
pub fn refusal(error: &ApiError) -> ApiError {
    let refusal = match error.code() {
        "InvalidToken" | "InvalidAccessKeyId" | "SignatureDoesNotMatch" => {
            Exception::not_authorized(error.message())
        }
        // The status of the specification for a token that is to be renewed.
        "ExpiredToken" => exception(
            "AuthenticationTimeoutException",
            StatusCode::UNAUTHORIZED,
            "The credentials have expired: get new ones.",
        ),
        "EntityTooLarge" | "IncompleteBody" => Exception::bad_request(error.message()),
        "SlowDown" => exception(
            "SlowDownException",
            StatusCode::SERVICE_UNAVAILABLE,
            "Please reduce your request rate.",
        ),
        _ if error.status().is_server_error() => Exception::unavailable(error.message()),
        _ => Exception::not_authorized(error.message()),
    };
    let headers: HeaderMap = error.headers().clone();
    ApiError::from(refusal).with_headers(headers)
}

/// The message of an error with a capital letter. Clients compare some of them, which end without a stop.
fn sentence(error: &dyn std::error::Error) -> String {
    let message = error.to_string();
    let mut characters = message.chars();
    characters.next().into_iter().flat_map(char::to_uppercase).chain(characters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_those_of_the_reference_implementation() {
        let message = |error: CatalogError| Exception::from(error).message().to_owned();
        let name = || "n.t".to_owned();
        assert_eq!(
            message(CatalogError::NoSuchTable { table: name() }),
            "Table does not exist: n.t"
        );
        assert_eq!(
            message(CatalogError::NameTaken { name: name(), by: "view" }),
            "View with same name already exists: n.t"
        );
    }

    #[test]
    fn refusals_that_may_pass_are_not_final() {
        let changed = || CatalogError::Changed { name: "n.t".to_owned() }.into();
        for error in [
            StoreError::Busy,
            StoreError::ChangedMeanwhile,
            StoreError::NoSpace,
            StoreError::NoMasterKey,
            changed(),
        ] {
            let exception = Exception::from(error);
            assert!(!exception.is_final(), "{exception:?}");
        }
        let name = || "n.t".to_owned();
        for error in [
            CatalogError::TableExists { name: name() },
            CatalogError::NoSuchTable { table: name() },
            CatalogError::InvalidCommit(name()),
        ] {
            assert!(Exception::from(error).is_final());
        }
        let stale = Exception::from(Invalid::Stale("the requirement does not hold".to_owned()));
        assert!(stale.is_final(), "its requirements do not hold");
        assert!(!Exception::forbidden("no").is_final());
        assert!(!Exception::too_many(1, "no").is_final());
    }

    #[test]
    fn refusals_have_the_types_that_clients_look_for() {
        let table = || "n.t".to_owned();
        let rows = [
            (CatalogError::NoSuchTable { table: table() }, 404, "NoSuchTableException"),
            (CatalogError::NoSuchView { view: table() }, 404, "NoSuchViewException"),
            (CatalogError::NoSuchNamespace { namespace: table() }, 404, "NoSuchNamespaceException"),
            (CatalogError::TableExists { name: table() }, 409, "AlreadyExistsException"),
            (
                CatalogError::NamespaceNotEmpty { namespace: table() },
                409,
                "NamespaceNotEmptyException",
            ),
            (CatalogError::Changed { name: table() }, 409, "CommitFailedException"),
        ];
        for (error, status, name) in rows {
            let error = ApiError::from(Exception::from(error));
            assert_eq!((error.status().as_u16(), error.code()), (status, name));
        }
    }
}
