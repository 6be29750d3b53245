//! Kernel for AVX2: four codes per register. Bits are counted by table look-up, two per byte.
#![expect(unsafe_code, reason = "the instructions of AVX2")]

use std::arch::x86_64::{
    __m256i, _CMP_NEQ_UQ, _CMP_NGT_UQ, _mm256_add_epi8, _mm256_add_epi64, _mm256_and_ps,
    _mm256_and_si256, _mm256_cmp_ps, _mm256_load_si256, _mm256_loadu_ps, _mm256_movemask_ps,
    _mm256_sad_epu8, _mm256_set1_epi8, _mm256_set1_epi64x, _mm256_set1_ps, _mm256_setr_epi8,
    _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_slli_epi64, _mm256_srli_epi16,
    _mm256_storeu_si256,
};

use super::super::encode::{PLANES, QueryCode};
use super::super::segment::{BLOCK, Segment, Words};
use super::scalar::bounds_of;
use super::{Bounds, Formula, Masks};

/// Words counted before the byte counters are widened: a byte gains at most 8 per word, and 31 · 8
/// = 248 fits.
const WORDS_PER_SUM: usize = 31;

/// Requires AVX2 and FMA.
pub(super) fn scan(
    segment: &Segment,
    _next: &Segment,
    query: &QueryCode,
    deviations: f32,
    masks: &Masks,
    bounds: &mut Bounds,
) {
    // SAFETY: this kernel is only offered when the processor has the features.
    unsafe { scan_avx2(segment, query, deviations, masks, bounds) }
}

#[target_feature(enable = "avx2,fma")]
fn scan_avx2(
    segment: &Segment,
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
        if *mask == 0 {
            *bounds = [f32::INFINITY; BLOCK];
            continue;
        }
        let levels = level_sums(words, query);
        *bounds = bounds_of(&levels, factors, formula);
        if *mask != u8::MAX {
            for (lane, bound) in bounds.iter_mut().enumerate() {
                if mask >> lane & 1 == 0 {
                    *bound = f32::INFINITY;
                }
            }
        }
    }
}

pub(super) fn not_above(bounds: &Bounds, limit: f32) -> u64 {
    #[target_feature(enable = "avx2")]
    fn with_avx2(bounds: &Bounds, limit: f32) -> u64 {
        let (limit, infinity) = (_mm256_set1_ps(limit), _mm256_set1_ps(f32::INFINITY));
        let (groups, _) = bounds.as_chunks::<8>();
        // In reverse, so that the first group ends in the lowest bits. NGT is also true for NaN.
        groups.iter().rev().fold(0, |all, group| {
            // SAFETY: eight elements are read from an array of eight; any alignment is fine.
            let group = unsafe { _mm256_loadu_ps(group.as_ptr()) };
            let wanted = _mm256_and_ps(
                _mm256_cmp_ps::<_CMP_NGT_UQ>(group, limit),
                _mm256_cmp_ps::<_CMP_NEQ_UQ>(group, infinity),
            );
            all << 8 | _mm256_movemask_ps(wanted) as u64
        })
    }
    // SAFETY: this kernel is only offered when the processor has the feature.
    unsafe { with_avx2(bounds, limit) }
}

#[inline]
#[target_feature(enable = "avx2,fma")]
fn level_sums(words: &[Words], query: &QueryCode) -> [u32; BLOCK] {
    let mut sums = [_mm256_setzero_si256(); 2];
    let words = words.chunks(WORDS_PER_SUM);
    for (words, planes) in words.zip(query.planes.chunks(WORDS_PER_SUM)) {
        // Eight codes in two registers, four planes: one byte counter each.
        let mut counts = [[_mm256_setzero_si256(); PLANES]; 2];
        for (words, planes) in words.iter().zip(planes) {
            let halves = load(words);
            for plane in 0..PLANES {
                let bits = _mm256_set1_epi64x(planes[plane].cast_signed());
                for (half, counts) in halves.iter().zip(&mut counts) {
                    let count = count_bits(_mm256_and_si256(*half, bits));
                    counts[plane] = _mm256_add_epi8(counts[plane], count);
                }
            }
        }
        for (sum, counts) in sums.iter_mut().zip(counts) {
            *sum = _mm256_add_epi64(*sum, weigh(counts));
        }
    }
    let mut levels = [0_u64; BLOCK];
    let (halves, _) = levels.as_chunks_mut::<4>();
    for (half, sum) in halves.iter_mut().zip(sums) {
        // SAFETY: four numbers are written to an array of four; any alignment is fine.
        unsafe { _mm256_storeu_si256(half.as_mut_ptr().cast(), sum) };
    }
    // Fits: at most 15 for each of 65,536 elements.
    levels.map(|level| level as u32)
}

/// The number of set bits in each byte: the look-up table has the counts of all nibbles, once per
/// 128-bit lane.
#[inline]
#[target_feature(enable = "avx2")]
fn count_bits(bytes: __m256i) -> __m256i {
    let table = _mm256_setr_epi8(
        0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3,
        3, 4,
    );
    let low_bits = _mm256_set1_epi8(0x0f);
    let low = _mm256_and_si256(bytes, low_bits);
    // A shift of 16-bit lanes; the mask removes the bits that crossed into the lower byte.
    let high = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), low_bits);
    _mm256_add_epi8(_mm256_shuffle_epi8(table, low), _mm256_shuffle_epi8(table, high))
}

/// The sum over the bytes of each word and over the planes, where plane `p` counts 2^p times. `sad`
/// against zero adds eight bytes into a 64-bit lane.
#[inline]
#[target_feature(enable = "avx2")]
fn weigh(planes: [__m256i; PLANES]) -> __m256i {
    let [ones, twos, fours, eights] =
        planes.map(|bytes| _mm256_sad_epu8(bytes, _mm256_setzero_si256()));
    let low = _mm256_add_epi64(ones, _mm256_slli_epi64::<1>(twos));
    let high = _mm256_add_epi64(_mm256_slli_epi64::<2>(fours), _mm256_slli_epi64::<3>(eights));
    _mm256_add_epi64(low, high)
}

/// The same word of eight codes: four in each register.
#[inline]
#[target_feature(enable = "avx2")]
fn load(words: &Words) -> [__m256i; 2] {
    let (halves, _) = words.0.as_chunks::<4>();
    // SAFETY: `Words` is 64 bytes at a multiple of 64, each half of it 32 bytes at a multiple of
    // 32.
    [0, 1].map(|half| unsafe { _mm256_load_si256(halves[half].as_ptr().cast()) })
}
