//! Conditional and range headers as AWS reads them: what is malformed is ignored, ETags come as
//! lists, weak, or without quotes, and dates in any of four formats.
//!
//! The typed layer below answers 400 to such headers. So they are taken off the request after its
//! signature has been checked, and the handlers get the parsed truth from the extensions.

use http::header::{
    HeaderMap, HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE, RANGE,
};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

const COPY_IF_MATCH: HeaderName = HeaderName::from_static("x-amz-copy-source-if-match");
const COPY_IF_NONE_MATCH: HeaderName = HeaderName::from_static("x-amz-copy-source-if-none-match");
const COPY_IF_MODIFIED_SINCE: HeaderName =
    HeaderName::from_static("x-amz-copy-source-if-modified-since");
const COPY_IF_UNMODIFIED_SINCE: HeaderName =
    HeaderName::from_static("x-amz-copy-source-if-unmodified-since");

/// The headers that [`LenientHeaders::take`] took off a request. The `copy_source_…` conditions are
/// on the source of a copy, the others on the object that the request addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LenientHeaders {
    /// `Range`; `None` also when it was malformed or named several ranges.
    pub(crate) range: Option<RangeHeader>,
    /// `If-Match`.
    pub(crate) if_match: Option<EtagCondition>,
    /// `If-None-Match`.
    pub(crate) if_none_match: Option<EtagCondition>,
    /// `If-Modified-Since`, in seconds since 1970. `None` also when it was no date.
    pub(crate) if_modified_since: Option<i64>,
    /// `If-Unmodified-Since`, in seconds since 1970. `None` also when it was no date.
    pub(crate) if_unmodified_since: Option<i64>,
    /// `x-amz-copy-source-if-match`.
    pub(crate) copy_source_if_match: Option<EtagCondition>,
    /// `x-amz-copy-source-if-none-match`.
    pub(crate) copy_source_if_none_match: Option<EtagCondition>,
    /// `x-amz-copy-source-if-modified-since`, in seconds since 1970.
    pub(crate) copy_source_if_modified_since: Option<i64>,
    /// `x-amz-copy-source-if-unmodified-since`, in seconds since 1970.
    pub(crate) copy_source_if_unmodified_since: Option<i64>,
}

/// A single, well-formed range of bytes. Numbers above `u64::MAX` are `u64::MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RangeHeader {
    /// `bytes=first-last`, both included, `first <= last`.
    FromTo {
        /// The first byte.
        first: u64,
        /// The last byte.
        last: u64,
    },
    /// `bytes=first-`.
    From {
        /// The first byte.
        first: u64,
    },
    /// `bytes=-bytes`: the last so many bytes, possibly 0.
    Suffix {
        /// Their number.
        bytes: u64,
    },
}

/// The ETags of `If-Match` or `If-None-Match`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EtagCondition {
    /// `*`: any object at all.
    Any,
    /// At least one tag.
    Tags(Vec<EntityTag>),
}

/// One ETag of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntityTag {
    /// The tag without quotes and without `W/`.
    pub(crate) value: String,
    /// It was marked with `W/`.
    pub(crate) weak: bool,
}

impl LenientHeaders {
    /// Takes the headers off the request. Call it after the signature has been checked.
    pub(crate) fn take(headers: &mut HeaderMap) -> LenientHeaders {
        LenientHeaders {
            range: take_one(headers, &RANGE).and_then(|text| parse_range(&text)),
            if_match: take_etags(headers, &IF_MATCH),
            if_none_match: take_etags(headers, &IF_NONE_MATCH),
            if_modified_since: take_date(headers, &IF_MODIFIED_SINCE),
            if_unmodified_since: take_date(headers, &IF_UNMODIFIED_SINCE),
            copy_source_if_match: take_etags(headers, &COPY_IF_MATCH),
            copy_source_if_none_match: take_etags(headers, &COPY_IF_NONE_MATCH),
            copy_source_if_modified_since: take_date(headers, &COPY_IF_MODIFIED_SINCE),
            copy_source_if_unmodified_since: take_date(headers, &COPY_IF_UNMODIFIED_SINCE),
        }
    }
}

/// The values of a header, joined as one list.
fn take_list(headers: &mut HeaderMap, name: &HeaderName) -> Option<String> {
    // Most requests carry none of these, and a look costs less than a removal.
    headers.get(name)?;
    let values: Vec<String> = headers
        .get_all(name)
        .iter()
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        .collect();
    headers.remove(name);
    Some(values.join(","))
}

/// The value of a header that must not be repeated; `None` when it is.
fn take_one(headers: &mut HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name)?;
    let single = headers.get_all(name).iter().count() == 1;
    let value = headers.remove(name)?;
    single.then(|| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

fn take_etags(headers: &mut HeaderMap, name: &HeaderName) -> Option<EtagCondition> {
    take_list(headers, name).and_then(|text| parse_etags(&text))
}

fn take_date(headers: &mut HeaderMap, name: &HeaderName) -> Option<i64> {
    take_one(headers, name).and_then(|text| parse_date(&text))
}

/// `bytes=a-b`, `bytes=a-` or `bytes=-n`; anything else, several ranges included, is no range.
pub(crate) fn parse_range(text: &str) -> Option<RangeHeader> {
    let (unit, set) = text.split_once('=')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let (first, last) = set.trim().split_once('-')?;
    match (parse_saturating(first)?, parse_saturating(last)?) {
        (Some(first), Some(last)) if first <= last => Some(RangeHeader::FromTo { first, last }),
        (Some(first), None) => Some(RangeHeader::From { first }),
        (None, Some(bytes)) => Some(RangeHeader::Suffix { bytes }),
        _ => None,
    }
}

/// `None`: not a number. `Some(None)`: nothing there.
fn parse_saturating(digits: &str) -> Option<Option<u64>> {
    let digits = digits.trim_matches([' ', '\t']);
    if digits.is_empty() {
        return Some(None);
    }
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Only an overflow is left to fail.
    Some(Some(digits.parse().unwrap_or(u64::MAX)))
}

/// A list of ETags, or `*`; `None` when the list is empty.
pub(crate) fn parse_etags(text: &str) -> Option<EtagCondition> {
    let mut rest = text.trim();
    if rest == "*" || rest == "\"*\"" {
        return Some(EtagCondition::Any);
    }
    let mut tags = Vec::new();
    while !rest.is_empty() {
        let weak = rest.starts_with("W/") || rest.starts_with("w/");
        let tag = if weak { &rest[2..] } else { rest };
        // A comma inside quotes belongs to the tag; without quotes it ends it.
        let quoted = tag.strip_prefix('"').and_then(|inner| inner.split_once('"'));
        let (value, after) = match quoted {
            Some((value, after)) => (value, after.split_once(',').map_or("", |(_, after)| after)),
            None => tag.split_once(',').unwrap_or((tag, "")),
        };
        let value = value.trim().trim_matches('"');
        if !value.is_empty() {
            tags.push(EntityTag { value: value.to_owned(), weak });
        }
        rest = after.trim_start();
    }
    (!tags.is_empty()).then_some(EtagCondition::Tags(tags))
}

/// A date of HTTP (RFC 1123, RFC 850, asctime) or ISO 8601, in seconds since 1970.
pub(crate) fn parse_date(text: &str) -> Option<i64> {
    const IN_UTC: [&str; 3] =
        ["%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];
    let text = text.trim();
    for format in IN_UTC {
        if let Ok(time) = DateTime::strptime(format, text) {
            return TimeZone::UTC.to_timestamp(time).ok().map(Timestamp::as_second);
        }
    }
    let other = jiff::fmt::rfc2822::parse(text).map(|time| time.timestamp().as_second());
    other.or_else(|_| text.parse().map(Timestamp::as_second)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    impl EtagCondition {
        fn matches(&self, etag: &str) -> bool {
            match self {
                EtagCondition::Any => true,
                EtagCondition::Tags(tags) => tags.iter().any(|tag| tag.value == etag),
            }
        }
    }

    #[test]
    fn ranges() {
        use RangeHeader::{From, FromTo, Suffix};
        let rows = [
            ("bytes=0-3", Some(FromTo { first: 0, last: 3 })),
            ("bytes=5-5", Some(FromTo { first: 5, last: 5 })),
            ("bytes=4-", Some(From { first: 4 })),
            ("bytes=-2", Some(Suffix { bytes: 2 })),
            ("bytes=-0", Some(Suffix { bytes: 0 })),
            ("Bytes = 1 - 2", Some(FromTo { first: 1, last: 2 })),
            ("bytes=0-99999999999999999999", Some(FromTo { first: 0, last: u64::MAX })),
            ("bytes=99999999999999999999-", Some(From { first: u64::MAX })),
            ("bytes=3-1", None),
            ("bytes=-", None),
            ("bytes=", None),
            ("bytes", None),
            ("", None),
            ("bytes=0-1,3-4", None),
            ("bytes=a-b", None),
            ("bytes=+1-2", None),
            ("bytes=1-2-3", None),
            ("bytes=--2", None),
            ("items=0-3", None),
            ("bytes=0x1-2", None),
        ];
        for (text, expected) in rows {
            assert_eq!(parse_range(text), expected, "{text}");
        }
    }

    #[test]
    fn etags() {
        let strong = |value: &str| EntityTag { value: value.to_owned(), weak: false };
        let weak = |value: &str| EntityTag { value: value.to_owned(), weak: true };
        let tags = |tags: &[EntityTag]| Some(EtagCondition::Tags(tags.to_vec()));
        let rows = [
            ("*", Some(EtagCondition::Any)),
            (" * ", Some(EtagCondition::Any)),
            ("\"abc\"", tags(&[strong("abc")])),
            ("abc", tags(&[strong("abc")])),
            ("W/\"abc\"", tags(&[weak("abc")])),
            ("\"a\", \"b\"", tags(&[strong("a"), strong("b")])),
            ("a,W/b , \"c,d\"", tags(&[strong("a"), weak("b"), strong("c,d")])),
            ("\"a-3\",", tags(&[strong("a-3")])),
            ("\"open", tags(&[strong("open")])),
            ("", None),
            (" , ,", None),
            ("\"\"", None),
        ];
        for (text, expected) in rows {
            assert_eq!(parse_etags(text), expected, "{text}");
        }
        assert!(parse_etags("\"a\", W/\"b\"").expect("two tags").matches("b"));
        assert!(!parse_etags("\"a\"").expect("a tag").matches("b"));
    }

    #[test]
    fn dates() {
        let rows = [
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(784_111_777)),
            ("Sun Nov  6 08:49:37 1994", Some(784_111_777)),
            ("Sun, 06 Nov 1994 09:49:37 +0100", Some(784_111_777)),
            ("1994-11-06T08:49:37Z", Some(784_111_777)),
            ("1994-11-06T08:49:37.900+00:00", Some(784_111_777)),
            ("Sun, 31 Feb 1994 08:49:37 GMT", None),
            ("yesterday", None),
            ("784111777", None),
            ("", None),
        ];
        for (text, expected) in rows {
            assert_eq!(parse_date(text), expected, "{text}");
        }
    }

    #[test]
    fn headers_leave_the_request() {
        let mut headers = HeaderMap::new();
        let sent = [
            ("range", "bytes=1-2"),
            ("if-match", "\"a\""),
            ("if-match", "\"b\""),
            ("if-none-match", "*"),
            ("if-modified-since", "never"),
            ("if-unmodified-since", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("x-amz-copy-source-if-match", "c"),
            ("x-amz-copy-source-if-modified-since", "1994-11-06T08:49:37Z"),
            ("content-type", "text/plain"),
        ];
        for (name, value) in sent {
            headers.append(name, value.parse().expect("a header value"));
        }
        let lenient = LenientHeaders::take(&mut headers);
        assert_eq!(headers.len(), 1);
        assert_eq!(lenient.range, Some(RangeHeader::FromTo { first: 1, last: 2 }));
        let if_match = lenient.if_match.expect("two tags");
        assert!(if_match.matches("a") && if_match.matches("b") && !if_match.matches("c"));
        assert_eq!(lenient.if_none_match, Some(EtagCondition::Any));
        assert_eq!(lenient.if_modified_since, None);
        assert_eq!(lenient.if_unmodified_since, Some(784_111_777));
        assert!(lenient.copy_source_if_match.is_some_and(|etags| etags.matches("c")));
        assert_eq!(lenient.copy_source_if_modified_since, Some(784_111_777));

        assert_eq!(LenientHeaders::take(&mut headers), LenientHeaders::default());
    }

    #[test]
    fn a_repeated_range_is_no_range() {
        let mut headers = HeaderMap::new();
        headers.append(RANGE, "bytes=0-1".parse().expect("a header value"));
        headers.append(RANGE, "bytes=2-3".parse().expect("a header value"));
        assert_eq!(LenientHeaders::take(&mut headers).range, None);
        assert!(headers.is_empty());
    }
}
