//! The kernels for x86-64 with the SHA extensions.
#![expect(unsafe_code, reason = "vector instructions")]

use std::arch::x86_64::{
    __m128i as Vector, _mm_add_epi32 as add, _mm_alignr_epi8 as align, _mm_blend_epi16 as blend,
    _mm_sha256msg1_epu32 as schedule1, _mm_sha256msg2_epu32 as schedule2,
    _mm_sha256rnds2_epu32 as two_rounds, _mm_shuffle_epi8 as shuffle_bytes,
    _mm_shuffle_epi32 as shuffle,
};

use super::{Stream, Words};
use crate::md5::{Block, Md5Words, SINES, f, g, h, i, steps};

/// FIPS 180-4, 4.2.2.
static ROUNDS: [u32; 64] = [
    0x428a_2f98,
    0x7137_4491,
    0xb5c0_fbcf,
    0xe9b5_dba5,
    0x3956_c25b,
    0x59f1_11f1,
    0x923f_82a4,
    0xab1c_5ed5,
    0xd807_aa98,
    0x1283_5b01,
    0x2431_85be,
    0x550c_7dc3,
    0x72be_5d74,
    0x80de_b1fe,
    0x9bdc_06a7,
    0xc19b_f174,
    0xe49b_69c1,
    0xefbe_4786,
    0x0fc1_9dc6,
    0x240c_a1cc,
    0x2de9_2c6f,
    0x4a74_84aa,
    0x5cb0_a9dc,
    0x76f9_88da,
    0x983e_5152,
    0xa831_c66d,
    0xb003_27c8,
    0xbf59_7fc7,
    0xc6e0_0bf3,
    0xd5a7_9147,
    0x06ca_6351,
    0x1429_2967,
    0x27b7_0a85,
    0x2e1b_2138,
    0x4d2c_6dfc,
    0x5338_0d13,
    0x650a_7354,
    0x766a_0abb,
    0x81c2_c92e,
    0x9272_2c85,
    0xa2bf_e8a1,
    0xa81a_664b,
    0xc24b_8b70,
    0xc76c_51a3,
    0xd192_e819,
    0xd699_0624,
    0xf40e_3585,
    0x106a_a070,
    0x19a4_c116,
    0x1e37_6c08,
    0x2748_774c,
    0x34b0_bcb5,
    0x391c_0cb3,
    0x4ed8_aa4a,
    0x5b9c_ca4f,
    0x682e_6ff3,
    0x748f_82ee,
    0x78a5_636f,
    0x84c8_7814,
    0x8cc7_0208,
    0x90be_fffa,
    0xa450_6ceb,
    0xbef9_a3f7,
    0xc671_78f2,
];

/// `true` if this processor has the instructions.
pub(super) fn is_available() -> bool {
    is_x86_feature_detected!("sha") && is_x86_feature_detected!("sse4.1")
}

/// Requires the instructions.
pub(super) fn compress_with_md5(md5: &mut Md5Words, sha256: &mut Words, blocks: &[Block]) {
    // SAFETY: the caller has asked for the features.
    unsafe { with_md5(md5, sha256, blocks) }
}

/// Digests as many blocks of each as both have. Requires the instructions.
pub(super) fn compress_pair(one: Stream<'_>, other: Stream<'_>) {
    // SAFETY: the caller has asked for the features.
    unsafe { pair(one, other) }
}

/// The state of a stream, in the order that the instructions want.
#[derive(Clone, Copy)]
struct Rounds {
    abef: Vector,
    cdgh: Vector,
    /// The last four vectors of the message schedule.
    words: [Vector; 4],
}

impl Rounds {
    #[inline]
    #[target_feature(enable = "sha,sse4.1,ssse3")]
    fn new(state: &Words) -> Self {
        let (words, _) = state.as_chunks::<4>();
        let [dcba, hgfe] = [words[0], words[1]].map(from_words);
        let (cdab, efgh) = (shuffle::<0xB1>(dcba), shuffle::<0x1B>(hgfe));
        let (abef, cdgh) = (align::<8>(cdab, efgh), blend::<0xF0>(efgh, cdab));
        Self { abef, cdgh, words: [abef; 4] }
    }

    #[inline]
    #[target_feature(enable = "sha,sse4.1,ssse3")]
    fn state(self) -> Words {
        let (feba, dchg) = (shuffle::<0x1B>(self.abef), shuffle::<0xB1>(self.cdgh));
        let [first, second] = [blend::<0xF0>(feba, dchg), align::<8>(dchg, feba)].map(to_words);
        let mut state = [0; 8];
        state[..4].copy_from_slice(&first);
        state[4..].copy_from_slice(&second);
        state
    }

    /// Four rounds: those from `4 * at` on.
    #[inline(always)]
    fn four(&mut self, at: usize, block: &Block, rounds: &[u32; 64]) {
        // SAFETY: only kernels with the features call it.
        unsafe {
            let [w0, w1, w2, w3] = std::array::from_fn(|word| self.words[(at + word) % 4]);
            let words = match at {
                ..4 => {
                    let (quads, _) = block.as_chunks::<16>();
                    shuffle_bytes(from_bytes(quads[at]), from_bytes(BIG_ENDIAN))
                }
                _ => schedule2(add(schedule1(w0, w1), align::<4>(w3, w2)), w3),
            };
            self.words[at % 4] = words;
            let (constants, _) = rounds.as_chunks::<4>();
            let sum = add(words, from_words(constants[at]));
            self.cdgh = two_rounds(self.cdgh, self.abef, sum);
            self.abef = two_rounds(self.abef, self.cdgh, shuffle::<0x0E>(sum));
        }
    }

    #[inline(always)]
    fn add(&mut self, before: &Self) {
        // SAFETY: the instruction is of every x86-64.
        unsafe {
            self.abef = add(self.abef, before.abef);
            self.cdgh = add(self.cdgh, before.cdgh);
        }
    }
}

/// The order of the bytes of four words.
const BIG_ENDIAN: [u8; 16] = [3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12];

/// Four rounds of SHA-256 before four steps of MD5 each.
#[target_feature(enable = "sha,sse4.1,ssse3")]
fn with_md5(md5: &mut Md5Words, sha256: &mut Words, blocks: &[Block]) {
    // Hidden from the compiler, as in the scalar kernel of MD5.
    let (sines, rounds) = (std::hint::black_box(&SINES), &ROUNDS);
    let [mut a, mut b, mut c, mut d] = *md5;
    let mut sha = Rounds::new(sha256);
    for block in blocks {
        let (words, _) = block.as_chunks::<4>();
        let (before, sha_before) = ([a, b, c, d], sha);
        macro_rules! step {
            ($mix:ident, $a:ident, $b:ident, $c:ident, $d:ident, $sine:expr, $word:expr, $shift:expr) => {
                if $sine % 4 == 0 {
                    sha.four($sine >> 2, block, rounds);
                }
                let word = u32::from_le_bytes(words[$word]);
                let sum = $a.wrapping_add(word).wrapping_add(sines[$sine]);
                $a = $mix($b, $c, $d, sum).rotate_left($shift).wrapping_add($b);
            };
        }
        steps!(step, a, b, c, d);
        a = a.wrapping_add(before[0]);
        b = b.wrapping_add(before[1]);
        c = c.wrapping_add(before[2]);
        d = d.wrapping_add(before[3]);
        sha.add(&sha_before);
    }
    *md5 = [a, b, c, d];
    *sha256 = sha.state();
}

#[target_feature(enable = "sha,sse4.1,ssse3")]
fn pair(one: Stream<'_>, other: Stream<'_>) {
    let (mut first, mut second) = (Rounds::new(one.state), Rounds::new(other.state));
    for (block, other) in one.blocks.iter().zip(other.blocks) {
        let before = (first, second);
        macro_rules! four {
            ($($at:literal)*) => {
                $(
                    first.four($at, block, &ROUNDS);
                    second.four($at, other, &ROUNDS);
                )*
            };
        }
        four!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        first.add(&before.0);
        second.add(&before.1);
    }
    *one.state = first.state();
    *other.state = second.state();
}

fn from_bytes(bytes: [u8; 16]) -> Vector {
    // SAFETY: both are as long, and every pattern of bits is valid for both.
    unsafe { std::mem::transmute(bytes) }
}

fn from_words(words: [u32; 4]) -> Vector {
    // SAFETY: both are as long, and every pattern of bits is valid for both.
    unsafe { std::mem::transmute(words) }
}

fn to_words(vector: Vector) -> [u32; 4] {
    // SAFETY: both are as long, and every pattern of bits is valid for both.
    unsafe { std::mem::transmute(vector) }
}
