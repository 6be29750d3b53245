//! Times as users write and read them: RFC 3339 in UTC, or so long ago.

use jiff::Timestamp;
use liteio_client::parse_duration;
use liteio_wire::origin::rfc_3339;

/// The time now, in milliseconds since 1970.
pub(super) fn now_ms() -> u64 {
    u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0)
}

/// A time for people and for `--at`.
pub(super) fn shown(ms: u64) -> String {
    rfc_3339(ms)
}

/// Parses a time, or a duration before `now_ms`, to milliseconds since 1970.
///
/// # Errors
/// One line that says what is accepted.
pub(super) fn parse(text: &str, now_ms: u64) -> Result<u64, String> {
    if let Ok(time) = text.parse::<Timestamp>() {
        let time_ms = u64::try_from(time.as_millisecond()).unwrap_or(0);
        return match time_ms <= now_ms {
            true => Ok(time_ms),
            false => Err(format!("{text} is in the future: give a moment of the past")),
        };
    }
    let ago = parse_duration(text).map_err(|_| {
        format!("{text:?} is no moment: give a time such as 2026-01-31T12:00:00Z, or 2h for two hours ago")
    })?;
    Ok(now_ms.saturating_sub(u64::try_from(ago.as_millis()).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_times_or_durations_ago() {
        let now_ms = 1_700_000_000_123;
        assert_eq!(shown(now_ms), "2023-11-14T22:13:20.123Z");
        assert_eq!(parse(&shown(now_ms), now_ms), Ok(now_ms), "what is shown can be given");
        assert_eq!(parse("2023-11-14T23:13:20.123+01:00", now_ms), Ok(now_ms));
        parse(&shown(now_ms + 1), now_ms).expect_err("in the future");
        assert_eq!(parse("2h", now_ms), Ok(now_ms - 7_200_000));
        parse("1000y", now_ms).expect_err("a typing error");
        for text in ["", "yesterday", "2023-11-14", "12"] {
            assert!(parse(text, now_ms).expect_err(text).contains("no moment"), "{text}");
        }
    }
}
