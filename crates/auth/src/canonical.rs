//! The canonical request of Signature Version 4, written into one buffer (AWS: "Create a signed AWS
//! API request").

use http::request::Parts;
use http::{HeaderMap, Uri};

use super::query::{Parameter, Query};

/// The parameter that is not signed.
const SIGNATURE: &str = "X-Amz-Signature";

/// The canonical form of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathForm {
    /// S3: decoded and encoded once, without normalization.
    Once,
    /// S3, for signers that sign the path exactly as they send it.
    AsSent,
    /// All other services: the path as sent, encoded once more.
    Twice,
}

/// The order of parameters that share a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueOrder {
    /// Sorted, as AWS defines it.
    Sorted,
    /// As sent, for signers that sort by names only, such as minio-go.
    AsSent,
}

/// The parts of a canonical request besides the request line and the headers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Canonical<'a> {
    pub(super) path_form: PathForm,
    pub(super) value_order: ValueOrder,
    /// The names as the signer listed them, joined by semicolons.
    pub(super) signed_headers: &'a str,
    pub(super) payload_hash: &'a str,
}

impl Canonical<'_> {
    /// The canonical request of this head with the query `query`.
    pub(super) fn write(&self, head: &Parts, query: &Query<'_>) -> Vec<u8> {
        let (uri, headers) = (&head.uri, &head.headers);
        let query_bytes = uri.query().map_or(0, str::len);
        let mut out = Vec::with_capacity(512 + uri.path().len() + query_bytes * 2);
        out.extend_from_slice(head.method.as_str().as_bytes());
        out.push(b'\n');
        self.push_path(&mut out, uri.path());
        out.push(b'\n');
        push_query(&mut out, query, self.value_order);
        out.push(b'\n');
        for name in self.signed_headers.split(';') {
            push_header(&mut out, headers, uri, name);
        }
        out.push(b'\n');
        out.extend_from_slice(self.signed_headers.as_bytes());
        out.push(b'\n');
        out.extend_from_slice(self.payload_hash.as_bytes());
        out
    }

    fn push_path(&self, out: &mut Vec<u8>, path: &str) {
        // The path of an absolute URI may be empty.
        let path = if path.is_empty() { "/" } else { path };
        match self.path_form {
            PathForm::AsSent => out.extend_from_slice(path.as_bytes()),
            PathForm::Once => push_recoded(out, path, Decoded::path, true),
            PathForm::Twice => push_encoded(out, path.bytes(), true),
        }
    }
}

/// Writes one line `name:value`, with the values of a repeated header joined by commas. A missing
/// header counts as empty, so a signer who lists it must have signed it as empty.
fn push_header(out: &mut Vec<u8>, headers: &HeaderMap, uri: &Uri, name: &str) {
    out.extend_from_slice(name.as_bytes());
    out.push(b':');
    let mut count = 0;
    for value in headers.get_all(name) {
        if count > 0 {
            out.push(b',');
        }
        push_collapsed(out, value.as_bytes());
        count += 1;
    }
    if count == 0 && name == "host" {
        // An absolute-form request without a Host header names its host in the request line.
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        out.extend_from_slice(authority.as_bytes());
    }
    out.push(b'\n');
}

/// Writes the value without outer spaces, and with runs of inner spaces collapsed.
fn push_collapsed(out: &mut Vec<u8>, value: &[u8]) {
    let value = value.trim_ascii();
    if !value.windows(2).any(|pair| pair == b"  ") {
        return out.extend_from_slice(value);
    }
    let mut after_space = false;
    for &byte in value {
        if !(byte == b' ' && after_space) {
            out.push(byte);
        }
        after_space = byte == b' ';
    }
}

/// Writes the parameters, encoded and sorted by name, then in the order of values, without the signature itself.
fn push_query(out: &mut Vec<u8>, query: &Query<'_>, value_order: ValueOrder) {
    let parameters = query.parameters();
    if !(parameters.is_empty() || push_sorted(out, query)) {
        push_encoded_and_sorted(out, query, value_order);
    }
}

fn push_encoded_and_sorted(out: &mut Vec<u8>, query: &Query<'_>, value_order: ValueOrder) {
    let parameters = query.parameters();
    // Every parameter is encoded into `encoded`; `places` has the ranges of its name and value.
    let bytes: usize = parameters.iter().map(|parameter| parameter.pair.len()).sum();
    let mut encoded = Vec::with_capacity(bytes);
    let mut places = Vec::with_capacity(parameters.len());
    for parameter in parameters {
        if parameter.name == SIGNATURE {
            continue;
        }
        let start = encoded.len();
        push_recoded(&mut encoded, parameter.name, Decoded::query, false);
        let middle = encoded.len();
        push_recoded(&mut encoded, parameter.value, Decoded::query, false);
        places.push((start, middle, encoded.len()));
    }
    let pair = |&(start, middle, end): &(usize, usize, usize)| {
        (&encoded[start..middle], &encoded[middle..end])
    };
    // Sorted after encoding: the order of encoded bytes differs from the order of decoded ones.
    places.sort_by(|left, right| match value_order {
        ValueOrder::Sorted => pair(left).cmp(&pair(right)),
        ValueOrder::AsSent => pair(left).0.cmp(pair(right).0),
    });
    for (index, place) in places.iter().enumerate() {
        if index > 0 {
            out.push(b'&');
        }
        let (name, value) = pair(place);
        out.extend_from_slice(name);
        out.push(b'=');
        out.extend_from_slice(value);
    }
}

/// Writes the parameters if they are encoded and sorted already, as nearly all signers send them. If
/// not, nothing is written.
fn push_sorted(out: &mut Vec<u8>, query: &Query<'_>) -> bool {
    let start = out.len();
    let mut last = None;
    for &Parameter { pair, name, value, .. } in query.parameters() {
        if name == SIGNATURE {
            continue;
        }
        let is_sorted = last.is_none_or(|last| last <= (name, value));
        let is_encoded = || [name, value].iter().all(|it| is_canonical(it.as_bytes(), false));
        if !is_sorted || !is_encoded() {
            out.truncate(start);
            return false;
        }
        if last.replace((name, value)).is_some() {
            out.push(b'&');
        }
        out.extend_from_slice(pair.as_bytes());
        if pair.len() == name.len() {
            out.push(b'=');
        }
    }
    true
}

/// The bytes that are never encoded (RFC 3986, section 2.3).
const UNRESERVED: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let it = byte as u8;
        table[byte] = it.is_ascii_alphanumeric() || matches!(it, b'-' | b'.' | b'_' | b'~');
        byte += 1;
    }
    table
};

/// Decodes and encodes again. Nearly all signers send the canonical form, which is copied as a
/// whole.
fn push_recoded<'a>(
    out: &mut Vec<u8>,
    sent: &'a str,
    decode: impl FnOnce(&'a str) -> Decoded<'a>,
    slash_separates: bool,
) {
    match is_canonical(sent.as_bytes(), slash_separates) {
        true => out.extend_from_slice(sent.as_bytes()),
        false => push_encoded(out, decode(sent), slash_separates),
    }
}

/// `true` if decoding and encoding would return the same bytes.
fn is_canonical(sent: &[u8], slash_separates: bool) -> bool {
    let stays = |byte: u8| is_unreserved(byte) || (byte == b'/' && slash_separates);
    let mut rest = sent;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if stays(first) {
            continue;
        }
        // Only an upper-case escape of a byte that must be encoded is canonical.
        let (b'%', [high, low, after @ ..]) = (first, rest) else { return false };
        let Some(byte) = upper_digit(*high).zip(upper_digit(*low)) else { return false };
        if stays(byte.0 << 4 | byte.1) {
            return false;
        }
        rest = after;
    }
    true
}

fn upper_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

fn is_unreserved(byte: u8) -> bool {
    UNRESERVED[usize::from(byte)]
}

/// Percent-encodes all but unreserved bytes, and all slashes unless they separate.
pub(super) fn push_encoded(
    out: &mut Vec<u8>,
    bytes: impl Iterator<Item = u8>,
    slash_separates: bool,
) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in bytes {
        if is_unreserved(byte) || (byte == b'/' && slash_separates) {
            out.push(byte);
        } else {
            let digits = [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
            out.extend_from_slice(&[b'%', digits[0], digits[1]]);
        }
    }
}

/// Percent-decoded bytes. A `%` without two following digits stands for itself.
struct Decoded<'a> {
    rest: &'a [u8],
    plus_is_space: bool,
}

impl<'a> Decoded<'a> {
    fn path(path: &'a str) -> Self {
        Decoded { rest: path.as_bytes(), plus_is_space: false }
    }

    fn query(text: &'a str) -> Self {
        Decoded { rest: text.as_bytes(), plus_is_space: true }
    }
}

impl Iterator for Decoded<'_> {
    type Item = u8;

    fn next(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        match first {
            b'+' if self.plus_is_space => Some(b' '),
            b'%' => {
                let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|value| value as u8);
                let pair = rest.first().and_then(digit).zip(rest.get(1).and_then(digit));
                if let Some((high, low)) = pair {
                    self.rest = &rest[2..];
                    return Some(high << 4 | low);
                }
                Some(first)
            }
            _ => Some(first),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(form: PathForm, path: &str) -> String {
        let canonical = Canonical {
            path_form: form,
            value_order: ValueOrder::Sorted,
            signed_headers: "",
            payload_hash: "",
        };
        let mut out = Vec::new();
        canonical.push_path(&mut out, path);
        String::from_utf8(out).expect("ASCII")
    }

    fn query(query: &str) -> String {
        query_in(query, ValueOrder::Sorted)
    }

    fn query_in(query: &str, value_order: ValueOrder) -> String {
        let mut out = Vec::new();
        push_query(&mut out, &Query::parse(query), value_order);
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn values_of_one_name_keep_their_order_where_it_was_signed() {
        let sent = "prefix=&events=b&X-Amz-Signature=00&events=a";
        assert_eq!(query_in(sent, ValueOrder::AsSent), "events=b&events=a&prefix=");
        assert_eq!(query_in(sent, ValueOrder::Sorted), "events=a&events=b&prefix=");
    }

    #[test]
    fn paths_keep_their_shape() {
        for (sent, once) in [
            ("/", "/"),
            ("", "/"),
            ("/b/a//b/../c", "/b/a//b/../c"),
            ("/b/k%20k", "/b/k%20k"),
            ("/b/a+b=c@d(e)", "/b/a%2Bb%3Dc%40d%28e%29"),
            ("/b/%e4%B8%AD", "/b/%E4%B8%AD"),
            ("/b/%41%7e", "/b/A~"),
            ("/b/100%", "/b/100%25"),
            ("/b/%zz%4", "/b/%25zz%254"),
            ("/b/%2525", "/b/%2525"),
        ] {
            assert_eq!(path(PathForm::Once, sent), once, "{sent}");
        }
        assert_eq!(path(PathForm::Twice, "/tags/arn%3Aaws"), "/tags/arn%253Aaws");
        assert_eq!(path(PathForm::AsSent, "/b/a%2Fb"), "/b/a%2Fb");
    }

    #[test]
    fn queries_are_sorted_after_encoding() {
        for (sent, canonical) in [
            ("", ""),
            ("lifecycle", "lifecycle="),
            ("prefix=J&max-keys=2", "max-keys=2&prefix=J"),
            ("b=2&a=2&a=1&a", "a=&a=1&a=2&b=2"),
            ("a=b+c&&d=%2f%20", "a=b%20c&d=%2F%20"),
            ("a=x=y", "a=x%3Dy"),
            ("X-Amz-Signature=00&x=1", "x=1"),
            // `~` sorts after `%` only in its encoded neighbours: order is by encoded bytes.
            ("%C3%A9=1&z=2&%7Ea=3", "%C3%A9=1&z=2&~a=3"),
        ] {
            assert_eq!(query(sent), canonical, "{sent}");
        }
    }

    #[test]
    fn copying_sorted_parameters_equals_sorting_them() {
        let pairs = ["", "a", "a=", "a=1", "a=%31", "a=%20", "a-b=1", "b=x=y", "X-Amz-Signature=0"];
        for first in pairs {
            for second in pairs {
                for third in pairs {
                    let sent = format!("{first}&{second}&{third}");
                    let parsed = Query::parse(&sent);
                    let (mut copied, mut sorted) = (b"before".to_vec(), b"before".to_vec());
                    if !push_sorted(&mut copied, &parsed) {
                        assert_eq!(copied, b"before", "{sent}");
                        continue;
                    }
                    // What is sorted by names and values is so in either order.
                    for value_order in [ValueOrder::Sorted, ValueOrder::AsSent] {
                        sorted.truncate("before".len());
                        push_encoded_and_sorted(&mut sorted, &parsed, value_order);
                        assert_eq!(copied, sorted, "{sent}");
                    }
                }
            }
        }
        let signed = "X-Amz-Algorithm=A&X-Amz-Date=2&X-Amz-Signature=0&X-Amz-SignedHeaders=host";
        assert!(push_sorted(&mut Vec::new(), &Query::parse(signed)));
        assert!(!push_sorted(&mut Vec::new(), &Query::parse("b=1&a=1")));
        assert!(!push_sorted(&mut Vec::new(), &Query::parse("a=/")));
    }

    #[test]
    fn copying_the_canonical_form_equals_decoding_and_encoding() {
        let texts =
            ["", "a/b", "%2F", "%2f", "%41", "a%20b", "a+b", "%", "%4", "%zz", "é", "%25", "*"];
        for first in texts {
            for second in texts {
                let sent = format!("{first}{second}");
                for slash_separates in [false, true] {
                    let (mut copied, mut encoded) = (Vec::new(), Vec::new());
                    push_recoded(&mut copied, &sent, Decoded::query, slash_separates);
                    push_encoded(&mut encoded, Decoded::query(&sent), slash_separates);
                    assert_eq!(copied, encoded, "{sent}");
                }
            }
        }
    }

    #[test]
    fn header_values_are_trimmed_collapsed_and_joined() {
        let mut headers = HeaderMap::new();
        headers.append("x-amz-meta-a", "  one   two ".parse().expect("value"));
        headers.append("x-amz-meta-a", "three".parse().expect("value"));
        headers.append("host", "example.com:9000".parse().expect("value"));
        let uri = Uri::from_static("/");
        let mut out = Vec::new();
        for name in ["host", "missing", "x-amz-meta-a"] {
            push_header(&mut out, &headers, &uri, name);
        }
        let lines = String::from_utf8(out).expect("ASCII");
        assert_eq!(lines, "host:example.com:9000\nmissing:\nx-amz-meta-a:one two,three\n");
    }
}
