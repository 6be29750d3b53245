//! Names and ids, checked once when they enter the store.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::limits::{OBJECT_KEY_BYTES_MAX, PART_NUMBER_MAX};

/// The error for text or a number that is not a valid name or id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The name breaks the rules for bucket names.
    #[error(
        "the bucket name {name:?} is not valid: use 3 to 63 lower-case letters, digits, hyphens and dots"
    )]
    Bucket {
        /// The text.
        name: String,
    },
    /// An object key must have at least one byte.
    #[error("an object key must not be empty")]
    EmptyKey,
    /// The key has more than [`OBJECT_KEY_BYTES_MAX`] bytes.
    #[error("the object key has {bytes} bytes; at most {OBJECT_KEY_BYTES_MAX} are allowed")]
    KeyTooLong {
        /// The length in bytes.
        bytes: usize,
    },
    /// The text is not a version id.
    #[error("the version id {version:?} is not valid")]
    VersionId {
        /// The text.
        version: String,
    },
    /// The text is not an upload id.
    #[error("the upload id {upload:?} is not valid")]
    UploadId {
        /// The text.
        upload: String,
    },
    /// The part number is not from 1 to [`PART_NUMBER_MAX`].
    #[error("the part number is not from 1 to {PART_NUMBER_MAX}")]
    PartNumber,
}

/// The name of a bucket, by the rules of the Amazon S3 User Guide for general-purpose buckets, or in
/// the form of directory buckets: `BASE--ZONE--x-s3`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BucketName(String);

impl BucketName {
    /// Checks `name`.
    ///
    /// # Errors
    /// [`NameError::Bucket`].
    pub fn new(name: impl Into<String>) -> Result<Self, NameError> {
        let name = name.into();
        if is_bucket_name(&name) { Ok(Self(name)) } else { Err(NameError::Bucket { name }) }
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// End of the names of directory buckets.
const DIRECTORY_SUFFIX: &str = "--x-s3";

/// The id of the zone in a name in the form of directory buckets, such as `usw2-az1`.
#[must_use]
pub fn zone_of_bucket_name(name: &str) -> Option<&str> {
    let (base, zone) = name.strip_suffix(DIRECTORY_SUFFIX)?.rsplit_once("--")?;
    let is_zone = !zone.is_empty() && !zone.starts_with('-') && !zone.ends_with('-');
    (is_zone && !base.is_empty() && !name.contains('.')).then_some(zone)
}

fn is_bucket_name(name: &str) -> bool {
    const PREFIXES: [&str; 3] = ["xn--", "sthree-", "amzn-s3-demo-"];
    const SUFFIXES: [&str; 5] = ["-s3alias", "--ol-s3", ".mrap", DIRECTORY_SUFFIX, "--table-s3"];
    let is_outer = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    // Every label begins and ends with a letter or digit, which also excludes `..`, `.-` and `-.`.
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        matches!((bytes.first(), bytes.last()), (Some(&first), Some(&last))
            if is_outer(first) && is_outer(last))
            && bytes.iter().all(|&byte| is_outer(byte) || byte == b'-')
    };
    (3..=63).contains(&name.len())
        && name.split('.').all(is_label)
        && name.parse::<std::net::Ipv4Addr>().is_err()
        && !looks_like_address(name)
        && !PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        && (zone_of_bucket_name(name).is_some()
            || !SUFFIXES.iter().any(|suffix| name.ends_with(suffix)))
}

/// `true` for four groups of digits, even if the numbers are too large for an IP address.
fn looks_like_address(name: &str) -> bool {
    name.split('.').count() == 4
        && name.split('.').all(|group| {
            (1..=3).contains(&group.len()) && group.bytes().all(|byte| byte.is_ascii_digit())
        })
}

/// An object's key: 1 to 1,024 bytes of UTF-8, kept verbatim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey(String);

impl ObjectKey {
    /// Checks `key`.
    ///
    /// # Errors
    /// [`NameError::EmptyKey`] or [`NameError::KeyTooLong`].
    pub fn new(key: impl Into<String>) -> Result<Self, NameError> {
        let key = key.into();
        match key.len() {
            0 => Err(NameError::EmptyKey),
            1..=OBJECT_KEY_BYTES_MAX => Ok(Self(key)),
            bytes => Err(NameError::KeyTooLong { bytes }),
        }
    }

    /// The key.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The bytes of the key, which define its order.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The key as a string.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

/// The id of a version of an object.
///
/// Opaque: 32 hexadecimal digits, smaller for newer versions. Objects written without versioning
/// have the id `null`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VersionId {
    /// `null`.
    Null,
    /// A version of a versioned bucket.
    Id([u8; 16]),
}

impl VersionId {
    /// Parses the output of [`Display`](fmt::Display).
    ///
    /// # Errors
    /// [`NameError::VersionId`] for any other text.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        if text == "null" {
            return Ok(Self::Null);
        }
        match parse_hex(text) {
            Some(id) => Ok(Self::Id(id)),
            None => Err(NameError::VersionId { version: text.to_owned() }),
        }
    }

    /// `true` for the version of an object written without versioning.
    #[must_use]
    pub fn is_null(&self) -> bool {
        *self == Self::Null
    }
}

impl fmt::Display for VersionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => formatter.write_str("null"),
            Self::Id(id) => write_hex(id, formatter),
        }
    }
}

/// The id of a multipart upload. Opaque: 32 hexadecimal digits, larger for later uploads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct UploadId(pub(crate) [u8; 16]);

impl UploadId {
    /// Parses the output of [`Display`](fmt::Display).
    ///
    /// # Errors
    /// [`NameError::UploadId`] for any other text, which no upload can have.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        parse_hex(text).map(Self).ok_or_else(|| NameError::UploadId { upload: text.to_owned() })
    }
}

impl fmt::Display for UploadId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, formatter)
    }
}

/// The number of a part: 1 to 10,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartNumber(u16);

impl PartNumber {
    /// The first part.
    pub const MIN: Self = Self(1);

    /// Checks `number`.
    ///
    /// # Errors
    /// [`NameError::PartNumber`].
    pub fn new(number: u16) -> Result<Self, NameError> {
        if (1..=PART_NUMBER_MAX).contains(&number) {
            Ok(Self(number))
        } else {
            Err(NameError::PartNumber)
        }
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> u16 {
        self.0
    }
}

impl fmt::Display for PartNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// The number of a bucket in keys of records. A bucket created again under the same name gets
/// another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct BucketId(pub(crate) u32);

/// The number of an index in keys of records and in names of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct IndexId(pub(crate) u32);

impl fmt::Display for BucketId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

macro_rules! text_conversions {
    ($name:ident) => {
        impl TryFrom<&str> for $name {
            type Error = NameError;
            fn try_from(text: &str) -> Result<Self, NameError> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = NameError;
            fn try_from(text: String) -> Result<Self, NameError> {
                Self::new(text)
            }
        }

        impl std::str::FromStr for $name {
            type Err = NameError;
            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::new(text)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(formatter)
            }
        }
    };
}

text_conversions!(BucketName);
text_conversions!(ObjectKey);

macro_rules! id_conversions {
    ($name:ident) => {
        impl TryFrom<&str> for $name {
            type Error = NameError;
            fn try_from(text: &str) -> Result<Self, NameError> {
                Self::parse(text)
            }
        }

        impl std::str::FromStr for $name {
            type Err = NameError;
            fn from_str(text: &str) -> Result<Self, NameError> {
                Self::parse(text)
            }
        }
    };
}

id_conversions!(VersionId);
id_conversions!(UploadId);

impl TryFrom<u16> for PartNumber {
    type Error = NameError;
    fn try_from(number: u16) -> Result<Self, NameError> {
        Self::new(number)
    }
}

impl TryFrom<i32> for PartNumber {
    type Error = NameError;
    fn try_from(number: i32) -> Result<Self, NameError> {
        Self::new(u16::try_from(number).map_err(|_| NameError::PartNumber)?)
    }
}

/// Parses lower-case digits only: an id has one spelling, so that text order is byte order.
fn parse_hex(text: &str) -> Option<[u8; 16]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let text: &[u8; 32] = text.as_bytes().try_into().ok()?;
    let mut id = [0; 16];
    for (byte, pair) in id.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(id)
}

fn write_hex(id: &[u8; 16], formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    id.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_names_follow_the_rules() {
        let longest = "a".repeat(63);
        for name in ["abc", "a.b", "my-bucket.with.dots", "123", "1.2.3", longest.as_str()] {
            assert!(BucketName::new(name).is_ok(), "{name}");
        }
        for (name, zone) in [
            ("photos--use1-az4--x-s3", Some("use1-az4")),
            ("a--b--use1-az4--x-s3", Some("use1-az4")),
            ("photos--use1-az4", None),
        ] {
            assert!(BucketName::new(name).is_ok(), "{name}");
            assert_eq!(zone_of_bucket_name(name), zone, "{name}");
        }
        let too_long = "a".repeat(64);
        for name in [
            "",
            "ab",
            "Abc",
            "a_b",
            "-abc",
            "abc-",
            ".abc",
            "abc.",
            "a..b",
            "a.-b",
            "a-.b",
            "abc/d",
            "192.168.5.4",
            "999.999.999.999",
            "xn--abc",
            "sthree-abc",
            "abc-s3alias",
            "abc--ol-s3",
            "abc--x-s3",
            "abc----x-s3",
            "--use1-az4--x-s3",
            "a.b--use1-az4--x-s3",
            "abc.mrap",
            "bücket",
            "a\0b",
            too_long.as_str(),
        ] {
            let error = BucketName::new(name).expect_err(name);
            assert!(matches!(error, NameError::Bucket { name: found } if found == name));
        }
    }

    #[test]
    fn keys_are_kept_verbatim_within_their_length() {
        for key in ["a", "a//b", "../x", "\0", "ü"] {
            assert_eq!(ObjectKey::new(key).expect("valid").as_str(), key);
        }
        assert!(ObjectKey::new("x".repeat(1024)).is_ok());
        assert!(matches!(ObjectKey::new(""), Err(NameError::EmptyKey)));
        let error = ObjectKey::new("x".repeat(1025));
        assert!(matches!(error, Err(NameError::KeyTooLong { bytes: 1025 })));
    }

    #[test]
    fn ids_have_one_spelling() {
        let id = VersionId::Id([0xab; 16]);
        assert_eq!(VersionId::parse(&id.to_string()).expect("own text"), id);
        assert_eq!(VersionId::parse("null").expect("null"), VersionId::Null);
        for text in ["", "NULL", &"AB".repeat(16), &"ab".repeat(15), &"ab".repeat(17), "../../x"] {
            assert!(VersionId::parse(text).is_err(), "{text}");
            assert!(matches!(UploadId::parse(text), Err(NameError::UploadId { .. })));
        }
    }

    #[test]
    fn part_numbers_end_at_ten_thousand() {
        assert!(PartNumber::new(1).is_ok() && PartNumber::new(10_000).is_ok());
        assert!(PartNumber::new(0).is_err() && PartNumber::new(10_001).is_err());
        assert!(PartNumber::try_from(-1).is_err() && PartNumber::try_from(70_000).is_err());
    }
}
