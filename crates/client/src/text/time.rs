//! Moments.

use std::time::SystemTime;

use jiff::Timestamp;

/// In UTC, as `mc` prints it in the zone of the machine.
pub(crate) fn for_people(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// The form of S3's documents.
pub(crate) fn of_iso(text: &str) -> Option<Timestamp> {
    text.trim().parse().ok()
}

/// The form of headers.
pub(crate) fn of_http(text: &str) -> Option<Timestamp> {
    httpdate::parse_http_date(text).ok().and_then(of_system)
}

/// A time beyond the year 9999 is none.
pub(crate) fn of_system(time: SystemTime) -> Option<Timestamp> {
    Timestamp::try_from(time).ok()
}
