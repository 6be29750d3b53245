//! Reopening of a tree that ran out of space.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::Drainer;
use crate::KvError;
use crate::engine::{Checkpoint, Engine};
use crate::home::Home;
use crate::layers::{Layers, OpenTree};
use crate::shared::Shared;

/// References to an engine without snapshots: one of the drainer and one of the layers.
const OWN_REFERENCES: usize = 2;
/// Maximum wait for snapshots to end before the tree is reopened.
const SNAPSHOTS_WAIT: Duration = Duration::from_millis(50);

impl Drainer {
    /// Reopens a tree that ran out of space. The tables above it still have all updates that it
    /// lacks.
    pub(super) fn reopen(&mut self, shared: &Shared) -> Result<(), KvError> {
        let Some(home) = &shared.home else { return Err(KvError::Closed) };
        if let Some(reason) = home.disk.health().reason() {
            // After a failed sync the frozen tree may have pages in memory that the device lost.
            return Err(KvError::Poisoned { reason: reason.to_owned() });
        }
        if home.disk.free_bytes().unwrap_or(u64::MAX) < shared.config.reserve_bytes {
            return Err(KvError::NoSpace);
        }
        // The write lock keeps new snapshots from starting. Live ones must end first: the new tree
        // overwrites pages that the frozen one still reads.
        let mut current = shared.layers_mut();
        if self.parked.is_none() {
            let layers = match &mut *current {
                Ok(layers) => layers,
                Err(error) => return Err(error.clone()),
            };
            let engine = self.engine.as_ref();
            let begun = Instant::now();
            while !(Arc::get_mut(layers).is_some_and(Layers::is_alone)
                && engine.is_none_or(|it| Arc::strong_count(it) == OWN_REFERENCES))
            {
                if begun.elapsed() >= SNAPSHOTS_WAIT {
                    return Err(KvError::NoSpace);
                }
                thread::park_timeout(Duration::from_millis(1));
            }
            if let Ok(layers) = std::mem::replace(&mut *current, Err(KvError::NoSpace)) {
                self.parked = Arc::into_inner(layers);
            }
        }
        if let Some(layers) = &mut self.parked {
            layers.close_tree();
        }
        self.engine = None;
        let (tree, found) = open_again(home, shared, &self.checkpoint).inspect_err(|error| {
            *current = Err(error.clone());
        })?;
        // The file may contain later changes than the drainer knows; their drain failed afterwards
        // and is repeated.
        self.checkpoint.contents = found.contents;
        self.engine = Some(Arc::clone(&tree.engine));
        let frozen = tree.engine.frozen();
        if let Some(layers) = self.parked.take() {
            *current = Ok(Arc::new(layers.over(tree)));
        }
        // If the new engine is frozen, too, at least reads work.
        frozen.map_or(Ok(()), Err)
    }
}

/// Opens the tree. Returns it with the checkpoint found in it.
fn open_again(
    home: &Home,
    shared: &Shared,
    checkpoint: &Checkpoint,
) -> Result<(OpenTree, Checkpoint), KvError> {
    let config = &shared.config;
    let engine = Engine::open(config.engine, &home.disk, &home.path, config.cache_bytes)?;
    let failure = match engine.read_checkpoint() {
        Ok(Some(found)) if found.round.number >= checkpoint.round.number => {
            return Ok((OpenTree::new(&engine)?, found));
        }
        Ok(_) => KvError::Corrupt(format!("{} has lost its newest checkpoint", home.path)),
        Err(error) => error,
    };
    engine.close_without_checkpoint();
    Err(failure)
}
