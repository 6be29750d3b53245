//! Byte ranges of a `Range` header.

use std::ops::Range;

use crate::StoreError;

/// One byte range of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteRange {
    /// `bytes=first-last`, both included.
    FromTo {
        /// Position of the first byte.
        first: u64,
        /// Position of the last byte; may lie behind the end of the object.
        last: u64,
    },
    /// `bytes=first-`: everything from a position on.
    From(u64),
    /// `bytes=-count`: the last bytes, the whole object if it has fewer.
    Suffix(u64),
}

impl ByteRange {
    /// Parses the value of a `Range` header. `None` unless it is exactly one well-formed byte
    /// range, without blanks: RFC 9110 and S3 then ignore the header and return everything.
    ///
    /// Positions beyond 64 bits become the largest one, which no object reaches.
    #[must_use]
    pub fn parse(header: &str) -> Option<Self> {
        let (unit, set) = header.trim().split_once('=')?;
        if !unit.eq_ignore_ascii_case("bytes") {
            return None;
        }
        match set.split_once('-')? {
            ("", count) => Some(Self::Suffix(parse_position(count)?)),
            (first, "") => Some(Self::From(parse_position(first)?)),
            (first, last) => {
                let (first, last) = (parse_position(first)?, parse_position(last)?);
                (first <= last).then_some(Self::FromTo { first, last })
            }
        }
    }

    /// The selected bytes of an object of `object_bytes`. Empty only for a suffix of an empty
    /// object, which selects all of it (RFC 9110, section 14.1.2).
    ///
    /// # Errors
    /// [`StoreError::InvalidRange`] if the range selects no byte of the object.
    pub fn resolve(self, object_bytes: u64) -> Result<Range<u64>, StoreError> {
        let range = match self {
            Self::FromTo { first, last } => first..last.saturating_add(1).min(object_bytes),
            Self::From(first) => first..object_bytes,
            Self::Suffix(count) if count > 0 && object_bytes == 0 => return Ok(0..0),
            Self::Suffix(count) => object_bytes.saturating_sub(count)..object_bytes,
        };
        if range.is_empty() {
            return Err(StoreError::InvalidRange { object_bytes });
        }
        Ok(range)
    }
}

fn parse_position(digits: &str) -> Option<u64> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_select_what_rfc_9110_says() {
        let cases = [
            ("bytes=0-3", 10, Some(0..4)),
            ("bytes=0-0", 10, Some(0..1)),
            ("bytes=9-9", 10, Some(9..10)),
            ("bytes=4-", 10, Some(4..10)),
            ("bytes=-2", 10, Some(8..10)),
            ("bytes=-99", 10, Some(0..10)),
            ("bytes=5-99", 10, Some(5..10)),
            ("bytes=0-18446744073709551615", 10, Some(0..10)),
            ("bytes=0-99999999999999999999999", 10, Some(0..10)),
            ("bytes=-99999999999999999999999", 10, Some(0..10)),
            (" BYTES=1-2 ", 10, Some(1..3)),
            ("bytes=10-", 10, None),
            ("bytes=10-20", 10, None),
            ("bytes=99999999999999999999-", 10, None),
            ("bytes=18446744073709551615-18446744073709551615", 10, None),
            ("bytes=-0", 10, None),
            ("bytes=0-0", 0, None),
            ("bytes=0-", 0, None),
            ("bytes=-1", 0, Some(0..0)),
            ("bytes=-0", 0, None),
        ];
        for (header, object_bytes, expected) in cases {
            let range = ByteRange::parse(header).expect(header).resolve(object_bytes);
            match expected {
                Some(expected) => assert_eq!(range.expect(header), expected, "{header}"),
                None => {
                    let error = range.expect_err(header);
                    let shown = matches!(error, StoreError::InvalidRange { object_bytes: shown }
                        if shown == object_bytes);
                    assert!(shown, "{header}: {error:?}");
                }
            }
        }
    }

    #[test]
    fn a_malformed_or_multiple_range_is_none() {
        for header in [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=a-b",
            "bytes=1",
            "bytes=+1-2",
            "bytes=1-+2",
            "bytes=3-2",
            "bytes=0-1,3-4",
            "bytes=--1",
            "bytes=1-2-3",
            "items=0-1",
            "=0-1",
            "bytes=0x1-2",
            "bytes=1.0-2",
            "bytes=٣-٤",
            "bytes= -1",
            "bytes=0 -1",
            "bytes =0-1",
        ] {
            assert_eq!(ByteRange::parse(header), None, "{header:?}");
        }
    }

    #[test]
    fn a_reversed_range_made_by_hand_selects_nothing() {
        ByteRange::FromTo { first: 3, last: 2 }.resolve(10).expect_err("nothing");
    }
}
