//! A random rotation that costs a few additions per element.
//!
//! After it, the elements of any vector are distributed about normally, so that signs carry about
//! the same information for every vector. A dense random matrix achieves the same with `dimension`
//! multiplications per element. This rotation repeats four rounds: flip signs at random, apply the
//! fast Hadamard transform to the first and to the last 2^k elements (the largest power of two that
//! fits), and mix the two halves.

#[cfg(target_arch = "x86_64")]
mod x86;

const ROUNDS: usize = 4;

/// An arbitrary constant. It must not change, or codes in files become invalid.
const SEED: u64 = 0x6C69_7465_696F_0001;

#[derive(Debug)]
pub(crate) struct Rotation {
    /// For each round, the sign bit of each element to flip.
    flips: Vec<Vec<u32>>,
    /// The largest power of two not above the width.
    block: usize,
}

impl Rotation {
    /// The rotation of vectors of `width` elements.
    pub(super) fn new(width: usize) -> Self {
        let mut state = SEED;
        // SplitMix64, of which only the highest bit is used.
        let mut next = || {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB)
        };
        let mut round = || (0..width).map(|_| (next() >> 63) as u32 * (1 << 31)).collect();
        let flips = (0..ROUNDS).map(|_| round()).collect();
        Self { flips, block: 1 << width.ilog2() }
    }

    /// Rotates in place; lengths and angles are preserved. The result is bit-identical on all
    /// processors.
    pub(super) fn apply(&self, vector: &mut [f32]) {
        #[cfg(target_arch = "x86_64")]
        if x86::apply(self, vector) {
            return;
        }
        self.apply_with_loops(vector);
    }

    #[inline(always)]
    fn apply_with_loops(&self, vector: &mut [f32]) {
        let tail = vector.len() - self.block;
        for flips in &self.flips {
            for (element, flip) in vector.iter_mut().zip(flips) {
                // Flipping the sign bit is a multiplication by −1.
                *element = f32::from_bits(element.to_bits() ^ flip);
            }
            hadamard(&mut vector[..self.block]);
            if tail > 0 {
                // The width is no power of two: the first and the last block overlap, so every
                // element is transformed, and mixing the halves connects the ends.
                hadamard(&mut vector[tail..]);
                mix_halves(vector);
            }
        }
    }
}

/// Multiplies by the Hadamard matrix, scaled to an orthogonal one.
#[inline(always)]
fn hadamard(vector: &mut [f32]) {
    let mut half = 1;
    // The first four levels of butterflies stay within sixteen elements, which fit in registers:
    // the compiler unrolls them.
    if let (chunks, []) = vector.as_chunks_mut::<16>() {
        for chunk in chunks {
            for half in [1, 2, 4, 8] {
                let mut first = 0;
                while first < 16 {
                    for index in first..first + half {
                        let (low, high) = (chunk[index], chunk[index + half]);
                        chunk[index] = low + high;
                        chunk[index + half] = low - high;
                    }
                    first += 2 * half;
                }
            }
        }
        half = 16;
    }
    while half < vector.len() {
        for pair in vector.chunks_exact_mut(2 * half) {
            let (low, high) = pair.split_at_mut(half);
            for (low, high) in low.iter_mut().zip(high) {
                (*low, *high) = (*low + *high, *low - *high);
            }
        }
        half *= 2;
    }
    let scale = 1.0 / (vector.len() as f32).sqrt();
    vector.iter_mut().for_each(|element| *element *= scale);
}

#[inline(always)]
fn mix_halves(vector: &mut [f32]) {
    let (low, high) = vector.split_at_mut(vector.len() / 2);
    for (low, high) in low.iter_mut().zip(high) {
        let scale = std::f32::consts::FRAC_1_SQRT_2;
        (*low, *high) = ((*low + *high) * scale, (*low - *high) * scale);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot(a: &[f32], b: &[f32]) -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    }

    #[test]
    fn all_processors_rotate_to_the_same_bits() {
        for width in [64, 128, 192, 320, 768, 1_536] {
            let rotation = Rotation::new(width);
            let mut one: Vec<f32> = (0..width).map(|index| (index as f32 * 0.3).sin()).collect();
            let mut other = one.clone();
            rotation.apply(&mut one);
            rotation.apply_with_loops(&mut other);
            assert_eq!(one, other, "{width}");
        }
    }

    #[test]
    fn lengths_and_angles_stay_and_single_elements_are_spread() {
        for width in [64, 256, 320, 768, 1536, 4096] {
            let rotation = Rotation::new(width);
            let mut a: Vec<f32> = (0..width).map(|index| (index as f32).sin()).collect();
            let mut b: Vec<f32> = (0..width).map(|index| (index as f32 * 0.7).cos()).collect();
            let before = [dot(&a, &a), dot(&a, &b), dot(&b, &b)];
            rotation.apply(&mut a);
            rotation.apply(&mut b);
            for (before, after) in before.iter().zip([dot(&a, &a), dot(&a, &b), dot(&b, &b)]) {
                assert!((before - after).abs() < 1e-3 * width as f64, "{width}");
            }
            for position in [0, width / 2, width - 1] {
                let mut unit = vec![0.0; width];
                unit[position] = 1.0;
                rotation.apply(&mut unit);
                let largest = unit.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
                // Five times the standard deviation, and more where there are few elements.
                let bound = 6.0 / (width as f32).sqrt();
                assert!(largest < bound, "{width}, {position}: {largest} of {bound}");
            }
        }
    }
}
