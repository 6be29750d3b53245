//! The vectors of NEON: four lanes.

use std::arch::aarch64::{
    uint32x4_t as Vector, vaddq_u32 as add, vandq_u32 as and, vbicq_u32 as and_not,
    vdupq_n_u32 as broadcast, veorq_u32 as xor, vornq_u32 as or_not, vreinterpretq_u32_u64,
    vreinterpretq_u64_u32, vshlq_n_u32, vsriq_n_u32, vzip1q_u32 as low_words, vzip1q_u64,
    vzip2q_u32 as high_words, vzip2q_u64,
};

use super::{Lane, SINES, steps};

const LANES: usize = 4;
kernel!("neon");

fn row([bytes]: [[u8; 16]; LANES / 4]) -> Vector {
    // SAFETY: both are as long, and every pattern of bits is valid for both.
    unsafe { std::mem::transmute(bytes) }
}

#[inline]
#[target_feature(enable = "neon")]
fn low_pairs(one: Vector, other: Vector) -> Vector {
    let (one, other) = (vreinterpretq_u64_u32(one), vreinterpretq_u64_u32(other));
    vreinterpretq_u32_u64(vzip1q_u64(one, other))
}

#[inline]
#[target_feature(enable = "neon")]
fn high_pairs(one: Vector, other: Vector) -> Vector {
    let (one, other) = (vreinterpretq_u64_u32(one), vreinterpretq_u64_u32(other));
    vreinterpretq_u32_u64(vzip2q_u64(one, other))
}

#[inline]
#[target_feature(enable = "neon")]
fn rotate<const LEFT: i32, const RIGHT: i32>(vector: Vector) -> Vector {
    vsriq_n_u32::<RIGHT>(vshlq_n_u32::<LEFT>(vector), vector)
}
