//! [`Pace`]: slows writers down to the speed of the drain, so that they never have to stop for it.
//!
//! ```text
//!  bytes of undrained tables
//!  0                          free_bytes                 table_bytes_max
//!  ├───────── at full speed ──────┼─── slower and slower, to ───┤ stop
//!                                      a rate at which the rest
//!                                      lasts until the drain ends
//! ```
//! Runs that pile up behind a merge are treated alike on a larger scale: a table waits when
//! [`RUNS_MAX`] runs exist, so from [`RUNS_FREE`] on writers get a rate at which the remaining room
//! lasts until the merge ends.
//!
//! The rate is computed anew for each group: if the estimated end was too early, the next waits are
//! longer, and a burst that ends before the memory is full costs little. The end of the drain ends
//! every wait.

use std::time::{Duration, Instant};

use crate::drain::Backlog;
use crate::layers::Layers;
use crate::shared::Shared;
use crate::{KvConfig, KvError};

/// Shorter waits accumulate instead: a sleep itself costs about as much.
const WAIT_MIN: Duration = Duration::from_micros(200);
/// Longest wait of one group, unless its own cost is longer; the rest is spread over later groups.
const WAIT_MAX: Duration = Duration::from_millis(5);
/// Factor on the wait that makes the remaining room last until the drain ends. It grows with the
/// fill level between [`free_bytes`] and the whole memory, up to `SLOWDOWN_MAX`.
const SLOWDOWN: f64 = 1.5;
const SLOWDOWN_MAX: f64 = 1.25;
/// Number of runs from which a table waits for the merge.
pub(super) const RUNS_MAX: usize = 48;
/// Number of runs that slow nobody down: the inputs of one merge, and as many new ones while it
/// runs.
const RUNS_FREE: usize = 32;

/// Bytes of undrained tables that slow nobody down: two thirds of the memory.
pub(super) fn free_bytes(config: &KvConfig) -> usize {
    config.memory_bytes / 3 * 2
}

/// Bytes available to tables when runs keep `runs_memory` bytes in memory. The range between
/// [`free_bytes`] and the whole memory is at most halved, so that writers are still slowed down
/// before they stop.
fn table_bytes_max(config: &KvConfig, runs_memory: usize) -> usize {
    config.memory_bytes.max(1).saturating_sub(runs_memory.min(config.memory_bytes / 6))
}

/// The debt of the writers to the drain.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Bytes by which the tables grew with the last group.
    grown: usize,
    /// The moment before which the next group should not begin; `None` at full speed.
    due: Option<Instant>,
}

impl Pace {
    /// Notes that the tables have grown.
    pub(super) fn grown(&mut self, bytes: usize) {
        self.grown = bytes;
    }

    /// Waits until there is room for another group. With fewer than [`free_bytes`] of undrained
    /// tables there is no wait. Above, the wait is so long that the tables fill the memory no
    /// earlier than the drain ends. Without room for a group like the last one, it waits for the
    /// end of the drain. The same holds for runs that wait for a merge.
    pub(super) fn wait_for_room(
        &mut self,
        shared: &Shared,
        layers: &Layers,
    ) -> Result<(), KvError> {
        let memory = table_bytes_max(&shared.config, layers.runs_memory());
        let grown = std::mem::take(&mut self.grown);
        let load = Load { tables: layers.undrained_bytes(), runs: layers.runs().len(), memory };
        if load.tables <= free_bytes(&shared.config) && load.runs <= RUNS_FREE {
            self.due = None;
            return Ok(());
        }
        let now = Instant::now();
        let left = |work| shared.drains.time_left(work, now);
        let Some(cost) = load.cost(grown, &shared.config, left) else {
            self.due = None;
            return shared.drains.wait_for_room(shared, memory.saturating_sub(grown));
        };
        // An idle time earns no credit beyond `WAIT_MAX`: otherwise a burst after a pause would run
        // unpaced.
        let earliest = now.checked_sub(WAIT_MAX).unwrap_or(now);
        let due = self.due.map_or(now, |due| due.max(earliest)) + cost.time;
        self.due = Some(due);
        let wait = due.saturating_duration_since(now);
        if wait >= WAIT_MIN && !shared.config.drains_inline() {
            shared.drains.wait_for_end(cost.of, wait.min(WAIT_MAX.max(cost.time)));
        }
        Ok(())
    }
}

/// The backlog of the drain.
#[derive(Clone, Copy, Debug)]
struct Load {
    /// Bytes of the tables that wait for the tree.
    tables: usize,
    runs: usize,
    /// Bytes that the tables may take.
    memory: usize,
}

/// The time that a group should take, and the work whose end makes the wait pointless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cost {
    time: Duration,
    of: Backlog,
}

impl Load {
    /// The time for a group by which the tables grew by `grown`, where `left` is the time until
    /// each work is done; `None` if there is no room for another group.
    fn cost(
        self,
        grown: usize,
        config: &KvConfig,
        left: impl Fn(Backlog) -> Duration,
    ) -> Option<Cost> {
        let (memory, free) = (self.memory, free_bytes(config));
        let mut cost = Cost { time: Duration::ZERO, of: Backlog::Table };
        if self.tables > free {
            let part = part_of_the_rest(grown, self.tables, free, memory)?;
            let mut time = left(Backlog::Table);
            if self.runs >= RUNS_MAX {
                // The table waits for the merge, and is drained after it.
                time += left(Backlog::Runs);
            }
            cost.time = time.mul_f64(part);
        }
        if self.runs > RUNS_FREE {
            // Tables may follow behind the last run, so the tables' memory counts as room, too. A
            // run has the size of a table when it is frozen: half of the memory, or a full log.
            let table = (config.memory_bytes / 2)
                .min(usize::try_from(config.log_bytes).unwrap_or(usize::MAX));
            let bytes = self.runs * table + self.tables;
            let part = part_of_the_rest(grown, bytes, RUNS_FREE * table, RUNS_MAX * table + memory);
            let time = left(Backlog::Runs).mul_f64(part.unwrap_or_default());
            if time > cost.time {
                cost = Cost { time, of: Backlog::Runs };
            }
        }
        Some(cost)
    }
}

/// The fraction of the time until the drain ends that a group should take, where the tables grew by
/// `grown` to `bytes`; `None` if there is no room for another group.
fn part_of_the_rest(grown: usize, bytes: usize, free: usize, memory: usize) -> Option<f64> {
    let rest = memory.checked_sub(bytes).filter(|rest| *rest > 0 && *rest >= grown)?;
    let fullness = (bytes - free) as f64 / (memory - free) as f64;
    Some((SLOWDOWN * fullness).min(SLOWDOWN_MAX) * grown as f64 / rest as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_with_the_tables_and_are_never_longer_than_the_drain() {
        let (free, memory) = (200, 300);
        let part = |grown, bytes| part_of_the_rest(grown, bytes, free, memory);
        let parts: Vec<f64> = (201..300).filter_map(|bytes| part(1, bytes)).collect();
        assert_eq!(parts.len(), 99, "there is room for one more");
        assert!(parts.is_sorted() && parts[0] < 0.001, "{parts:?}");
        for bytes in 201..300 {
            for grown in 0..=200 {
                assert!(part(grown, bytes).is_none_or(|part| part <= SLOWDOWN_MAX));
            }
        }
        assert_eq!(part(51, 250), None, "no room for another");
        assert_eq!(part(0, 300), None);
        assert_eq!(part(1, 400), None);
    }

    #[test]
    fn writers_at_that_rate_reach_the_memory_when_the_drain_ends_and_not_before() {
        let (free, memory) = (200_000, 300_000);
        let (mut bytes, mut time) = (free + 1, 0.0);
        while time < 0.999 {
            let Some(part) = part_of_the_rest(10, bytes, free, memory) else {
                panic!("full at {time}");
            };
            // The remaining time of the drain, and the write itself.
            time += (1.0 - time) * part + 1e-6;
            bytes += 10;
        }
    }

    #[test]
    fn runs_leave_less_room_for_tables_and_some_to_slow_down_in() {
        let config = KvConfig { memory_bytes: 300_000, ..KvConfig::default() };
        let bytes = |runs_memory| table_bytes_max(&config, runs_memory);
        assert_eq!((bytes(0), bytes(20_000), bytes(1 << 40)), (300_000, 280_000, 250_000));
        let drain = |_| Duration::from_secs(1);
        let has_room =
            |tables, memory| Load { tables, runs: 1, memory }.cost(1_000, &config, drain).is_some();
        assert!(has_room(279_000, bytes(20_000)) && !has_room(279_001, bytes(20_000)));
        assert!(free_bytes(&config) < bytes(1 << 40));
        let tiny = KvConfig { memory_bytes: 0, ..config };
        assert!(table_bytes_max(&tiny, 100) > 0, "there is no empty room");
    }

    #[test]
    fn runs_behind_a_merge_slow_writers_down_more_and_more_before_a_table_waits_for_it() {
        let config = KvConfig { memory_bytes: 300_000, log_bytes: 1 << 30, ..KvConfig::default() };
        let (drain, merge) = (Duration::from_millis(100), Duration::from_secs(100));
        let left = |of| if of == Backlog::Table { drain } else { merge };
        let memory = table_bytes_max(&config, 0);
        let cost = |runs, tables| Load { tables, runs, memory }.cost(100, &config, left);
        let time = |runs, tables| cost(runs, tables).map(|cost| cost.time);
        assert_eq!(time(RUNS_FREE, 100), Some(Duration::ZERO));
        let times: Vec<_> = (RUNS_FREE..RUNS_MAX).map(|runs| time(runs, 100)).collect();
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
        assert_eq!(cost(40, 100).map(|cost| cost.of), Some(Backlog::Runs));
        // No step: with the last run, or a table behind it.
        let step = |from: (usize, usize), to: (usize, usize)| {
            time(to.0, to.1).expect("room").as_secs_f64()
                / time(from.0, from.1).expect("room").as_secs_f64()
        };
        assert!(step((46, 100), (47, 100)) < 1.5);
        assert!(step((47, 150_000), (48, 150)) < 1.5);
        // A table that waits for the merge lasts until its end.
        let (mut tables, mut now) = (200_001, 0.0);
        while now < 0.99 * (merge + drain).as_secs_f64() {
            let past = Duration::from_secs_f64(now);
            let left = |of| match of {
                Backlog::Table => drain,
                Backlog::Runs => merge.saturating_sub(past),
            };
            let cost = Load { tables, runs: RUNS_MAX, memory }.cost(10, &config, left);
            now += cost.unwrap_or_else(|| panic!("full at {now}")).time.as_secs_f64() + 1e-6;
            tables += 10;
        }
    }
}
