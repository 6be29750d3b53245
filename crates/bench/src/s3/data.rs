//! The bytes that are written and expected back: the same for every target, from one seed.

use std::sync::OnceLock;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

/// The seed of all data.
pub const SEED: u64 = 42;

/// How many different bodies there are of a size. Their hashes are computed before the run, so that
/// signing costs the client the same whatever the size.
const VARIANTS: u64 = 8;

/// Bytes by which the variants of a size are apart in the pool.
const STRIDE: usize = 4096;

/// The bytes of one chunk of a streaming upload: what the AWS clients send.
pub const CHUNK_BYTES: usize = 64 << 10;

/// One body.
#[derive(Debug)]
pub struct Payload {
    /// Its bytes.
    pub bytes: Bytes,
    sha256: OnceLock<String>,
    chunks: OnceLock<Vec<String>>,
}

/// All bodies of one size.
#[derive(Debug)]
pub struct Payloads {
    variants: Vec<Payload>,
}

/// A pool of random bytes that all bodies are slices of.
#[derive(Debug)]
pub struct Pool {
    bytes: Bytes,
}

impl Pool {
    /// A pool for bodies of up to `bytes_max`.
    pub fn new(bytes_max: usize) -> Pool {
        let bytes = bytes_max + VARIANTS as usize * STRIDE;
        let mut state = SEED;
        let mut data = Vec::with_capacity(bytes + 8);
        while data.len() < bytes {
            data.extend_from_slice(&next(&mut state).to_le_bytes());
        }
        data.truncate(bytes);
        Pool { bytes: data.into() }
    }

    /// The bodies of a size.
    ///
    /// # Panics
    /// If the pool is smaller.
    pub fn payloads(&self, bytes: usize) -> Payloads {
        let variant = |number: u64| {
            let start = number as usize * STRIDE;
            Payload::new(self.bytes.slice(start..start + bytes))
        };
        Payloads { variants: (0..VARIANTS).map(variant).collect() }
    }
}

impl Payloads {
    /// The body of the object with this number.
    pub fn of(&self, number: u64) -> &Payload {
        &self.variants[(number % VARIANTS) as usize]
    }

    /// Bytes of each.
    pub fn len(&self) -> usize {
        self.variants[0].bytes.len()
    }

    /// Whether they are empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Computes the hashes that signing needs, so that no request waits for them.
    pub fn compute_hashes(&self, chunked: bool) {
        for payload in &self.variants {
            if chunked {
                payload.chunk_sha256();
            } else {
                payload.sha256();
            }
        }
    }
}

impl Payload {
    /// A body.
    pub fn new(bytes: Bytes) -> Payload {
        Payload { bytes, sha256: OnceLock::new(), chunks: OnceLock::new() }
    }

    /// Its SHA-256 in hexadecimal.
    pub fn sha256(&self) -> &str {
        self.sha256.get_or_init(|| hex(&Sha256::digest(&self.bytes)))
    }

    /// The SHA-256 of each of its chunks.
    pub fn chunk_sha256(&self) -> &[String] {
        let hash = |chunk: &[u8]| hex(&Sha256::digest(chunk));
        self.chunks.get_or_init(|| self.bytes.chunks(CHUNK_BYTES).map(hash).collect())
    }
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    hex_simd::encode_to_string(bytes, hex_simd::AsciiCase::Lower)
}

/// The next number of a sequence that looks random (SplitMix64).
pub(crate) fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_number_always_has_the_same_body_and_neighbours_differ() {
        let (one, two) = (Pool::new(1000).payloads(1000), Pool::new(5000).payloads(1000));
        for number in 0..20 {
            assert_eq!(one.of(number).bytes, two.of(number).bytes);
            assert_ne!(one.of(number).bytes, one.of(number + 1).bytes);
        }
        assert_eq!(Pool::new(0).payloads(0).of(3).sha256().get(..8), Some("e3b0c442"));
    }
}
