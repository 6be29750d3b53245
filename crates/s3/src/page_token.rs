//! URL encoding of keys: `encoding-type=url` and the tokens of listings.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use s3s::dto::EncodingType;
use s3s::{S3Error, S3Result, s3_error};

use super::details::Details;

/// The characters to encode with `encoding-type=url`: all but letters, digits, `-`, `_`, `.`, `~`
/// and `/`.
const KEY_ENCODED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~').remove(b'/');

/// A key encoded for a URL path.
pub(super) fn key_in_url(key: &str) -> impl std::fmt::Display {
    utf8_percent_encode(key, KEY_ENCODED)
}

/// The characters to encode in a header value.
pub(super) const IN_HEADER: &AsciiSet = KEY_ENCODED;

/// The encoding of keys in a listing: none, or URL encoding if the client asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyEncoding {
    Plain,
    Url,
}

impl KeyEncoding {
    pub(super) fn parse(asked: Option<&EncodingType>) -> S3Result<KeyEncoding> {
        match asked.map(EncodingType::as_str) {
            None => Ok(KeyEncoding::Plain),
            Some("url") => Ok(KeyEncoding::Url),
            Some(other) => Err(s3_error!(
                Details::argument("encoding-type", other),
                InvalidArgument,
                "Invalid Encoding Method specified in Request"
            )),
        }
    }
}

/// The continuation token for the position after `name`.
pub(super) fn token_after(name: &str) -> String {
    base64_simd::URL_SAFE_NO_PAD.encode_to_string(name)
}

/// The name inside a continuation token.
pub(super) fn name_of_token(token: &str) -> S3Result<String> {
    let bytes = base64_simd::URL_SAFE_NO_PAD.decode_to_vec(token).map_err(|_| wrong_token())?;
    String::from_utf8(bytes).map_err(|_| wrong_token())
}

pub(super) fn wrong_token() -> S3Error {
    s3_error!(
        Details::named("continuation-token"),
        InvalidArgument,
        "The continuation token provided is incorrect"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_encoded_for_urls() {
        let rows = [
            ("foo+1/bar", "foo%2B1/bar"),
            ("quux ab/", "quux%20ab/"),
            ("a_b-c.d~e", "a_b-c.d~e"),
            ("\u{1}\r\n", "%01%0D%0A"),
            ("ü", "%C3%BC"),
            ("100%", "100%25"),
        ];
        for (key, expected) in rows {
            assert_eq!(key_in_url(key).to_string(), expected);
        }
    }

    #[test]
    fn tokens_are_read_back() {
        for name in ["bucket", "", "a.b-c"] {
            assert_eq!(name_of_token(&token_after(name)).expect("own token"), name);
        }
        for token in ["*", "a b", "_w"] {
            assert!(name_of_token(token).is_err(), "{token}");
        }
    }
}
