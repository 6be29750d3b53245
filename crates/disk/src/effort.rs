//! Number of seeds a randomized test runs: a few that rotate in a quick run, all of them in a full one.
//!
//! | variable | value |
//! |---|---|
//! | `LITEIO_TESTS` | `full`: every seed, as `.ci/full` sets it; anything else: a few |
//! | `LITEIO_SEED_ROTATION` | any number: selects which few. `.ci/run` takes it from the hash of the commit, so that all seeds are met over time |

use std::ops::Range;

/// Whether tests are to run with every seed.
#[must_use]
pub fn is_full() -> bool {
    std::env::var_os("LITEIO_TESTS").is_some_and(|value| value == "full")
}

/// `all` where every seed is run, else `few`. For the size of a test that has no seeds.
#[must_use]
pub fn amount(few: u64, all: u64) -> u64 {
    if is_full() { all } else { few }
}

/// Seeds from `0..all`: all of them in a full run, else `few` neighbours, by the rotation.
///
/// A test that fails names its seed, since the next commit runs others.
///
/// # Panics
/// If `few` is 0 or above `all`, or `LITEIO_SEED_ROTATION` is not a number.
pub fn seeds(few: u64, all: u64) -> impl Iterator<Item = u64> {
    if is_full() { rotated(all, all, 0) } else { rotated(few, all, rotation()) }
}

/// Points of a test that strikes each in turn, such as operations of a disk or places of a byte: all of them in a full
/// run, else one in `step`, by the rotation. A prime number is best: the points of a run then differ in their
/// remainders of other numbers, by which a test may vary its checks.
///
/// # Panics
/// If `step` is 0, or `LITEIO_SEED_ROTATION` is not a number.
pub fn points(all: Range<u64>, step: u64) -> impl Iterator<Item = u64> {
    let (step, rotation) = if is_full() { (1, 0) } else { (step, rotation()) };
    all.filter(move |point| point % step == rotation % step)
}

fn rotation() -> u64 {
    match std::env::var("LITEIO_SEED_ROTATION") {
        Ok(value) => value.parse().expect("LITEIO_SEED_ROTATION is a number"),
        Err(_) => 0,
    }
}

/// `few` of `0..all` in windows that follow each other, so that `all / few` rotations meet every seed.
fn rotated(few: u64, all: u64, rotation: u64) -> impl Iterator<Item = u64> {
    assert!((1..=all).contains(&few), "{few} of {all} seeds");
    let windows = all.div_ceil(few);
    let first = rotation % windows * few;
    (first..first + few).map(move |seed| seed % all)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::rotated;

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
