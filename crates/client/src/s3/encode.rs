//! Percent-encoding as S3 wants it.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// All characters except the unreserved ones of RFC 3986.
const IN_QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
const IN_PATH: &AsciiSet = &IN_QUERY.remove(b'/');

/// A part of a query.
pub(super) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, IN_QUERY).to_string()
}

/// A key in a path; slashes stay.
pub(super) fn encoded_path(text: &str) -> String {
    utf8_percent_encode(text, IN_PATH).to_string()
}

/// The inverse, for keys in listings and for tags, where `+` is a space.
pub(crate) fn decoded(text: &str) -> Option<String> {
    let spaces = text.replace('+', " ");
    percent_decode_str(&spaces).decode_utf8().ok().map(|it| it.into_owned())
}

/// A query from names and values, in the order that signatures require.
pub(super) fn query(pairs: &[(String, String)]) -> String {
    let mut encoded: Vec<(String, String)> =
        pairs.iter().map(|(name, value)| (self::encoded(name), self::encoded(value))).collect();
    encoded.sort();
    let pairs: Vec<String> =
        encoded.iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join("&")
}

/// Tags as the value of a header.
#[must_use]
pub fn tags_header(tags: &[(String, String)]) -> String {
    let pairs: Vec<String> =
        tags.iter().map(|(key, value)| format!("{}={}", encoded(key), encoded(value))).collect();
    pairs.join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unreserved_characters_stay() {
        assert_eq!(encoded("a b/ü~-_.*+"), "a%20b%2F%C3%BC~-_.%2A%2B");
        assert_eq!(encoded_path("/a b/../ü?"), "/a%20b/../%C3%BC%3F");
        assert_eq!(decoded("a%20b+c%2B%C3%BC").as_deref(), Some("a b c+ü"));
        assert_eq!(decoded("%ff"), None);
        let pairs = [("b", "2"), ("a", "x y"), ("uploads", "")];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(query(&pairs), "a=x%20y&b=2&uploads=");
    }
}
