//! Short secrets and tokens, sealed: AES-256-GCM under a key that is used once.
//!
//! | Bytes | Content |
//! |---|---|
//! | 1 | version, 1 |
//! | 8 | fingerprint of the key |
//! | 16 | salt; its HMAC-SHA256 is the cipher's key |
//! | .. | ciphertext |
//! | 16 | tag, which also covers the purpose |

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use liteio_disk::RandomSource;

use super::cipher::TAG_BYTES;
use super::key::Fingerprint;
use super::{EncryptionKey, KeyRing};
use crate::error::StoreError;

const VERSION: u8 = 1;
const SALT_BYTES: usize = 16;
const HEAD_BYTES: usize = 1 + size_of::<Fingerprint>() + SALT_BYTES;

/// The keys that seal secrets: the first one seals, all of them open.
#[derive(Clone)]
pub struct SecretKeys {
    keys: Vec<(Fingerprint, EncryptionKey)>,
}

impl SecretKeys {
    /// Keys derived from the master keys of `ring`, followed by `own`, the key of a data directory
    /// that was created without a master key.
    #[must_use]
    pub fn new(ring: &KeyRing, own: Option<&EncryptionKey>) -> Self {
        let keys = ring.master().iter().chain(own);
        let derived = keys.map(|key| key.derive(b"liteio secrets", &[]));
        Self { keys: derived.map(|key| (key.fingerprint(), key)).collect() }
    }

    /// `true` if no key is configured.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Seals `secret`. It can be opened for the same purpose only.
    ///
    /// # Errors
    /// [`StoreError::NoMasterKey`] without a key; [`StoreError::Io`] if the random source fails.
    pub fn seal(
        &self,
        purpose: &str,
        secret: &[u8],
        random: &dyn RandomSource,
    ) -> Result<Vec<u8>, StoreError> {
        let (fingerprint, key) = self.keys.first().ok_or(StoreError::NoMasterKey)?;
        let mut salt = [0; SALT_BYTES];
        random.fill(&mut salt)?;
        let mut sealed = Vec::with_capacity(HEAD_BYTES + secret.len() + TAG_BYTES);
        sealed.push(VERSION);
        sealed.extend_from_slice(fingerprint);
        sealed.extend_from_slice(&salt);
        let mut text = secret.to_vec();
        // The salt makes the cipher's key unique, so the nonce may be constant.
        cipher(key, &salt)
            .seal_in_place_append_tag(nonce(), Aad::from(purpose.as_bytes()), &mut text)
            .expect("a secret is short");
        sealed.append(&mut text);
        Ok(sealed)
    }

    /// `true` if the first key sealed it.
    #[must_use]
    pub fn is_newest(&self, sealed: &[u8]) -> bool {
        let fingerprint = sealed.get(1..=size_of::<Fingerprint>());
        self.keys.first().is_some_and(|(first, _)| fingerprint == Some(&first[..]))
    }

    /// The secret; `None` if `sealed` was changed, or sealed for another purpose or by another key.
    #[must_use]
    pub fn open(&self, purpose: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let (head, text) = sealed.split_at_checked(HEAD_BYTES)?;
        let (fingerprint, salt) = head.strip_prefix(&[VERSION])?.split_at(size_of::<Fingerprint>());
        let (_, key) = self.keys.iter().find(|(known, _)| known == fingerprint)?;
        let mut text = text.to_vec();
        let opened =
            cipher(key, salt).open_in_place(nonce(), Aad::from(purpose.as_bytes()), &mut text);
        let bytes = opened.ok()?.len();
        text.truncate(bytes);
        Some(text)
    }
}

fn cipher(key: &EncryptionKey, salt: &[u8]) -> LessSafeKey {
    let key = key.derive(b"liteio secret", salt);
    LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key.expose()).expect("a key of 32 bytes"))
}

/// The only nonce: each key is used once.
fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}

impl fmt::Debug for SecretKeys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SecretKeys").field("keys", &self.keys.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use liteio_disk::SeededRandom;

    #[test]
    fn a_secret_is_opened_for_its_purpose_by_a_key_that_sealed_it() {
        let random = SeededRandom::new(1);
        let (old, new) = (EncryptionKey::new([1; 32]), EncryptionKey::new([2; 32]));
        let ring = |keys: &[&EncryptionKey]| {
            KeyRing::new(keys.iter().map(|key| (*key).clone()).collect(), Vec::new())
        };
        let keys = SecretKeys::new(&ring(&[&old]), None);
        let sealed = keys.seal("tokens", b"a secret", &random).expect("a key");
        assert_eq!(keys.open("tokens", &sealed).as_deref(), Some(&b"a secret"[..]));
        assert_eq!(keys.open("keys", &sealed), None);
        let rotated = SecretKeys::new(&ring(&[&new, &old]), None);
        assert!(rotated.open("tokens", &sealed).is_some());
        assert!(keys.is_newest(&sealed) && !rotated.is_newest(&sealed) && !keys.is_newest(b""));
        let with_own = SecretKeys::new(&ring(&[&new]), Some(&old));
        assert!(with_own.open("tokens", &sealed).is_some());
        assert_eq!(SecretKeys::new(&ring(&[&new]), None).open("tokens", &sealed), None);
        for bit in 0..sealed.len() * 8 {
            let mut changed = sealed.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(keys.open("tokens", &changed), None, "bit {bit}");
        }
        for length in 0..sealed.len() {
            assert_eq!(keys.open("tokens", &sealed[..length]), None, "{length} bytes");
        }
        let none = SecretKeys::new(&KeyRing::default(), None);
        assert!(none.is_empty() && none.seal("tokens", b"", &random).is_err());
        assert_ne!(sealed, keys.seal("tokens", b"a secret", &random).expect("a key"));
    }
}
