//! [`Pace`]: writers are slowed down as much as the drain needs, so that they never have to stop for it.
//!
//! ```text
//!  bytes of undrained tables
//!  0                          free_bytes                    memory_bytes
//!  ├───────── at full speed ──────┼─── at the rate at which ────┤ stop
//!                                      what is left of the memory
//!                                      lasts until the drain ends
//! ```
//! The rate is computed anew for each group: an estimate of the end that was too early makes the next waits longer.

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
    /// they have, until it has ended.
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
        if bytes > memory {
            self.due = None;
            return shared.drains.wait_for_room(shared, memory);
        }
        let now = Instant::now();
        let fullness = (bytes - free) as f64 / (memory - free) as f64;
        let slowdown = (SLOWDOWN * fullness).min(SLOWDOWN_MAX);
        let part = grown as f64 / (memory - bytes).max(1) as f64;
        let cost = shared.drains.time_left(now).mul_f64(slowdown * part);
        let due =
            self.due.map_or(now, |due| due.max(now.checked_sub(WAIT_MAX).unwrap_or(due))) + cost;
        self.due = Some(due);
        let wait = due.saturating_duration_since(now);
        if wait >= WAIT_MIN {
            std::thread::park_timeout(wait.min(WAIT_MAX.max(cost)));
        }
        Ok(())
    }
}
