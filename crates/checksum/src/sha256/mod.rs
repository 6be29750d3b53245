//! SHA-256 of whole blocks: of one stream together with its MD5, and of two streams.
//!
//! The instructions for SHA-256 wait for each other as the steps of MD5 do, and leave most of the processor's units idle.
//! So both digests of a stream in one loop take as long as MD5 alone. Milliseconds a MiB on a Zen 4: MD5 1.11 and
//! SHA-256 0.50, both in one loop 1.11; SHA-256 of two streams, a MiB of each, 0.99 one after the other and 0.69 in one loop.

use super::md5::{BLOCK_BYTES, Block, Md5Words, compress};

#[cfg(target_arch = "x86_64")]
mod x86;

/// The state of a stream.
pub(crate) type Words = [u32; 8];

/// FIPS 180-4, 5.3.3: the state before the first block.
pub(crate) const START: Words = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// A stream: its state, and whole blocks to digest next.
pub(crate) struct Stream<'s> {
    pub(crate) state: &'s mut Words,
    pub(crate) blocks: &'s [Block],
}

impl<'s> Stream<'s> {
    /// The stream with its first blocks alone.
    pub(crate) fn first(self, blocks: usize) -> Self {
        Self { blocks: &self.blocks[..blocks], ..self }
    }
}

/// Digests blocks of one stream by both.
pub(crate) fn compress_with_md5(md5: &mut Md5Words, sha256: &mut Words, blocks: &[Block]) {
    #[cfg(target_arch = "x86_64")]
    if x86::is_available() {
        return x86::compress_with_md5(md5, sha256, blocks);
    }
    compress([md5], [blocks]);
    sha2::block_api::compress256(sha256, blocks);
}

/// Digests as many blocks of each stream as the others have, in pairs.
pub(crate) fn compress_all<'s>(mut streams: impl Iterator<Item = Stream<'s>>) {
    while let Some(one) = streams.next() {
        #[cfg(target_arch = "x86_64")]
        if x86::is_available()
            && let Some(other) = streams.next()
        {
            x86::compress_pair(one, other);
            continue;
        }
        sha2::block_api::compress256(one.state, one.blocks);
    }
}

/// The digest of a stream of `bytes` bytes, of which `rest` are behind its last whole block.
pub(crate) fn finish(mut state: Words, rest: &[u8], bytes: u64) -> [u8; 32] {
    // FIPS 180-4, 5.1.1: a bit, zeros, and the length in bits at the end of a block.
    let mut padding = [0; 2 * BLOCK_BYTES];
    padding[..rest.len()].copy_from_slice(rest);
    padding[rest.len()] = 0x80;
    let end = if rest.len() < BLOCK_BYTES - 8 { BLOCK_BYTES } else { 2 * BLOCK_BYTES };
    padding[end - 8..end].copy_from_slice(&bytes.wrapping_mul(8).to_be_bytes());
    let (blocks, _) = padding[..end].as_chunks();
    sha2::block_api::compress256(&mut state, blocks);
    let mut digest = [0; 32];
    let (words, _) = digest.as_chunks_mut();
    words.iter_mut().zip(state).for_each(|(word, state)| *word = state.to_be_bytes());
    digest
}

#[cfg(test)]
mod tests {
    use sha2::Digest as _;

    use crate::joined::Joined;
    use crate::md5::Md5;

    use super::*;

    fn bytes(length: usize, seed: usize) -> Vec<u8> {
        (0..length).map(|at| (at * 31 + at / 251 + seed * 57) as u8).collect()
    }

    #[test]
    fn both_digests_of_every_length_agree_with_the_library_in_any_pieces() {
        let bytes = bytes(300, 1);
        for length in 0..=bytes.len() {
            let expected = (
                Md5::digest(&bytes[..length]),
                Some(sha2::Sha256::digest(&bytes[..length]).into()),
            );
            for piece in [1, 55, 64, 65, 300] {
                let mut joined = Joined::new(true);
                bytes[..length].chunks(piece).for_each(|piece| joined.update(piece));
                assert_eq!(joined.finish(), expected, "{length} bytes, {piece} at a time");
            }
        }
    }

    #[test]
    fn streams_in_pairs_agree_with_the_library() {
        for count in 0..6 {
            let bodies: Vec<_> = (0..count).map(|seed| bytes(7 * BLOCK_BYTES, seed)).collect();
            let mut states = vec![START; count];
            compress_all(
                states
                    .iter_mut()
                    .zip(&bodies)
                    .map(|(state, body)| Stream { state, blocks: body.as_chunks().0 }.first(5)),
            );
            for (state, body) in states.into_iter().zip(&bodies) {
                let mut expected = START;
                sha2::block_api::compress256(&mut expected, body[..5 * BLOCK_BYTES].as_chunks().0);
                assert_eq!(state, expected, "{count} streams");
            }
        }
    }
}
