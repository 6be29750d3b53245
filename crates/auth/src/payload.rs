//! The declared payload of a request: `x-amz-content-sha256` and related headers.

use http::header::HeaderName;

use super::error;
use super::head::SecurityHeaders;
use super::limits::TRAILERS_MAX;
use liteio_wire::reply::{ApiError, ErrorCode};

/// The SHA-256 of the empty string.
pub(super) const EMPTY_SHA256: &[u8; 64] =
    b"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// The same as text, as in a header.
pub(super) const EMPTY_SHA256_TEXT: &str = match std::str::from_utf8(EMPTY_SHA256) {
    Ok(text) => text,
    Err(_) => panic!("digits are UTF-8"),
};

pub(super) const UNSIGNED_PAYLOAD: &str = "UNSIGNED-PAYLOAD";

/// The declared protection of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Payload {
    /// No protection.
    Unsigned,
    /// The body must have this hash (lower-case digits).
    Hashed([u8; 64]),
    /// The body is aws-chunked.
    Chunked(ChunkedPayload),
}

/// The signatures of chunks and trailers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkSignatures {
    /// No signatures.
    Absent,
    /// Each signature is verified.
    Checked,
    /// Signatures are present but not verified.
    Ignored,
}

/// The framing of an aws-chunked body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChunkedPayload {
    pub(super) signatures: ChunkSignatures,
    /// The names of the announced trailers; `None` without trailers.
    pub(super) trailers: Option<Vec<HeaderName>>,
    /// Length of the body without its framing, in bytes.
    pub(super) decoded_length: u64,
}

/// The value of `x-amz-content-sha256`, which is read before the signature is verified. The headers beside it are read
/// after that, by [`Declared::with_headers`], as on AWS: an unsigned header that is malformed is an error of the signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Declared {
    Unsigned,
    Hashed([u8; 64]),
    Chunked { signatures: ChunkSignatures, with_trailer: bool },
}

impl Declared {
    /// Parses the value.
    ///
    /// # Errors
    /// The value is not one defined by AWS.
    pub(super) fn parse(content_sha256: &str) -> Result<Declared, ApiError> {
        let (signatures, with_trailer) = match content_sha256 {
            "STREAMING-AWS4-HMAC-SHA256-PAYLOAD" => (ChunkSignatures::Checked, false),
            "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER" => (ChunkSignatures::Checked, true),
            "STREAMING-UNSIGNED-PAYLOAD-TRAILER" => (ChunkSignatures::Absent, true),
            "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD"
            | "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER" => {
                return Err(error::signature_version_4a());
            }
            UNSIGNED_PAYLOAD => return Ok(Declared::Unsigned),
            text => return hash(text).map(Declared::Hashed),
        };
        Ok(Declared::Chunked { signatures, with_trailer })
    }

    /// The payload that the value and the headers beside it declare.
    ///
    /// # Errors
    /// The headers are malformed, or contradict the value.
    pub(super) fn with_headers(self, found: &SecurityHeaders<'_>) -> Result<Payload, ApiError> {
        let decoded_length = found.decoded_content_length()?;
        let (signatures, with_trailer) = match self {
            Declared::Unsigned => return no_trailers(found).map(|()| Payload::Unsigned),
            Declared::Hashed(hash) => return no_trailers(found).map(|()| Payload::Hashed(hash)),
            Declared::Chunked { signatures, with_trailer } => (signatures, with_trailer),
        };
        let decoded_length = decoded_length.ok_or_else(|| {
            ApiError::new(
                ErrorCode::MissingContentLength,
                "You must provide the x-amz-decoded-content-length HTTP header.",
            )
        })?;
        let trailers = match with_trailer {
            true => Some(declared_trailers(found.trailer.unwrap_or_default())?),
            false => no_trailers(found).map(|()| None)?,
        };
        Ok(Payload::Chunked(ChunkedPayload { signatures, trailers, decoded_length }))
    }
}

impl Payload {
    /// Parses the declaration of a request that nothing signs.
    ///
    /// # Errors
    /// The value is not one defined by AWS, or other headers contradict it.
    pub(super) fn parse(
        content_sha256: &str,
        found: &SecurityHeaders<'_>,
    ) -> Result<Payload, ApiError> {
        Declared::parse(content_sha256)?.with_headers(found)
    }
}

fn hash(text: &str) -> Result<[u8; 64], ApiError> {
    match <[u8; 64]>::try_from(text.as_bytes()) {
        Ok(mut digits) if digits.iter().all(u8::is_ascii_hexdigit) => {
            digits.make_ascii_lowercase();
            Ok(digits)
        }
        _ => Err(error::invalid_argument(
            "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, \
             STREAMING-UNSIGNED-PAYLOAD-TRAILER, STREAMING-AWS4-HMAC-SHA256-PAYLOAD, \
             STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER, or a valid sha256 value.",
        )
        .with("ArgumentName", "x-amz-content-sha256")
        .with("ArgumentValue", text)),
    }
}

/// Refuses an announced trailer that the framing cannot carry: ignoring it would drop an integrity check.
fn no_trailers(found: &SecurityHeaders<'_>) -> Result<(), ApiError> {
    match found.trailer {
        None => Ok(()),
        Some(_) => Err(error::invalid_request(
            "The x-amz-trailer header needs a payload with trailer: x-amz-content-sha256 must be \
             STREAMING-UNSIGNED-PAYLOAD-TRAILER or STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER.",
        )),
    }
}

fn declared_trailers(list: &str) -> Result<Vec<HeaderName>, ApiError> {
    let mut names = Vec::new();
    for text in list.split(',').map(str::trim).filter(|text| !text.is_empty()) {
        let name = HeaderName::from_bytes(text.as_bytes())
            .ok()
            .filter(|name| name.as_str().starts_with("x-amz-checksum-"))
            .filter(|name| !names.contains(name) && names.len() < TRAILERS_MAX);
        names.push(name.ok_or_else(|| {
            error::invalid_request(
                "The value specified in the x-amz-trailer header is not supported",
            )
        })?);
    }
    Ok(names)
}
