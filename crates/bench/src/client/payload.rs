//! Bodies that are written and expected back: the same for every target, from one seed.

use std::sync::OnceLock;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use crate::random::{SEED, next};

/// Different bodies of a size. Their hashes are computed before the run, so that
/// signing costs the client the same whatever the size.
const VARIANTS: u64 = 8;

/// Bytes by which the variants of a size are apart in the pool.
const STRIDE: usize = 4096;

/// Bytes of a chunk of a streaming upload, as the AWS clients send it.
pub(crate) const CHUNK_BYTES: usize = 64 << 10;

/// One body.
#[derive(Debug)]
pub(crate) struct Payload {
    pub(crate) bytes: Bytes,
    pub(crate) times: usize,
    sha256: OnceLock<String>,
    chunks: OnceLock<Vec<String>>,
}

/// All bodies of one size.
#[derive(Debug)]
pub(crate) struct Payloads {
    variants: Vec<Payload>,
}

/// A pool of random bytes that all bodies are slices of.
#[derive(Debug)]
pub(crate) struct Pool {
    bytes: Bytes,
}

impl Pool {
    /// A pool for bodies of up to `bytes_max`.
    pub(crate) fn new(bytes_max: usize) -> Pool {
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
    pub(crate) fn payloads(&self, bytes: usize) -> Payloads {
        let variant = |number: u64| {
            let start = number as usize * STRIDE;
            Payload::new(self.bytes.slice(start..start + bytes))
        };
        Payloads { variants: (0..VARIANTS).map(variant).collect() }
    }
}

impl Payloads {
    /// The body of the object with this number.
    pub(crate) fn of(&self, number: u64) -> &Payload {
        &self.variants[(number % VARIANTS) as usize]
    }

    /// Computes the hashes that signing needs, so that no request waits for them.
    pub(crate) fn compute_hashes(&self, chunked: bool) {
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
    pub(crate) fn new(bytes: Bytes) -> Payload {
        Payload { bytes, times: 1, sha256: OnceLock::new(), chunks: OnceLock::new() }
    }

    /// The bytes so many times one after the other: a body larger than memory, not signed.
    pub(crate) fn repeated(bytes: Bytes, times: usize) -> Payload {
        Payload { times, ..Payload::new(bytes) }
    }

    /// Its SHA-256 in hexadecimal.
    pub(crate) fn sha256(&self) -> &str {
        self.sha256.get_or_init(|| hex(&Sha256::digest(&self.bytes)))
    }

    /// The SHA-256 of each of its chunks.
    pub(crate) fn chunk_sha256(&self) -> &[String] {
        let hash = |chunk: &[u8]| hex(&Sha256::digest(chunk));
        self.chunks.get_or_init(|| self.bytes.chunks(CHUNK_BYTES).map(hash).collect())
    }
}

/// Lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    hex_simd::encode_to_string(bytes, hex_simd::AsciiCase::Lower)
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
