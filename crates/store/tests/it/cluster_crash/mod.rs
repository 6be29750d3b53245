//! The crash model of several servers: three stores in one process over one simulated database and simulated
//! blobs, driven step by step from a seed.
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

use self::run::Run;

fn number_from(variable: &str, default: u64) -> u64 {
    match std::env::var(variable) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{variable} must be a number")),
        Err(_) => default,
    }
}

/// The seeds of a run: by the variables, or a few or all of the first `all`.
fn seeds(few: u64, all: u64) -> Vec<u64> {
    let (first, count) = ("LITEIO_CRASH_FIRST_SEED", "LITEIO_CRASH_SEEDS");
    if [first, count].iter().all(|variable| std::env::var_os(variable).is_none()) {
        return effort::seeds(few, all).collect();
    }
    let first = number_from(first, 0);
    (first..first + number_from(count, all)).collect()
}

fn check_seed(seed: u64) -> Result<(), String> {
    let mut run = Run::new(seed);
    let checked = run.work().and_then(|()| run.settle());
    checked.map_err(|what| {
        let told = run.shared.world.state().told.join("\n");
        format!("seed {seed}, {:?}\n{told}\n\nseed {seed}: {what}", run.plan)
    })
}

#[test]
fn servers_over_one_database_lose_nothing_and_agree() {
    let seeds = seeds(500, 2000);
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), String> {
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
