//! MD5, which the ETag needs, and which is the slowest part of a PUT.
//!
//! An implementation of our own, because it takes a fifth less time than the library (1.30 against
//! 1.62 ms per MiB on a Zen 4, with `md-5` 0.11 in the same run). Each of the 64 steps depends on
//! the previous one, so the latency of that dependency decides, not the number of operations.

use serde::{Deserialize, Serialize};

/// RFC 1321, section 3.4: the integer part of 2^32 |sin(i + 1)|.
static SINES: [u32; 64] = [
    0xd76a_a478,
    0xe8c7_b756,
    0x2420_70db,
    0xc1bd_ceee,
    0xf57c_0faf,
    0x4787_c62a,
    0xa830_4613,
    0xfd46_9501,
    0x6980_98d8,
    0x8b44_f7af,
    0xffff_5bb1,
    0x895c_d7be,
    0x6b90_1122,
    0xfd98_7193,
    0xa679_438e,
    0x49b4_0821,
    0xf61e_2562,
    0xc040_b340,
    0x265e_5a51,
    0xe9b6_c7aa,
    0xd62f_105d,
    0x0244_1453,
    0xd8a1_e681,
    0xe7d3_fbc8,
    0x21e1_cde6,
    0xc337_07d6,
    0xf4d5_0d87,
    0x455a_14ed,
    0xa9e3_e905,
    0xfcef_a3f8,
    0x676f_02d9,
    0x8d2a_4c8a,
    0xfffa_3942,
    0x8771_f681,
    0x6d9d_6122,
    0xfde5_380c,
    0xa4be_ea44,
    0x4bde_cfa9,
    0xf6bb_4b60,
    0xbebf_bc70,
    0x289b_7ec6,
    0xeaa1_27fa,
    0xd4ef_3085,
    0x0488_1d05,
    0xd9d4_d039,
    0xe6db_99e5,
    0x1fa2_7cf8,
    0xc4ac_5665,
    0xf429_2244,
    0x432a_ff97,
    0xab94_23a7,
    0xfc93_a039,
    0x655b_59c3,
    0x8f0c_cc92,
    0xffef_f47d,
    0x8584_5dd1,
    0x6fa8_7e4f,
    0xfe2c_e6e0,
    0xa301_4314,
    0x4e08_11a1,
    0xf753_7e82,
    0xbd3a_f235,
    0x2ad7_d2bb,
    0xeb86_d391,
];

const BLOCK_BYTES: usize = 64;

/// Computes MD5 over a stream of bytes. The state can be stored in a record, to be continued later.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Kept", into = "Kept")]
pub(crate) struct Md5 {
    state: [u32; 4],
    /// The last bytes, less than a block.
    rest: [u8; BLOCK_BYTES],
    bytes: u64,
}

/// Stored form: state after the last whole block, the bytes after it, the total length.
type Kept = ([u32; 4], Vec<u8>, u64);

impl From<Md5> for Kept {
    fn from(md5: Md5) -> Self {
        (md5.state, md5.rest[..md5.rest_bytes()].to_vec(), md5.bytes)
    }
}

impl TryFrom<Kept> for Md5 {
    type Error = &'static str;

    fn try_from((state, last, bytes): Kept) -> Result<Self, Self::Error> {
        let mut md5 = Self { state, rest: [0; BLOCK_BYTES], bytes };
        if last.len() != md5.rest_bytes() {
            return Err("a digest of the wrong length");
        }
        md5.rest[..last.len()].copy_from_slice(&last);
        Ok(md5)
    }
}

impl Md5 {
    pub(crate) fn new() -> Self {
        let state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
        Self { state, rest: [0; BLOCK_BYTES], bytes: 0 }
    }

    #[cfg(test)]
    pub(crate) fn digest(bytes: &[u8]) -> [u8; 16] {
        let mut md5 = Self::new();
        md5.update(bytes);
        md5.finish()
    }

    /// Digests the next bytes.
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        let rest = self.rest_bytes();
        self.bytes = self.bytes.wrapping_add(bytes.len() as u64);
        if rest > 0 {
            let (taken, after) = bytes.split_at(bytes.len().min(BLOCK_BYTES - rest));
            self.rest[rest..rest + taken.len()].copy_from_slice(taken);
            if rest + taken.len() < BLOCK_BYTES {
                return;
            }
            compress(&mut self.state, &[self.rest]);
            bytes = after;
        }
        let (blocks, after) = bytes.as_chunks();
        compress(&mut self.state, blocks);
        self.rest[..after.len()].copy_from_slice(after);
    }

    /// Number of bytes digested so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The digest of all bytes.
    pub(crate) fn finish(mut self) -> [u8; 16] {
        let bits = self.bytes.wrapping_mul(8).to_le_bytes();
        // Padding: one 0x80, zeros up to 8 bytes before the end of a block, the length in bits.
        let zeros = (BLOCK_BYTES - 9).wrapping_sub(self.rest_bytes()) % BLOCK_BYTES;
        let mut padding = [0; 2 * BLOCK_BYTES];
        padding[0] = 0x80;
        padding[1 + zeros..][..8].copy_from_slice(&bits);
        self.update(&padding[..1 + zeros + 8]);
        let mut digest = [0; 16];
        let (words, _) = digest.as_chunks_mut();
        words.iter_mut().zip(self.state).for_each(|(word, state)| *word = state.to_le_bytes());
        digest
    }

    fn rest_bytes(&self) -> usize {
        (self.bytes % BLOCK_BYTES as u64) as usize
    }
}

/// RFC 1321, section 3.4. `sum` is everything that is known before the step begins. `b` is the
/// previous step's result, so each function is arranged to use it last.
#[inline(always)]
fn f(b: u32, c: u32, d: u32, sum: u32) -> u32 {
    sum.wrapping_add(((c ^ d) & b) ^ d)
}

/// The two halves of the selection have no bit in common, so they may be added instead of OR-ed:
/// only the second one waits for `b`.
#[inline(always)]
fn g(b: u32, c: u32, d: u32, sum: u32) -> u32 {
    sum.wrapping_add(!d & c).wrapping_add(d & b)
}

#[inline(always)]
fn h(b: u32, c: u32, d: u32, sum: u32) -> u32 {
    sum.wrapping_add((c ^ d) ^ b)
}

#[inline(always)]
fn i(b: u32, c: u32, d: u32, sum: u32) -> u32 {
    sum.wrapping_add(c ^ (b | !d))
}

fn compress(state: &mut [u32; 4], blocks: &[[u8; BLOCK_BYTES]]) {
    // `black_box` hides the constants from the compiler. Known ones would be added last, as
    // immediate operands, on the path that waits for `b`.
    let sines = std::hint::black_box(&SINES);
    let [mut a, mut b, mut c, mut d] = *state;
    for block in blocks {
        let (words, _) = block.as_chunks();
        let word = |at: usize| u32::from_le_bytes(words[at]);
        let before = [a, b, c, d];
        /// One step: computes $a from the other three.
        macro_rules! step {
            ($mix:ident, $a:ident, $b:ident, $c:ident, $d:ident, $sine:expr, $word:expr, $shift:expr) => {
                let sum = $a.wrapping_add(word($word)).wrapping_add(sines[$sine]);
                $a = $mix($b, $c, $d, sum).rotate_left($shift).wrapping_add($b);
            };
        }
        macro_rules! four {
            ($mix:ident, $at:literal, $words:expr, $shifts:expr) => {
                step!($mix, a, b, c, d, $at, $words[0], $shifts[0]);
                step!($mix, d, a, b, c, $at + 1, $words[1], $shifts[1]);
                step!($mix, c, d, a, b, $at + 2, $words[2], $shifts[2]);
                step!($mix, b, c, d, a, $at + 3, $words[3], $shifts[3]);
            };
        }
        four!(f, 0, [0, 1, 2, 3], [7, 12, 17, 22]);
        four!(f, 4, [4, 5, 6, 7], [7, 12, 17, 22]);
        four!(f, 8, [8, 9, 10, 11], [7, 12, 17, 22]);
        four!(f, 12, [12, 13, 14, 15], [7, 12, 17, 22]);
        four!(g, 16, [1, 6, 11, 0], [5, 9, 14, 20]);
        four!(g, 20, [5, 10, 15, 4], [5, 9, 14, 20]);
        four!(g, 24, [9, 14, 3, 8], [5, 9, 14, 20]);
        four!(g, 28, [13, 2, 7, 12], [5, 9, 14, 20]);
        four!(h, 32, [5, 8, 11, 14], [4, 11, 16, 23]);
        four!(h, 36, [1, 4, 7, 10], [4, 11, 16, 23]);
        four!(h, 40, [13, 0, 3, 6], [4, 11, 16, 23]);
        four!(h, 44, [9, 12, 15, 2], [4, 11, 16, 23]);
        four!(i, 48, [0, 7, 14, 5], [6, 10, 15, 21]);
        four!(i, 52, [12, 3, 10, 1], [6, 10, 15, 21]);
        four!(i, 56, [8, 15, 6, 13], [6, 10, 15, 21]);
        four!(i, 60, [4, 11, 2, 9], [6, 10, 15, 21]);
        a = a.wrapping_add(before[0]);
        b = b.wrapping_add(before[1]);
        c = c.wrapping_add(before[2]);
        d = d.wrapping_add(before[3]);
    }
    *state = [a, b, c, d];
}

#[cfg(test)]
mod tests {
    use md5::Digest as _;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_examples_of_the_rfc() {
        for (text, digest) in [
            ("", "d41d8cd98f00b204e9800998ecf8427e"),
            ("a", "0cc175b9c0f1b6a831c399e269772661"),
            ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
            (
                "12345678901234567890123456789012345678901234567890123456789012345678901234567890",
                "57edf4a22be3c955ac49da2e2107b67a",
            ),
        ] {
            let hex: String =
                Md5::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, digest, "{text}");
        }
    }

    #[test]
    fn it_can_be_kept_and_continued_anywhere() {
        let bytes: Vec<u8> = (0..300).map(|number| number as u8).collect();
        for kept_at in 0..200 {
            let mut md5 = Md5::new();
            md5.update(&bytes[..kept_at]);
            let kept = postcard::to_stdvec(&md5).expect("encoded");
            let mut md5: Md5 = postcard::from_bytes(&kept).expect("decoded");
            md5.update(&bytes[kept_at..]);
            assert_eq!((md5.bytes(), md5.finish()), (300, Md5::digest(&bytes)), "{kept_at}");
        }
        let wrong = postcard::to_stdvec(&([0_u32; 4], vec![0_u8; 3], 64_u64)).expect("encoded");
        postcard::from_bytes::<Md5>(&wrong).expect_err("64 bytes leave none");
    }

    #[test]
    fn every_length_around_a_block_agrees_with_the_library() {
        let bytes: Vec<u8> = (0..=255).collect();
        for length in 0..bytes.len() {
            let expected: [u8; 16] = md5::Md5::digest(&bytes[..length]).into();
            assert_eq!(Md5::digest(&bytes[..length]), expected, "{length} bytes");
        }
    }

    proptest! {
        #[test]
        fn any_pieces_agree_with_the_library(pieces in prop::collection::vec(
            prop::collection::vec(any::<u8>(), 0..300), 0..8,
        )) {
            let mut ours = Md5::new();
            pieces.iter().for_each(|piece| ours.update(piece));
            let expected: [u8; 16] = md5::Md5::digest(pieces.concat()).into();
            prop_assert_eq!(ours.finish(), expected);
        }
    }
}
