//! A run of a server: its thread, and what it holds beside the store.

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use liteio_store::{
    ClusterBackend, ObjectReader, SimulatedBlobs, StagedBody, Store, StoreConfig, UploadId,
    VersionId,
};

use super::clock::MachineClock;
use super::database::{ServerDatabase, Shared};
use super::history::{FoundVersion, Outcome};
use super::model::DAY_MS;
use super::op::{Op, OpId, Seen, ToldEvent};
use super::perform::perform;
use crate::harness::config;

/// The memory of the process of a server.
#[derive(Default)]
pub(super) struct Held {
    pub(super) store: Option<Store>,
    pub(super) staged: Vec<(OpId, StagedBody)>,
    pub(super) reader: Option<Reading>,
    pub(super) users: Option<Users>,
    /// Events that were read, with their numbers.
    pub(super) events: Vec<(u64, String, ToldEvent)>,
}

/// A reader, what it has brought, and the version that it reads.
pub(super) struct Reading {
    pub(super) reader: ObjectReader,
    pub(super) rest: Vec<u8>,
    pub(super) seen: Seen<FoundVersion>,
}

/// The users, as the server remembers them.
pub(super) struct Users {
    pub(super) epoch: Option<u64>,
    pub(super) stamp: u64,
    pub(super) users: Vec<(u8, OpId)>,
}

/// The names that an operation of a client needs.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    pub(super) version: Option<VersionId>,
    pub(super) upload: Option<UploadId>,
}

/// An operation to do.
struct Command {
    id: OpId,
    op: Op,
    names: Names,
}

/// The parts of which a run opens its store.
pub(super) struct Machine {
    pub(super) shared: Arc<Shared>,
    pub(super) slot: usize,
    pub(super) config: StoreConfig,
    pub(super) blobs: SimulatedBlobs,
    /// Ids of uploads that were answered.
    pub(super) uploads: Uploads,
}

pub(super) type Uploads = Arc<parking_lot::Mutex<Vec<(OpId, UploadId)>>>;

/// A run of a server.
pub(super) struct Server {
    pub(super) slot: usize,
    pub(super) clock: Arc<MachineClock>,
    /// Bodies that are sent and not put yet.
    pub(super) staged: Vec<(OpId, usize)>,
    pub(super) has_reader: bool,
    pub(super) is_open: bool,
    /// The time before which its last successful beat was not sent, and the one at which it had ended.
    pub(super) beat_ms: u64,
    pub(super) heard_ms: u64,
    /// `true` if a failover has lost commits since it began.
    pub(super) may_have_lost_its_run: bool,
    /// The time of the last failover.
    pub(super) lost_at_ms: u64,
    /// The operation that it does, and the time of its begin.
    pub(super) doing: Option<(OpId, Op, u64)>,
    commands: Option<Sender<Command>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// A server that has not opened its store yet.
    pub(super) fn start(
        shared: &Arc<Shared>,
        blobs: &SimulatedBlobs,
        clock: Arc<MachineClock>,
        (seed, grace_ms): (u64, u64),
        uploads: &Uploads,
    ) -> Self {
        let slot = shared.world.add_slot();
        let database: Arc<ServerDatabase> = shared.server(slot);
        let backend = ClusterBackend {
            database: database as _,
            blobs: blobs.clone().into(),
            server_name: format!("server {slot}"),
            deletion_grace: Duration::from_millis(grace_ms),
        };
        let StoreConfig { backend, .. } = StoreConfig::cluster(backend);
        let config = StoreConfig {
            backend,
            clock: Arc::clone(&clock) as _,
            lifecycle_day: Duration::from_millis(DAY_MS),
            runs_twice: false,
            runs_in_pieces: false,
            ..config(seed ^ (slot as u64) << 48)
        };
        let uploads = Arc::clone(uploads);
        let (shared, blobs) = (Arc::clone(shared), blobs.clone());
        let machine = Machine { shared, slot, config, blobs, uploads };
        let (sender, commands) = channel::<Command>();
        let thread = thread::spawn(move || {
            let mut held = Held::default();
            while let Ok(Command { id, op, names }) = commands.recv() {
                let outcome = perform(&machine, &mut held, id, &op, &names);
                machine.shared.world.end(machine.slot, outcome);
            }
        });
        Self {
            slot,
            clock,
            staged: Vec::new(),
            has_reader: false,
            is_open: false,
            beat_ms: 0,
            heard_ms: 0,
            may_have_lost_its_run: false,
            lost_at_ms: 0,
            doing: None,
            commands: Some(sender),
            thread: Some(thread),
        }
    }

    /// Begins an operation, and waits until it yields or ends.
    pub(super) fn begin(
        &mut self,
        shared: &Shared,
        (id, op): (OpId, &Op),
        names: Names,
        passed_ms: u64,
    ) -> Option<Outcome> {
        shared.world.begin(self.slot, id, op);
        self.doing = Some((id, op.clone(), passed_ms));
        let command = Command { id, op: op.clone(), names };
        let commands = self.commands.as_ref().expect("it was not killed");
        commands.send(command).expect("its thread waits");
        shared.world.wait(self.slot)
    }

    /// Ends the thread, which drops what the process held.
    pub(super) fn end(&mut self) {
        self.commands = None;
        if let Some(thread) = self.thread.take() {
            thread.join().expect("see above");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // After a deviation a thread may wait for its turn for ever.
        self.commands = None;
    }
}
