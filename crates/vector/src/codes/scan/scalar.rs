//! The scalar kernel: it runs everywhere, and is the reference for the others.

use super::super::encode::QueryCode;
use super::super::segment::{BLOCK, Factors, Segment, Words};
use super::{Bounds, Formula, Masks};

pub(super) fn scan(
    segment: &Segment,
    _next: &Segment,
    query: &QueryCode,
    deviations: f32,
    masks: &Masks,
    bounds: &mut Bounds,
) {
    let formula = Formula::new(query, deviations);
    let (bounds, _) = bounds.as_chunks_mut::<BLOCK>();
    let blocks = segment.signs.chunks_exact(segment.words);
    for (((mask, bounds), words), factors) in
        masks.iter().zip(bounds).zip(blocks).zip(&segment.factors)
    {
        *bounds = [f32::INFINITY; BLOCK];
        if *mask == 0 {
            continue;
        }
        let levels = level_sums(words, query);
        let found = bounds_of(&levels, factors, formula);
        for lane in 0..BLOCK {
            if mask >> lane & 1 != 0 {
                bounds[lane] = found[lane];
            }
        }
    }
}

pub(super) fn not_above(bounds: &Bounds, limit: f32) -> u64 {
    let is_above = |bound: f32| bound > limit || bound == f32::INFINITY;
    let bits = bounds.iter().enumerate();
    bits.fold(0, |all, (bit, bound)| all | u64::from(!is_above(*bound)) << bit)
}

fn level_sums(words: &[Words], query: &QueryCode) -> [u32; BLOCK] {
    let mut sums = [0; BLOCK];
    for (words, planes) in words.iter().zip(&query.planes) {
        for (lane, word) in words.0.iter().enumerate() {
            for (plane, bits) in planes.iter().enumerate() {
                sums[lane] += (word & bits).count_ones() << plane;
            }
        }
    }
    sums
}

#[inline]
pub(super) fn bounds_of(
    levels: &[u32; BLOCK],
    factors: &Factors,
    formula: Formula,
) -> [f32; BLOCK] {
    let mut bounds = [0.0; BLOCK];
    for lane in 0..BLOCK {
        let sum = formula.per_level * levels[lane] as f32
            + formula.per_one * f32::from(factors.ones[lane])
            + formula.shift;
        bounds[lane] = formula.square + (factors.square[lane] - factors.scale[lane] * sum);
    }
    bounds
}
