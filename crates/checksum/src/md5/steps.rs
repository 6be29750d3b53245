//! The 64 steps of a block, and one stream's blocks by them.

pub(crate) const BLOCK_BYTES: usize = 64;

/// The bytes that one call of the compression function takes.
pub(crate) type Block = [u8; BLOCK_BYTES];

/// RFC 1321, section 3.4: the integer part of 2^32 |sin(i + 1)|.
pub(crate) static SINES: [u32; 64] = [
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

/// The 64 steps of RFC 1321, section 3.4, in their order: calls
/// `$step!(mix, a, b, c, d, sine, word, shift)`, which computes `a` from the other three.
macro_rules! steps {
    ($step:ident, $a:ident, $b:ident, $c:ident, $d:ident) => {
        steps!(@four $step, $a, $b, $c, $d, f, 0, [0, 1, 2, 3], [7, 12, 17, 22]);
        steps!(@four $step, $a, $b, $c, $d, f, 4, [4, 5, 6, 7], [7, 12, 17, 22]);
        steps!(@four $step, $a, $b, $c, $d, f, 8, [8, 9, 10, 11], [7, 12, 17, 22]);
        steps!(@four $step, $a, $b, $c, $d, f, 12, [12, 13, 14, 15], [7, 12, 17, 22]);
        steps!(@four $step, $a, $b, $c, $d, g, 16, [1, 6, 11, 0], [5, 9, 14, 20]);
        steps!(@four $step, $a, $b, $c, $d, g, 20, [5, 10, 15, 4], [5, 9, 14, 20]);
        steps!(@four $step, $a, $b, $c, $d, g, 24, [9, 14, 3, 8], [5, 9, 14, 20]);
        steps!(@four $step, $a, $b, $c, $d, g, 28, [13, 2, 7, 12], [5, 9, 14, 20]);
        steps!(@four $step, $a, $b, $c, $d, h, 32, [5, 8, 11, 14], [4, 11, 16, 23]);
        steps!(@four $step, $a, $b, $c, $d, h, 36, [1, 4, 7, 10], [4, 11, 16, 23]);
        steps!(@four $step, $a, $b, $c, $d, h, 40, [13, 0, 3, 6], [4, 11, 16, 23]);
        steps!(@four $step, $a, $b, $c, $d, h, 44, [9, 12, 15, 2], [4, 11, 16, 23]);
        steps!(@four $step, $a, $b, $c, $d, i, 48, [0, 7, 14, 5], [6, 10, 15, 21]);
        steps!(@four $step, $a, $b, $c, $d, i, 52, [12, 3, 10, 1], [6, 10, 15, 21]);
        steps!(@four $step, $a, $b, $c, $d, i, 56, [8, 15, 6, 13], [6, 10, 15, 21]);
        steps!(@four $step, $a, $b, $c, $d, i, 60, [4, 11, 2, 9], [6, 10, 15, 21]);
    };
    (
        @four $step:ident, $a:ident, $b:ident, $c:ident, $d:ident, $mix:ident, $at:literal,
        [$word0:literal, $word1:literal, $word2:literal, $word3:literal],
        [$shift0:literal, $shift1:literal, $shift2:literal, $shift3:literal]
    ) => {
        $step!($mix, $a, $b, $c, $d, $at, $word0, $shift0);
        $step!($mix, $d, $a, $b, $c, $at + 1, $word1, $shift1);
        $step!($mix, $c, $d, $a, $b, $at + 2, $word2, $shift2);
        $step!($mix, $b, $c, $d, $a, $at + 3, $word3, $shift3);
    };
}
pub(crate) use steps;

/// RFC 1321, section 3.4. `sum` is everything that is known before the step begins. `b` is the
/// previous step's result, so each function is arranged to use it last.
#[inline(always)]
pub(crate) fn f(b: u32, c: u32, d: u32, sum: u32) -> u32 {
    sum.wrapping_add(((c ^ d) & b) ^ d)
}

/// The two halves of the selection have no bit in common, so they may be added instead of OR-ed:
/// only the second one waits for `b`.
#[inline(always)]
pub(crate) fn g(b: u32, c: u32, d: u32, sum: u32) -> u32 {
    sum.wrapping_add(!d & c).wrapping_add(d & b)
}

#[inline(always)]
pub(crate) fn h(b: u32, c: u32, d: u32, sum: u32) -> u32 {
    sum.wrapping_add((c ^ d) ^ b)
}

#[inline(always)]
pub(crate) fn i(b: u32, c: u32, d: u32, sum: u32) -> u32 {
    sum.wrapping_add(c ^ (b | !d))
}

/// Digests blocks of one stream, or of two: a step waits for the step before it, so that one stream
/// leaves half of the processor's units idle.
pub(crate) fn compress<const STREAMS: usize>(
    states: [&mut [u32; 4]; STREAMS],
    blocks: [&[Block]; STREAMS],
) {
    const { assert!(STREAMS == 1 || STREAMS == 2) }
    // `black_box` hides the constants from the compiler. Known ones would be added last, as
    // immediate operands, on the path that waits for `b`.
    let sines = std::hint::black_box(&SINES);
    let [mut a, mut b, mut c, mut d] =
        std::array::from_fn(|word| std::array::from_fn(|stream| states[stream][word]));
    let count = blocks.iter().map(|blocks| blocks.len()).min().unwrap_or(0);
    let blocks = blocks.map(|blocks| &blocks[..count]);
    for at in 0..count {
        let words: [&[[u8; 4]]; STREAMS] = blocks.map(|blocks| blocks[at].as_chunks().0);
        let before: [[u32; STREAMS]; 4] = [a, b, c, d];
        macro_rules! step {
            ($mix:ident, $a:ident, $b:ident, $c:ident, $d:ident, $sine:expr, $word:expr, $shift:expr) => {
                let mut step = |stream: usize| {
                    let word = u32::from_le_bytes(words[stream][$word]);
                    let sum = $a[stream].wrapping_add(word).wrapping_add(sines[$sine]);
                    let sum = $mix($b[stream], $c[stream], $d[stream], sum);
                    $a[stream] = sum.rotate_left($shift).wrapping_add($b[stream]);
                };
                // No loop: the compiler would take sums out of it that wait for `b`.
                step(0);
                if STREAMS == 2 {
                    step(STREAMS - 1);
                }
            };
        }
        steps!(step, a, b, c, d);
        for stream in 0..STREAMS {
            a[stream] = a[stream].wrapping_add(before[0][stream]);
            b[stream] = b[stream].wrapping_add(before[1][stream]);
            c[stream] = c[stream].wrapping_add(before[2][stream]);
            d[stream] = d[stream].wrapping_add(before[3][stream]);
        }
    }
    for (stream, state) in states.into_iter().enumerate() {
        *state = [a[stream], b[stream], c[stream], d[stream]];
    }
}
