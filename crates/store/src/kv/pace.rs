//! [`Pace`]: writers are slowed down as much as the drain needs, so that they never have to stop for it.
//!
//! ```text
//!  bytes of undrained tables
//!  0                          free_bytes                    memory_bytes
//!  ├───────── at full speed ──────┼─── slower and slower, to ───┤ stop
//!                                      a rate at which the rest
//!                                      lasts until the drain ends
//! ```
//! The rate is computed anew for each group: an estimate of the end that was too early makes the next waits longer, and
//! a burst that is over before the memory is full costs little. The end of the drain ends every wait.

use std::time::{Duration, Instant};

use super::layers::Layers;
use super::shared::Shared;
use super::{KvConfig, KvError};

/// A shorter wait is saved up: sleeping costs about as much.
const WAIT_MIN: Duration = Duration::from_micros(200);
/// Waits longer than the group before them accounts for are spread over several groups.
const WAIT_MAX: Duration = Duration::from_millis(5);
/// The wait, as a part of what makes the rest last until the drain ends: for each part of the way from
/// [`free_bytes`] to all of the memory, and at the most.
const SLOWDOWN: f64 = 1.5;
const SLOWDOWN_MAX: f64 = 1.25;

/// Bytes of tables on their way into the tree that slow nobody down: two thirds of the memory.
pub(super) fn free_bytes(config: &KvConfig) -> usize {
    config.memory_bytes / 3 * 2
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

    /// Waits until there is room for another group: not at all while the tables that wait for the tree take less than
    /// [`free_bytes`], then so long that they reach all of the memory when the drain ends at the earliest, and when
    /// there is no room for a group like the last one, until it has ended.
    pub(super) fn wait_for_room(
        &mut self,
        shared: &Shared,
        layers: &Layers,
    ) -> Result<(), KvError> {
        let memory = shared.config.memory_bytes.max(1);
        if layers.bytes() > memory {
            shared.change_layers(|layers| layers.trimmed(memory));
        }
        let (bytes, free) = (layers.undrained_bytes(), free_bytes(&shared.config));
        let grown = std::mem::take(&mut self.grown);
        if bytes <= free {
            self.due = None;
            return Ok(());
        }
        let now = Instant::now();
        let Some(part) = part_of_the_rest(grown, bytes, free, memory) else {
            self.due = None;
            return shared.drains.wait_for_room(shared, memory.saturating_sub(grown));
        };
        let cost = shared.drains.time_left(now).mul_f64(part);
        let earliest = now.checked_sub(WAIT_MAX).unwrap_or(now);
        let due = self.due.map_or(now, |due| due.max(earliest)) + cost;
        self.due = Some(due);
        let wait = due.saturating_duration_since(now);
        if wait >= WAIT_MIN {
            shared.drains.wait_for_end(wait.min(WAIT_MAX.max(cost)));
        }
        Ok(())
    }
}

/// The part of the time until the drain ends that a group takes by which the tables grew by `grown`, to `bytes`; `None`
/// if there is no room for another.
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
            // What is left of the drain, and the write itself.
            time += (1.0 - time) * part + 1e-6;
            bytes += 10;
        }
    }
}
