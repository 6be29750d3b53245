//! System headers of an object beyond ASCII: `Content-Disposition` with a file name, `Cache-Control`, `Content-Type`, …
//!
//! S3 reads the bytes of such a header as ISO-8859-1 and gives the same bytes back, so raw UTF-8 survives, and so does
//! a word of RFC 2047, which is ASCII. The text that is kept has one character for each byte. A field of a form is text
//! in UTF-8; `auth` writes it in ISO-8859-1 as S3 does. s3s rejects such headers, so they travel in [`SystemHeaders`].

use std::borrow::Cow;

use http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE, EXPIRES,
    HeaderMap, HeaderName, HeaderValue,
};

/// The headers that are kept as sent and that s3s would parse.
const NAMES: [HeaderName; 5] =
    [CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LANGUAGE, CONTENT_TYPE];

/// The system headers that s3s rejects: `Expires`, which need not be a date, and every one beyond
/// ASCII.
#[derive(Clone, Debug, Default)]
pub(super) struct SystemHeaders(HeaderMap);

impl SystemHeaders {
    /// Removes them from a request; `None` if it has none.
    pub(super) fn take(headers: &mut HeaderMap) -> Option<SystemHeaders> {
        let mut taken = HeaderMap::new();
        if let Some(expires) = headers.remove(EXPIRES) {
            taken.insert(EXPIRES, expires);
        }
        for name in NAMES {
            if headers.get(&name).is_some_and(|value| value.to_str().is_err())
                && let Some(value) = headers.remove(&name)
            {
                taken.insert(name, value);
            }
        }
        (!taken.is_empty()).then_some(SystemHeaders(taken))
    }

    /// The text of a system header to keep; `None` without a value.
    pub(super) fn text(
        taken: Option<&SystemHeaders>,
        headers: &HeaderMap,
        name: &HeaderName,
    ) -> Option<String> {
        let value = taken.and_then(|taken| taken.0.get(name)).or_else(|| headers.get(name))?;
        Some(of_latin1(value.as_bytes())).filter(|text| !text.is_empty())
    }
}

/// The text of bytes in ISO-8859-1.
fn of_latin1(bytes: &[u8]) -> String {
    match str::from_utf8(bytes) {
        Ok(text) if text.is_ascii() => text.to_owned(),
        _ => bytes.iter().copied().map(char::from).collect(),
    }
}

/// A kept text as a header: in ISO-8859-1, or in UTF-8 if it has other characters, which only imports
/// and versions before this encoding have kept. `None` for what HTTP cannot carry.
pub(super) fn to_header(text: &str) -> Option<HeaderValue> {
    to_latin1(text).or_else(|| HeaderValue::from_bytes(text.as_bytes()).ok())
}

/// A text as a header in ISO-8859-1; `None` if it has characters that this does not have, or that HTTP
/// cannot carry.
pub(super) fn to_latin1(text: &str) -> Option<HeaderValue> {
    let bytes = match text.is_ascii() {
        true => Cow::Borrowed(text.as_bytes()),
        false => text.chars().map(|it| u8::try_from(it).ok()).collect::<Option<Vec<u8>>>()?.into(),
    };
    HeaderValue::from_bytes(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_header_come_back() {
        let rows: [&[u8]; 7] = [
            b"attachment; filename=\"a.txt\"",
            "attachment; filename=\"日本.txt\"".as_bytes(),
            "max-age=1, ÄMÄZÕÑ 😀".as_bytes(),
            b"=?UTF-8?B?w6k=?=",
            b"=?UTF-8?Q?caf=C3=A9?=",
            b"caf\xe9",
            b"\xff\x80\xc3",
        ];
        for name in NAMES {
            for bytes in rows {
                let mut headers = HeaderMap::new();
                headers.insert(&name, HeaderValue::from_bytes(bytes).expect("a header"));
                let taken = SystemHeaders::take(&mut headers);
                assert_eq!(headers.is_empty(), !bytes.is_ascii(), "{name} {bytes:?}");
                let kept = SystemHeaders::text(taken.as_ref(), &headers, &name).expect("kept");
                assert_eq!(to_header(&kept).expect("a header").as_bytes(), bytes, "{name}");
            }
        }
    }

    #[test]
    fn texts_of_older_versions_are_sent_in_utf_8() {
        assert_eq!(to_header("日本").expect("a header").as_bytes(), "日本".as_bytes());
        assert_eq!(to_latin1("caf\u{e9}").expect("a header").as_bytes(), b"caf\xe9");
        assert_eq!(to_latin1("1976\u{2013}2016"), None);
        assert_eq!(to_header("a\r\nb"), None);
    }
}
