//! Times in documents and headers.

use http::HeaderValue;
use jiff::Timestamp;
use s3s::{S3Error, S3Result};

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
    HeaderValue::try_from(text.map_err(S3Error::internal_error)?).map_err(S3Error::internal_error)
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
}
