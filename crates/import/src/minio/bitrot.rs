//! MinIO's bitrot protection: every block of a file or of inline data is preceded by its 32-byte
//! `HighwayHash`.

use std::io::Read;

use highway::{HighwayHash as _, HighwayHasher, Key};

use super::Failed;

/// The key of all checksums: the `HighwayHash` of the first hundred decimals of pi.
const KEY: Key = Key([
    0xcd8a_238e_fa34_e74b,
    0x5285_96bb_e683_3e26,
    0x1444_9fa3_5d93_0f04,
    0xa036_de22_139d_e097,
]);
const SUM_BYTES: usize = 32;
/// Limit of the block size. MinIO uses 1 MiB, formerly 10 MiB.
const BLOCK_BYTES_MAX: u64 = 64 << 20;

/// Reads `bytes` bytes in blocks of `block_bytes`, verifies each block, and passes it to `take`.
///
/// # Errors
/// [`Failed`] if the data is damaged, truncated or too long.
pub(crate) fn read_verified<E: From<Failed>>(
    source: &mut impl Read,
    bytes: u64,
    block_bytes: u64,
    take: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    if !(1..=BLOCK_BYTES_MAX).contains(&block_bytes) {
        return Err(Failed::new("the size of its blocks cannot be").into());
    }
    let mut left = bytes;
    let mut block = Vec::new();
    while left > 0 {
        let now = left.min(block_bytes);
        block.resize(SUM_BYTES + usize::try_from(now).unwrap_or(usize::MAX), 0);
        source.read_exact(&mut block).map_err(|error| Failed::reading(&error))?;
        let (sum, content) = block.split_at(SUM_BYTES);
        if checksum(content) != sum {
            let at = bytes - left;
            let what = format!("the checksum of the block at byte {at} does not match");
            return Err(Failed::new(what).into());
        }
        take(content)?;
        left -= now;
    }
    match source.read(&mut [0]) {
        Ok(0) => Ok(()),
        Ok(_) => Err(Failed::new("there are bytes behind its last block").into()),
        Err(error) => Err(Failed::reading(&error).into()),
    }
}

/// The checksum of a block.
pub(super) fn checksum(bytes: &[u8]) -> [u8; SUM_BYTES] {
    let words = HighwayHasher::new(KEY).hash256(bytes);
    let mut sum = [0; SUM_BYTES];
    for (bytes, word) in sum.chunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MinIO's self-test: 32 times the checksum of all previous checksums.
    #[test]
    fn checksums_are_those_of_minio() {
        let mut all = Vec::new();
        for _ in 0..32 {
            let sum = checksum(&all);
            all.extend(sum);
        }
        let last = hex_simd::encode_to_string(&all[31 * 32..], hex_simd::AsciiCase::Lower);
        assert_eq!(last, "39c0407ed3f01b18d22c85db4aeff11e060ca5f43131b0126731ca197cd42313");
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_found() {
        let content: Vec<u8> = (0..100).collect();
        let blocks = content.chunks(40).flat_map(|block| [&checksum(block)[..], block].concat());
        let stored: Vec<u8> = blocks.collect();
        let read = |stored: &[u8]| {
            let mut read = Vec::new();
            let mut source = stored;
            read_verified(&mut source, 100, 40, &mut |block| {
                read.extend_from_slice(block);
                Ok::<_, Failed>(())
            })
            .map(|()| read)
        };
        assert_eq!(read(&stored).expect("whole"), content);
        for bit in 0..stored.len() * 8 {
            let mut damaged = stored.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            read(&damaged).expect_err("damaged");
        }
        for length in 0..stored.len() {
            read(&stored[..length]).expect_err("cut off");
        }
        read(&[&stored[..], b"x"].concat()).expect_err("too long");
    }
}
