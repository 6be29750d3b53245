//! Durations.

use std::time::Duration;

use super::count::count;

/// Parses numbers with units, which are added: `7d10h31s`. A day has 24 hours, a year 365 days.
///
/// # Errors
/// One line that says what is accepted.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong =
        || format!("'{text}' is no duration; write numbers and units, such as 7d10h, 90m or 31s");
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut seconds = 0.0f64;
    while !rest.is_empty() {
        let end = rest.find(|it: char| !it.is_ascii_digit() && it != '.').ok_or_else(wrong)?;
        let number: f64 = rest[..end].parse().map_err(|_| wrong())?;
        rest = &rest[end..];
        let end = rest.find(|it: char| it.is_ascii_digit() || it == '.').unwrap_or(rest.len());
        let unit = match &rest[..end] {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            "w" => 7.0 * 86_400.0,
            "y" => 365.0 * 86_400.0,
            _ => return Err(wrong()),
        };
        seconds += number * unit;
        rest = &rest[end..];
    }
    // A thousand years and more are typing errors.
    if seconds < 1000.0 * 365.0 * 86_400.0 {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(wrong())
    }
}

/// Days to seconds, without leading zero units.
pub(crate) fn in_words(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let (s, m, h) = (seconds % 60, minutes % 60, hours % 24);
    let words = |parts: &[(u64, &str)]| {
        parts.iter().map(|(number, noun)| count(*number, noun)).collect::<Vec<_>>().join(" ")
    };
    match (days, hours, minutes, seconds) {
        (0, 0, 0, 0) => {
            count(u64::try_from(duration.as_millis()).unwrap_or_default(), "millisecond")
        }
        (0, 0, 0, _) => count(s, "second"),
        (0, 0, _, _) => words(&[(m, "minute"), (s, "second")]),
        (0, _, _, _) => words(&[(h, "hour"), (m, "minute"), (s, "second")]),
        _ => words(&[(days, "day"), (h, "hour"), (m, "minute"), (s, "second")]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_sums_of_numbers_with_units() {
        let rows = [
            ("31s", 31),
            ("10m", 600),
            ("1.5h", 5400),
            ("7d10h31s", 7 * 86_400 + 36_000 + 31),
            ("1w", 604_800),
            ("1y", 31_536_000),
        ];
        for (text, seconds) in rows {
            assert_eq!(parse_duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "7", "d", "7x", "1d2", "-1d", "99999y", "1..2s"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn words_leave_out_larger_units_that_are_zero() {
        assert_eq!(in_words(Duration::from_millis(12)), "12 milliseconds");
        assert_eq!(in_words(Duration::from_secs(604_800)), "7 days 0 hours 0 minutes 0 seconds");
        assert_eq!(in_words(Duration::from_secs(61)), "1 minute 1 second");
        assert_eq!(in_words(Duration::from_secs(90_000)), "1 day 1 hour 0 minutes 0 seconds");
        assert_eq!(in_words(Duration::from_millis(1)), "1 millisecond");
    }
}
