//! [`Member`]: the part of an open store among several servers.

use std::sync::Arc;

use liteio_blob::BlobStore;
use liteio_kv::Kv;

use super::{DatabaseClock, Probes, Servers};
use crate::error::StoreError;
use crate::process::Background;

/// The part of a store among several servers.
#[derive(Debug)]
pub(crate) struct Member {
    servers: Arc<Servers>,
    clock: Arc<DatabaseClock>,
    /// The thread that beats.
    pub(crate) beats: Option<Background<()>>,
    probes: Option<Probes>,
}

impl Member {
    pub(crate) fn new(servers: Arc<Servers>, clock: Arc<DatabaseClock>) -> Self {
        Self { servers, clock, beats: None, probes: None }
    }

    /// The parts that a beat needs, so that nothing is locked while it waits for the database.
    pub(crate) fn parts(&self) -> (Arc<Servers>, Arc<DatabaseClock>) {
        (Arc::clone(&self.servers), Arc::clone(&self.clock))
    }

    /// The clock of the store.
    pub(crate) fn clock(&self) -> &DatabaseClock {
        &self.clock
    }

    /// Joins the other servers.
    pub(crate) fn join(&self, kv: &Kv) -> Result<(), StoreError> {
        self.servers.join(kv)
    }

    /// Starts the thread that probes the blobs.
    pub(crate) fn start_probes(&mut self, blobs: Arc<dyn BlobStore>) -> Result<(), StoreError> {
        self.probes = Some(Arc::clone(&self.servers).start_probes(blobs)?);
        Ok(())
    }

    /// Ends the beats, and leaves the others. All threads that write have ended.
    pub(crate) fn leave(&mut self, kv: &Kv) {
        self.probes = None;
        if let Some(beats) = self.beats.take() {
            beats.stop();
        }
        // Without the database the others end this run by themselves.
        let _ = self.servers.leave(kv);
    }
}
