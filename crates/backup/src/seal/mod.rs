//! The encoding of every object of a backup: compressed or not, encrypted or not, and always verified.
//!
//! | Bytes | Content |
//! |---|---|
//! | 0..8 | magic `LiteIOb1`; the last byte is the version |
//! | 8 | flags: bit 0 deflated, bit 1 encrypted; an object with other bits is of a later version |
//! | 9..17 | bytes of the opened content, little-endian, at most [`CONTENT_BYTES_MAX`] |
//!
//! Behind this header, a plain object has:
//!
//! | Bytes | Content |
//! |---|---|
//! | 17..25 | CRC-64/NVME of the name, the header and the payload, little-endian |
//! | 25.. | payload |
//!
//! And an encrypted one:
//!
//! | Bytes | Content |
//! |---|---|
//! | 17..25 | fingerprint of the key of the backup |
//! | 25..37 | nonce, random |
//! | 37.. | payload, encrypted by AES-256-GCM, and the tag of 16 bytes, which also covers the name, the header and the fingerprint |
//!
//! The payload is the content, or a deflate stream of it (RFC 1951) if that is shorter by 5 % at least. Keys
//! are in `key`, streams in `deflate`.

mod deflate;
mod key;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;

use aws_lc_rs::aead::{Aad, Nonce};
use bytes::Bytes;
use crc_fast::{CrcAlgorithm, Digest};
use liteio_disk::{RandomSource, SystemRandom};

use self::key::{BackupKey, FINGERPRINT_BYTES, NONCE_BYTES, TAG_BYTES};
use crate::limits::CONTENT_BYTES_MAX;

const MAGIC: &[u8; 7] = b"LiteIOb";
const VERSION: u8 = b'1';
const DEFLATED: u8 = 1;
const ENCRYPTED: u8 = 2;

const FLAGS_AT: usize = 8;
const LENGTH_AT: usize = 9;
const HEADER_BYTES: usize = 17;
const CRC_BYTES: usize = 8;
/// Offset of the payload of a plain object.
const PLAIN_AT: usize = HEADER_BYTES + CRC_BYTES;
const NONCE_AT: usize = HEADER_BYTES + FINGERPRINT_BYTES;
/// Offset of the payload of an encrypted object.
const ENCRYPTED_AT: usize = NONCE_AT + NONCE_BYTES;

/// Most bytes that an object has beyond its content.
const OVERHEAD_BYTES: usize = ENCRYPTED_AT + TAG_BYTES;
const _: () = assert!(CONTENT_BYTES_MAX + OVERHEAD_BYTES as u64 <= crate::OBJECT_BYTES_MAX);

/// Seals and opens the objects of one backup, with a key or without.
///
/// ```
/// use liteio_backup::{SealError, Sealer};
///
/// let sealer = Sealer::with_key(&[7; 32], &[1; 16]);
/// let sealed = sealer.seal("log/1", b"content", true)?;
/// assert_eq!(sealer.open("log/1", &sealed)?, "content");
/// // Under another name it is another object.
/// assert!(matches!(sealer.open("log/2", &sealed), Err(SealError::Damaged { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sealer {
    key: Option<BackupKey>,
    random: Arc<dyn RandomSource>,
}

/// The reason why an object cannot be opened.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum SealError {
    /// The bytes are not those that were sealed under this name.
    #[error("the object {name} of the backup is damaged: {what}")]
    Damaged {
        /// Name of the object.
        name: String,
        /// Finding.
        what: &'static str,
    },
    /// The object is encrypted, and there is no key.
    #[error("the object {name} of the backup is encrypted: give the key of the backup")]
    NeedsKey {
        /// Name of the object.
        name: String,
    },
    /// The object is encrypted under another key, or for another backup.
    #[error("the object {name} of the backup is encrypted with another key: give the backup's key")]
    WrongKey {
        /// Name of the object.
        name: String,
    },
    /// The object has a later version.
    #[error(
        "the object {name} of the backup was written by a newer LiteIO (version {version}, flags \
         {flags}): use that"
    )]
    TooNew {
        /// Name of the object.
        name: String,
        /// Version of the encoding; this one is 1.
        version: u8,
        /// Flags of the encoding; those above 3 are unknown.
        flags: u8,
    },
}

/// Content of an object, with room for what is before and behind it: it is sealed where it is.
#[derive(Debug)]
pub(crate) struct Content(Vec<u8>);

impl Content {
    /// Empty content with room for so many bytes.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        let mut content = Vec::with_capacity(bytes + OVERHEAD_BYTES);
        content.resize(ENCRYPTED_AT, 0);
        Self(content)
    }

    fn of(bytes: &[u8]) -> Self {
        let mut content = Self::with_capacity(bytes.len());
        content.append(bytes);
        content
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.0[ENCRYPTED_AT..]
    }
}

fn check_bytes(name: &str, bytes: &[u8]) -> io::Result<()> {
    if bytes.len() as u64 > CONTENT_BYTES_MAX {
        let reason = format!("{name} has {} bytes, too many for an object", bytes.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    Ok(())
}

fn write_header(header: &mut [u8], flags: u8, content_bytes: usize) {
    header[..MAGIC.len()].copy_from_slice(MAGIC);
    header[MAGIC.len()..LENGTH_AT].copy_from_slice(&[VERSION, flags]);
    header[LENGTH_AT..].copy_from_slice(&(content_bytes as u64).to_le_bytes());
}

/// A header.
#[derive(Clone, Copy)]
struct Header {
    flags: u8,
    content_bytes: u64,
}

impl Sealer {
    /// Seals without encryption.
    #[must_use]
    pub fn plain() -> Self {
        Self { key: None, random: Arc::new(SystemRandom) }
    }

    /// Encrypts with a key that is derived from `key` for one backup: no two backups share a key. It opens
    /// encrypted objects only, so that nobody without the key can put others in their place.
    #[must_use]
    pub fn with_key(key: &[u8; 32], backup_id: &[u8; 16]) -> Self {
        let key = Some(BackupKey::new(key, backup_id));
        Self { key, random: Arc::new(SystemRandom) }
    }

    /// The same, with nonces from this source instead of the system's.
    #[must_use]
    pub fn with_random(self, random: Arc<dyn RandomSource>) -> Self {
        Self { random, ..self }
    }

    /// The fingerprint of the key for this backup: it tells keys apart, and reveals nothing about them. `None`
    /// without a key.
    #[must_use]
    pub fn fingerprint(&self) -> Option<[u8; 8]> {
        self.key.as_ref().map(BackupKey::fingerprint)
    }

    /// Seals `bytes` as the object `name`; under another name they do not open. With `compress` they are
    /// compressed, unless that saves little.
    ///
    /// # Errors
    /// The error of the random source, or `InvalidInput` for more than [`CONTENT_BYTES_MAX`] bytes.
    pub fn seal(&self, name: &str, bytes: &[u8], compress: bool) -> io::Result<Bytes> {
        check_bytes(name, bytes)?;
        let deflated = if compress { deflate::smaller(bytes) } else { None };
        let payload = deflated.as_deref().unwrap_or(bytes);
        self.sealed(name, Content::of(payload), bytes.len(), deflated.is_some())
    }

    /// [`Sealer::seal`] without a copy of content that is not compressed.
    pub(crate) fn seal_content(
        &self,
        name: &str,
        content: Content,
        compress: bool,
    ) -> io::Result<Bytes> {
        let bytes = content.as_slice();
        check_bytes(name, bytes)?;
        let content_bytes = bytes.len();
        match if compress { deflate::smaller(bytes) } else { None } {
            Some(deflated) => self.sealed(name, Content::of(&deflated), content_bytes, true),
            None => self.sealed(name, content, content_bytes, false),
        }
    }

    /// The object with this payload.
    fn sealed(
        &self,
        name: &str,
        payload: Content,
        content_bytes: usize,
        is_deflated: bool,
    ) -> io::Result<Bytes> {
        let mut sealed = payload.0;
        let deflated = if is_deflated { DEFLATED } else { 0 };
        let Some(key) = &self.key else {
            // Its header is shorter than the room.
            let begin = ENCRYPTED_AT - PLAIN_AT;
            let (head, payload) = sealed[begin..].split_at_mut(PLAIN_AT);
            let (header, crc_at) = head.split_at_mut(HEADER_BYTES);
            write_header(header, deflated, content_bytes);
            crc_at.copy_from_slice(&crc(name, header, payload).to_le_bytes());
            return Ok(Bytes::from(sealed).slice(begin..));
        };
        let mut nonce = [0; NONCE_BYTES];
        self.random.fill(&mut nonce)?;
        let (head, payload) = sealed.split_at_mut(ENCRYPTED_AT);
        write_header(&mut head[..HEADER_BYTES], deflated | ENCRYPTED, content_bytes);
        head[HEADER_BYTES..NONCE_AT].copy_from_slice(&key.fingerprint());
        head[NONCE_AT..].copy_from_slice(&nonce);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let covered = Aad::from(covered(name, &head[..NONCE_AT]));
        let tag = key.cipher(name).seal_in_place_separate_tag(nonce, covered, payload);
        let tag = tag.expect("an object is short");
        sealed.extend_from_slice(tag.as_ref());
        Ok(sealed.into())
    }

    /// Opens the object `name`.
    ///
    /// # Errors
    /// [`SealError`].
    pub fn open(&self, name: &str, sealed: &[u8]) -> Result<Bytes, SealError> {
        let header = Header::parse(name, sealed)?;
        let named = || name.to_owned();
        let payload = match (header.flags & ENCRYPTED != 0, &self.key) {
            (false, None) => verified(name, sealed)?,
            (true, Some(key)) => decrypted(key, name, sealed)?,
            (true, None) => return Err(SealError::NeedsKey { name: named() }),
            (false, Some(_)) => {
                return Err(damaged(name, "it is not encrypted, but the backup is"));
            }
        };
        if header.flags & DEFLATED != 0 {
            let content = deflate::inflate(&payload, header.content_bytes);
            return content.ok_or_else(|| damaged(name, "its compressed bytes are not whole"));
        }
        match payload.len() as u64 == header.content_bytes {
            true => Ok(payload),
            false => Err(damaged(name, "its length is not the one that it announces")),
        }
    }
}

impl Header {
    fn parse(name: &str, sealed: &[u8]) -> Result<Self, SealError> {
        if sealed.len() < PLAIN_AT {
            return Err(damaged(name, "it is too short"));
        }
        let (magic, version, flags) = (&sealed[..7], sealed[7], sealed[FLAGS_AT]);
        if magic != MAGIC || !version.is_ascii_digit() || version < VERSION {
            return Err(damaged(name, "it does not begin as an object of a backup"));
        }
        if version != VERSION || flags & !(DEFLATED | ENCRYPTED) != 0 {
            let version = version - b'0';
            return Err(SealError::TooNew { name: name.to_owned(), version, flags });
        }
        let mut length = [0; 8];
        length.copy_from_slice(&sealed[LENGTH_AT..HEADER_BYTES]);
        let content_bytes = u64::from_le_bytes(length);
        if content_bytes > CONTENT_BYTES_MAX {
            return Err(damaged(name, "it announces more bytes than any object has"));
        }
        Ok(Self { flags, content_bytes })
    }
}

/// The payload of a plain object.
fn verified(name: &str, sealed: &[u8]) -> Result<Bytes, SealError> {
    let (header, rest) = sealed.split_at(HEADER_BYTES);
    let (expected, payload) = rest.split_at(CRC_BYTES);
    match crc(name, header, payload).to_le_bytes() == expected {
        true => Ok(Bytes::copy_from_slice(payload)),
        false => Err(damaged(name, "its checksum does not match")),
    }
}

/// The payload of an encrypted object.
fn decrypted(key: &BackupKey, name: &str, sealed: &[u8]) -> Result<Bytes, SealError> {
    if sealed.len() < OVERHEAD_BYTES {
        return Err(damaged(name, "it is too short"));
    }
    if sealed[HEADER_BYTES..NONCE_AT] != key.fingerprint() {
        return Err(SealError::WrongKey { name: name.to_owned() });
    }
    let (head, payload) = sealed.split_at(ENCRYPTED_AT);
    let mut nonce = [0; NONCE_BYTES];
    nonce.copy_from_slice(&head[NONCE_AT..]);
    let nonce = Nonce::assume_unique_for_key(nonce);
    let covered = Aad::from(covered(name, &head[..NONCE_AT]));
    let mut payload = payload.to_vec();
    let opened = key.cipher(name).open_in_place(nonce, covered, &mut payload);
    let bytes = opened.map_err(|_| damaged(name, "it does not have its tag"))?.len();
    payload.truncate(bytes);
    Ok(payload.into())
}

fn crc(name: &str, header: &[u8], payload: &[u8]) -> u64 {
    let mut digest = Digest::new(CrcAlgorithm::Crc64Nvme);
    for part in [name.as_bytes(), header, payload] {
        digest.update(part);
    }
    digest.finalize()
}

/// The bytes that the tag covers beside the payload. `head` has a fixed length, so no two pairs give the same
/// bytes.
fn covered(name: &str, head: &[u8]) -> Vec<u8> {
    [name.as_bytes(), head].concat()
}

fn damaged(name: &str, what: &'static str) -> SealError {
    SealError::Damaged { name: name.to_owned(), what }
}
