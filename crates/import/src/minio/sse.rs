//! Objects that MinIO has encrypted with a key of its KMS (SSE-S3 and SSE-KMS).
//!
//! ```text
//! KMS key ──opens──► data key ──HMAC, bound to bucket/key──► opens the sealed object key
//! object key ──► the bytes of an object; HMAC(object key, number) ──► the bytes of a part
//! ```
//! Bytes and sealed keys are in the format DARE 2.0: packages of `head (16) | at most 64 KiB | tag (16)`. The head is
//! `version, cipher, length - 1 (2), nonce (12)`. The first bit of the nonce marks the last package, and its last four
//! bytes are combined with the number of the package, so packages cannot be removed, reordered or cut off.

use aws_lc_rs::aead::{
    AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey,
};
use aws_lc_rs::hmac;
use serde_json::{Map, Value};

use super::Failed;
use super::kms::Secrets;
use super::xl_meta::Object;
use crate::seal::SourceEncryption;

const VERSION: u8 = 0x20;
const HEAD_BYTES: usize = 16;
const TAG_BYTES: usize = 16;
const PAYLOAD_BYTES: usize = 64 << 10;
const LAST: u8 = 0x80;
const ALGORITHM: &str = "DAREv2-HMAC-SHA256";
/// Prefix of the members of an object's metadata about its encryption.
const ABOUT: &str = "x-minio-internal-server-side-encryption-";
/// Marks an object whose parts have a key each.
const PARTED: &str = "x-minio-internal-encrypted-multipart";

/// The key of an object.
#[derive(Clone)]
pub(super) struct ObjectSecret {
    key: [u8; 32],
    is_parted: bool,
}

/// True if the object is encrypted.
pub(super) fn is_encrypted(object: &Object) -> bool {
    object.system.keys().any(|name| name.starts_with(ABOUT))
}

/// The encryption of an object that [`open`] opens.
pub(super) fn encryption(object: &Object) -> SourceEncryption {
    let text = |name: &str| {
        let found = object.system.get(&format!("{ABOUT}{name}"));
        found.and_then(|value| std::str::from_utf8(value).ok()).map(str::to_owned)
    };
    match text("kms-sealed-key") {
        Some(_) => {
            let key = text("s3-kms-key-id");
            SourceEncryption::Named { key, context: text("context") }
        }
        None => SourceEncryption::Master,
    }
}

/// Length of the plain bytes of so many stored ones; `None` if there is none.
pub(super) fn plain_bytes(stored: u64) -> Option<u64> {
    let whole = (HEAD_BYTES + PAYLOAD_BYTES + TAG_BYTES) as u64;
    let overhead = (HEAD_BYTES + TAG_BYTES) as u64;
    let packages = stored.div_ceil(whole);
    let plain = stored.checked_sub(packages * overhead)?;
    // The last package is not empty.
    (stored.is_multiple_of(whole) || stored % whole > overhead).then_some(plain)
}

/// Opens the key of an object with the name `bucket/key`.
///
/// # Errors
/// [`Failed`]: the client has the key (SSE-C), or no key of the KMS opens it.
pub(super) fn open(
    object: &Object,
    bucket: &str,
    key: &str,
    secrets: &Secrets,
) -> Result<ObjectSecret, Failed> {
    let text = |name: &str| {
        let found = object.system.get(&format!("{ABOUT}{name}"));
        found.and_then(|value| std::str::from_utf8(value).ok())
    };
    let bytes =
        |name: &str| text(name).and_then(|value| base64_simd::STANDARD.decode_to_vec(value).ok());
    let other = "it is encrypted: start MinIO on it and import with `liteio import s3 URL`";
    let of_client = "it is encrypted with a key of its client (SSE-C), so only the client can read it: let the client copy it";
    let by_kms = match secrets.kms.is_empty() {
        true => {
            "it is encrypted, and MINIO_KMS_SECRET_KEY is not set: set it as MinIO had it. If MinIO used KES, start MinIO on \
             it and import with `liteio import s3 URL`"
        }
        false => {
            "it is encrypted, and no key of MINIO_KMS_SECRET_KEY opens it: set it as MinIO had it, or start MinIO on it and \
             import with `liteio import s3 URL`"
        }
    };
    let (domain, sealed) = match (bytes("s3-sealed-key"), bytes("kms-sealed-key")) {
        (Some(sealed), _) => ("SSE-S3", sealed),
        (None, Some(sealed)) => ("SSE-KMS", sealed),
        (None, None) if bytes("sealed-key").is_some() => return Err(Failed::new(of_client)),
        (None, None) => return Err(Failed::new(other)),
    };
    // MinIO cleans the path, which a key that ends with a slash changes.
    let place = format!("{bucket}/{}", key.trim_end_matches('/'));
    let opened = (|| {
        let context = bytes("context").and_then(|it| serde_json::from_slice(&it).ok());
        let mut context: Map<String, Value> = context.unwrap_or_default();
        context.entry(bucket).or_insert_with(|| Value::String(place.clone()));
        let data_key = secrets.data_key(&Value::Object(context), &bytes("s3-kms-sealed-key")?)?;
        if text("seal-algorithm") != Some(ALGORITHM) {
            return None;
        }
        let iv = bytes("iv")?;
        let sealing =
            mac(&data_key, &[&iv, domain.as_bytes(), ALGORITHM.as_bytes(), place.as_bytes()]);
        let opened = Opener::new(&sealing).open(&sealed, true).ok()?;
        <[u8; 32]>::try_from(opened).ok()
    })();
    let key = opened.ok_or_else(|| Failed::new(by_kms))?;
    Ok(ObjectSecret { key, is_parted: object.system.contains_key(PARTED) })
}

impl ObjectSecret {
    /// The opener of the bytes of the part with this number.
    pub(super) fn part(&self, number: u64) -> Opener {
        match (self.is_parted, u32::try_from(number)) {
            (true, Ok(number)) => Opener::new(&mac(&self.key, &[&number.to_le_bytes()])),
            _ => Opener::new(&self.key),
        }
    }
}

fn mac(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key));
    parts.iter().for_each(|part| context.update(part));
    let mut mac = [0; 32];
    mac.copy_from_slice(context.sign().as_ref());
    mac
}

/// Decrypts the packages of one stream, in pieces of any length.
pub(super) struct Opener {
    key: [u8; 32],
    /// Bytes of the package that is not whole yet.
    rest: Vec<u8>,
    /// The nonce of the first package, without the mark of the last.
    nonce: Option<[u8; NONCE_LEN]>,
    number: u32,
    is_over: bool,
}

impl Opener {
    fn new(key: &[u8; 32]) -> Opener {
        Opener { key: *key, rest: Vec::new(), nonce: None, number: 0, is_over: false }
    }

    /// Decrypts the packages that are whole with these bytes. At the end of the stream the last one must be.
    ///
    /// # Errors
    /// [`Failed`] if a package was changed, moved or is missing.
    pub(super) fn open(&mut self, bytes: &[u8], is_end: bool) -> Result<Vec<u8>, Failed> {
        self.rest.extend_from_slice(bytes);
        let mut plain = Vec::with_capacity(self.rest.len());
        let mut at = 0;
        while let Some(package) = whole_package(&self.rest[at..]) {
            let end = at + package;
            let opened = self.package(at..end).ok_or_else(changed)?;
            plain.extend_from_slice(&opened);
            at = end;
        }
        self.rest.drain(..at);
        let is_whole = !is_end || (self.rest.is_empty() && (self.is_over || self.number == 0));
        if is_whole { Ok(plain) } else { Err(changed()) }
    }

    fn package(&mut self, range: std::ops::Range<usize>) -> Option<Vec<u8>> {
        let (head, sealed) = self.rest[range].split_at(HEAD_BYTES);
        let mut nonce: [u8; NONCE_LEN] = head[4..].try_into().ok()?;
        let is_last = nonce[0] & LAST != 0;
        let mut without_mark = nonce;
        without_mark[0] &= !LAST;
        let length = sealed.len() - TAG_BYTES;
        let is_valid = !self.is_over
            && head[0] == VERSION
            && *self.nonce.get_or_insert(without_mark) == without_mark
            && (is_last || length == PAYLOAD_BYTES);
        let algorithm = match head[1] {
            0 => &AES_256_GCM,
            1 => &CHACHA20_POLY1305,
            _ => return None,
        };
        if !is_valid {
            return None;
        }
        for (byte, number) in nonce[8..].iter_mut().zip(self.number.to_le_bytes()) {
            *byte ^= number;
        }
        let key = LessSafeKey::new(UnboundKey::new(algorithm, &self.key).ok()?);
        let (nonce, associated) = (Nonce::assume_unique_for_key(nonce), Aad::from(&head[..4]));
        let mut sealed = sealed.to_vec();
        let opened = key.open_in_place(nonce, associated, &mut sealed).ok()?.len();
        sealed.truncate(opened);
        self.number = self.number.checked_add(1)?;
        self.is_over = is_last;
        Some(sealed)
    }
}

/// The length of the package at the beginning of these bytes, if all of it is there.
fn whole_package(bytes: &[u8]) -> Option<usize> {
    let length = bytes.get(2..4)?;
    let payload = usize::from(u16::from_le_bytes([length[0], length[1]])) + 1;
    let package = HEAD_BYTES + payload + TAG_BYTES;
    (bytes.len() >= package).then_some(package)
}

fn changed() -> Failed {
    Failed::new("its encrypted bytes are damaged")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream as MinIO writes it.
    fn sealed(key: &[u8; 32], plain: &[u8]) -> Vec<u8> {
        let count = plain.len().div_ceil(PAYLOAD_BYTES);
        let pieces = plain.chunks(PAYLOAD_BYTES).zip(0_u32..).flat_map(|(piece, number)| {
            let mut nonce = [7; NONCE_LEN];
            nonce[0] = if number as usize + 1 == count { 7 | LAST } else { 7 };
            let length = u16::try_from(piece.len() - 1).expect("short").to_le_bytes();
            let head = [&[VERSION, 1, length[0], length[1]], &nonce[..]].concat();
            for (byte, number) in nonce[8..].iter_mut().zip(number.to_le_bytes()) {
                *byte ^= number;
            }
            let key = UnboundKey::new(&CHACHA20_POLY1305, key).expect("a key");
            let (nonce, associated) = (Nonce::assume_unique_for_key(nonce), Aad::from(&head[..4]));
            let mut sealed = piece.to_vec();
            LessSafeKey::new(key)
                .seal_in_place_append_tag(nonce, associated, &mut sealed)
                .expect("sealed");
            [head, sealed].concat()
        });
        pieces.collect()
    }

    #[test]
    fn streams_are_opened_in_pieces_and_no_changed_one() {
        let key = [3; 32];
        for length in [0, 1, 100, PAYLOAD_BYTES, PAYLOAD_BYTES + 1, 3 * PAYLOAD_BYTES] {
            let plain: Vec<u8> = (0..length).map(|it| it as u8).collect();
            let stored = sealed(&key, &plain);
            assert_eq!(plain_bytes(stored.len() as u64), Some(length as u64));
            for piece in [stored.len().max(1), 1000, 70_000] {
                let mut opener = Opener::new(&key);
                let mut opened = Vec::new();
                for piece in stored.chunks(piece) {
                    opened.extend(opener.open(piece, false).expect("whole"));
                }
                opened.extend(opener.open(&[], true).expect("whole"));
                assert!(opened == plain, "{length} bytes in pieces of {piece}");
            }
            let is_refused = |stored: &[u8]| Opener::new(&key).open(stored, true).is_err();
            for at in [0, 2, 4, 9, 20].into_iter().filter(|at| *at < stored.len()) {
                let mut changed = stored.clone();
                changed[at] ^= 1;
                assert!(is_refused(&changed), "byte {at} of {length}");
            }
            if length > 0 {
                assert!(is_refused(&stored[..stored.len() - 1]), "{length} bytes cut");
                assert!(is_refused(&[&stored[..], &stored].concat()), "{length} bytes twice");
                assert!(Opener::new(&[4; 32]).open(&stored, true).is_err());
            }
            if length > PAYLOAD_BYTES {
                let package = HEAD_BYTES + PAYLOAD_BYTES + TAG_BYTES;
                assert!(is_refused(&stored[..package]), "the last package is missing");
                assert!(is_refused(&stored[package..]), "the first package is missing");
            }
        }
        for stored in [1, 32, 65_568 + 32] {
            assert_eq!(plain_bytes(stored), None, "{stored}");
        }
    }
}
