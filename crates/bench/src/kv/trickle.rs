//! Latencies of single puts and gets while the space of deleted entries is returned.

use std::path::Path;
use std::time::{Duration, Instant};

use super::data::Data;
use super::engine::{Engine, Failure, Synced};
use super::space::{GLANCE, LEFT_MAX, empty, fill, pause};
use crate::process::disk_used;
use crate::worker::Phase;
use crate::worker::measured::Measured;

/// Pause between two puts.
const PAUSE: Duration = Duration::from_millis(1);

/// Puts entries and deletes all. Then it puts one and gets it every millisecond until the space is
/// given back. None of it waits for the disk. `(puts, value_bytes)` is the amount.
pub(super) fn run<E: Engine>(
    directory: &Path,
    data: Data,
    (puts, value_bytes): (u64, u64),
    time_max: Duration,
) -> Result<Vec<Phase>, Failure> {
    let engine = E::open(directory, Synced::No)?;
    fill(&engine, &data, (puts, value_bytes))?;
    let left_max = LEFT_MAX * disk_used(directory) as f64;
    empty(&engine, &data, puts)?;

    let (mut put, mut get) = (Measured::begin("trickle_put"), Measured::begin("trickle_get"));
    let (begin, mut looked) = (Instant::now(), Instant::now());
    let mut found = Vec::new();
    for number in puts.. {
        let (key, value) = (data.key(number), data.value(number));
        put.sample(1, || engine.put(&key, &value))?;
        found.clear();
        get.sample(1, || engine.get(&key, &mut found).map(drop))?;
        if found != value {
            get.phase.fail(format!("entry {number} is missing or wrong"));
        }
        if begin.elapsed() >= time_max {
            break;
        }
        if looked.elapsed() >= GLANCE {
            if disk_used(directory) as f64 <= left_max {
                break;
            }
            looked = Instant::now();
        }
        pause(PAUSE);
    }
    for measured in [&mut put, &mut get] {
        measured.stop();
        measured.phase.value("idle", begin.elapsed().as_secs_f64());
    }
    engine.close()?;
    Ok(vec![put.end(), get.end()])
}
