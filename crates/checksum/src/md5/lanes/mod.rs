//! Kernels that digest several streams at once, one in each lane of vector registers.
//!
//! A step of MD5 waits for the step before it, in a vector as in a scalar, so a block of eight or
//! sixteen streams takes little longer than a block of one. Milliseconds a MiB on a Zen 3: one
//! stream 1.56, two 0.86 (in a pair), four 0.56, eight 0.28, sixteen 0.17 (in vectors of AVX2).
#![expect(unsafe_code, reason = "vector instructions")]

use super::steps::{Block, SINES, compress, steps};

/// One stream: its state, and whole blocks to digest next.
pub(crate) struct Lane<'lane> {
    pub(crate) state: &'lane mut [u32; 4],
    pub(crate) blocks: &'lane [Block],
}

/// The kernel of one kind of processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kernel {
    /// The most streams that gain from being digested together.
    pub(crate) lanes_max: usize,
    /// The fewest streams that are faster in vectors than in pairs.
    lanes_min: usize,
    compress: fn(&mut [Lane<'_>], usize),
}

const PAIRS: Kernel = Kernel { lanes_max: 2, lanes_min: 1, compress: compress_pairs };

impl Kernel {
    /// The kernels that this processor can run, fastest first. The last one has no vectors.
    pub(crate) fn available() -> Vec<Self> {
        let mut available = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                available.push(Self { lanes_max: 16, lanes_min: 2, compress: avx512::compress });
            }
            if is_x86_feature_detected!("avx2") {
                available.push(Self { lanes_max: 16, lanes_min: 3, compress: avx2::compress });
            }
        }
        #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
        if std::arch::is_aarch64_feature_detected!("neon") {
            available.push(Self { lanes_max: 8, lanes_min: 3, compress: neon::compress });
        }
        available.push(PAIRS);
        available
    }

    #[cfg(test)]
    pub(crate) fn for_tests(lanes_max: usize, compress: fn(&mut [Lane<'_>], usize)) -> Self {
        Self { lanes_max, lanes_min: 2, compress }
    }

    /// Digests the next blocks of each lane, as many as all lanes have but at most `most`. Returns
    /// their number.
    pub(crate) fn compress(self, lanes: &mut [Lane<'_>], most: usize) -> usize {
        let count = lanes.iter().map(|lane| lane.blocks.len()).min().unwrap_or(0).min(most);
        match lanes.len() < self.lanes_min {
            true => compress_pairs(lanes, count),
            false => (self.compress)(lanes, count),
        }
        count
    }
}

fn compress_pairs(lanes: &mut [Lane<'_>], count: usize) {
    for pair in lanes.chunks_mut(2) {
        match pair {
            [one, other] => compress(
                [&mut *one.state, &mut *other.state],
                [&one.blocks[..count], &other.blocks[..count]],
            ),
            lanes => lanes.iter_mut().for_each(|it| compress([it.state], [&it.blocks[..count]])),
        }
    }
}

/// Defines `compress` for the vectors of the module around it, which names their operations.
macro_rules! kernel {
    ($feature:literal) => {
        /// Digests `count` blocks of every lane. Requires the feature.
        pub(super) fn compress(lanes: &mut [Lane<'_>], count: usize) {
            // Two vectors do not wait for each other: the second one is nearly free.
            for lanes in lanes.chunks_mut(2 * LANES) {
                // SAFETY: this kernel is only offered when the processor has the feature.
                unsafe {
                    match lanes.len() > LANES {
                        true => compress_groups::<2>(lanes, count),
                        false => compress_groups::<1>(lanes, count),
                    }
                }
            }
        }

        #[target_feature(enable = $feature)]
        fn compress_groups<const GROUPS: usize>(lanes: &mut [Lane<'_>], count: usize) {
            let mut states = [[[0; LANES]; 4]; GROUPS];
            // Lanes without a stream repeat the first one.
            let mut blocks = [[lanes[0].blocks; LANES]; GROUPS];
            for (at, lane) in lanes.iter().enumerate() {
                let (group, at) = (at / LANES, at % LANES);
                blocks[group][at] = lane.blocks;
                for (words, word) in states[group].iter_mut().zip(lane.state.iter()) {
                    words[at] = *word;
                }
            }
            let zero = [broadcast(0); GROUPS];
            let [mut a, mut b, mut c, mut d] = [zero; 4];
            for group in 0..GROUPS {
                [a[group], b[group], c[group], d[group]] = states[group].map(from_lanes);
            }
            // Hidden from the compiler, as in the scalar kernel.
            let sines = std::hint::black_box(&SINES);
            for at in 0..count {
                let mut words = [zero; 16];
                let before = [a, b, c, d];
                macro_rules! step {
                    ($mix:ident, $a:ident, $b:ident, $c:ident, $d:ident, $sine:expr, $word:expr, $shift:literal) => {
                        // The first sixteen steps take the words in their order.
                        if $sine < 16 && $sine % 4 == 0 {
                            for group in 0..GROUPS {
                                let four = transposed(|lane| {
                                    let (quads, _) = blocks[group][lane][at].as_chunks();
                                    quads[$sine >> 2]
                                });
                                for (word, vector) in four.into_iter().enumerate() {
                                    words[$sine + word][group] = vector;
                                }
                            }
                        }
                        let sine = broadcast(sines[$sine]);
                        let mut step = |group: usize| {
                            let (b, c, d) = ($b[group], $c[group], $d[group]);
                            let sum = add(add($a[group], sine), words[$word][group]);
                            let sum = $mix(b, c, d, sum);
                            $a[group] = add(rotate::<$shift, { 32 - $shift }>(sum), b);
                        };
                        // No loop: the compiler would take sums out of it that wait for `b`.
                        step(0);
                        if GROUPS == 2 {
                            step(GROUPS - 1);
                        }
                    };
                }
                steps!(step, a, b, c, d);
                for group in 0..GROUPS {
                    a[group] = add(a[group], before[0][group]);
                    b[group] = add(b[group], before[1][group]);
                    c[group] = add(c[group], before[2][group]);
                    d[group] = add(d[group], before[3][group]);
                }
            }
            for group in 0..GROUPS {
                states[group] = [a[group], b[group], c[group], d[group]].map(to_lanes);
            }
            for (at, lane) in lanes.iter_mut().enumerate() {
                *lane.state = states[at / LANES].map(|words| words[at % LANES]);
            }
        }

        /// Four words of each lane, as one vector for each word.
        #[inline]
        #[target_feature(enable = $feature)]
        fn transposed(quad: impl Fn(usize) -> [u8; 16]) -> [Vector; 4] {
            // Lanes are exchanged within 128 bits only, so a row holds every fourth lane.
            let row = |first: usize| row(std::array::from_fn(|part| quad(first + 4 * part)));
            let (row0, row1, row2, row3) = (row(0), row(1), row(2), row(3));
            let (low01, high01) = (low_words(row0, row1), high_words(row0, row1));
            let (low23, high23) = (low_words(row2, row3), high_words(row2, row3));
            [
                low_pairs(low01, low23),
                high_pairs(low01, low23),
                low_pairs(high01, high23),
                high_pairs(high01, high23),
            ]
        }

        fn from_lanes(words: [u32; LANES]) -> Vector {
            // SAFETY: both are as long, and every pattern of bits is valid for both.
            unsafe { std::mem::transmute(words) }
        }

        fn to_lanes(vector: Vector) -> [u32; LANES] {
            // SAFETY: both are as long, and every pattern of bits is valid for both.
            unsafe { std::mem::transmute(vector) }
        }

        // The functions of the steps, arranged as in the scalar kernel.

        #[inline]
        #[target_feature(enable = $feature)]
        fn f(b: Vector, c: Vector, d: Vector, sum: Vector) -> Vector {
            add(sum, xor(and(xor(c, d), b), d))
        }

        #[inline]
        #[target_feature(enable = $feature)]
        fn g(b: Vector, c: Vector, d: Vector, sum: Vector) -> Vector {
            add(add(sum, and_not(c, d)), and(d, b))
        }

        #[inline]
        #[target_feature(enable = $feature)]
        fn h(b: Vector, c: Vector, d: Vector, sum: Vector) -> Vector {
            add(sum, xor(xor(c, d), b))
        }

        #[inline]
        #[target_feature(enable = $feature)]
        fn i(b: Vector, c: Vector, d: Vector, sum: Vector) -> Vector {
            add(sum, xor(c, or_not(b, d)))
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
mod neon;

#[cfg(target_arch = "x86_64")]
fn from_bytes(bytes: [u8; 16]) -> std::arch::x86_64::__m128i {
    // SAFETY: both are as long, and every pattern of bits is valid for both.
    unsafe { std::mem::transmute(bytes) }
}
