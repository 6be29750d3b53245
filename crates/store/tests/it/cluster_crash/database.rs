//! The database and the blobs, as one server reaches them: calls yield and fail.

use std::fmt;
use std::io;
use std::sync::Arc;

use liteio_kv::KvError;
use liteio_kv::database::{
    CommitError, Database, Fetched, Fetching, Group, Settled, SimulatedDatabase, View, Want, Worker,
};
use liteio_store::{BlobCall, BlobFate, BlobFates};
use parking_lot::Mutex;

use super::op::OpId;
use super::world::{State, World};

/// The database of all servers.
pub(super) struct Shared {
    pub(super) world: Arc<World>,
    pub(super) database: Arc<SimulatedDatabase>,
    late: Mutex<Vec<Late>>,
    /// The slots of the runs.
    slots: Mutex<Vec<(u32, usize)>>,
}

/// A commit that is still under way.
struct Late {
    worker: Worker,
    number: u64,
    group: Group,
    op: Option<OpId>,
}

impl Shared {
    pub(super) fn new(world: Arc<World>) -> Arc<Self> {
        let database = SimulatedDatabase::new();
        database.check_all_claims();
        Arc::new(Self { world, database, late: Mutex::default(), slots: Mutex::default() })
    }

    /// The database for a new run.
    pub(super) fn server(self: &Arc<Self>, slot: usize) -> Arc<ServerDatabase> {
        let own = self.database.server();
        self.slots.lock().push((own.run(), slot));
        Arc::new(ServerDatabase { shared: Arc::clone(self), own, slot })
    }

    /// Lets commits arrive that are late.
    pub(super) fn deliver_late(&self, state: &mut State) {
        for Late { worker, number, group, op } in std::mem::take(&mut *self.late.lock()) {
            let _ = self.commit(state, &self.database, (worker, number), &group, op);
        }
    }

    fn commit(
        &self,
        state: &mut State,
        own: &SimulatedDatabase,
        (worker, number): (Worker, u64),
        group: &Group,
        op: Option<OpId>,
    ) -> Result<(), CommitError> {
        let result = own.commit(worker, number, group);
        if result.is_ok() {
            state.committed((worker, number), op, self.database.commits(), group);
        }
        result
    }

    /// Loses the last commits.
    pub(super) fn fail_over(&self, commits: usize) {
        self.database.fail_over(commits);
        self.world.state().fail_over(self.database.commits());
    }
}

/// The database, as one run of a server reaches it.
pub(super) struct ServerDatabase {
    shared: Arc<Shared>,
    own: Arc<SimulatedDatabase>,
    slot: usize,
}

impl ServerDatabase {
    /// A call, which may fail.
    fn pass(&self, rate: impl Fn(&State) -> u64) -> Result<(), KvError> {
        let mut state = self.shared.world.pass(self.slot);
        let rate = rate(&state);
        if !state.reaches(self.slot) {
            return Err(lost_connection());
        }
        if state.strikes(rate) {
            state.strike(self.slot);
            return Err(lost_connection());
        }
        Ok(())
    }
}

fn lost_connection() -> KvError {
    io::Error::new(io::ErrorKind::ConnectionReset, "the connection to the database was lost").into()
}

impl Database for ServerDatabase {
    fn run(&self) -> u32 {
        self.own.run()
    }

    fn fetch(&self, wants: &[Want]) -> Result<Fetched, KvError> {
        self.pass(|state| state.rates.fetches)?;
        let fetched = self.own.fetch(wants);
        // The answer is under way.
        self.pass(|_| 0)?;
        fetched
    }

    fn fetch_later(&self, wants: Vec<Want>) -> Fetching {
        Box::pin(std::future::ready(self.fetch(&wants)))
    }

    fn commit(&self, worker: Worker, number: u64, group: &Group) -> Result<(), CommitError> {
        let result = {
            let mut state = self.shared.world.pass(self.slot);
            if !state.reaches(self.slot) {
                return Err(CommitError::Unknown(lost_connection()));
            }
            let op = state.slots[self.slot].op;
            let rates = state.rates;
            if state.strikes(rates.late) {
                self.shared.deliver_late(&mut state);
            }
            if state.strikes(rates.refused) {
                state.strike(self.slot);
                return Err(CommitError::Refused(lost_connection()));
            }
            if state.strikes(rates.conflicts) {
                state.strike(self.slot);
                return Err(CommitError::Conflict(Vec::new()));
            }
            let is_late = state.strikes(rates.late);
            if is_late || state.strikes(rates.lost) {
                state.strike(self.slot);
                if is_late {
                    let late = Late { worker, number, group: group.clone(), op };
                    self.shared.late.lock().push(late);
                }
                return Err(CommitError::Unknown(lost_connection()));
            }
            let result = self.shared.commit(&mut state, &self.own, (worker, number), group, op);
            if state.strikes(rates.answers_lost) {
                state.strike(self.slot);
                return Err(CommitError::Unknown(lost_connection()));
            }
            result
        };
        // The answer is under way.
        let mut state = self.shared.world.pass(self.slot);
        if !state.reaches(self.slot) {
            return Err(CommitError::Unknown(lost_connection()));
        }
        if result.is_ok() {
            state.acknowledged(self.slot, worker, number);
        }
        result
    }

    fn settle(&self, worker: Worker, number: u64) -> Result<Settled, KvError> {
        self.pass(|state| state.rates.settlings / 2)?;
        let settled = self.own.settle(worker, number);
        self.pass(|state| state.rates.settlings / 2)?;
        if matches!(settled, Ok(Settled::Committed)) {
            self.shared.world.state().acknowledged(self.slot, worker, number);
        }
        settled
    }

    fn take_numbers(&self, count: u32, floor: u64) -> Result<u64, KvError> {
        self.pass(|state| state.rates.fetches)?;
        self.own.take_numbers(count, floor)
    }

    fn view(&self) -> Result<Box<dyn View>, KvError> {
        self.pass(|state| state.rates.fetches)?;
        let view = self.own.view()?;
        let (world, slot) = (Arc::clone(&self.shared.world), self.slot);
        Ok(Box::new(ServerView { view, world, slot }))
    }
}

impl fmt::Debug for ServerDatabase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ServerDatabase").field("slot", &self.slot).finish_non_exhaustive()
    }
}

struct ServerView {
    view: Box<dyn View>,
    world: Arc<World>,
    slot: usize,
}

impl View for ServerView {
    fn fetch(&self, wants: &[Want]) -> Result<Fetched, KvError> {
        let mut state = self.world.pass(self.slot);
        let rate = state.rates.fetches;
        if !state.reaches(self.slot) || state.strikes(rate) {
            state.strike(self.slot);
            return Err(lost_connection());
        }
        drop(state);
        let fetched = self.view.fetch(wants);
        if fetched.is_err() {
            // It is one of before a failover.
            self.world.state().strike(self.slot);
        }
        fetched
    }
}

impl fmt::Debug for ServerView {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ServerView").field("slot", &self.slot).finish_non_exhaustive()
    }
}

/// The fates of calls to the blobs.
pub(super) struct Blobs(pub(super) Arc<Shared>);

impl BlobFates for Blobs {
    fn fate(&self, run: u32, call: BlobCall) -> BlobFate {
        let found = self.0.slots.lock().iter().find(|(of, _)| *of == run).map(|(_, slot)| *slot);
        let Some(slot) = found else { return BlobFate::Happens };
        let mut state = self.0.world.pass(slot);
        // A server that is cut off from the database may well reach the blobs.
        if state.slots[slot].is_dead {
            return BlobFate::Fails;
        }
        let rate = state.rates.blobs;
        if !state.strikes(rate) {
            return BlobFate::Happens;
        }
        state.strike(slot);
        match (state.random.below(3), call) {
            (0, _) => BlobFate::Fails,
            (1, BlobCall::Put) => BlobFate::Late,
            _ => BlobFate::AnswerLost,
        }
    }
}

impl fmt::Debug for Blobs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Blobs")
    }
}
