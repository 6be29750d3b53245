//! Encoded words (RFC 2047) of user metadata: S3 decodes them on input, and encodes on output what
//! headers cannot carry.
//!
//! Text that looks like a broken encoded word is text like any other. (Recorded on AWS in LocalStack's
//! `test_user_metadata_rfc2047_bad_b64_encoded` and `test_user_metadata_rfc2047_encoded`.)

use std::borrow::Cow;
use std::fmt::Write as _;

/// Longest encoded text of one word, so that the word has at most 75 characters.
const ENCODED_BYTES_MAX: usize = 63;

/// The text of a metadata header.
pub(super) fn decode(header: &str) -> Cow<'_, str> {
    let text = header.trim();
    if !text.starts_with("=?") {
        return Cow::Borrowed(text);
    }
    // The words of one text may split a character, so the bytes of all are joined first.
    let mut bytes = Vec::with_capacity(text.len());
    let words = text.split_ascii_whitespace().map(|word| decode_word(word, &mut bytes));
    match words.collect::<Option<()>>().and_then(|()| String::from_utf8(bytes).ok()) {
        Some(decoded) => Cow::Owned(decoded),
        None => Cow::Borrowed(text),
    }
}

/// Appends the UTF-8 bytes of one word; `None` if it is none that can be decoded.
fn decode_word(word: &str, bytes: &mut Vec<u8>) -> Option<()> {
    let mut parts = word.strip_prefix("=?")?.strip_suffix("?=")?.splitn(3, '?');
    let (charset, encoding, encoded) = (parts.next()?, parts.next()?, parts.next()?);
    let decoded = match encoding {
        "B" | "b" => base64_simd::STANDARD.decode_to_vec(encoded).ok()?,
        "Q" | "q" => decode_quoted(encoded)?,
        _ => return None,
    };
    if ["utf-8", "us-ascii"].iter().any(|name| name.eq_ignore_ascii_case(charset)) {
        bytes.extend(decoded);
        return Some(());
    }
    if !charset.eq_ignore_ascii_case("iso-8859-1") {
        return None;
    }
    let text: String = decoded.into_iter().map(char::from).collect();
    bytes.extend(text.into_bytes());
    Some(())
}

fn decode_quoted(encoded: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        bytes.push(match byte {
            b'_' => b' ',
            b'=' => {
                let (digits, after) = rest.split_at_checked(2)?;
                rest = after;
                let digits = std::str::from_utf8(digits).ok()?;
                let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
                is_hex.then(|| u8::from_str_radix(digits, 16).ok())??
            }
            byte if byte.is_ascii() => byte,
            _ => return None,
        });
    }
    Some(bytes)
}

/// A text as S3 sends it in a header. As on AWS, a text that is mostly ASCII is quoted (Q), and other
/// text is in base64 (B); a long one is halved until every part fits into a word.
pub(super) fn encode(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t')) {
        return Cow::Borrowed(text);
    }
    let is_ascii = |unit: &u16| matches!(*unit, 0x20..=0x7e | 0x09 | 0x0a | 0x0d);
    let units = text.encode_utf16().count();
    let ascii = text.encode_utf16().filter(is_ascii).count();
    let encoding = if 2 * ascii > units { Encoding::Quoted } else { Encoding::Base64 };
    let mut words = String::new();
    encoding.write(text, &mut words);
    Cow::Owned(words)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Quoted,
    Base64,
}

impl Encoding {
    fn write(self, text: &str, words: &mut String) {
        if let Some(half) = half(text).filter(|_| self.bytes(text) > ENCODED_BYTES_MAX) {
            let (first, second) = text.split_at(half);
            self.write(first, words);
            self.write(second, words);
            return;
        }
        if !words.is_empty() {
            words.push(' ');
        }
        match self {
            Encoding::Base64 => {
                words.push_str("=?UTF-8?B?");
                words.push_str(&base64_simd::STANDARD.encode_to_string(text));
            }
            Encoding::Quoted => {
                words.push_str("=?UTF-8?Q?");
                for byte in text.bytes() {
                    match byte {
                        b' ' => words.push('_'),
                        byte if is_literal(byte) => words.push(char::from(byte)),
                        // Writing to a string cannot fail.
                        byte => drop(write!(words, "={byte:02X}")),
                    }
                }
            }
        }
        words.push_str("?=");
    }

    /// Bytes of the encoded text.
    fn bytes(self, text: &str) -> usize {
        match self {
            Encoding::Base64 => text.len().div_ceil(3) * 4,
            Encoding::Quoted => {
                text.bytes().map(|byte| if byte == b' ' || is_literal(byte) { 1 } else { 3 }).sum()
            }
        }
    }
}

fn is_literal(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~') && !matches!(byte, b'=' | b'_' | b'?')
}

/// The position of the middle character, in units of UTF-16; `None` for a single character.
fn half(text: &str) -> Option<usize> {
    let middle = text.encode_utf16().count() / 2;
    let mut units = 0;
    let mut half = 0;
    for (position, character) in text.char_indices() {
        if units > middle {
            break;
        }
        half = position;
        units += character.len_utf16();
    }
    (half > 0).then_some(half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_words_are_decoded_and_all_other_text_stays() {
        for (header, text) in [
            ("plain", "plain"),
            (" a b\t", "a b"),
            ("é", "é"),
            ("=?UTF-8?Q?actually-ascii?=", "actually-ascii"),
            ("=?UTF-8?B?YWJj?=", "abc"),
            ("=?utf-8?q?a=5Fb_c=C3=A9?=", "a_b cé"),
            ("=?UTF-8?B?w6k=?= =?UTF-8?Q?x?=", "éx"),
            ("=?UTF-8?B?ww==?= =?UTF-8?B?qQ==?=", "é"),
            ("=?ISO-8859-1?Q?=E9?=", "é"),
            ("=?UTF-8?B?=GGG?=", "=?UTF-8?B?=GGG?="),
            ("=?UTF-8?B?w6k?=", "=?UTF-8?B?w6k?="),
            ("=?UTF-8?B?/w==?=", "=?UTF-8?B?/w==?="),
            ("=?UTF-8?Q?=4?=", "=?UTF-8?Q?=4?="),
            ("=?UTF-8?Q?=+4?=", "=?UTF-8?Q?=+4?="),
            ("=?UTF-8?X?a?=", "=?UTF-8?X?a?="),
            ("=?KOI8-R?B?YWJj?=", "=?KOI8-R?B?YWJj?="),
            ("=?UTF-8?Q?a?= and b", "=?UTF-8?Q?a?= and b"),
            ("=?=", "=?="),
            ("=?UTF-8?=", "=?UTF-8?="),
            ("x =?UTF-8?B?YWJj?=", "x =?UTF-8?B?YWJj?="),
        ] {
            assert_eq!(decode(header), text, "{header}");
        }
    }

    #[test]
    fn text_is_encoded_as_on_aws() {
        for (text, header) in [
            ("", ""),
            ("plain ~ text", "plain ~ text"),
            ("a\tb", "a\tb"),
            ("é", "=?UTF-8?B?w6k=?="),
            ("a\r\nb", "=?UTF-8?Q?a=0D=0Ab?="),
            ("ÄMÄZÕÑ S3", "=?UTF-8?Q?=C3=84M=C3=84Z=C3=95=C3=91_S3?="),
            (
                "test_—_file%E2%80%94_é_2?.pdf",
                "=?UTF-8?Q?test=5F=E2=80=94=5Ffile%E2%80%94=5F=C3=A9=5F2=3F.pdf?=",
            ),
            ("\u{0}\u{1}\u{2}\u{3}", "=?UTF-8?B?AAECAw==?="),
        ] {
            assert_eq!(encode(text), header, "{text:?}");
            assert_eq!(decode(header), text.trim(), "{header}");
        }
    }

    #[test]
    fn a_long_text_is_halved_between_characters() {
        for text in ["ü".repeat(60), "😀".repeat(41), "a😀".repeat(50), "a".repeat(500) + "é"]
        {
            let words = encode(&text);
            assert!(words.split(' ').all(|word| word.len() <= 75), "{words}");
            assert_eq!(decode(&words), text);
        }
    }
}
