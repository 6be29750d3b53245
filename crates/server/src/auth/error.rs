//! Why a request was refused, in the words of AWS.

use std::borrow::Cow;
use std::fmt;

use http::StatusCode;
use s3s::{S3Error, S3ErrorCode};

/// A refusal of the authentication layer.
///
/// Holds the code, the message, the status, and the elements that AWS adds to the error document.
/// Never holds a secret or an expected signature.
#[derive(Debug, Clone)]
pub struct AuthError {
    code: S3ErrorCode,
    status: StatusCode,
    message: Cow<'static, str>,
    elements: Vec<(&'static str, String)>,
    diagnostics: Option<Box<SignatureDiagnostics>>,
}

/// What AWS shows of a request whose signature did not match: all of it is made from what the
/// client sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignatureDiagnostics {
    /// The access key that the request named.
    pub access_key_id: String,
    /// The string that should have been signed.
    pub string_to_sign: String,
    /// The signature that came with the request.
    pub signature_provided: String,
    /// The canonical request as this server built it; absent for form uploads, which sign their
    /// policy.
    pub canonical_request: Option<String>,
}

impl SignatureDiagnostics {
    /// The elements of the error document, in the order in which AWS writes them. Values are raw:
    /// whoever writes XML escapes them.
    #[must_use]
    pub fn elements(&self) -> Vec<(&'static str, String)> {
        let mut elements = vec![
            ("AWSAccessKeyId", self.access_key_id.clone()),
            ("StringToSign", self.string_to_sign.clone()),
            ("SignatureProvided", self.signature_provided.clone()),
            ("StringToSignBytes", spaced_hex(self.string_to_sign.as_bytes())),
        ];
        if let Some(canonical_request) = &self.canonical_request {
            elements.push(("CanonicalRequest", canonical_request.clone()));
            elements.push(("CanonicalRequestBytes", spaced_hex(canonical_request.as_bytes())));
        }
        elements
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

/// A code that s3s does not know by name.
pub(super) fn custom_code(name: &'static str) -> S3ErrorCode {
    S3ErrorCode::from_bytes(name.as_bytes()).unwrap_or(S3ErrorCode::InvalidRequest)
}

/// The status that belongs to a code, also for those unknown to s3s.
pub(super) fn status_of(code: &S3ErrorCode) -> StatusCode {
    match code.as_str() {
        "InvalidChunkSizeError" => StatusCode::FORBIDDEN,
        _ => code.status_code().unwrap_or(StatusCode::BAD_REQUEST),
    }
}

impl AuthError {
    pub(super) fn new(code: S3ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        let status = status_of(&code);
        let (message, elements) = (message.into(), Vec::new());
        AuthError { code, status, message, elements, diagnostics: None }
    }

    /// Adds an element to the error document.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.elements.push((name, value.into()));
        self
    }

    pub(super) fn signature_does_not_match(diagnostics: SignatureDiagnostics) -> Self {
        let mut error = AuthError::new(
            S3ErrorCode::SignatureDoesNotMatch,
            "The request signature we calculated does not match the signature you provided. Check \
             your key and signing method.",
        );
        error.diagnostics = Some(Box::new(diagnostics));
        error
    }

    pub(super) fn invalid_argument(message: impl Into<Cow<'static, str>>) -> Self {
        AuthError::new(S3ErrorCode::InvalidArgument, message)
    }

    pub(super) fn invalid_request(message: impl Into<Cow<'static, str>>) -> Self {
        AuthError::new(S3ErrorCode::InvalidRequest, message)
    }

    pub(super) fn access_denied(message: impl Into<Cow<'static, str>>) -> Self {
        AuthError::new(S3ErrorCode::AccessDenied, message)
    }

    pub(super) fn invalid_access_key_id(access_key: &str) -> Self {
        AuthError::new(
            S3ErrorCode::InvalidAccessKeyId,
            "The AWS Access Key Id you provided does not exist in our records.",
        )
        .with("AWSAccessKeyId", access_key)
    }

    pub(super) fn invalid_token() -> Self {
        AuthError::new(
            S3ErrorCode::InvalidToken,
            "The provided token is malformed or otherwise invalid.",
        )
    }

    pub(super) fn only_one_mechanism() -> Self {
        AuthError::invalid_argument(
            "Only one auth mechanism allowed; only the X-Amz-Algorithm query parameter, Signature \
             query string parameter or the Authorization header should be specified",
        )
    }

    pub(super) fn signature_version_2() -> Self {
        AuthError::invalid_request(
            "The authorization mechanism you have provided is not supported. Please use \
             AWS4-HMAC-SHA256.",
        )
    }

    pub(super) fn signature_version_4a() -> Self {
        AuthError::new(
            S3ErrorCode::NotImplemented,
            "AWS4-ECDSA-P256-SHA256 (Signature Version 4A) is not supported by this server. \
             Please use AWS4-HMAC-SHA256.",
        )
    }

    pub(super) fn content_sha256_mismatch() -> Self {
        AuthError::new(custom_code("XAmzContentSHA256Mismatch"), CONTENT_SHA256_MISMATCH)
    }

    /// The S3 error code.
    #[must_use]
    pub fn code(&self) -> &S3ErrorCode {
        &self.code
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The message, for the eyes of the client.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What to add to the error document besides code and message, in order. Values are raw:
    /// whoever writes XML escapes them.
    #[must_use]
    pub fn elements(&self) -> Vec<(&'static str, String)> {
        let mut elements = self.elements.clone();
        if let Some(diagnostics) = &self.diagnostics {
            elements.extend(diagnostics.elements());
        }
        elements
    }

    /// The facts of a signature that did not match.
    #[must_use]
    pub fn diagnostics(&self) -> Option<&SignatureDiagnostics> {
        self.diagnostics.as_deref()
    }
}

/// Message of `XAmzContentSHA256Mismatch`, at the head and at the end of a body.
pub(super) const CONTENT_SHA256_MISMATCH: &str =
    "The provided 'x-amz-content-sha256' header does not match what was computed.";

impl fmt::Display for AuthError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.code.as_str(), self.message)
    }
}

impl std::error::Error for AuthError {}

impl From<AuthError> for S3Error {
    fn from(error: AuthError) -> S3Error {
        let mut s3_error = S3Error::with_message(error.code, error.message);
        s3_error.set_status_code(error.status);
        s3_error
    }
}
