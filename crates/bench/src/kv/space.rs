//! The return of space after deletions.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::data::{Data, Key};
use super::engine::{Engine, Failure, Synced};
use super::work::blocks;
use crate::process::disk_used;
use crate::run::metrics::DISK;
use crate::worker::Phase;

/// Entries in each transaction.
const BATCH: u64 = 1_000;
/// Number of entries that are checked after each step.
const CHECKS: u64 = 1_000;
/// Pause between two looks at the disk.
pub(super) const GLANCE: Duration = Duration::from_millis(250);
/// Share of the space up to which it counts as returned.
pub(super) const LEFT_MAX: f64 = 0.1;

/// Puts entries, deletes all, idles, and reopens the engine; no step waits for the disk. `(puts,
/// value_bytes)` is the amount.
pub(super) fn run<E: Engine>(
    directory: &Path,
    data: Data,
    (puts, value_bytes): (u64, u64),
    idle_max: Duration,
) -> Result<Vec<Phase>, Failure> {
    let engine = E::open(directory, Synced::No)?;
    let begin = Instant::now();
    fill(&engine, &data, (puts, value_bytes))?;
    let mut put = step("space_put", directory, begin.elapsed());
    look(&engine, &data, puts, Some(value_bytes), &mut put)?;

    let begin = Instant::now();
    empty(&engine, &data, puts)?;
    let mut deleted = step("space_deleted", directory, begin.elapsed());
    look(&engine, &data, puts, None, &mut deleted)?;

    let left_max = LEFT_MAX * put.values.get(DISK).copied().unwrap_or(0.0);
    let begin = Instant::now();
    while begin.elapsed() < idle_max && disk_used(directory) as f64 > left_max {
        pause(GLANCE);
    }
    let mut idle = step("space_idle", directory, begin.elapsed());
    idle.value("idle", begin.elapsed().as_secs_f64());

    engine.close()?;
    let begin = Instant::now();
    let engine = E::open(directory, Synced::No)?;
    let mut restart = step("space_restart", directory, begin.elapsed());
    look(&engine, &data, puts, None, &mut restart)?;
    engine.close()?;
    Ok(vec![put, deleted, idle, restart])
}

/// Puts `puts` entries with values of `value_bytes`.
pub(super) fn fill(
    engine: &impl Engine,
    data: &Data,
    (puts, value_bytes): (u64, u64),
) -> Result<(), Failure> {
    let pair = |number| (data.key(number), data.large_value(number, value_bytes));
    blocks(0..puts, BATCH)
        .try_for_each(|block| engine.put_large(&block.map(pair).collect::<Vec<_>>()))
}

/// Deletes these entries.
pub(super) fn empty(engine: &impl Engine, data: &Data, puts: u64) -> Result<(), Failure> {
    let key = |number| data.key(number);
    blocks(0..puts, BATCH)
        .try_for_each(|block| engine.delete_all(&block.map(key).collect::<Vec<_>>()))
}

#[expect(clippy::disallowed_methods, reason = "the process is to be idle")]
pub(super) fn pause(time: Duration) {
    thread::sleep(time);
}

fn step(id: &str, directory: &Path, time: Duration) -> Phase {
    let mut phase = Phase::new(id);
    phase.add(1, time);
    phase.value(DISK, disk_used(directory) as f64);
    phase
}

/// Checks some of the entries: they have values of this length, or do not exist.
fn look(
    engine: &impl Engine,
    data: &Data,
    entries: u64,
    value_bytes: Option<u64>,
    phase: &mut Phase,
) -> Result<(), Failure> {
    let mut value = Vec::new();
    for number in (0..entries).step_by((entries / CHECKS).max(1) as usize) {
        value.clear();
        let key: Key = data.key(number);
        let found = engine.get(&key, &mut value)?;
        let expected = value_bytes.map(|bytes| data.large_value(number, bytes));
        if expected != found.then(|| value.clone()) {
            phase.fail(format!("entry {number} is there although deleted, missing or wrong"));
        }
    }
    Ok(())
}
