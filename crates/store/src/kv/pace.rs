//! [`Pace`]: writers are slowed down a little before they would have to stop for the drain.

use std::time::Duration;

use super::layers::Layers;
use super::shared::Shared;
use super::{KvConfig, KvError};

/// A shorter wait is saved up: sleeping costs about as much.
const WAIT_MIN: Duration = Duration::from_micros(200);
/// A longer wait is spread over several groups.
const WAIT_MAX: Duration = Duration::from_millis(5);

/// Bytes of tables on their way into the tree that slow nobody down: two thirds of the memory.
pub(super) fn free_bytes(config: &KvConfig) -> usize {
    config.memory_bytes / 3 * 2
}

/// The debt of the writers to the drain.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Bytes by which the tables grew since the last wait.
    grown: u64,
}

impl Pace {
    /// Notes that the tables have grown.
    pub(super) fn grown(&mut self, bytes: usize) {
        self.grown += bytes as u64;
    }

    /// Waits until there is room for another group: not at all while the tables that wait for the tree take less than
    /// [`free_bytes`], then as long as the drain takes for what was written, and when they take all of the memory until
    /// it has ended.
    pub(super) fn wait_for_room(
        &mut self,
        shared: &Shared,
        layers: &Layers,
    ) -> Result<(), KvError> {
        let memory = shared.config.memory_bytes.max(1);
        if layers.bytes() > memory {
            shared.change_layers(|layers| layers.trimmed(memory));
        }
        let free = free_bytes(&shared.config);
        let bytes = layers.undrained_bytes();
        if bytes <= free {
            self.grown = 0;
            return Ok(());
        }
        if bytes > memory {
            return shared.drains.wait_for_room(shared, memory);
        }
        // From nothing to a little more than the drain needs, so that the tables stop growing in between.
        let fullness = (bytes - free) as f64 / (memory - free) as f64;
        let nanos = self.grown as f64 * shared.drains.nanos_per_byte() * fullness * 1.5;
        let wait = Duration::from_nanos(nanos as u64);
        if wait >= WAIT_MIN {
            self.grown = 0;
            std::thread::park_timeout(wait.min(WAIT_MAX));
        }
        Ok(())
    }
}
