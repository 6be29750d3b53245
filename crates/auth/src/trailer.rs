//! Trailers of an aws-chunked body.

use std::sync::{Arc, OnceLock};

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};

use super::limits::{TRAILER_BYTES_MAX, TRAILERS_MAX};
use super::payload::ChunkSignatures;
use liteio_wire::reply::{ApiError, ErrorCode};

/// The trailers of a body, in the extensions of a request that announces some.
///
/// The names are known from the start, the values once the body has ended without error.
#[derive(Debug, Clone)]
pub struct TrailerHandle {
    declared: Arc<[HeaderName]>,
    received: Arc<OnceLock<HeaderMap>>,
}

impl TrailerHandle {
    pub(super) fn new(declared: Vec<HeaderName>) -> Self {
        TrailerHandle { declared: declared.into(), received: Arc::default() }
    }

    /// The names in `x-amz-trailer`. All of them arrive, or the body fails.
    #[must_use]
    pub fn declared(&self) -> &[HeaderName] {
        &self.declared
    }

    /// The trailers; `None` until the body has ended.
    #[must_use]
    pub fn get(&self) -> Option<&HeaderMap> {
        self.received.get()
    }
}

/// The lines of a trailer, collected and checked.
pub(super) struct TrailerBlock {
    handle: TrailerHandle,
    signatures: ChunkSignatures,
    bytes: usize,
    received: HeaderMap,
    /// The text that the trailer signature covers: one `name:value\n` for each line, as received.
    canonical: Vec<u8>,
    signature: Option<String>,
    /// `true` if the last line ended without CR. Some clients write `name:value\n\r\n`, whose CRLF
    /// is not an empty line of its own.
    ended_bare: bool,
}

fn malformed() -> ApiError {
    ApiError::new(
        ErrorCode::MalformedTrailerError,
        "The request contained trailing data that was not well-formed or did not conform to our \
         published schema.",
    )
}

impl TrailerBlock {
    pub(super) fn new(handle: TrailerHandle, signatures: ChunkSignatures) -> Self {
        TrailerBlock {
            handle,
            signatures,
            bytes: 0,
            received: HeaderMap::new(),
            canonical: Vec::new(),
            signature: None,
            ended_bare: false,
        }
    }

    /// Maximum bytes of the next line, its end included.
    pub(super) fn line_bytes_max(&self) -> usize {
        TRAILER_BYTES_MAX - self.bytes
    }

    /// Adds one line without its `\n`. `true` for the empty line that ends the block.
    pub(super) fn push_line(&mut self, line: &[u8]) -> Result<bool, ApiError> {
        self.bytes = (self.bytes + line.len() + 1).min(TRAILER_BYTES_MAX);
        let (line, bare) = match line.strip_suffix(b"\r") {
            Some(line) => (line, false),
            None => (line, true),
        };
        if line.is_empty() {
            if std::mem::take(&mut self.ended_bare) {
                return Ok(false);
            }
            return if bare { Err(malformed()) } else { Ok(true) };
        }
        self.ended_bare = bare;
        let text = std::str::from_utf8(line).map_err(|_| malformed())?;
        let (name, value) = text.split_once(':').ok_or_else(malformed)?;
        let value = value.trim();
        // The signature must be the last line: anything after it would be unsigned.
        if self.signature.is_some() || self.received.len() >= TRAILERS_MAX {
            return Err(malformed());
        }
        let may_be_signed = self.signatures != ChunkSignatures::Absent;
        if may_be_signed && name.eq_ignore_ascii_case("x-amz-trailer-signature") {
            self.signature = Some(value.to_owned());
            return Ok(false);
        }
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| malformed())?;
        // An unannounced or repeated trailer could replace a checksum.
        if !self.handle.declared.contains(&name) || self.received.contains_key(&name) {
            return Err(malformed());
        }
        self.canonical.extend_from_slice(name.as_str().as_bytes());
        self.canonical.push(b':');
        self.canonical.extend_from_slice(value.as_bytes());
        self.canonical.push(b'\n');
        let value = HeaderValue::from_str(value).map_err(|_| malformed())?;
        self.received.insert(name, value);
        Ok(false)
    }

    /// Compares the received trailers with the announced ones. `verify` checks a signature over the
    /// canonical lines.
    pub(super) fn check(&self, verify: impl FnOnce(&[u8], &str) -> bool) -> Result<(), ApiError> {
        if self.signatures == ChunkSignatures::Checked {
            let signature = self.signature.as_deref().ok_or_else(malformed)?;
            if !verify(&self.canonical, signature) {
                return Err(ApiError::new(
                    ErrorCode::SignatureDoesNotMatch,
                    "The signature of the trailer does not match what was computed.",
                ));
            }
        }
        if self.received.len() != self.handle.declared.len() {
            return Err(malformed());
        }
        Ok(())
    }

    /// Publishes the checked trailers after a clean end of the body.
    pub(super) fn publish(&mut self) {
        let _ = self.handle.received.set(std::mem::take(&mut self.received));
    }
}
