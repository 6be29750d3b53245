//! Digests: of requests, and for the verification of downloads.

use base64_simd::STANDARD;
use crc_fast::{CrcAlgorithm, Digest as Crc};
use http::HeaderMap;
use md5::{Digest as _, Md5};
use sha2::Sha256;

pub(super) fn md5_hex(bytes: &[u8]) -> String {
    super::sign::hex(&Md5::digest(bytes))
}

/// The MD5 of bytes in base64, as `Content-MD5` has it.
#[must_use]
pub fn md5_base64(bytes: &[u8]) -> String {
    STANDARD.encode_to_string(Md5::digest(bytes))
}

/// The strongest verification of a whole object that the head of an answer allows.
pub(super) enum Verifier {
    Crc {
        name: &'static str,
        digest: Box<Crc>,
        bytes: usize,
        expected: String,
    },
    Sha256 {
        digest: Sha256,
        expected: String,
    },
    /// An ETag that is an MD5, in hexadecimal.
    Md5 {
        digest: Md5,
        expected: String,
    },
    /// The length only.
    Nothing,
}

impl Verifier {
    pub(super) fn of(headers: &HeaderMap) -> Verifier {
        let value = |name: &str| {
            let value = headers.get(name)?.to_str().ok()?;
            // With a dash and a number of parts, it is a checksum of checksums.
            (!value.contains('-')).then(|| value.to_owned())
        };
        if let Some(expected) = value("x-amz-checksum-sha256") {
            return Verifier::Sha256 { digest: Sha256::new(), expected };
        }
        let crcs = [
            ("x-amz-checksum-crc64nvme", CrcAlgorithm::Crc64Nvme, 8),
            ("x-amz-checksum-crc32c", CrcAlgorithm::Crc32Iscsi, 4),
            ("x-amz-checksum-crc32", CrcAlgorithm::Crc32IsoHdlc, 4),
        ];
        for (name, algorithm, bytes) in crcs {
            if let Some(expected) = value(name) {
                return Verifier::Crc {
                    name,
                    digest: Box::new(Crc::new(algorithm)),
                    bytes,
                    expected,
                };
            }
        }
        // The ETag of an encrypted object is not the digest of its bytes.
        let encrypted =
            headers.keys().any(|name| name.as_str().starts_with("x-amz-server-side-encryption"));
        match value("etag").map(|it| it.trim_matches('"').to_ascii_lowercase()) {
            Some(etag) if is_md5(&etag) && !encrypted => {
                Verifier::Md5 { digest: Md5::new(), expected: etag }
            }
            _ => Verifier::Nothing,
        }
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        match self {
            Verifier::Crc { digest, .. } => digest.update(bytes),
            Verifier::Sha256 { digest, .. } => digest.update(bytes),
            Verifier::Md5 { digest, .. } => digest.update(bytes),
            Verifier::Nothing => {}
        }
    }

    /// Compares. The error is the name of the digest that differs.
    pub(super) fn finish(self) -> Result<(), &'static str> {
        let (name, found, expected) = match self {
            Verifier::Crc { name, digest, bytes, expected } => {
                let value = digest.finalize().to_be_bytes();
                (name, STANDARD.encode_to_string(&value[8 - bytes..]), expected)
            }
            Verifier::Sha256 { digest, expected } => {
                ("x-amz-checksum-sha256", STANDARD.encode_to_string(digest.finalize()), expected)
            }
            Verifier::Md5 { digest, expected } => {
                ("ETag", super::sign::hex(&digest.finalize()), expected)
            }
            Verifier::Nothing => return Ok(()),
        };
        if found == expected { Ok(()) } else { Err(name) }
    }
}

fn is_md5(etag: &str) -> bool {
    etag.len() == 32 && etag.bytes().all(|it| it.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &[(&'static str, &str)], body: &[u8]) -> Result<(), &'static str> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().expect("a value"));
        }
        let mut verifier = Verifier::of(&map);
        for piece in body.chunks(3) {
            verifier.update(piece);
        }
        verifier.finish()
    }

    #[test]
    fn bytes_are_compared_with_the_strongest_digest() {
        let body = b"123456789";
        let md5 = "\"25f9e794323b453885f5181f1b624d0b\"";
        let rows = [
            ("etag", md5),
            ("x-amz-checksum-crc32", "y/Q5Jg=="),
            ("x-amz-checksum-crc32c", "4waSgw=="),
            ("x-amz-checksum-crc64nvme", "rosUhgp5mIg="),
            ("x-amz-checksum-sha256", "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU="),
        ];
        for (name, value) in rows {
            assert_eq!(check(&[(name, value)], body), Ok(()), "{name}");
            assert!(check(&[(name, value)], b"123456780").is_err(), "{name}");
        }
    }

    #[test]
    fn digests_that_are_not_of_the_bytes_are_not_compared() {
        let md5 = "\"25f9e794323b453885f5181f1b624d0b\"";
        let encrypted = [("etag", md5), ("x-amz-server-side-encryption", "aws:kms")];
        assert_eq!(check(&encrypted, b"other"), Ok(()));
        let parts = [("etag", "\"25f9e794323b453885f5181f1b624d0b-2\"")];
        assert_eq!(check(&parts, b"other"), Ok(()));
        assert_eq!(check(&[("x-amz-checksum-crc32", "y/Q5Jg==-2")], b"other"), Ok(()));
    }
}
