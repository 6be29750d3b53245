//! Conditional and range headers as AWS reads them: malformed ones are ignored, ETags may be lists,
//! weak, or unquoted, and dates have any of four formats.
//!
//! s3s answers 400 to such headers. So they are removed from the request after its signature has
//! been checked, and handlers get the parsed values from the extensions.

use http::header::{
    HeaderMap, HeaderName, IF_MATCH, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE,
    IF_UNMODIFIED_SINCE, RANGE,
};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use liteio_store::{ByteRange, ETagText, EtagCondition, RangeCondition, ReadConditions};

const COPY_IF_MATCH: HeaderName = HeaderName::from_static("x-amz-copy-source-if-match");
const COPY_IF_NONE_MATCH: HeaderName = HeaderName::from_static("x-amz-copy-source-if-none-match");
const COPY_IF_MODIFIED_SINCE: HeaderName =
    HeaderName::from_static("x-amz-copy-source-if-modified-since");
const COPY_IF_UNMODIFIED_SINCE: HeaderName =
    HeaderName::from_static("x-amz-copy-source-if-unmodified-since");
pub(super) const RENAME_IF_MATCH: HeaderName =
    HeaderName::from_static("x-amz-rename-source-if-match");
pub(super) const RENAME_IF_NONE_MATCH: HeaderName =
    HeaderName::from_static("x-amz-rename-source-if-none-match");
pub(super) const RENAME_IF_MODIFIED_SINCE: HeaderName =
    HeaderName::from_static("x-amz-rename-source-if-modified-since");
pub(super) const RENAME_IF_UNMODIFIED_SINCE: HeaderName =
    HeaderName::from_static("x-amz-rename-source-if-unmodified-since");

/// The parsed headers that [`LenientHeaders::take`] removed from a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LenientHeaders {
    /// `Range`; `None` also if it was malformed or had several ranges.
    pub(super) range: Option<ByteRange>,
    /// `If-Range`: the object that the range is for.
    pub(super) range_of: Option<RangeCondition>,
    /// `Range` as sent, for the error.
    pub(super) range_sent: Option<String>,
    /// `If-Match` and the like: conditions on the object in the request path.
    pub(super) object: ReadConditions,
    /// `x-amz-copy-source-if-match` and the like: conditions on a copy source.
    pub(super) copy_source: ReadConditions,
    /// `x-amz-rename-source-if-match` and the like: conditions on the object to rename.
    pub(super) rename_source: ReadConditions,
}

impl LenientHeaders {
    /// Removes the headers from the request. Call it after the signature check, which covers them.
    pub(super) fn take(headers: &mut HeaderMap) -> LenientHeaders {
        // Fast path: most requests carry none of them, and one pass over the names is cheaper than
        // many lookups.
        if !headers.keys().any(is_lenient) {
            return LenientHeaders::default();
        }
        let range_sent = take_one(headers, &RANGE);
        LenientHeaders {
            range: range_sent.as_deref().and_then(ByteRange::parse),
            range_of: take_range_condition(headers),
            range_sent,
            object: ReadConditions {
                if_match: take_etags(headers, &IF_MATCH),
                if_none_match: take_etags(headers, &IF_NONE_MATCH),
                if_modified_since_s: take_date(headers, &IF_MODIFIED_SINCE),
                if_unmodified_since_s: take_date(headers, &IF_UNMODIFIED_SINCE),
                authorized: None,
            },
            copy_source: ReadConditions {
                if_match: take_etags(headers, &COPY_IF_MATCH),
                if_none_match: take_etags(headers, &COPY_IF_NONE_MATCH),
                if_modified_since_s: take_date(headers, &COPY_IF_MODIFIED_SINCE),
                if_unmodified_since_s: take_date(headers, &COPY_IF_UNMODIFIED_SINCE),
                authorized: None,
            },
            rename_source: ReadConditions {
                if_match: take_etags(headers, &RENAME_IF_MATCH),
                if_none_match: take_etags(headers, &RENAME_IF_NONE_MATCH),
                if_modified_since_s: take_date(headers, &RENAME_IF_MODIFIED_SINCE),
                if_unmodified_since_s: take_date(headers, &RENAME_IF_UNMODIFIED_SINCE),
                authorized: None,
            },
        }
    }
}

/// True for all names that [`LenientHeaders::take`] removes; false positives only cost time.
fn is_lenient(name: &HeaderName) -> bool {
    let name = name.as_str();
    name == "range"
        || name.starts_with("if-")
        || name.starts_with("x-amz-copy-source-if-")
        || name.starts_with("x-amz-rename-source-if-")
}

/// The values of a header, joined into one list.
fn take_list(headers: &mut HeaderMap, name: &HeaderName) -> Option<String> {
    // Fast path: a lookup is cheaper than a removal.
    headers.get(name)?;
    let values: Vec<String> = headers
        .get_all(name)
        .iter()
        .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
        .collect();
    headers.remove(name);
    Some(values.join(","))
}

/// The value of a header that must not repeat; `None` if it does.
fn take_one(headers: &mut HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name)?;
    let single = headers.get_all(name).iter().count() == 1;
    let value = headers.remove(name)?;
    single.then(|| String::from_utf8_lossy(value.as_bytes()).into_owned())
}

fn take_etags(headers: &mut HeaderMap, name: &HeaderName) -> Option<EtagCondition> {
    take_list(headers, name).and_then(|text| EtagCondition::parse(&text))
}

fn take_date(headers: &mut HeaderMap, name: &HeaderName) -> Option<i64> {
    take_one(headers, name).and_then(|text| parse_date(&text))
}

/// The value of `If-Range`. One that is no tag and no date names no object: unlike other conditions it must not be
/// ignored, because its range would then count.
fn take_range_condition(headers: &mut HeaderMap) -> Option<RangeCondition> {
    headers.get(IF_RANGE)?;
    let text = take_one(headers, &IF_RANGE).unwrap_or_default();
    let text = text.trim();
    let quoted = |text: &str| {
        let inner = text.strip_prefix('"')?.strip_suffix('"')?;
        (!inner.contains('"')).then(|| ETagText::strong(inner))
    };
    let date = || parse_date(text).map(RangeCondition::ModifiedInS);
    // As in other conditions, a tag may lack its quotes.
    let is_bare =
        !text.is_empty() && text.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-');
    let bare = || is_bare.then(|| RangeCondition::Etag(ETagText::strong(text)));
    // A weak tag never matches.
    let found = quoted(text).map(RangeCondition::Etag).or_else(date).or_else(bare);
    Some(found.unwrap_or(RangeCondition::Nothing))
}

/// Parses an HTTP date (RFC 1123, RFC 850, asctime) or ISO 8601, in seconds since 1970.
fn parse_date(text: &str) -> Option<i64> {
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
        assert_eq!(lenient.range, Some(ByteRange::FromTo { first: 1, last: 2 }));
        assert_eq!(lenient.object.if_match, EtagCondition::parse("\"a\",\"b\""));
        assert_eq!(lenient.object.if_none_match, Some(EtagCondition::Any));
        assert_eq!(lenient.object.if_modified_since_s, None);
        assert_eq!(lenient.object.if_unmodified_since_s, Some(784_111_777));
        assert_eq!(lenient.copy_source.if_match, EtagCondition::parse("c"));
        assert_eq!(lenient.copy_source.if_modified_since_s, Some(784_111_777));

        assert_eq!(LenientHeaders::take(&mut headers), LenientHeaders::default());
    }

    #[test]
    fn what_names_no_object_is_a_range_of_none() {
        let tag = |text| Some(RangeCondition::Etag(ETagText::strong(text)));
        let second = Some(RangeCondition::ModifiedInS(784_111_777));
        let none = Some(RangeCondition::Nothing);
        let rows: [(&[&'static str], Option<RangeCondition>); 14] = [
            (&[], None),
            (&["\"abc\""], tag("abc")),
            (&["\"abc-2\""], tag("abc-2")),
            (&["abc-2"], tag("abc-2")),
            (&["W/\"abc\""], none.clone()),
            (&["w/\"abc\""], none.clone()),
            (&["\"a\", \"b\""], none.clone()),
            (&["\"a\"", "\"a\""], none.clone()),
            (&["*"], none.clone()),
            (&["\""], none.clone()),
            (&[""], none.clone()),
            (&["Sun, 06 Nov 1994 08:49:37 GMT"], second.clone()),
            (&["Sunday, 06-Nov-94 08:49:37 GMT"], second),
            (&["Sun, 06 Nov 1994"], none),
        ];
        for (sent, expected) in rows {
            let mut headers = HeaderMap::new();
            for value in sent {
                headers.append(IF_RANGE, value.parse().expect("a header value"));
            }
            assert_eq!(LenientHeaders::take(&mut headers).range_of, expected, "{sent:?}");
            assert!(headers.is_empty());
        }
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
