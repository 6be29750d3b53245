//! The errors of MinIO's admin API.

use http::StatusCode;
use liteio_store::StoreError;

use super::super::error as iam_error;
use liteio_wire::reply::{ApiError, Dialect};

/// The result of an operation of MinIO's admin API.
pub type AdminResult<T> = Result<T, ApiError>;

fn error(code: &'static str, status: StatusCode, message: impl Into<String>) -> ApiError {
    ApiError::with_status(Dialect::Admin, code, status, message.into())
}

fn bad_request(code: &'static str, message: impl Into<String>) -> ApiError {
    error(code, StatusCode::BAD_REQUEST, message)
}

/// MinIO's error for an invalid argument (400).
pub fn invalid_argument(message: impl Into<String>) -> ApiError {
    bad_request("XMinioAdminInvalidArgument", message)
}

/// MinIO's error for a target of replication that cannot be used. (It sends 404, which would be about the path here.)
pub fn remote_target(message: impl Into<String>) -> ApiError {
    bad_request("XMinioAdminReplicationRemoteConnectionError", message)
}

/// The error for an unreadable document.
pub fn bad_json(message: impl Into<String>) -> ApiError {
    bad_request("XMinioAdminConfigBadJSON", message)
}

/// The error for a body of more than `bytes_max` bytes.
pub fn too_large(bytes_max: usize) -> ApiError {
    let message = format!("The body is longer than {bytes_max} bytes.");
    bad_request("XMinioAdminConfigTooLarge", message)
}

/// The error for an unsupported operation (501).
pub fn not_implemented(message: impl Into<String>) -> ApiError {
    error("NotImplemented", StatusCode::NOT_IMPLEMENTED, message)
}

pub(crate) fn access_denied(message: impl Into<String>) -> ApiError {
    error("AccessDenied", StatusCode::FORBIDDEN, message)
}

/// An error of the store, or of missing random bytes.
pub fn of_store(of: &StoreError) -> ApiError {
    iam_error::of_store(of).in_dialect(Dialect::Admin)
}

/// MinIO's error for a bucket that does not exist, or belongs to another account (404).
pub fn no_such_bucket(name: &str) -> ApiError {
    let message = format!("The bucket {} does not exist.", shown(name));
    error("NoSuchBucket", StatusCode::NOT_FOUND, message)
}

pub(super) fn no_such_user(name: &str) -> ApiError {
    let message = format!("The user {} does not exist.", shown(name));
    error("XMinioAdminNoSuchUser", StatusCode::NOT_FOUND, message)
}

pub(super) fn no_such_group(name: &str) -> ApiError {
    let message = format!("The group {} does not exist.", shown(name));
    error("XMinioAdminNoSuchGroup", StatusCode::NOT_FOUND, message)
}

pub(super) fn no_such_policy(name: &str) -> ApiError {
    let message = format!("The policy {} does not exist.", shown(name));
    error("XMinioAdminNoSuchPolicy", StatusCode::NOT_FOUND, message)
}

pub(super) fn no_such_service_account(id: &str) -> ApiError {
    let message = format!("The service account {} does not exist.", shown(id));
    error("XMinioInvalidIAMCredentials", StatusCode::NOT_FOUND, message)
}

pub(super) fn group_not_empty(name: &str) -> ApiError {
    let message = format!("The group {} is not empty: remove its members first.", shown(name));
    bad_request("XMinioAdminGroupNotEmpty", message)
}

pub(super) fn policy_in_use(name: &str) -> ApiError {
    let message = format!("The policy {} is attached: detach it first.", shown(name));
    bad_request("XMinioIAMPolicyInUse", message)
}

pub(super) fn malformed_policy(message: impl Into<String>) -> ApiError {
    bad_request("XMinioMalformedIAMPolicy", message)
}

pub(super) fn already_applied() -> ApiError {
    let message = "The specified policy change is already in effect.";
    bad_request("XMinioAdminPolicyChangeAlreadyApplied", message)
}

pub(super) fn invalid_access_key(message: impl Into<String>) -> ApiError {
    bad_request("XMinioAdminInvalidAccessKey", message)
}

pub(super) fn invalid_secret_key(message: impl Into<String>) -> ApiError {
    bad_request("XMinioAdminInvalidSecretKey", message)
}

pub(super) fn not_allowed(message: impl Into<String>) -> ApiError {
    error("XMinioIAMActionNotAllowed", StatusCode::FORBIDDEN, message)
}

pub(super) fn too_many(message: impl Into<String>) -> ApiError {
    bad_request("XMinioAdminResourceInvalidArgument", message)
}

/// MinIO's error for a tier of a name that is taken (409).
pub fn tier_exists(name: &str) -> ApiError {
    let message = format!("The tier {} exists already.", shown(name));
    error("XMinioAdminTierAlreadyExists", StatusCode::CONFLICT, message)
}

/// MinIO's error for a tier that does not exist (404).
pub fn tier_not_found(name: &str) -> ApiError {
    let message = format!("There is no tier {}.", shown(name));
    error("XMinioAdminTierNotFound", StatusCode::NOT_FOUND, message)
}

/// MinIO's error for a tier whose objects are needed (409).
pub fn tier_in_use(message: impl Into<String>) -> ApiError {
    error("XMinioAdminTierBackendInUse", StatusCode::CONFLICT, message)
}

/// MinIO's error for settings of a tier that cannot be used (400).
pub fn tier_invalid(message: impl Into<String>) -> ApiError {
    bad_request("XMinioAdminTierInvalidConfig", message)
}

/// MinIO's error for requests about keys to a server that has none (501).
pub fn kms_not_configured() -> ApiError {
    not_implemented(
        "The server has no keys: start it with --master-key-file FILE for SSE-S3, or --kms-key-file FILE for \
         SSE-KMS (`liteio key new` makes these files), or with MINIO_KMS_SECRET_KEY=NAME:KEY.",
    )
}

/// MinIO's error for a key of a name that is taken (409).
pub fn kms_key_exists(name: &str) -> ApiError {
    let message = format!("The key {} exists already.", shown(name));
    error("kms:KeyAlreadyExists", StatusCode::CONFLICT, message)
}

/// A client-supplied name, truncated for messages.
fn shown(name: &str) -> String {
    name.chars().take(128).collect()
}
