//! Seeds that a randomized test runs: a few that rotate in a quick run, all of them in a full run.
//!
//! | variable | value |
//! |---|---|
//! | `LITEIO_TESTS` | `full`: every seed, as `.ci/full` sets it; anything else: a few |
//! | `LITEIO_SEED_ROTATION` | a number that selects which few. `.ci/run` takes it from the hash of the commit, so that over time every seed is run |

use std::ops::Range;

/// `true` if tests run every seed.
#[must_use]
pub fn is_full() -> bool {
    std::env::var_os("LITEIO_TESTS").is_some_and(|value| value == "full")
}

/// `all` in a full run, else `few`: the size of a test that has no seeds.
#[must_use]
pub fn amount(few: u64, all: u64) -> u64 {
    if is_full() { all } else { few }
}

/// Seeds out of `0..all`: every seed in a full run, else `few` neighbouring ones, chosen by the
/// rotation.
///
/// A failing test must name its seed, since the next commit runs others.
///
/// # Panics
/// If `few` is 0 or above `all`, or `LITEIO_SEED_ROTATION` is not a number.
pub fn seeds(few: u64, all: u64) -> impl Iterator<Item = u64> {
    if is_full() { rotated(all, all, 0) } else { rotated(few, all, rotation()) }
}

/// The value of `LITEIO_SEED_ROTATION`, 0 without one.
fn rotation() -> u64 {
    match std::env::var("LITEIO_SEED_ROTATION") {
        Ok(value) => value.parse().expect("LITEIO_SEED_ROTATION is a number"),
        Err(_) => 0,
    }
}

/// A window of `few` seeds out of `0..all`. Windows are adjacent, so `all / few` rotations cover
/// every seed.
fn rotated(few: u64, all: u64, rotation: u64) -> impl Iterator<Item = u64> {
    assert!((1..=all).contains(&few), "{few} of {all} seeds");
    let windows = all.div_ceil(few);
    let first = rotation % windows * few;
    (first..first + few).map(move |seed| seed % all)
}

/// About `few` points of `0..all` at equal distances, such as operations that fail or bytes that are damaged, between
/// `few / 2` and `few`: [`one_in`] for a test whose work must not grow with `all`.
///
/// # Panics
/// If `few` is 0, or `LITEIO_SEED_ROTATION` is not a number.
pub fn points(few: u64, all: u64) -> impl Iterator<Item = u64> {
    one_in(distance(few, all), 0..all)
}

/// One in `step` points of `all`, the first of them by the rotation; all of them in a full run. A prime `step` is
/// best: the points of a run then differ in their remainders of other numbers, by which a test may vary its checks.
///
/// # Panics
/// If `step` is 0, or `LITEIO_SEED_ROTATION` is not a number.
pub fn one_in(step: u64, all: Range<u64>) -> impl Iterator<Item = u64> {
    if is_full() { spread(1, all, 0) } else { spread(step, all, rotation()) }
}

/// The distance at which `0..all` has no more than `few` points.
fn distance(few: u64, all: u64) -> u64 {
    assert!(few > 0, "no points");
    all.div_ceil(few).max(1)
}

fn spread(step: u64, all: Range<u64>, rotation: u64) -> impl Iterator<Item = u64> {
    // Multiplied, because a test may take its seeds by the same rotation: with the remainders of one number, some
    // seeds would never meet some points.
    let rest = (rotation.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) % step;
    all.filter(move |point| point % step == rest)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{distance, rotated, spread};

    #[test]
    fn rotations_meet_every_point_with_every_seed() {
        for (few, all) in [(1, 1), (1, 7), (3, 7), (7, 7), (9, 7), (24, 1_000_u64)] {
            let mut met = BTreeSet::new();
            for rotation in 0..2_000 {
                let points: Vec<u64> = spread(distance(few, all), 0..all, rotation).collect();
                assert!(points.len() as u64 >= few.min(all) / 2 && points.len() as u64 <= few);
                for seed in rotated(1, 4, rotation) {
                    met.extend(points.iter().map(|point| (seed, *point)));
                }
            }
            assert_eq!(met.len() as u64, all * 4, "{few} of {all}");
        }
        assert_eq!(spread(3, 0..0, 5).count(), 0);
        let within = |rotation| spread(5, 12..40, rotation).all(|point| (12..40).contains(&point));
        assert!((0..50).all(within));
    }

    #[test]
    fn rotations_meet_every_seed() {
        for (few, all) in [(1_u64, 1_u64), (1, 7), (3, 7), (7, 7), (5, 20)] {
            let met: BTreeSet<u64> =
                (0..all.div_ceil(few)).flat_map(|rotation| rotated(few, all, rotation)).collect();
            assert_eq!(met, (0..all).collect(), "{few} of {all}");
            assert!((0..9).all(|rotation| rotated(few, all, rotation).count() as u64 == few));
        }
    }
}
