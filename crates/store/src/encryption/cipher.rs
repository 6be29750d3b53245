//! The blocks of one body: AES-256-GCM, 256 KiB of ciphertext each.
//!
//! A ciphertext block has the length of a blob's piece and is aligned with one, so it is read with
//! one call and verified with whole block checksums of the blob. Its last 16 bytes are the tag. The
//! last block may be shorter; in an empty body it is only a tag.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::hmac;

use super::EncryptionKey;
use crate::error::StoreError;
use crate::limits::PIECE_BYTES;

/// Length of a tag.
pub(super) const TAG_BYTES: usize = 16;
/// Length of a ciphertext block.
pub(crate) const BLOCK_BYTES: u64 = PIECE_BYTES as u64;
/// Plaintext bytes per block.
pub(crate) const PLAIN_BLOCK_BYTES: u64 = BLOCK_BYTES - TAG_BYTES as u64;

/// The key of one body. It encrypts nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BodyKey(EncryptionKey);

/// Number of blocks of a body. At least one, so that truncation to nothing is detected.
fn blocks(plain_bytes: u64) -> u64 {
    plain_bytes.div_ceil(PLAIN_BLOCK_BYTES).max(1)
}

/// Length of the ciphertext of a body; `None` on overflow.
pub(crate) fn stored_bytes(plain_bytes: u64) -> Option<u64> {
    plain_bytes.checked_add(blocks(plain_bytes).checked_mul(TAG_BYTES as u64)?)
}

/// The nonce of a block: 1 for the last block, three zeros, the block number. A body's key encrypts
/// each block once, so no nonce repeats; marking the last block detects truncation.
fn nonce(number: u64, is_last: bool) -> Nonce {
    let mut nonce = [0; 12];
    nonce[0] = u8::from(is_last);
    nonce[4..].copy_from_slice(&number.to_be_bytes());
    Nonce::assume_unique_for_key(nonce)
}

impl BodyKey {
    pub(super) fn new(key: EncryptionKey) -> Self {
        Self(key)
    }

    /// The entity tag of a body whose MD5 must not be revealed: a keyed hash of it,
    /// indistinguishable from random without the key.
    pub(crate) fn hide_md5(&self, md5: &[u8; 16]) -> [u8; 16] {
        // The MD5 itself would let a reader of entity tags test guesses of the content.
        let key = self.0.derive(b"liteio etag", &[]);
        let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key.expose()), md5);
        let mut hidden = [0; 16];
        hidden.copy_from_slice(&tag.as_ref()[..16]);
        hidden
    }

    fn cipher(&self) -> LessSafeKey {
        let key = UnboundKey::new(&AES_256_GCM, self.0.expose()).expect("a key of 32 bytes");
        LessSafeKey::new(key)
    }

    /// A decryptor of the blocks of a body of `plain_bytes` bytes.
    pub(crate) fn opener(&self, plain_bytes: u64) -> Opener {
        Opener { cipher: self.cipher(), blocks: blocks(plain_bytes) }
    }

    /// A whole body, encrypted.
    pub(crate) fn seal(&self, plain: &[u8]) -> Result<Vec<u8>, StoreError> {
        let (mut sealer, mut sealed) = (self.sealer(), Vec::new());
        sealer.append(plain, |block| {
            sealed.extend_from_slice(block);
            Ok(())
        })?;
        sealed.extend_from_slice(&sealer.finish());
        Ok(sealed)
    }

    /// A whole body of `plain_bytes` bytes, decrypted.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if it is not that body, or was changed.
    pub(crate) fn open(&self, sealed: &[u8], plain_bytes: u64) -> Result<Vec<u8>, StoreError> {
        if stored_bytes(plain_bytes) != Some(sealed.len() as u64) {
            return Err(StoreError::corrupt("the size of an encrypted body"));
        }
        let (opener, mut plain) = (self.opener(plain_bytes), Vec::with_capacity(sealed.len()));
        for (number, block) in (0..).zip(sealed.chunks(PIECE_BYTES)) {
            let mut block = block.to_vec();
            let bytes = opener.open(number, &mut block)?;
            plain.extend_from_slice(&block[..bytes]);
        }
        Ok(plain)
    }

    /// An encryptor of a body.
    pub(crate) fn sealer(&self) -> Sealer {
        Sealer { cipher: self.cipher(), number: 0, block: Vec::new() }
    }
}

/// Encrypts a body block by block.
#[derive(Debug)]
pub(crate) struct Sealer {
    cipher: LessSafeKey,
    /// The number of the block being filled.
    number: u64,
    block: Vec<u8>,
}

impl Sealer {
    /// Appends to the body, and passes whole blocks to `out`. A full block is held back until more
    /// bytes come, since it may be the last one, which has another nonce.
    ///
    /// # Errors
    /// The errors of `out`.
    pub(crate) fn append(
        &mut self,
        mut bytes: &[u8],
        mut out: impl FnMut(&[u8]) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        while !bytes.is_empty() {
            if self.block.len() as u64 == PLAIN_BLOCK_BYTES {
                self.seal(false);
                out(&self.block)?;
                self.block.clear();
                self.number += 1;
            }
            if self.block.is_empty() {
                // A long body gets a whole block at once, a short one only the room that it needs.
                let capacity = (bytes.len() + TAG_BYTES).min(PIECE_BYTES);
                self.block.reserve_exact(if self.number > 0 { PIECE_BYTES } else { capacity });
            }
            let room = PLAIN_BLOCK_BYTES as usize - self.block.len();
            let (now, rest) = bytes.split_at(bytes.len().min(room));
            self.block.extend_from_slice(now);
            bytes = rest;
        }
        Ok(())
    }

    /// Encrypts the last block.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.seal(true);
        self.block
    }

    fn seal(&mut self, is_last: bool) {
        let nonce = nonce(self.number, is_last);
        let sealed = self.cipher.seal_in_place_append_tag(nonce, Aad::empty(), &mut self.block);
        sealed.expect("a block is short, and memory takes its tag");
    }
}

/// Decrypts the blocks of one body, in any order.
#[derive(Debug)]
pub(crate) struct Opener {
    cipher: LessSafeKey,
    blocks: u64,
}

impl Opener {
    /// Decrypts block `number` in place, and returns its plaintext length.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if it is not that block, or was changed.
    pub(crate) fn open(&self, number: u64, block: &mut [u8]) -> Result<usize, StoreError> {
        let nonce = nonce(number, number + 1 == self.blocks);
        match self.cipher.open_in_place(nonce, Aad::empty(), block) {
            Ok(plain) => Ok(plain.len()),
            Err(_) => Err(StoreError::corrupt("an encrypted block does not have its tag")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> BodyKey {
        BodyKey::new(EncryptionKey::new([byte; 32]))
    }

    fn seal(plain: &[u8], pieces: usize) -> Vec<u8> {
        let mut sealer = key(1).sealer();
        let mut sealed = Vec::new();
        for piece in plain.chunks(pieces) {
            let out = |block: &[u8]| {
                sealed.extend_from_slice(block);
                Ok(())
            };
            sealer.append(piece, out).expect("memory");
        }
        sealed.extend_from_slice(&sealer.finish());
        sealed
    }

    fn open(key: &BodyKey, plain_bytes: usize, sealed: &[u8]) -> Result<Vec<u8>, StoreError> {
        let opener = key.opener(plain_bytes as u64);
        let mut plain = Vec::new();
        for (number, block) in sealed.chunks(BLOCK_BYTES as usize).enumerate() {
            let mut block = block.to_vec();
            let length = opener.open(number as u64, &mut block)?;
            plain.extend_from_slice(&block[..length]);
        }
        Ok(plain)
    }

    fn body(length: usize) -> Vec<u8> {
        (0..length).map(|index| (index / 7 % 251) as u8).collect()
    }

    #[test]
    fn bodies_of_any_length_survive_in_any_pieces() {
        let block = PLAIN_BLOCK_BYTES as usize;
        for length in
            [0, 1, 15, 16, 17, 1000, block - 1, block, block + 1, 2 * block, 3 * block - 5]
        {
            let plain = body(length);
            let sealed = seal(&plain, 100_003);
            assert_eq!(sealed.len() as u64, stored_bytes(length as u64).expect("short"));
            assert_eq!(sealed, seal(&plain, 1 << 20), "the pieces do not matter");
            assert!(length < 16 || !sealed.windows(16).any(|window| window == &plain[..16]));
            assert_eq!(open(&key(1), length, &sealed).expect("own bytes"), plain);
        }
        assert_eq!(stored_bytes(u64::MAX), None);
    }

    #[test]
    fn changed_exchanged_and_missing_blocks_are_found() {
        let plain = body(2 * PLAIN_BLOCK_BYTES as usize + 50);
        let sealed = seal(&plain, 1 << 20);
        let block = BLOCK_BYTES as usize;
        let is_found = |what: &str, bytes: usize, sealed: &[u8]| {
            let error = open(&key(1), bytes, sealed).expect_err(what);
            assert!(matches!(error, StoreError::Corrupt { .. }), "{what}: {error}");
        };
        // Bytes of cipher text and of tags, of the first, of a middle and of the last block.
        let ends = [0, 1, block - 17, block - 16, block - 1, block, 2 * block - 1, 2 * block];
        for at in ends.into_iter().chain([sealed.len() - 17, sealed.len() - 1]) {
            for bit in 0..8 {
                let mut changed = sealed.clone();
                changed[at] ^= 1 << bit;
                is_found("changed", plain.len(), &changed);
            }
        }
        let (first, second, last) =
            (&sealed[..block], &sealed[block..2 * block], &sealed[2 * block..]);
        is_found("exchanged", plain.len(), &[second, first, last].concat());
        is_found("repeated", plain.len(), &[first, first, last].concat());
        let shorter = 2 * PLAIN_BLOCK_BYTES as usize;
        is_found("the last block is missing", shorter, &[first, second].concat());
        is_found("a middle block is missing", plain.len(), &[first, last].concat());
        is_found("cut", plain.len(), &sealed[..sealed.len() - 1]);
        is_found("cut into the tag", plain.len(), &sealed[..2 * block + 10]);
        is_found("empty", 0, &[0; 16]);
        is_found("nothing", 0, &[0; 15]);
        open(&key(2), plain.len(), &sealed).expect_err("another key");
    }

    #[test]
    fn a_hidden_md5_depends_on_key_and_md5() {
        let hidden = key(1).hide_md5(&[1; 16]);
        assert_eq!(hidden, key(1).hide_md5(&[1; 16]));
        assert_ne!(hidden, key(2).hide_md5(&[1; 16]));
        assert_ne!(hidden, key(1).hide_md5(&[2; 16]));
    }
}
