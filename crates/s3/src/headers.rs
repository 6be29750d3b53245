//! Values of headers.

use http::header::AsHeaderName;
use http::{HeaderMap, HeaderName, HeaderValue};
use liteio_store::ETag;
use s3s::{S3Error, S3Result};

/// The value of a request header, if it is not empty and visible ASCII. Headers that s3s parses are
/// checked by it already.
pub(super) fn header(headers: &HeaderMap, name: impl AsHeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok().filter(|value| !value.is_empty())
}

/// Converts text to a response header value. Fails for bytes that HTTP cannot carry, such as line
/// breaks.
pub(super) fn header_value(value: &str) -> S3Result<HeaderValue> {
    HeaderValue::from_bytes(value.as_bytes()).map_err(S3Error::internal_error)
}

/// Adds a header if there is a text.
pub(super) fn insert_text(
    headers: &mut HeaderMap,
    name: HeaderName,
    value: Option<&str>,
) -> S3Result<()> {
    if let Some(value) = value {
        headers.insert(name, header_value(value)?);
    }
    Ok(())
}

pub(super) fn etag_header(etag: &ETag) -> S3Result<HeaderValue> {
    let ETag::Md5(md5) = etag else { return header_value(&format!("\"{etag}\"")) };
    let mut text = [b'"'; 34];
    let digits = hex_simd::Out::from_slice(&mut text[1..33]);
    let _ = hex_simd::encode(md5, digits, hex_simd::AsciiCase::Lower);
    HeaderValue::from_bytes(&text).map_err(S3Error::internal_error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_cannot_be_injected() {
        assert!(header_value("a\r\nx-evil: 1").is_err());
        assert!(header_value("attachment; filename=\"ü\"").is_ok());
    }
}
