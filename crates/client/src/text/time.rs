//! Times.

use std::time::SystemTime;

use jiff::Timestamp;

/// A time in UTC, in the form in which `mc` prints local time.
pub(crate) fn for_people(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// Parses the form of S3's documents.
pub(crate) fn of_iso(text: &str) -> Option<Timestamp> {
    text.trim().parse().ok()
}

/// Parses the form of headers.
pub(crate) fn of_http(text: &str) -> Option<Timestamp> {
    httpdate::parse_http_date(text).ok().and_then(of_system)
}

/// A time of the system; `None` beyond the year 9999.
pub(crate) fn of_system(time: SystemTime) -> Option<Timestamp> {
    Timestamp::try_from(time).ok()
}
