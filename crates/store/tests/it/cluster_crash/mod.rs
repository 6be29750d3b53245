//! The crash model of several servers: three stores in one process over one simulated database and simulated blobs,
//! driven step by step from a seed.
//!
//! ```text
//!  run: steps by chance ─► server 0: operation ─┐
//!                       ─► server 1: operation ─┼─ one at a time, each up to a call ─► world: turns, faults, time
//!                       ─► server 2: operation ─┘                                        │
//!  history: states of the model, by commit ◄────── what has committed ◄── database ◄─────┤
//!           answers of operations: explained?                            blobs    ◄──────┘
//! ```
//! A server has a thread, and yields at calls of the database and of the blobs, so that operations of several
//! servers interleave there and nowhere else. The database and the blobs refuse, lose answers and let what was sent
//! arrive later; the database finds conflicts that are none, and loses its last commits as the failover of an
//! asynchronous pair does. Servers are cut off, sleep in the middle of an operation, die and begin anew, and their clocks
//! jump. Nothing waits, and no decision depends on real time: a seed always has the same steps.
//!
//! The order of commits is known, so a state of the model belongs to each of them. An operation that has committed must
//! answer by the state at its commit; any other by one of the states between its begin and its end: histories are
//! linearizable, of all keys together. At the end all faults are over, all runs die, and new ones tidy up: all of them then
//! show the last state, the blobs are those that records name, and every lost commit was counted by who had
//! acknowledged it.
//!
//! The variables are those of the other [crash model](crate::crash):
//!
//! ```text
//! LITEIO_CRASH_FIRST_SEED=1234 LITEIO_CRASH_SEEDS=1 cargo test -p liteio-store --test it cluster_crash
//! ```

mod clock;
mod database;
mod history;
mod model;
mod op;
mod perform;
mod run;
mod server;
mod settle;
mod steps;
mod world;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use liteio_disk::effort;

use self::run::{Check, Run};

fn number_from(variable: &str, default: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} must be a number")),
        Err(_) => default,
    }
}

/// Seeds that have found faults: a failover between the look at an entry of the deletion queue and the note of its time.
const FOUND: [u64; 1] = [87_400];

/// The seeds of a run: by the variables, or a few or all of the first `all`.
fn seeds(few: u64, all: u64) -> Vec<u64> {
    let (first, count) = ("LITEIO_CRASH_FIRST_SEED", "LITEIO_CRASH_SEEDS");
    if [first, count].iter().all(|variable| std::env::var_os(variable).is_none()) {
        return effort::seeds(few, all).collect();
    }
    let first = number_from(first, 0);
    (first..first + number_from(count, all)).collect()
}

fn check_seed(seed: u64) -> Check {
    let mut run = Run::new(seed);
    let checked = run.work().and_then(|()| run.settle());
    checked.map_err(|what| {
        let told = run.told().join("\n");
        format!("seed {seed}, {:?}\n{told}\n\nseed {seed}: {what}", run.plan)
    })
}

#[test]
fn servers_over_one_database_agree_and_lose_nothing() {
    let seeds: Vec<u64> = seeds(500, 5_000).into_iter().chain(FOUND).collect();
    let next = AtomicUsize::new(0);
    let work = || -> Check {
        while let Some(&seed) = seeds.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(what) = check_seed(seed) {
                next.store(seeds.len(), Ordering::Relaxed);
                return Err(what);
            }
        }
        Ok(())
    };
    let threads = thread::available_parallelism().map_or(2, usize::from);
    let results: Vec<_> = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    for result in results {
        result.unwrap_or_else(|what| panic!("{what}"));
    }
}

#[test]
fn a_seed_always_has_the_same_steps() {
    for seed in effort::seeds(6, 60) {
        let told = || {
            let mut run = Run::new(seed);
            let checked = run.work().and_then(|()| run.settle());
            (run.told(), checked)
        };
        assert_eq!(told(), told(), "seed {seed}");
    }
}

/// The model is no use if it explains everything: commits that vanish behind its back are found.
#[test]
fn a_database_that_loses_commits_in_silence_is_found() {
    let found = effort::seeds(20, 60).filter(|seed| {
        let mut run = Run::new(*seed);
        let checked = run.work();
        run.lose_in_silence();
        checked.and_then(|()| run.settle()).is_err()
    });
    let found = found.count() as u64;
    assert!(found * 2 > effort::amount(20, 60), "found in {found} runs");
}
