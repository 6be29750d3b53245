//! Bodies to write and to expect back: the same for every target, from one seed.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::OnceLock;

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::sign::PayloadMode;
use crate::random::{SEED, next};

/// Number of different bodies of a size. Their hashes are computed before the run, so that signing
/// costs the client the same for every size.
const VARIANTS: u64 = 8;

/// Distance of the variants of a size in the pool, in bytes.
const STRIDE: usize = 4096;

/// Sizes that every run needs: of the scale rows, and of the first object.
const USUAL: [usize; 2] = [256, 1 << 10];

/// Length of a chunk of a streaming upload, as AWS clients send it.
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

/// The bodies of all sizes that a run needs.
#[derive(Debug)]
pub(crate) struct Stock {
    sizes: BTreeMap<usize, Rc<Payloads>>,
}

impl Stock {
    /// The bodies of these sizes, as slices of one pool of random bytes. The hashes for signatures
    /// are computed now, so that no request waits for them.
    pub(crate) fn new(sizes: impl IntoIterator<Item = usize>, mode: PayloadMode) -> Stock {
        let sizes: Vec<usize> = sizes.into_iter().chain(USUAL).collect();
        let bytes = sizes.iter().max().unwrap_or(&0) + VARIANTS as usize * STRIDE;
        let mut state = SEED;
        let words = std::iter::repeat_with(|| next(&mut state).to_le_bytes());
        let pool: Bytes = words.take(bytes.div_ceil(8)).flatten().collect();
        let payload = |start: usize, bytes: usize| {
            let payload = Payload::new(pool.slice(start..start + bytes));
            match mode {
                PayloadMode::Signed => {
                    payload.sha256();
                }
                PayloadMode::Streaming => {
                    payload.chunk_sha256();
                }
                PayloadMode::Unsigned => {}
            }
            payload
        };
        let payloads = |bytes: usize| {
            let starts = (0..VARIANTS as usize).map(|variant| variant * STRIDE);
            (bytes, Rc::new(Payloads { variants: starts.map(|it| payload(it, bytes)).collect() }))
        };
        Stock { sizes: sizes.into_iter().map(payloads).collect() }
    }

    /// The bodies of a size.
    pub(crate) fn of(&self, bytes: usize) -> Rc<Payloads> {
        Rc::clone(self.sizes.get(&bytes).expect("the stock was made for all rows"))
    }
}

impl Payloads {
    /// The body of the object with this number.
    pub(crate) fn of(&self, number: u64) -> &Payload {
        &self.variants[(number % VARIANTS) as usize]
    }
}

impl Payload {
    pub(crate) fn new(bytes: Bytes) -> Payload {
        Payload { bytes, times: 1, sha256: OnceLock::new(), chunks: OnceLock::new() }
    }

    /// The bytes repeated `times` times: a body larger than memory, unsigned.
    pub(crate) fn repeated(bytes: Bytes, times: usize) -> Payload {
        Payload { times, ..Payload::new(bytes) }
    }

    /// SHA-256 in hexadecimal.
    pub(crate) fn sha256(&self) -> &str {
        self.sha256.get_or_init(|| hex(&Sha256::digest(&self.bytes)))
    }

    /// SHA-256 of each chunk.
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
        let stock = |sizes: &[usize]| Stock::new(sizes.iter().copied(), PayloadMode::Signed);
        let (one, two) = (stock(&[1000]).of(1000), stock(&[0, 1000, 5000]).of(1000));
        for number in 0..20 {
            assert_eq!(one.of(number).bytes, two.of(number).bytes);
            assert_ne!(one.of(number).bytes, one.of(number + 1).bytes);
        }
        assert_eq!(stock(&[0]).of(0).of(3).sha256().get(..8), Some("e3b0c442"));
    }
}
