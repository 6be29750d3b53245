//! Encrypted bodies of MinIO's admin API, with a key derived from the sender's secret key. Clients and
//! servers encrypt and decrypt alike.
//!
//! ```text
//! salt, 32 bytes | cipher, 1 byte | nonce, 8 bytes | fragments of 16 KiB with a tag of 16 bytes each
//! ```
//! The nonce of fragment n, counted from 1, is the body's nonce followed by n in little-endian. The
//! associated data is a byte that marks the last fragment, followed by the tag of an empty text
//! under number 0. So fragments cannot be removed, truncated or reordered.

use std::io;

use argon2::{Algorithm, Argon2, Block, Params, Version};
use aws_lc_rs::aead::{
    AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey,
};
use aws_lc_rs::pbkdf2;

const SALT_BYTES: usize = 32;
const NONCE_BYTES: usize = 8;
const HEADER_BYTES: usize = SALT_BYTES + 1 + NONCE_BYTES;
const TAG_BYTES: usize = 16;
const FRAGMENT_BYTES: usize = 16 << 10;
const KEY_BYTES: usize = 32;

/// Memory of one key derivation with Argon2id, in KiB. All clients ask for this value.
const ARGON2_MEMORY_KIB: u32 = 64 << 10;
const ARGON2_LANES: u32 = 4;
const PBKDF2_ROUNDS: std::num::NonZeroU32 =
    std::num::NonZeroU32::new(8192).expect("more than none");

const LAST: u8 = 0x80;

/// The reason why a body cannot be decrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsealable {
    /// The body is too short.
    Cut,
    /// The cipher number is unknown.
    UnknownCipher,
    /// The body was encrypted with another secret key, or modified.
    NotAuthentic,
}

/// Cipher and key derivation of a body, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cipher {
    Argon2AesGcm = 0,
    Argon2ChaCha20 = 1,
    Pbkdf2AesGcm = 2,
}

impl Cipher {
    fn of(number: u8) -> Option<Cipher> {
        let all = [Cipher::Argon2AesGcm, Cipher::Argon2ChaCha20, Cipher::Pbkdf2AesGcm];
        all.into_iter().find(|cipher| *cipher as u8 == number)
    }

    fn key(self, secret: &str, salt: &[u8]) -> LessSafeKey {
        let mut key = [0; KEY_BYTES];
        match self {
            Cipher::Argon2AesGcm | Cipher::Argon2ChaCha20 => argon2id(secret, salt, &mut key),
            Cipher::Pbkdf2AesGcm => {
                let sha256 = pbkdf2::PBKDF2_HMAC_SHA256;
                pbkdf2::derive(sha256, PBKDF2_ROUNDS, salt, secret.as_bytes(), &mut key);
            }
        }
        let algorithm = match self {
            Cipher::Argon2ChaCha20 => &CHACHA20_POLY1305,
            Cipher::Argon2AesGcm | Cipher::Pbkdf2AesGcm => &AES_256_GCM,
        };
        LessSafeKey::new(UnboundKey::new(algorithm, &key).expect("a key of 32 bytes"))
    }
}

/// Derives a key. Needs 64 MiB meanwhile.
fn argon2id(secret: &str, salt: &[u8], key: &mut [u8; KEY_BYTES]) {
    let params = Params::new(ARGON2_MEMORY_KIB, 1, ARGON2_LANES, Some(KEY_BYTES));
    let params = params.expect("valid");
    let mut memory = vec![Block::default(); params.block_count()];
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let secret = secret.as_bytes();
    let derived = argon2.hash_password_into_with_memory(secret, salt, key, &mut memory);
    derived.expect("a secret below 4 GiB and a salt of 32 bytes");
}

/// The key of one body, with the inputs of its nonces and associated data.
struct Fragments {
    key: LessSafeKey,
    nonce: [u8; NONCE_BYTES],
    associated: [u8; 1 + TAG_BYTES],
}

impl Fragments {
    fn new(key: LessSafeKey, nonce: [u8; NONCE_BYTES]) -> Fragments {
        let mut fragments = Fragments { key, nonce, associated: [0; 1 + TAG_BYTES] };
        let nonce = fragments.nonce_of(0);
        let sealed = fragments.key.seal_in_place_separate_tag(nonce, Aad::empty(), &mut []);
        let tag = sealed.expect("an empty text");
        fragments.associated[1..].copy_from_slice(tag.as_ref());
        fragments
    }

    fn nonce_of(&self, number: u32) -> Nonce {
        let mut nonce = [0; NONCE_LEN];
        nonce[..NONCE_BYTES].copy_from_slice(&self.nonce);
        nonce[NONCE_BYTES..].copy_from_slice(&number.to_le_bytes());
        Nonce::assume_unique_for_key(nonce)
    }

    fn associated(&self, is_last: bool) -> Aad<[u8; 1 + TAG_BYTES]> {
        let mut associated = self.associated;
        associated[0] = if is_last { LAST } else { 0 };
        Aad::from(associated)
    }

    /// Decrypts all fragments.
    fn open(&self, sealed: &[u8]) -> Result<Vec<u8>, Unsealable> {
        let mut plain = Vec::with_capacity(sealed.len());
        let mut pieces = sealed.chunks(FRAGMENT_BYTES + TAG_BYTES).zip(1_u32..).peekable();
        while let Some((piece, number)) = pieces.next() {
            let associated = self.associated(pieces.peek().is_none());
            let mut piece = piece.to_vec();
            let opened = self.key.open_in_place(self.nonce_of(number), associated, &mut piece);
            plain.extend_from_slice(opened.map_err(|_| Unsealable::NotAuthentic)?);
        }
        Ok(plain)
    }
}

/// Decrypts a body that was encrypted with `secret`. Takes a tenth of a second and 64 MiB, so
/// callers decrypt one at a time.
///
/// # Errors
/// [`Unsealable`].
pub fn open(secret: &str, sealed: &[u8]) -> Result<Vec<u8>, Unsealable> {
    let (header, rest) = sealed.split_at_checked(HEADER_BYTES).ok_or(Unsealable::Cut)?;
    if rest.len() < TAG_BYTES {
        return Err(Unsealable::Cut);
    }
    let (salt, number) = (&header[..SALT_BYTES], header[SALT_BYTES]);
    let cipher = Cipher::of(number).ok_or(Unsealable::UnknownCipher)?;
    let mut nonce = [0; NONCE_BYTES];
    nonce.copy_from_slice(&header[SALT_BYTES + 1..]);
    Fragments::new(cipher.key(secret, salt), nonce).open(rest)
}

/// Decrypts the fragments of a body by its key: with AES-256-GCM, or with ChaCha20-Poly1305. MinIO stores its settings so,
/// below a key of its KMS.
///
/// # Errors
/// [`Unsealable`].
pub fn open_by_key(
    key: &[u8; KEY_BYTES],
    is_chacha: bool,
    nonce: [u8; NONCE_BYTES],
    sealed: &[u8],
) -> Result<Vec<u8>, Unsealable> {
    if sealed.len() < TAG_BYTES {
        return Err(Unsealable::Cut);
    }
    let algorithm = if is_chacha { &CHACHA20_POLY1305 } else { &AES_256_GCM };
    let key = LessSafeKey::new(UnboundKey::new(algorithm, key).expect("a key of 32 bytes"));
    Fragments::new(key, nonce).open(sealed)
}

/// Encrypts a body for a holder of `secret`, with Argon2id as MinIO does: its client for Python
/// has no PBKDF2. Takes as long as [`open`].
///
/// # Errors
/// The system has no random bytes.
pub fn seal(secret: &str, plain: &[u8]) -> io::Result<Vec<u8>> {
    seal_by(Cipher::Argon2AesGcm, secret, plain)
}

/// Encrypts a body with the cipher that needs no memory, for tests that send many.
///
/// # Errors
/// The system has no random bytes.
pub fn seal_quickly(secret: &str, plain: &[u8]) -> io::Result<Vec<u8>> {
    seal_by(Cipher::Pbkdf2AesGcm, secret, plain)
}

fn seal_by(cipher: Cipher, secret: &str, plain: &[u8]) -> io::Result<Vec<u8>> {
    let mut header = [0; HEADER_BYTES];
    getrandom::fill(&mut header).map_err(io::Error::other)?;
    header[SALT_BYTES] = cipher as u8;
    let mut nonce = [0; NONCE_BYTES];
    nonce.copy_from_slice(&header[SALT_BYTES + 1..]);
    let key = cipher.key(secret, &header[..SALT_BYTES]);
    let fragments = Fragments::new(key, nonce);
    let count = plain.len().div_ceil(FRAGMENT_BYTES).max(1);
    let mut sealed = Vec::with_capacity(HEADER_BYTES + plain.len() + count * TAG_BYTES);
    sealed.extend_from_slice(&header);
    for number in 1..=count {
        let begin = (number - 1) * FRAGMENT_BYTES;
        let mut piece = plain[begin..plain.len().min(begin + FRAGMENT_BYTES)].to_vec();
        let associated = fragments.associated(number == count);
        let nonce = fragments.nonce_of(u32::try_from(number).expect("an answer below 64 TiB"));
        let tag = fragments.key.seal_in_place_separate_tag(nonce, associated, &mut piece);
        sealed.extend_from_slice(&piece);
        sealed.extend_from_slice(tag.expect("a fragment is short").as_ref());
    }
    Ok(sealed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "minioadmin";

    /// Bodies recorded from MinIO's client library, and their plain texts.
    const RECORDED: [(&str, &str); 2] = [
        ("k5J553aXYw7dS2AuKDpaHjzI/gQcddqpfhJY5khENRkA9bO81mrkkU9+P6OFCDhUOjpt9DDh3kl1", ""),
        (
            "tmN3HrtYZFoRFvensjp/+N+6f6uK+3WXPUW7E2n3UwAAUFSs++kvaEQFSM9ynJ4DIQYUtnTxeoBtuomJcDid\
             2G599xcrq1e6179wu3eVerL8aYnZ0k97VvCVwY+F2BQdoAI2Wl+Ey1I=",
            r#"{"secretKey":"carol-secret","status":"enabled"}"#,
        ),
    ];

    fn recorded(place: usize) -> Vec<u8> {
        base64_simd::STANDARD.decode_to_vec(RECORDED[place].0).expect("base64")
    }

    #[test]
    fn bodies_of_the_client_of_minio_are_opened() {
        for (place, (_, plain)) in RECORDED.iter().enumerate() {
            let opened = open(SECRET, &recorded(place)).expect("opens");
            assert_eq!(String::from_utf8_lossy(&opened), *plain);
        }
        let two_fragments = include_bytes!("recorded/two-fragments.bin");
        let plain = format!("{}x", "0123456789abcdef".repeat(1024));
        assert_eq!(open(SECRET, two_fragments).as_deref(), Ok(plain.as_bytes()));
        assert_eq!(open("another-secret", &recorded(1)), Err(Unsealable::NotAuthentic));
    }

    #[test]
    fn what_was_sealed_is_opened_in_fragments_of_any_number() {
        for bytes in [0, 1, FRAGMENT_BYTES - 1, FRAGMENT_BYTES, FRAGMENT_BYTES + 1, 100_000] {
            let plain: Vec<u8> = (0..bytes).map(|it| it as u8).collect();
            let sealed = seal_quickly(SECRET, &plain).expect("random bytes");
            assert_eq!(open(SECRET, &sealed).as_deref(), Ok(&*plain), "{bytes} bytes");
        }
        let answer = seal(SECRET, b"plain").expect("random bytes");
        assert_eq!(open(SECRET, &answer).as_deref(), Ok(&b"plain"[..]));
    }

    #[test]
    fn a_body_of_each_cipher_is_opened_and_no_changed_one() {
        for cipher in [Cipher::Argon2AesGcm, Cipher::Argon2ChaCha20, Cipher::Pbkdf2AesGcm] {
            let mut sealed = vec![7; HEADER_BYTES];
            sealed[SALT_BYTES] = cipher as u8;
            let fragments = Fragments::new(cipher.key(SECRET, &[7; SALT_BYTES]), [7; NONCE_BYTES]);
            let mut piece = b"plain".to_vec();
            let associated = fragments.associated(true);
            let nonce = fragments.nonce_of(1);
            let tag = fragments.key.seal_in_place_separate_tag(nonce, associated, &mut piece);
            sealed.extend_from_slice(&piece);
            sealed.extend_from_slice(tag.expect("sealed").as_ref());
            assert_eq!(open(SECRET, &sealed).as_deref(), Ok(&b"plain"[..]), "{cipher:?}");
        }
    }

    #[test]
    fn a_body_that_is_cut_moved_or_changed_is_refused() {
        let plain = vec![1; 2 * FRAGMENT_BYTES + 3];
        let sealed = seal_quickly(SECRET, &plain).expect("random bytes");
        let fragment = FRAGMENT_BYTES + TAG_BYTES;
        let without_last = &sealed[..HEADER_BYTES + 2 * fragment];
        assert_eq!(open(SECRET, without_last), Err(Unsealable::NotAuthentic));
        let mut moved = sealed.clone();
        moved[HEADER_BYTES..HEADER_BYTES + 2 * fragment].rotate_left(fragment);
        assert_eq!(open(SECRET, &moved), Err(Unsealable::NotAuthentic));
        for place in [0, SALT_BYTES + 1, HEADER_BYTES, sealed.len() - 1] {
            let mut changed = sealed.clone();
            changed[place] ^= 1;
            assert_eq!(open(SECRET, &changed), Err(Unsealable::NotAuthentic), "byte {place}");
        }
        for bytes in [0, 1, SALT_BYTES, HEADER_BYTES, HEADER_BYTES + TAG_BYTES - 1] {
            assert_eq!(open(SECRET, &sealed[..bytes]), Err(Unsealable::Cut), "{bytes} bytes");
        }
        let mut unknown = sealed;
        unknown[SALT_BYTES] = 3;
        assert_eq!(open(SECRET, &unknown), Err(Unsealable::UnknownCipher));
    }
}
