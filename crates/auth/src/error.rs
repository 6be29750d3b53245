//! The errors of authentication, with the messages of AWS.

use std::borrow::Cow;

use liteio_wire::reply::{ApiError, ErrorCode};

/// The details that AWS reports for a signature that does not match. All are derived from data that
/// the client sent, so none reveals a secret.
pub(super) struct SignatureDiagnostics<'a> {
    /// The access key named by the request.
    pub(super) access_key_id: &'a str,
    /// The expected string to sign.
    pub(super) string_to_sign: &'a str,
    /// The signature in the request.
    pub(super) signature_provided: &'a str,
    /// The canonical request as built by this server; absent for form uploads, which sign their
    /// policy.
    pub(super) canonical_request: Option<&'a str>,
}

pub(super) fn signature_does_not_match(facts: &SignatureDiagnostics<'_>) -> ApiError {
    let error = ApiError::new(
        ErrorCode::SignatureDoesNotMatch,
        "The request signature we calculated does not match the signature you provided. Check \
         your key and signing method.",
    );
    let error = error
        .with("AWSAccessKeyId", facts.access_key_id)
        .with("StringToSign", facts.string_to_sign)
        .with("SignatureProvided", facts.signature_provided)
        .with("StringToSignBytes", spaced_hex(facts.string_to_sign.as_bytes()));
    match facts.canonical_request {
        Some(canonical_request) => error
            .with("CanonicalRequest", canonical_request)
            .with("CanonicalRequestBytes", spaced_hex(canonical_request.as_bytes())),
        None => error,
    }
}

/// Bytes as AWS prints them: two digits each, separated by spaces.
fn spaced_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(bytes.len() * 3);
    for (index, byte) in bytes.iter().enumerate() {
        if index > 0 {
            text.push(' ');
        }
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

pub(super) fn invalid_argument(message: impl Into<Cow<'static, str>>) -> ApiError {
    ApiError::new(ErrorCode::InvalidArgument, message)
}

pub(super) fn invalid_request(message: impl Into<Cow<'static, str>>) -> ApiError {
    ApiError::new(ErrorCode::InvalidRequest, message)
}

pub(super) fn access_denied(message: impl Into<Cow<'static, str>>) -> ApiError {
    ApiError::new(ErrorCode::AccessDenied, message)
}

pub(super) fn entity_too_large() -> ApiError {
    ApiError::new(
        ErrorCode::EntityTooLarge,
        "Your proposed upload exceeds the maximum allowed size",
    )
}

pub(super) fn invalid_access_key_id(access_key: &str) -> ApiError {
    ApiError::new(
        ErrorCode::InvalidAccessKeyId,
        "The AWS Access Key Id you provided does not exist in our records.",
    )
    .with("AWSAccessKeyId", access_key)
}

pub(super) fn invalid_token() -> ApiError {
    ApiError::new(ErrorCode::InvalidToken, "The provided token is malformed or otherwise invalid.")
}

pub(super) fn expired_token() -> ApiError {
    ApiError::new(ErrorCode::ExpiredToken, "The provided token has expired.")
}

pub(super) fn only_one_mechanism() -> ApiError {
    invalid_argument(
        "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature \
         query string parameter or the Authorization header should be specified",
    )
}

pub(super) fn signature_version_2() -> ApiError {
    invalid_request(
        "The authorization mechanism you have provided is not supported. Please use \
         AWS4-HMAC-SHA256. A server started with --allow-signature-v2 \
         (LITEIO_ALLOW_SIGNATURE_V2=true) accepts Signature Version 2 for S3.",
    )
}

pub(super) fn signature_version_4a() -> ApiError {
    ApiError::new(
        ErrorCode::NotImplemented,
        "AWS4-ECDSA-P256-SHA256 (Signature Version 4A) is not supported by this server. \
         Please use AWS4-HMAC-SHA256.",
    )
}

pub(super) fn fan_out() -> ApiError {
    ApiError::new(
        ErrorCode::NotImplemented,
        "Forms that make many objects of one file (x-minio-fanout-list) are not implemented by LiteIO. \
         Put each object. Nothing was stored.",
    )
}

/// The error for a body whose hash differs from the declared one, detected at the head or at the
/// end.
pub(super) fn content_sha256_mismatch(declared: &[u8], computed: &[u8]) -> ApiError {
    ApiError::new(
        ErrorCode::XAmzContentSHA256Mismatch,
        "The provided 'x-amz-content-sha256' header does not match what was computed.",
    )
    .with("ClientComputedContentSHA256", String::from_utf8_lossy(declared))
    .with("S3ComputedContentSHA256", String::from_utf8_lossy(computed))
}
