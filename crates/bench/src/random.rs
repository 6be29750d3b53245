//! SplitMix64: pseudo-random numbers, the same in every language.

/// The seed of all data.
pub(crate) const SEED: u64 = 42;

/// Increment.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The next number of a sequence.
pub(crate) fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(GOLDEN);
    mix(*state)
}

/// The finalizer: a bijection in which every bit of the result depends on every bit.
pub(crate) fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
