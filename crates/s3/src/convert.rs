//! Conversions of request and response values that many operations share.

use std::sync::Arc;

use http::{Extensions, HeaderMap, HeaderName, HeaderValue, StatusCode};
use jiff::Timestamp;
use liteio_store::{ETag, ObjectKey, PartNumber, UploadId, VersionId};
use s3s::{S3Error, S3Response, S3Result, s3_error};

use super::details::Details;
use super::error;
use super::page_token::key_in_url;
use super::service::Answer;
use liteio_wire::origin::Origin;

pub(super) fn object_key(key: String) -> S3Result<ObjectKey> {
    ObjectKey::try_from(key).map_err(error::from_store)
}

pub(super) fn upload_id(id: &str) -> S3Result<UploadId> {
    UploadId::parse(id).map_err(error::from_store)
}

/// Parses the `versionId` of a request.
pub(super) fn version_id(version: Option<String>) -> S3Result<Option<VersionId>> {
    match version.as_deref() {
        None => Ok(None),
        Some("") => Err(s3_error!(
            Details::argument("versionId", ""),
            InvalidArgument,
            "Version id cannot be the empty string"
        )),
        Some(text) => VersionId::parse(text).map(Some).map_err(error::from_store),
    }
}

/// Parses a `partNumber`.
pub(super) fn part_number(number: i32) -> S3Result<PartNumber> {
    PartNumber::try_from(number).map_err(|_| no_part_number(&number.to_string()))
}

/// Parses the `partNumber` of a query.
pub(super) fn part_number_text(text: &str) -> S3Result<PartNumber> {
    let number: Option<i32> = text.parse().ok();
    let number = number.and_then(|number| PartNumber::try_from(number).ok());
    number.ok_or_else(|| no_part_number(text))
}

fn no_part_number(text: &str) -> S3Error {
    s3_error!(
        Details::argument("partNumber", text),
        InvalidArgument,
        "Part number must be an integer between 1 and 10000, inclusive"
    )
}

/// The page size: the requested number, at most `limit`, which is also the default.
pub(super) fn page_size(name: &str, asked: Option<i32>, limit: usize) -> S3Result<usize> {
    let Some(asked) = asked else { return Ok(limit) };
    usize::try_from(asked).map(|asked| asked.min(limit)).map_err(|_| {
        s3_error!(
            Details::argument(name, &asked.to_string()),
            InvalidArgument,
            "Argument {name} must be an integer between 0 and 2147483647"
        )
    })
}

/// The value of a request header, if it is not empty and visible ASCII. Headers that s3s parses are
/// checked by it already.
pub(super) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
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

/// The URL of an object, on the host of the request.
pub(super) fn object_url(extensions: &Extensions, bucket: &str, key: &str) -> String {
    let key = key_in_url(key);
    match extensions.get::<Arc<Origin>>() {
        Some(origin) => {
            let (scheme, host) = (origin.peer.scheme(), origin.target.host());
            format!("{scheme}://{host}/{bucket}/{key}")
        }
        None => format!("/{bucket}/{key}"),
    }
}

pub(super) fn etag_header(etag: &ETag) -> S3Result<HeaderValue> {
    let ETag::Md5(md5) = etag else { return header_value(&format!("\"{etag}\"")) };
    let mut text = [b'"'; 34];
    let digits = hex_simd::Out::from_slice(&mut text[1..33]);
    let _ = hex_simd::encode(md5, digits, hex_simd::AsciiCase::Lower);
    HeaderValue::from_bytes(&text).map_err(S3Error::internal_error)
}

/// Formats `2026-01-31T12:00:00.000Z`. S3 times have whole seconds, and date conditions compare
/// whole seconds.
pub(super) fn iso_date(time_ms: u64) -> String {
    let mut text = timestamp(time_ms).to_string();
    text.pop();
    text.push_str(".000Z");
    text
}

/// Formats `Sat, 31 Jan 2026 12:00:00 GMT`.
pub(super) fn http_date(time_ms: u64) -> S3Result<HeaderValue> {
    let printer = jiff::fmt::rfc2822::DateTimePrinter::new();
    let text = printer.timestamp_to_rfc9110_string(&timestamp(time_ms));
    header_value(&text.map_err(S3Error::internal_error)?)
}

/// A time truncated to the second; times after the year 9999 are clamped to its last second.
fn timestamp(time_ms: u64) -> Timestamp {
    let seconds = i64::try_from(time_ms / 1000).unwrap_or(i64::MAX);
    Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX)
}

/// Whole seconds since 1970 for a time in a request.
pub(super) fn unix_seconds(time: s3s::dto::Timestamp) -> Option<i64> {
    let mut text = Vec::new();
    time.format(s3s::dto::TimestampFormat::EpochSeconds, &mut text).ok()?;
    let text = std::str::from_utf8(&text).ok()?;
    text.split('.').next()?.parse().ok()
}

/// Converts a time for a document written by s3s.
pub(super) fn dto_time(time_ms: u64) -> S3Result<s3s::dto::Timestamp> {
    use s3s::dto::TimestampFormat::DateTime;
    s3s::dto::Timestamp::parse(DateTime, &iso_date(time_ms)).map_err(S3Error::internal_error)
}

/// A response with our own XML document instead of the one s3s would write.
pub(super) fn xml_response<T: Default>(xml: bytes::Bytes) -> S3Response<T> {
    let mut response = S3Response::new(T::default());
    response.extensions.insert(Answer { status: None, xml: Some(xml) });
    response
}

/// A response with status 204, which AWS sends for some settings that are put.
pub(super) fn no_content<T>(output: T) -> S3Response<T> {
    let mut response = S3Response::new(output);
    response.extensions.insert(Answer { status: Some(StatusCode::NO_CONTENT), xml: None });
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_have_whole_seconds() {
        assert_eq!(iso_date(1_769_860_800_999), "2026-01-31T12:00:00.000Z");
        let date = http_date(1_769_860_800_999).expect("a date");
        assert_eq!(date, "Sat, 31 Jan 2026 12:00:00 GMT");
        assert!(iso_date(u64::MAX).starts_with("9999-12-"));
    }

    #[test]
    fn pages_are_bounded() {
        for (asked, expected) in [(None, 1000), (Some(0), 0), (Some(7), 7), (Some(5000), 1000)] {
            assert_eq!(page_size("max-keys", asked, 1000).expect("valid"), expected);
        }
        assert!(page_size("max-keys", Some(-1), 1000).is_err());
    }

    #[test]
    fn headers_cannot_be_injected() {
        assert!(header_value("a\r\nx-evil: 1").is_err());
        assert!(header_value("attachment; filename=\"ü\"").is_ok());
    }
}
