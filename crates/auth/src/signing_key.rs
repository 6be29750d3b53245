//! Signing keys derived from secrets, and a bounded cache of them.

use std::collections::HashMap;

use hmac::{Hmac, KeyInit, Mac};
use parking_lot::RwLock;
use sha2::Sha256;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

use super::limits::SIGNING_KEYS_MAX;
use super::service::Service;

/// The signing key of one access key for one day, region and service.
#[derive(Clone)]
pub(super) struct SigningKey(Hmac<Sha256>);

/// A key for HMAC, which accepts any length, so this cannot fail; the empty key is an unreachable
/// fallback.
fn hmac(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).unwrap_or_else(|_| Hmac::new(&Default::default()))
}

impl SigningKey {
    // AWS: HMAC chain over date, region, service and the terminator, so that a leaked key is
    // limited to one day, region and service.
    pub(super) fn derive(secret: &str, day: &str, region: &str, service: Service) -> SigningKey {
        let mut prefixed = Zeroizing::new(Vec::with_capacity(4 + secret.len()));
        prefixed.extend_from_slice(b"AWS4");
        prefixed.extend_from_slice(secret.as_bytes());
        let next = |key: &[u8], data: &str| hmac(key).chain_update(data).finalize().into_bytes();
        let day_key = next(&prefixed, day);
        let region_key = next(&day_key, region);
        let service_key = next(&region_key, service.name());
        SigningKey(hmac(&next(&service_key, "aws4_request")))
    }

    /// The signature of the concatenated parts, in lower-case hexadecimal digits.
    pub(super) fn sign(&self, parts: &[&[u8]]) -> Signature {
        let mut mac = self.0.clone();
        for part in parts {
            mac.update(part);
        }
        hex_digest(&mac.finalize().into_bytes())
    }
}

/// A signature or digest as 64 lower-case hexadecimal digits.
pub(super) type Signature = [u8; 64];

/// A 32-byte digest in lower-case hexadecimal digits.
pub(super) fn hex_digest(digest: &[u8]) -> Signature {
    let mut text = [0; 64];
    let encoded = hex_simd::Out::from_slice(&mut text);
    let _ = hex_simd::encode(digest, encoded, hex_simd::AsciiCase::Lower);
    text
}

/// Compares in constant time, so that response times reveal no prefix of the expected signature.
pub(super) fn same_signature(expected: &Signature, provided: &str) -> bool {
    // Texts of different lengths are unequal, which reveals only the public length.
    let Ok(provided) = <&Signature>::try_from(provided.as_bytes()) else { return false };
    words(expected).ct_eq(&words(provided)).into()
}

/// The text in words, of which a comparison needs an eighth of the steps.
fn words(text: &Signature) -> [u64; 8] {
    let mut words = [0; 8];
    for (word, bytes) in words.iter_mut().zip(text.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    words
}

/// Serial number of the access key, day, service.
type KeyId = (u64, [u8; 8], Service);

/// Signing keys by access key, day and service. Only the key of the most recent region is kept,
/// because the clients of a server agree about its region.
///
/// Deriving a key costs five HMACs, more than the rest of a signature check.
#[derive(Default)]
pub(super) struct SigningKeyCache {
    keys: RwLock<HashMap<KeyId, (Box<str>, SigningKey)>>,
}

impl SigningKeyCache {
    pub(super) fn get_or_derive(
        &self,
        serial: u64,
        day: [u8; 8],
        service: Service,
        region: &str,
        derive: impl FnOnce() -> SigningKey,
    ) -> SigningKey {
        let id = (serial, day, service);
        if let Some((known, key)) = self.keys.read().get(&id)
            && **known == *region
        {
            return key.clone();
        }
        let key = derive();
        let mut keys = self.keys.write();
        if keys.len() >= SIGNING_KEYS_MAX {
            // Evict the keys of other days first; if all are of this day, clear the cache.
            keys.retain(|(_, other, _), _| *other == day);
            if keys.len() >= SIGNING_KEYS_MAX {
                keys.clear();
            }
        }
        keys.insert(id, (region.into(), key.clone()));
        key
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.keys.read().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_serves_one_service_only() {
        let derive = |service| SigningKey::derive("secret", "20150830", "us-east-1", service);
        let (s3, vectors) = (derive(Service::S3), derive(Service::S3Vectors));
        assert_eq!(s3.sign(&[b"a", b"b"]), s3.sign(&[b"ab"]));
        assert_ne!(s3.sign(&[b"ab"]), vectors.sign(&[b"ab"]));
    }

    #[test]
    fn signatures_are_the_same_if_every_digit_is() {
        let expected: Signature = std::array::from_fn(|place| b"0123456789abcdef"[place % 16]);
        let text = std::str::from_utf8(&expected).expect("digits");
        assert!(same_signature(&expected, text));
        for place in 0..expected.len() {
            let mut other = expected;
            other[place] ^= 1;
            assert!(!same_signature(&expected, std::str::from_utf8(&other).expect("text")));
        }
        let longer = format!("{text}0");
        for other in ["", &text[1..], &longer, &text.to_uppercase()] {
            assert!(!same_signature(&expected, other), "{other}");
        }
    }

    #[test]
    fn the_cache_never_grows_past_its_limit() {
        let cache = SigningKeyCache::default();
        for user in 0..2 * SIGNING_KEYS_MAX as u64 + 7 {
            let derive = || SigningKey(hmac(&user.to_be_bytes()));
            let key = cache.get_or_derive(user, *b"20130524", Service::S3, "here", derive);
            assert_eq!(key.sign(&[b"x"]), SigningKey(hmac(&user.to_be_bytes())).sign(&[b"x"]));
            assert!(cache.len() <= SIGNING_KEYS_MAX);
        }
    }
}
