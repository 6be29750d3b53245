//! The space, the region and the time of the services that answer a request.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use jiff::Timestamp;
use liteio_disk::Clock;

/// The name of the main space, for requests that name no other.
pub const MAIN_SPACE: &str = "main";

/// The name, the region and the time of the services that answer a request.
#[derive(Debug)]
pub struct Locale {
    /// The name of the space.
    pub space: String,
    /// The region.
    pub region: String,
    /// The clock.
    pub clock: Arc<dyn Clock>,
    /// `true` once the space was reset or deleted: requests still in flight are not recorded.
    pub is_closed: AtomicBool,
}

/// The time of an authenticated request, in seconds since 1970, by the same clock that judged its
/// signature.
#[derive(Clone, Copy, Debug)]
pub struct Moment(pub i64);

/// A time in milliseconds since 1970, limited to the last representable date.
pub fn timestamp(ms: u64) -> Timestamp {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(ms).unwrap_or(Timestamp::MAX)
}

/// A time in milliseconds since 1970 in RFC 3339, in UTC and with its milliseconds, as documents of AWS have it.
pub fn rfc_3339(ms: u64) -> String {
    timestamp(ms).strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}
