//! The security headers of a request, collected in one pass. Each may occur once.

use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, HeaderName, HeaderValue};

use super::error;
use liteio_wire::reply::{ApiError, ErrorCode};
pub(super) const X_AMZ_DATE: &str = "x-amz-date";
pub(super) const X_AMZ_CONTENT_SHA256: &str = "x-amz-content-sha256";
pub(super) const X_AMZ_DECODED_CONTENT_LENGTH: &str = "x-amz-decoded-content-length";
pub(super) const X_AMZ_SECURITY_TOKEN: &str = "x-amz-security-token";
/// The name of the token header in requests for a directory bucket.
pub(super) const X_AMZ_S3SESSION_TOKEN: &str = "x-amz-s3session-token";
pub(super) const X_AMZ_TRAILER: &str = "x-amz-trailer";

/// Headers that are removed before the request is passed on.
const STRIPPED: [&str; 7] = [
    "authorization",
    X_AMZ_DATE,
    X_AMZ_CONTENT_SHA256,
    X_AMZ_DECODED_CONTENT_LENGTH,
    X_AMZ_SECURITY_TOKEN,
    X_AMZ_S3SESSION_TOKEN,
    X_AMZ_TRAILER,
];

/// The headers of a request that describe its signature and its payload.
#[derive(Debug, Default)]
pub(super) struct SecurityHeaders<'a> {
    pub(super) authorization: Option<&'a str>,
    pub(super) amz_date: Option<&'a str>,
    pub(super) date: Option<&'a str>,
    pub(super) content_sha256: Option<&'a str>,
    decoded_content_length: Option<&'a str>,
    pub(super) trailer: Option<&'a str>,
    pub(super) content_length: Option<u64>,
    pub(super) security_token: Option<&'a str>,
    has_host: bool,
}

impl<'a> SecurityHeaders<'a> {
    /// Collects the headers.
    ///
    /// # Errors
    /// `InvalidArgument` if a security header is repeated or unreadable.
    pub(super) fn scan(headers: &'a HeaderMap) -> Result<Self, ApiError> {
        let mut found = SecurityHeaders::default();
        for (name, value) in headers {
            match name.as_str() {
                "authorization" => once(&mut found.authorization, name, value)?,
                X_AMZ_DATE => once(&mut found.amz_date, name, value)?,
                X_AMZ_CONTENT_SHA256 => once(&mut found.content_sha256, name, value)?,
                X_AMZ_TRAILER => once(&mut found.trailer, name, value)?,
                "date" => found.date = value.to_str().ok(),
                "content-length" => number(&mut found.content_length, name, value)?,
                X_AMZ_DECODED_CONTENT_LENGTH => {
                    once(&mut found.decoded_content_length, name, value)?;
                }
                X_AMZ_SECURITY_TOKEN | X_AMZ_S3SESSION_TOKEN => {
                    once(&mut found.security_token, name, value)?;
                }
                "host" if found.has_host => return Err(repeated(name)),
                "host" => found.has_host = true,
                _ => {}
            }
        }
        Ok(found)
    }

    /// The length of an aws-chunked body without its framing, in bytes. Read after the signature, as AWS does: a value
    /// that is malformed and not signed is an error of the signature.
    ///
    /// # Errors
    /// `MissingContentLength` if it is no length, as on AWS.
    pub(super) fn decoded_content_length(&self) -> Result<Option<u64>, ApiError> {
        let Some(text) = self.decoded_content_length else { return Ok(None) };
        digits(text).map(Some).ok_or_else(|| {
            ApiError::new(
                ErrorCode::MissingContentLength,
                format!("The header {X_AMZ_DECODED_CONTENT_LENGTH} is not a valid length"),
            )
        })
    }
}

fn repeated(name: &HeaderName) -> ApiError {
    error::invalid_argument(format!("The header {name} was sent more than once"))
        .with("ArgumentName", name.as_str())
}

fn once<'a>(
    place: &mut Option<&'a str>,
    name: &HeaderName,
    value: &'a HeaderValue,
) -> Result<(), ApiError> {
    let text = value.to_str().map_err(|_| {
        error::invalid_argument(format!("The header {name} holds unprintable characters"))
            .with("ArgumentName", name.as_str())
    })?;
    match place.replace(text.trim()) {
        None => Ok(()),
        Some(_) => Err(repeated(name)),
    }
}

fn number(place: &mut Option<u64>, name: &HeaderName, value: &HeaderValue) -> Result<(), ApiError> {
    let mut text = None;
    once(&mut text, name, value)?;
    match place.replace(length(text.unwrap_or_default(), name.as_str())?) {
        None => Ok(()),
        Some(_) => Err(repeated(name)),
    }
}

fn digits(text: &str) -> Option<u64> {
    // `parse` alone would accept a plus sign.
    let digits = Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    digits.and_then(|text| text.parse().ok())
}

fn length(text: &str, name: &str) -> Result<u64, ApiError> {
    digits(text).ok_or_else(|| {
        let message = format!("The header {name} is not a valid length");
        error::invalid_argument(message).with("ArgumentName", name)
    })
}

/// Removes the headers of the signature and of the payload framing.
///
/// `decoded_length` is given for aws-chunked bodies, and replaces the length that includes the
/// framing.
pub(super) fn strip_headers(headers: &mut HeaderMap, decoded_length: Option<u64>) {
    // One pass over the few names of the request is cheaper than a look-up for each of these.
    let is_stripped = |name: &&HeaderName| STRIPPED.contains(&name.as_str());
    let present: Vec<HeaderName> = headers.keys().filter(is_stripped).cloned().collect();
    for name in present {
        headers.remove(name);
    }
    if let Some(length) = decoded_length {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        headers.remove(http::header::TRANSFER_ENCODING);
    }
    strip_aws_chunked(headers);
}

/// Removes `aws-chunked` from `Content-Encoding`: it is framing, not an encoding of the object, and
/// must never be stored.
fn strip_aws_chunked(headers: &mut HeaderMap) {
    if !headers.contains_key(CONTENT_ENCODING) {
        return;
    }
    let is_framing = |token: &str| token.trim().eq_ignore_ascii_case("aws-chunked");
    let values =
        || headers.get_all(CONTENT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    if !values().flat_map(|value| value.split(',')).any(is_framing) {
        return;
    }
    let kept: Vec<&str> = values()
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .filter(|token| !token.is_empty() && !is_framing(token))
        .collect();
    let kept = HeaderValue::from_str(&kept.join(","));
    headers.remove(CONTENT_ENCODING);
    if let Ok(kept) = kept
        && !kept.is_empty()
    {
        headers.insert(CONTENT_ENCODING, kept);
    }
}

/// The date that the signature covers: `x-amz-date`, otherwise `Date`.
pub(super) fn signed_date(found: &SecurityHeaders<'_>) -> Option<super::amz_date::AmzDate> {
    use super::amz_date::AmzDate;
    match found.amz_date {
        Some(text) => AmzDate::parse(text),
        None => AmzDate::parse_http(found.date?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().expect("header value"));
        }
        headers
    }

    #[test]
    fn aws_chunked_leaves_the_other_encodings() {
        for (sent, kept) in [
            ("aws-chunked", None),
            ("gzip", Some("gzip")),
            ("aws-chunked,gzip", Some("gzip")),
            ("gzip, AWS-Chunked , br", Some("gzip,br")),
            ("aws-chunked,", None),
        ] {
            let mut headers = headers(&[("content-encoding", sent)]);
            strip_headers(&mut headers, None);
            let left = headers.get("content-encoding").map(|v| v.to_str().expect("ASCII"));
            assert_eq!(left, kept, "{sent}");
        }
        let mut two = headers(&[("content-encoding", "aws-chunked"), ("content-encoding", "br")]);
        strip_headers(&mut two, Some(7));
        assert_eq!(two.get("content-encoding").expect("kept"), "br");
        assert_eq!(two.get("content-length").expect("set"), "7");
    }

    #[test]
    fn repeated_or_unreadable_security_headers_are_refused() {
        for name in [
            "authorization",
            "host",
            "x-amz-date",
            "x-amz-content-sha256",
            "x-amz-decoded-content-length",
            "content-length",
            "x-amz-trailer",
        ] {
            let twice = headers(&[(name, "1"), (name, "1")]);
            let error = SecurityHeaders::scan(&twice).expect_err(name);
            assert_eq!(error.code(), "InvalidArgument", "{name}");
        }
        for length in ["-1", "+1", "", "1.0", "18446744073709551616", "0x10"] {
            let headers = headers(&[("x-amz-decoded-content-length", length)]);
            let found = SecurityHeaders::scan(&headers).expect("the value is read later");
            let error = found.decoded_content_length().expect_err(length);
            assert_eq!(error.code(), "MissingContentLength", "{length:?}");
        }
    }
}
