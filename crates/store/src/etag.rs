//! Entity tags.

use std::fmt;

use serde::{Deserialize, Serialize};

use liteio_checksum::Md5;

/// The entity tag of an object, in the forms that S3 clients compare with an MD5.
// The order is part of the record format: add at the end.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ETag {
    /// The MD5 of the object.
    Md5([u8; 16]),
    /// The tag of an object that was uploaded in parts.
    Multipart {
        /// The MD5 of the concatenated MD5s of the parts.
        md5: [u8; 16],
        /// Number of parts.
        parts: u32,
    },
}

impl ETag {
    /// The tag of a multipart object from the MD5s of its parts.
    #[must_use]
    pub fn multipart<'a>(part_md5s: impl IntoIterator<Item = &'a [u8; 16]>) -> Self {
        let mut digest = Md5::new();
        let mut parts = 0;
        for md5 in part_md5s {
            digest.update(md5);
            parts += 1;
        }
        Self::Multipart { md5: digest.finish(), parts }
    }

    /// The tag of a multipart object, from the digest state of the MD5s of its parts.
    pub(crate) fn of_part_md5s(md5s: Md5) -> Option<Self> {
        let parts = u32::try_from(md5s.bytes() / 16).ok()?;
        Some(Self::Multipart { md5: md5s.finish(), parts })
    }

    /// Parses `hex` or `hex-parts`, with or without quotes; `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let quoted = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        let (digits, parts) = match quoted.unwrap_or(text).split_once('-') {
            Some((digits, parts)) => (digits, Some(parts)),
            None => (quoted.unwrap_or(text), None),
        };
        let md5 = parse_md5(digits)?;
        match parts {
            None => Some(Self::Md5(md5)),
            // Only the printed form is accepted: no sign, no leading zeros.
            Some(parts) if parts.starts_with(|first: char| matches!(first, '1'..='9')) => {
                Some(Self::Multipart { md5, parts: parts.parse().ok()? })
            }
            Some(_) => None,
        }
    }
}

fn parse_md5(digits: &str) -> Option<[u8; 16]> {
    if digits.len() != 32 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u128::from_str_radix(digits, 16).ok().map(u128::to_be_bytes)
}

impl fmt::Display for ETag {
    /// Without quotes.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Md5(md5) => write!(formatter, "{:032x}", u128::from_be_bytes(*md5)),
            Self::Multipart { md5, parts } => {
                write!(formatter, "{:032x}-{parts}", u128::from_be_bytes(*md5))
            }
        }
    }
}

impl fmt::Debug for ETag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ETag({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_parsed_with_and_without_quotes() {
        let tags = [
            (ETag::Md5([0; 16]), "00000000000000000000000000000000"),
            (ETag::Md5(*b"0123456789abcdef"), "30313233343536373839616263646566"),
            (
                ETag::Multipart { md5: [0xff; 16], parts: 10_000 },
                "ffffffffffffffffffffffffffffffff-10000",
            ),
        ];
        for (tag, text) in tags {
            assert_eq!(tag.to_string(), text);
            assert_eq!(ETag::parse(text), Some(tag));
            assert_eq!(ETag::parse(&format!("\"{text}\"")), Some(tag));
            assert_eq!(ETag::parse(&text.to_uppercase()), Some(tag));
        }
    }

    #[test]
    fn anything_else_is_no_tag() {
        let digits = "0".repeat(32);
        for text in [
            "",
            "\"\"",
            "*",
            &digits[1..],
            &format!("{digits}0"),
            &format!("{digits}-"),
            &format!("{digits}-0"),
            &format!("{digits}-01"),
            &format!("{digits}-+1"),
            &format!("{digits}-1-1"),
            &format!("{digits}-99999999999"),
            &format!("\"{digits}"),
            &format!("W/\"{digits}\""),
            &format!("+{}", &digits[1..]),
            &"ä".repeat(16),
        ] {
            assert_eq!(ETag::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_multipart_tag_is_the_md5_of_the_md5s() {
        // The MD5 of the 32 bytes, as another implementation gives it.
        let md5 = |byte: u8| {
            let mut md5 = Md5::new();
            md5.update(&[byte]);
            md5.finish()
        };
        let parts = [md5(b'a'), md5(b'b')];
        assert_eq!(ETag::multipart(&parts).to_string(), "96e024ba2074fe77e8e965ba43a704be-2");
    }
}
