//! Timestamps of Signature Version 4: `20130524T000000Z`.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::fmt::rfc2822::DateTimeParser;

const SECONDS_PER_DAY: i64 = 86_400;

/// A time in whole seconds, with the text that is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AmzDate {
    text: [u8; 16],
    unix_seconds: i64,
}

impl AmzDate {
    /// Parses the ISO 8601 basic format only.
    pub(super) fn parse(text: &str) -> Option<AmzDate> {
        let text: [u8; 16] = text.as_bytes().try_into().ok()?;
        if text[8] != b'T' || text[15] != b'Z' {
            return None;
        }
        let number = |range: std::ops::Range<usize>| {
            text[range].iter().try_fold(0_i64, |sum, byte| {
                byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0'))
            })
        };
        let (year, month, day) = (number(0..4)?, number(4..6)?, number(6..8)?);
        let (hour, minute, second) = (number(9..11)?, number(11..13)?, number(13..15)?);
        let valid = (1..=12).contains(&month)
            && (1..=days_in_month(year, month)).contains(&day)
            && hour < 24
            && minute < 60
            && second < 60;
        let unix_seconds = days_from_civil(year, month, day) * SECONDS_PER_DAY
            + hour * 3600
            + minute * 60
            + second;
        valid.then_some(AmzDate { text, unix_seconds })
    }

    /// Parses a `Date` header: the ISO 8601 basic format or an HTTP date.
    pub(super) fn parse_http(text: &str) -> Option<AmzDate> {
        AmzDate::parse(text).or_else(|| {
            // A wrong day of the week is no reason to miss the date: it is too old, or it counts.
            const PARSER: DateTimeParser = DateTimeParser::new().relaxed_weekday(true);
            let seconds = PARSER.parse_zoned(text).ok()?.timestamp().as_second();
            AmzDate::from_unix_seconds(seconds).filter(|_| seconds >= 0)
        })
    }

    /// The date of a Unix time; `None` outside of the years 0 to 9999.
    pub(super) fn from_unix_seconds(unix_seconds: i64) -> Option<AmzDate> {
        let (year, month, day) = civil_from_days(unix_seconds.div_euclid(SECONDS_PER_DAY));
        let second = unix_seconds.rem_euclid(SECONDS_PER_DAY);
        if !(0..=9999).contains(&year) {
            return None;
        }
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let text = format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z");
        Some(AmzDate { text: text.as_bytes().try_into().ok()?, unix_seconds })
    }

    pub(super) fn as_str(&self) -> &str {
        // Always ASCII; the fallback, an empty text, matches no signature.
        std::str::from_utf8(&self.text).unwrap_or_default()
    }

    /// The day as in a credential scope: `20130524`.
    pub(super) fn day(&self) -> &str {
        &self.as_str()[..8]
    }

    pub(super) fn unix_seconds(&self) -> i64 {
        self.unix_seconds
    }
}

/// Seconds since 1970; earlier times are negative.
pub(super) fn unix_seconds(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_secs()).map_or(i64::MIN, |s| -s),
    }
}

/// A time in the format of error documents: `2013-05-24T00:00:00Z`.
pub(super) fn display_time(unix_seconds: i64) -> String {
    jiff::Timestamp::from_second(unix_seconds).map_or_else(|_| String::new(), |t| t.to_string())
}

fn days_in_month(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar. The year is taken to begin in March,
/// so that the leap day is its last (Howard Hinnant's `days_from_civil`).
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_and_written_back() {
        for (text, seconds) in [
            ("19700101T000000Z", 0),
            ("20130524T000000Z", 1_369_353_600),
            ("20240229T235959Z", 1_709_251_199),
            ("99991231T235959Z", 253_402_300_799),
        ] {
            let date = AmzDate::parse(text).expect(text);
            assert_eq!(date.unix_seconds(), seconds, "{text}");
            assert_eq!(AmzDate::from_unix_seconds(seconds), Some(date));
            assert_eq!(date.as_str(), text);
        }
        let http = AmzDate::parse_http("Fri, 24 May 2013 00:00:00 GMT").expect("HTTP date");
        assert_eq!((http.as_str(), http.day()), ("20130524T000000Z", "20130524"));
        let http =
            AmzDate::parse_http("Mon, 24 May 2013 00:00:00 GMT").expect("no Monday, but a date");
        assert_eq!(http.as_str(), "20130524T000000Z");
        assert_eq!(display_time(1_369_353_600), "2013-05-24T00:00:00Z");
    }

    #[test]
    fn nonsense_is_no_date() {
        for text in [
            "",
            "20130524",
            "20130524T000000",
            "20130524T000000z",
            "20130524 000000Z",
            "2013-05-24T00:00",
            "20131324T000000Z",
            "20130532T000000Z",
            "20230229T000000Z",
            "20130524T240000Z",
            "20130524T006000Z",
            "+0130524T000000Z",
            "２０１３T",
        ] {
            assert_eq!(AmzDate::parse(text), None, "{text}");
        }
        for text in
            ["yesterday", "", "Tue, 07 Jul 1950 21:53:04 GMT", "Tue, 37 Jul 2010 21:53:04 GMT"]
        {
            assert_eq!(AmzDate::parse_http(text), None, "{text}");
        }
    }
}
