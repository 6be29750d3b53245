//! The keys of a MinIO: its root credentials, and the key of its KMS in `MINIO_KMS_SECRET_KEY`.
//!
//! A data key that the KMS has sealed is `ciphertext | tag (16) | iv (16) | nonce (12)`: AES-256-GCM below
//! HMAC-SHA-256(key, iv). Its associated data is a JSON object with one member, which names the place of the data key.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hmac;
use liteio_client::sealed;
use serde::Deserialize;
use serde_json::{Value, json};

/// Bytes behind a sealed data key.
const IV_BYTES: usize = 16;
/// The version of settings that are encrypted by the KMS, and limit of their head.
const VERSION: u8 = 1;
const HEAD_BYTES_MAX: usize = 1 << 20;

/// The keys of a MinIO. All may be missing.
#[derive(Clone, Default)]
pub(crate) struct Secrets {
    /// Access key and secret key of the root user.
    pub(crate) root: Option<(String, String)>,
    /// Keys of the KMS: the newest, and older ones.
    pub(crate) kms: Vec<[u8; 32]>,
}

// Written by hand so that no key is ever printed.
impl std::fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Secrets").finish_non_exhaustive()
    }
}

/// The head of settings that are encrypted by the KMS.
#[derive(Deserialize)]
struct Head {
    kmskey: String,
    algorithm: String,
    nonce: String,
}

/// An earlier form of a sealed data key.
#[derive(Deserialize)]
struct OldDataKey {
    aead: String,
    iv: String,
    nonce: String,
    bytes: String,
}

fn base64(text: &str) -> Option<Vec<u8>> {
    base64_simd::STANDARD.decode_to_vec(text).ok()
}

impl Secrets {
    /// A document of the settings at `path` (`config/iam/…`), which is plain, or encrypted by the root credentials or by
    /// the KMS. `None` if no key opens it.
    pub(super) fn settings(&self, path: &str, stored: &[u8]) -> Option<Vec<u8>> {
        // As MinIO decides it.
        if std::str::from_utf8(stored).is_ok() {
            return Some(stored.to_vec());
        }
        let by_root = self.root.as_ref().and_then(|(access_key, secret_key)| {
            sealed::open(&format!("{access_key}:{secret_key}"), stored).ok()
        });
        by_root.or_else(|| self.settings_by_kms(path, stored))
    }

    fn settings_by_kms(&self, path: &str, stored: &[u8]) -> Option<Vec<u8>> {
        let (&version, rest) = stored.split_first()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        if version != VERSION || length > HEAD_BYTES_MAX {
            return None;
        }
        let (head, fragments) = rest.split_at_checked(length)?;
        let head: Head = serde_json::from_slice(head).ok()?;
        let nonce = base64(&head.nonce)?.try_into().ok()?;
        let sealed_key = base64(&head.kmskey)?;
        let is_chacha = match &*head.algorithm {
            "AES-256-GCM" => false,
            "ChaCha20-Poly1305" => true,
            _ => return None,
        };
        let places = [format!(".minio.sys/{path}"), path.to_owned()];
        places.iter().find_map(|place| {
            let key = self.data_key(&json!({ ".minio.sys": place }), &sealed_key)?;
            sealed::open_by_key(&key, is_chacha, nonce, fragments).ok()
        })
    }

    /// Opens a data key. `None` if no key of the KMS seals it in that place.
    pub(super) fn data_key(&self, place: &Value, sealed: &[u8]) -> Option<[u8; 32]> {
        let old = old_data_key(sealed);
        let sealed = old.as_deref().unwrap_or(sealed);
        let nonce_at = sealed.len().checked_sub(NONCE_LEN)?;
        let (rest, nonce) = sealed.split_at(nonce_at);
        let (ciphertext, iv) = rest.split_at(rest.len().checked_sub(IV_BYTES)?);
        let associated = canonical(place);
        self.kms.iter().find_map(|master| {
            let key = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, master), iv);
            let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key.as_ref()).ok()?);
            let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
            let mut opened = ciphertext.to_vec();
            let opened = key.open_in_place(nonce, Aad::from(&associated), &mut opened).ok()?;
            <[u8; 32]>::try_from(&*opened).ok()
        })
    }
}

/// A data key in its earlier form, in the order of today's; `None` in today's.
fn old_data_key(sealed: &[u8]) -> Option<Vec<u8>> {
    let old: OldDataKey = serde_json::from_slice(sealed).ok()?;
    if old.aead != "AES-256-GCM-HMAC-SHA-256" {
        return None;
    }
    Some([base64(&old.bytes)?, base64(&old.iv)?, base64(&old.nonce)?].concat())
}

/// The text of an object with one member, with the characters escaped that Go escapes in JSON.
fn canonical(place: &Value) -> String {
    let text = place.to_string();
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                escaped.push_str(&format!("\\u{:04x}", u32::from(character)));
            }
            other => escaped.push(other),
        }
    }
    escaped
}
