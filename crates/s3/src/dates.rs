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

/// Formats times as [`iso_date`] does, and keeps the date of the last one: the objects of a list are often of one day,
/// and the calendar cost a twelfth of a list.
#[derive(Default)]
pub(super) struct IsoDates {
    /// The day since 1970, and its date as `2026-01-31T`.
    last: Option<(i64, String)>,
}

impl IsoDates {
    /// Appends the time to `text`.
    pub(super) fn push(&mut self, text: &mut String, time_ms: u64) {
        const DAY_SECONDS: i64 = 24 * 60 * 60;
        let seconds = timestamp(time_ms).as_second();
        let (day, second) = (seconds / DAY_SECONDS, seconds % DAY_SECONDS);
        match &self.last {
            Some((last, date)) if *last == day => text.push_str(date),
            _ => {
                let mut date = iso_date(time_ms);
                date.truncate("2026-01-31T".len());
                text.push_str(&date);
                self.last = Some((day, date));
            }
        }
        for (number, behind) in
            [(second / 3600, ":"), (second / 60 % 60, ":"), (second % 60, ".000Z")]
        {
            text.extend([number / 10, number % 10].map(|digit| char::from(b'0' + digit as u8)));
            text.push_str(behind);
        }
    }
}

/// Formats `Sat, 31 Jan 2026 12:00:00 GMT`.
pub(super) fn http_date(time_ms: u64) -> S3Result<HeaderValue> {
    let printer = jiff::fmt::rfc2822::DateTimePrinter::new();
    let text = printer.timestamp_to_rfc9110_string(&timestamp(time_ms));
    HeaderValue::try_from(text.map_err(S3Error::internal_error)?).map_err(S3Error::internal_error)
}

/// A time truncated to the second; later times than `jiff` has are clamped to its last second.
fn timestamp(time_ms: u64) -> Timestamp {
    let seconds = i64::try_from(time_ms / 1000).unwrap_or(i64::MAX);
    // The last second there is also has a fraction, which would be shown.
    Timestamp::from_second(seconds.min(Timestamp::MAX.as_second())).unwrap_or_default()
}

/// A time in a header, in the form of RFC 3339, which S3 requires. jiff alone also takes other forms of ISO 8601.
pub(super) fn rfc3339(text: &str) -> Option<Timestamp> {
    s3s::dto::Timestamp::parse(s3s::dto::TimestampFormat::DateTime, text).ok()?;
    text.parse().ok()
}

/// Whole seconds since 1970 for a time in a request.
pub(super) fn unix_seconds(time: s3s::dto::Timestamp) -> Option<i64> {
    let mut text = Vec::new();
    time.format(s3s::dto::TimestampFormat::EpochSeconds, &mut text).ok()?;
    let text = std::str::from_utf8(&text).ok()?;
    text.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_have_whole_seconds() {
        assert_eq!(iso_date(1_769_860_800_999), "2026-01-31T12:00:00.000Z");
        let date = http_date(1_769_860_800_999).expect("a date");
        assert_eq!(date, "Sat, 31 Jan 2026 12:00:00 GMT");
        for far in [253_402_300_799_999, u64::MAX] {
            assert_eq!(iso_date(far), "9999-12-30T22:00:00.000Z");
        }
    }

    #[test]
    fn times_in_headers_have_the_form_of_rfc_3339() {
        let time = rfc3339("2099-01-01T00:00:00Z").expect("a time");
        for same in [
            "2099-01-01T00:00:00.000Z",
            "2099-01-01T01:00:00+01:00",
            "2099-01-01T00:00:00.0000000Z",
        ] {
            assert_eq!(rfc3339(same), Some(time), "{same}");
        }
        for refused in [
            "2099-01-01 00:00Z",
            "2099-01-01T00:00Z",
            "20990101T000000Z",
            "2099-01-01T00:00:00Z[UTC]",
            "2099-01-01T00:00:00",
            "2099-01-01",
            "x",
        ] {
            assert_eq!(rfc3339(refused), None, "{refused}");
        }
    }

    #[test]
    fn a_run_of_times_is_formatted_as_each_alone() {
        let mut dates = IsoDates::default();
        let day_ms = 24 * 60 * 60 * 1000;
        let steps =
            [0, 1, 999, 1000, 59_999, 3_599_999, 45_296_789, day_ms - 1, day_ms, 400 * day_ms];
        let times =
            [0, 1_769_860_800_999, 1_709_164_799_000, 253_402_300_799_999, u64::MAX - 500 * day_ms];
        for time_ms in times.into_iter().flat_map(|time| steps.map(|step| time + step)) {
            let mut text = String::new();
            dates.push(&mut text, time_ms);
            assert_eq!(text, iso_date(time_ms), "{time_ms}");
        }
    }
}
