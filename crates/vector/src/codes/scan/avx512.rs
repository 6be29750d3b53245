//! Kernel for AVX-512: eight codes per register, with the population-count instruction.
#![expect(unsafe_code, reason = "the instructions of AVX-512")]

use std::arch::x86_64::{
    __m256, __m512i, _CMP_NEQ_UQ, _CMP_NGT_UQ, _MM_HINT_T0, _mm_loadu_si128, _mm_prefetch,
    _mm256_add_ps, _mm256_cvtepi32_ps, _mm256_cvtepu16_epi32, _mm256_fmadd_ps, _mm256_fnmadd_ps,
    _mm256_loadu_ps, _mm256_mask_storeu_ps, _mm256_set1_ps, _mm256_storeu_ps, _mm512_add_epi64,
    _mm512_and_si512, _mm512_cmp_ps_mask, _mm512_cvtepi64_ps, _mm512_load_si512, _mm512_loadu_ps,
    _mm512_mask_cmp_ps_mask, _mm512_popcnt_epi64, _mm512_set1_epi64, _mm512_set1_ps,
    _mm512_setzero_si512, _mm512_slli_epi64,
};

use super::super::encode::{PLANES, QueryCode};
use super::super::segment::{BLOCK, Factors, Segment, Words};
use super::{Bounds, Formula, Masks};

/// Requires AVX-512F, DQ, VL, VPOPCNTDQ and FMA.
pub(super) fn scan(
    segment: &Segment,
    next: &Segment,
    query: &QueryCode,
    deviations: f32,
    masks: &Masks,
    bounds: &mut Bounds,
) {
    // SAFETY: this kernel is only offered when the processor has the features.
    unsafe { scan_avx512(segment, next, query, deviations, masks, bounds) }
}

#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512vpopcntdq,fma")]
fn scan_avx512(
    segment: &Segment,
    next: &Segment,
    query: &QueryCode,
    deviations: f32,
    masks: &Masks,
    bounds: &mut Bounds,
) {
    let formula = Formula::new(query, deviations);
    let (bounds, _) = bounds.as_chunks_mut::<{ 2 * BLOCK }>();
    let (masks, _) = masks.as_chunks::<2>();
    let pairs = segment.signs.chunks(2 * segment.words);
    let (factors, _) = segment.factors.as_chunks::<2>();
    let mut nexts = next.signs.chunks(2 * segment.words);
    for (((masks, bounds), words), factors) in masks.iter().zip(bounds).zip(pairs).zip(factors) {
        let next = nexts.next().unwrap_or_default();
        if *masks == [0; 2] {
            bounds.fill(f32::INFINITY);
            continue;
        }
        // Segments are scattered in memory, so the hardware prefetcher cannot predict the next one.
        prefetch(next);
        // Two blocks at a time share the broadcast words of the query.
        let (left, right) = words.split_at(segment.words);
        // The last block may be alone: then it is computed twice. Its partner has no entries, so
        // its mask is empty.
        let right = if right.is_empty() { left } else { right };
        let (left, right) = level_sums(left, right, query);
        let (bounds, _) = bounds.as_chunks_mut::<BLOCK>();
        store(bounds_of(left, &factors[0], formula), masks[0], &mut bounds[0]);
        store(bounds_of(right, &factors[1], formula), masks[1], &mut bounds[1]);
    }
}

pub(super) fn not_above(bounds: &Bounds, limit: f32) -> u64 {
    #[target_feature(enable = "avx512f")]
    fn with_avx512(bounds: &Bounds, limit: f32) -> u64 {
        let (limit, infinity) = (_mm512_set1_ps(limit), _mm512_set1_ps(f32::INFINITY));
        let (groups, _) = bounds.as_chunks::<16>();
        groups.iter().rev().fold(0, |all, group| {
            // SAFETY: sixteen elements are read from an array of sixteen; any alignment is fine.
            let group = unsafe { _mm512_loadu_ps(group.as_ptr()) };
            let wanted = _mm512_cmp_ps_mask::<_CMP_NGT_UQ>(group, limit);
            let wanted = _mm512_mask_cmp_ps_mask::<_CMP_NEQ_UQ>(wanted, group, infinity);
            all << 16 | u64::from(wanted)
        })
    }
    // SAFETY: this kernel is only offered when the processor has the feature.
    unsafe { with_avx512(bounds, limit) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512vpopcntdq,fma")]
fn level_sums(left: &[Words], right: &[Words], query: &QueryCode) -> (__m512i, __m512i) {
    let mut lefts = [_mm512_setzero_si512(); PLANES];
    let mut rights = [_mm512_setzero_si512(); PLANES];
    for ((left, right), planes) in left.iter().zip(right).zip(&query.planes) {
        let (left, right) = (load(left), load(right));
        for plane in 0..PLANES {
            let bits = _mm512_set1_epi64(planes[plane].cast_signed());
            let count = |words| _mm512_popcnt_epi64(_mm512_and_si512(words, bits));
            lefts[plane] = _mm512_add_epi64(lefts[plane], count(left));
            rights[plane] = _mm512_add_epi64(rights[plane], count(right));
        }
    }
    (weigh(lefts), weigh(rights))
}

/// The sum over the planes, where plane `p` counts 2^p times.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512vpopcntdq,fma")]
fn weigh(planes: [__m512i; PLANES]) -> __m512i {
    let [ones, twos, fours, eights] = planes;
    let low = _mm512_add_epi64(ones, _mm512_slli_epi64::<1>(twos));
    let high = _mm512_add_epi64(_mm512_slli_epi64::<2>(fours), _mm512_slli_epi64::<3>(eights));
    _mm512_add_epi64(low, high)
}

#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512vpopcntdq,fma")]
fn bounds_of(levels: __m512i, factors: &Factors, formula: Formula) -> __m256 {
    let levels = _mm512_cvtepi64_ps(levels);
    let sum = _mm256_fmadd_ps(
        _mm256_set1_ps(formula.per_level),
        levels,
        _mm256_fmadd_ps(
            _mm256_set1_ps(formula.per_one),
            load_ones(&factors.ones),
            _mm256_set1_ps(formula.shift),
        ),
    );
    let difference =
        _mm256_fnmadd_ps(load_factor(&factors.scale), sum, load_factor(&factors.square));
    _mm256_add_ps(_mm256_set1_ps(formula.square), difference)
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn store(found: __m256, mask: u8, bounds: &mut [f32; BLOCK]) {
    // SAFETY: eight elements are written to an array of eight, the second time only where the mask
    // has a bit; any alignment is fine.
    unsafe {
        _mm256_storeu_ps(bounds.as_mut_ptr(), _mm256_set1_ps(f32::INFINITY));
        _mm256_mask_storeu_ps(bounds.as_mut_ptr(), mask, found);
    }
}

#[inline]
fn prefetch(words: &[Words]) {
    for words in words {
        // SAFETY: a prefetch is a hint and accesses nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(words.0.as_ptr().cast()) };
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(words: &Words) -> __m512i {
    // SAFETY: `Words` is 64 bytes long and aligned to 64.
    unsafe { _mm512_load_si512(words.0.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_factor(factor: &[f32; BLOCK]) -> __m256 {
    // SAFETY: eight elements are read from an array of eight; any alignment is fine.
    unsafe { _mm256_loadu_ps(factor.as_ptr()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_ones(ones: &[u16; BLOCK]) -> __m256 {
    // SAFETY: eight elements are read from an array of eight; any alignment is fine.
    let ones = unsafe { _mm_loadu_si128(ones.as_ptr().cast()) };
    _mm256_cvtepi32_ps(_mm256_cvtepu16_epi32(ones))
}
