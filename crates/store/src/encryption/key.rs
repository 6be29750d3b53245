//! Keys of 256 bits.

use std::fmt;

use aws_lc_rs::hmac;
use liteio_disk::RandomSource;
use zeroize::Zeroize as _;

use crate::error::StoreError;

/// Bytes of a key.
pub(super) const KEY_BYTES: usize = 32;

/// A key of 256 bits. It is never printed: `Debug` hides it, and it has no `Display`. Its memory is
/// overwritten when it is dropped.
#[derive(Clone)]
pub struct EncryptionKey([u8; KEY_BYTES]);

/// The fingerprint of a key: it distinguishes keys, and reveals nothing about them.
pub(super) type Fingerprint = [u8; 8];

impl EncryptionKey {
    /// The key with these bytes.
    #[must_use]
    pub fn new(bytes: [u8; KEY_BYTES]) -> Self {
        Self(bytes)
    }

    /// A random key.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the random source fails.
    pub fn generate(random: &dyn RandomSource) -> Result<Self, StoreError> {
        let mut bytes = [0; KEY_BYTES];
        random.fill(&mut bytes)?;
        Ok(Self(bytes))
    }

    /// The bytes of the key, for the file that stores it.
    #[must_use]
    pub fn expose(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    pub(super) fn fingerprint(&self) -> Fingerprint {
        let derived = self.derive(b"liteio fingerprint", &[]);
        let mut fingerprint = Fingerprint::default();
        fingerprint.copy_from_slice(&derived.0[..size_of::<Fingerprint>()]);
        fingerprint
    }

    /// A derived key for one purpose: HMAC-SHA256 of label and salt.
    pub(super) fn derive(&self, label: &[u8], salt: &[u8]) -> Self {
        let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, &self.0));
        context.update(label);
        // The separator keeps label and salt apart: no two pairs give the same input, since labels
        // have no zero byte.
        context.update(&[0]);
        context.update(salt);
        let mut bytes = [0; KEY_BYTES];
        bytes.copy_from_slice(context.sign().as_ref());
        Self(bytes)
    }
}

impl Drop for EncryptionKey {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl PartialEq for EncryptionKey {
    /// Constant time, so that the comparison does not leak where keys differ.
    fn eq(&self, other: &Self) -> bool {
        aws_lc_rs::constant_time::verify_slices_are_equal(&self.0, &other.0).is_ok()
    }
}

impl Eq for EncryptionKey {}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[hidden]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_not_printed_and_derived_keys_differ() {
        let key = EncryptionKey::new([65; 32]);
        assert_eq!(format!("{key:?}"), "[hidden]");
        let derived = key.derive(b"a", b"b");
        assert!(derived != key && derived == key.derive(b"a", b"b"));
        assert!(derived != key.derive(b"a", b"c") && derived != key.derive(b"ab", b""));
        assert_ne!(key.fingerprint(), EncryptionKey::new([66; 32]).fingerprint());
    }
}
