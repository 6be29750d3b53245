//! The damage matrix: one file of a data directory is damaged, after an orderly stop, after a kill or under
//! a running store. What was acknowledged before is then compared with a plain model:
//!
//! - Never wrong bytes with success.
//! - Never a silent loss: whatever is missing is an error, a refusal to open, or a warning of `verify`.
//! - Never a panic.
//! - `verify`, which only reads, finds the damage whenever any read shows it.
//!
//! What does not hold yet is in the one table of [`gaps`]. Every seed is one case, and the cells of the matrix
//! take turns. A full run has every cell in each of 20 stores, a quick one in two of these that rotate
//! (`liteio_disk::effort`); variables choose others:
//!
//! ```text
//! LITEIO_DAMAGE_FIRST_SEED=1234 LITEIO_DAMAGE_SEEDS=1 cargo test -p liteio-store --test it damage
//! ```

mod case;
mod gaps;
mod model;
mod read;
mod strike;
mod world;

use std::collections::BTreeMap;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use liteio_disk::effort;

use self::case::{Case, Outcome, check};
use self::gaps::Gap;
use self::world::World;

/// The deviation, in words.
type Check<T> = Result<T, String>;

fn number_from(variable: &str, default: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} must be a number")),
        Err(_) => default,
    }
}

/// What became of the cases of each cell of the matrix.
#[derive(Default)]
struct Tally {
    outcomes: BTreeMap<String, BTreeMap<Outcome, u64>>,
    /// The first deviation in each cell that is no known gap.
    deviations: BTreeMap<String, String>,
}

impl Tally {
    fn add(&mut self, case: &Case, checked: Check<Outcome>) {
        let cell = case.to_string();
        let outcome = match (checked, gaps::of(case)) {
            (Ok(outcome), _) => outcome,
            (Err(what), Some(Gap { reason, .. })) => {
                println!("known: seed {}, {cell}, because {reason}: {what:.100}", case.seed);
                Outcome::Gap
            }
            (Err(what), None) => {
                let what: String = what.chars().take(300).collect();
                let what = format!("seed {}, {cell}: {what}", case.seed);
                self.deviations.entry(cell).or_insert(what);
                return;
            }
        };
        *self.outcomes.entry(cell).or_default().entry(outcome).or_default() += 1;
    }

    fn extend(&mut self, other: Self) {
        for (cell, outcomes) in other.outcomes {
            let all = self.outcomes.entry(cell).or_default();
            outcomes.into_iter().for_each(|(it, count)| *all.entry(it).or_default() += count);
        }
        self.deviations.extend(other.deviations);
    }
}

/// Checks the cases of some consecutive seeds. The store that they damage is made once for many of them.
fn check_seeds(seeds: Range<u64>, tally: &mut Tally) {
    let mut made: Option<World> = None;
    for case in seeds.map(Case::new) {
        let checked = catch_unwind(AssertUnwindSafe(|| {
            let world = made.take().filter(|world| world.number == case.world);
            let world = world.unwrap_or_else(|| World::new(case.world));
            let outcome = check(&case, &world);
            made = Some(world);
            outcome
        }));
        tally.add(&case, checked.unwrap_or_else(|_| Err("it panicked".to_owned())));
    }
}

/// The cases of a run, in pieces for each of which a store is made.
fn pieces() -> Vec<Range<u64>> {
    let (first, count) = ("LITEIO_DAMAGE_FIRST_SEED", "LITEIO_DAMAGE_SEEDS");
    let cases: Vec<_> = if [first, count]
        .iter()
        .all(|variable| std::env::var_os(variable).is_none())
    {
        effort::seeds(2, 20).map(|world| world * Case::COUNT..(world + 1) * Case::COUNT).collect()
    } else {
        let first = number_from(first, 0);
        std::iter::once(first..first + number_from(count, 20 * Case::COUNT)).collect()
    };
    let step = Case::COUNT / 3;
    let pieces = cases.into_iter().flat_map(|Range { start, end }| {
        (start..end).step_by(step as usize).map(move |seed| seed..end.min(seed + step))
    });
    pieces.collect()
}

#[test]
fn damage_of_any_file_is_told_and_never_silent() {
    liteio_kv::silence_panics_of_damage();
    let pieces = pieces();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut tally = Tally::default();
        while let Some(seeds) = pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
            check_seeds(seeds.clone(), &mut tally);
        }
        tally
    };
    let threads = thread::available_parallelism().map_or(2, usize::from);
    let tallies: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().map(|thread| thread.join().expect("panics are caught")).collect()
    });
    let mut all = Tally::default();
    tallies.into_iter().for_each(|tally| all.extend(tally));
    for (cell, outcomes) in &all.outcomes {
        println!("{cell}: {outcomes:?}");
    }
    let deviations: Vec<_> = all.deviations.into_values().collect();
    assert!(deviations.is_empty(), "{}", deviations.join("\n"));
}
