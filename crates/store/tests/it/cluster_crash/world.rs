//! The world: time, faults, and whose turn it is.
//!
//! Each server has a thread. Of all of them one runs at a time, until its operation ends, or until it yields at
//! a call of the database or of the blobs. All decisions follow from the seed.

use std::collections::BTreeMap;

use liteio_kv::database::{Group, Worker};
use liteio_store::SeededRandom;
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::history::{History, Outcome};
use super::op::{Op, OpId};

/// The time at which the database begins.
pub(super) const BEGIN_MS: u64 = 1_700_000_000_000;

/// Rates of faults, in calls of 1000.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rates {
    pub(super) fetches: u64,
    pub(super) refused: u64,
    pub(super) conflicts: u64,
    pub(super) lost: u64,
    pub(super) answers_lost: u64,
    pub(super) late: u64,
    pub(super) settlings: u64,
    pub(super) blobs: u64,
}

/// The state of the thread of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Idle,
    Running,
    Waiting,
}

/// A run of a server.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) turn: Turn,
    /// It does not reach the database.
    pub(super) is_cut_off: bool,
    /// Its process is gone.
    pub(super) is_dead: bool,
    /// The operation that it does.
    pub(super) op: Option<OpId>,
    /// `true` if a fault has struck this operation.
    pub(super) is_struck: bool,
    /// The number of its newest worker that has committed.
    worker: u32,
    /// Commits that its committer knows of, by their numbers.
    acknowledged: Vec<u64>,
    /// Number of those that a failover has lost.
    pub(super) lost: u64,
    outcome: Option<Outcome>,
}

pub(super) struct State {
    pub(super) random: SeededRandom,
    /// Calls of 100 at which a server yields.
    pub(super) yields: u64,
    pub(super) rates: Rates,
    pub(super) slots: Vec<Slot>,
    pub(super) now_ms: u64,
    pub(super) history: History,
    /// Commits of workers that have happened, by their numbers.
    commits: BTreeMap<(Worker, u64), u64>,
    /// The steps so far, for people.
    pub(super) told: Vec<String>,
}

pub(super) struct World {
    state: Mutex<State>,
    changed: Condvar,
}

impl State {
    pub(super) fn strikes(&mut self, of_thousand: u64) -> bool {
        of_thousand > 0 && self.random.below(1000) < of_thousand
    }

    pub(super) fn strike(&mut self, slot: usize) {
        self.slots[slot].is_struck = true;
    }

    /// `false` if the server does not reach the database.
    pub(super) fn reaches(&self, slot: usize) -> bool {
        !self.slots[slot].is_cut_off && !self.slots[slot].is_dead
    }

    /// A commit of an operation has happened.
    pub(super) fn committed(
        &mut self,
        (worker, number): (Worker, u64),
        op: Option<OpId>,
        commit: u64,
        group: &Group,
    ) {
        self.commits.insert((worker, number), commit);
        let writes = !group.writes.is_empty() || !group.counters.is_empty();
        if let Some(op) = op.filter(|_| writes) {
            let keys: Vec<&[u8]> = group.writes.iter().map(|write| &write.key[..]).collect();
            self.history.committed(op, commit, self.now_ms, &keys);
        }
    }

    /// The server knows that this commit has happened. Of a worker that it has given up, nobody was told.
    pub(super) fn acknowledged(&mut self, slot: usize, worker: Worker, number: u64) {
        let newest = &mut self.slots[slot].worker;
        *newest = (*newest).max(worker.index);
        if worker.index < *newest {
            return;
        }
        match self.commits.get(&(worker, number)) {
            Some(commit) => self.slots[slot].acknowledged.push(*commit),
            // A failover was faster than the answer.
            None => self.slots[slot].lost += 1,
        }
    }

    /// The commits behind this one are lost.
    pub(super) fn fail_over(&mut self, newest: u64) {
        self.history.fail_over(newest);
        self.commits.retain(|_, commit| *commit <= newest);
        for slot in &mut self.slots {
            let before = slot.acknowledged.len();
            slot.acknowledged.retain(|commit| *commit <= newest);
            slot.lost += (before - slot.acknowledged.len()) as u64;
        }
    }
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let state = State {
            random: SeededRandom::new(seed),
            yields: 0,
            rates: Rates::default(),
            slots: Vec::new(),
            now_ms: BEGIN_MS,
            history: History::new(),
            commits: BTreeMap::new(),
            told: Vec::new(),
        };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// A new run of a server.
    pub(super) fn add_slot(&self) -> usize {
        let mut state = self.state.lock();
        state.slots.push(Slot {
            turn: Turn::Idle,
            is_cut_off: false,
            is_dead: false,
            op: None,
            is_struck: false,
            worker: 0,
            acknowledged: Vec::new(),
            lost: 0,
            outcome: None,
        });
        state.slots.len() - 1
    }

    /// A call of a server, which may yield here.
    pub(super) fn pass(&self, slot: usize) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        let yields = state.yields;
        let is_driven = state.slots[slot].turn == Turn::Running && !state.slots[slot].is_dead;
        if is_driven && yields > 0 && state.random.below(100) < yields {
            state.slots[slot].turn = Turn::Waiting;
            self.changed.notify_all();
            self.changed.wait_while(&mut state, |state| state.slots[slot].turn == Turn::Waiting);
        }
        if !state.reaches(slot) {
            state.strike(slot);
        }
        state
    }

    /// Begins an operation of a server.
    pub(super) fn begin(&self, slot: usize, id: OpId, op: &Op) {
        let mut state = self.state.lock();
        let now_ms = state.now_ms;
        state.history.begin(id, op, now_ms);
        let slot = &mut state.slots[slot];
        (slot.turn, slot.op, slot.is_struck) = (Turn::Running, Some(id), false);
    }

    /// Ends it; called by its thread.
    pub(super) fn end(&self, slot: usize, outcome: Outcome) {
        let mut state = self.state.lock();
        (state.slots[slot].turn, state.slots[slot].outcome) = (Turn::Idle, Some(outcome));
        self.changed.notify_all();
    }

    /// Lets a server go on.
    pub(super) fn go_on(&self, slot: usize) {
        self.state.lock().slots[slot].turn = Turn::Running;
        self.changed.notify_all();
    }

    /// Waits until a server yields, or has ended its operation. Returns the end.
    pub(super) fn wait(&self, slot: usize) -> Option<Outcome> {
        let mut state = self.state.lock();
        self.changed.wait_while(&mut state, |state| state.slots[slot].turn == Turn::Running);
        state.slots[slot].outcome.take()
    }
}
