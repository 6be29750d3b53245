//! Keys of a backup, all derived from one by HMAC-SHA256.
//!
//! ```text
//! key ── id of the backup ──► key of the backup ──► fingerprint
//!                                    └── name ──► key of an object
//! ```
//!
//! An object's name has a key of its own, so a random nonce meets only those of objects that had the same
//! name, not all that a backup ever writes.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, LessSafeKey, UnboundKey};
use aws_lc_rs::hmac;
use zeroize::Zeroizing;

pub(super) const FINGERPRINT_BYTES: usize = 8;
pub(super) const NONCE_BYTES: usize = 12;
pub(super) const TAG_BYTES: usize = 16;
const KEY_BYTES: usize = 32;

type Key = Zeroizing<[u8; KEY_BYTES]>;

/// The key of one backup. `Debug` hides it, and its memory is overwritten when it is dropped.
#[derive(Clone)]
pub(super) struct BackupKey(Key);

impl BackupKey {
    pub(super) fn new(key: &[u8; KEY_BYTES], backup_id: &[u8; 16]) -> Self {
        Self(derived(key, b"liteio backup", backup_id))
    }

    pub(super) fn fingerprint(&self) -> [u8; FINGERPRINT_BYTES] {
        let derived = derived(&self.0, b"liteio backup fingerprint", &[]);
        let mut fingerprint = [0; FINGERPRINT_BYTES];
        fingerprint.copy_from_slice(&derived[..FINGERPRINT_BYTES]);
        fingerprint
    }

    /// The cipher of the object `name`.
    pub(super) fn cipher(&self, name: &str) -> LessSafeKey {
        let key = derived(&self.0, b"liteio backup object", name.as_bytes());
        LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &*key).expect("a key of 32 bytes"))
    }
}

impl fmt::Debug for BackupKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[hidden]")
    }
}

fn derived(key: &[u8; KEY_BYTES], label: &[u8], salt: &[u8]) -> Key {
    let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key));
    context.update(label);
    // Labels have no zero byte, so no two pairs of label and salt give the same input.
    context.update(&[0]);
    context.update(salt);
    let mut derived = Key::default();
    derived.copy_from_slice(context.sign().as_ref());
    derived
}
