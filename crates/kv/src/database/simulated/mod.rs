//! [`SimulatedDatabase`]: a database in memory for tests, of which everything can go wrong.
//!
//! Commits are serial and exact. Handles of several runs ([`SimulatedDatabase::server`]) stand for
//! several servers.

mod claims;
mod faults;
mod state;

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread;

use parking_lot::Mutex;

use super::{
    CommitError, Database, Fetched, Fetching, Group, PrimaryId, Settled, View, Want, Worker,
};
use crate::KvError;
use faults::Chance;
pub use faults::Faults;
use state::State;

/// A database in memory, as one server sees it.
pub struct SimulatedDatabase {
    inner: Arc<Inner>,
    run: u32,
    is_cut_off: AtomicBool,
    primary: AtomicU64,
}

struct Inner {
    plan: Mutex<Plan>,
    state: Mutex<State>,
    runs: AtomicU32,
}

struct Plan {
    faults: Faults,
    chance: Chance,
    /// Commits that are still under way.
    late: Vec<(Worker, u64, Group)>,
}

impl SimulatedDatabase {
    /// An empty database in which nothing goes wrong, as its first server sees it.
    #[must_use]
    pub fn new() -> Arc<Self> {
        let plan = Plan { faults: Faults::default(), chance: Chance::new(1), late: Vec::new() };
        let inner = Inner {
            plan: Mutex::new(plan),
            state: Mutex::new(State::new()),
            runs: AtomicU32::new(0),
        };
        Self::of(Arc::new(inner))
    }

    fn of(inner: Arc<Inner>) -> Arc<Self> {
        let run = inner.runs.fetch_add(1, Ordering::Relaxed) + 1;
        Arc::new(Self {
            inner,
            run,
            is_cut_off: AtomicBool::new(false),
            primary: AtomicU64::new(1),
        })
    }

    /// The same database, as another server sees it.
    #[must_use]
    pub fn server(&self) -> Arc<Self> {
        Self::of(Arc::clone(&self.inner))
    }

    /// Lets things go wrong from now on, for all servers.
    pub fn set_faults(&self, faults: Faults) {
        let mut plan = self.inner.plan.lock();
        plan.chance = Chance::new(faults.seed);
        plan.faults = faults;
    }

    /// Cuts this server off the database, or ends that.
    pub fn cut_off(&self, is_cut_off: bool) {
        self.is_cut_off.store(is_cut_off, Ordering::SeqCst);
    }

    /// Lets this server meet another primary.
    pub fn meet(&self, primary: PrimaryId) {
        self.primary.store(primary, Ordering::SeqCst);
    }

    /// Loses the last commits of all servers, though they were acknowledged.
    pub fn fail_over(&self, commits: usize) {
        self.inner.state.lock().fail_over(commits);
    }

    /// Lets the clock of the database go on.
    pub fn advance(&self, ms: u64) {
        self.inner.state.lock().now_ms += ms;
    }

    /// Number of commits so far, without lost ones.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.inner.state.lock().commit
    }

    /// Lets commits that are under way arrive.
    pub fn deliver_late(&self) {
        let late = std::mem::take(&mut self.inner.plan.lock().late);
        self.inner.arrive(late);
    }

    /// Compares ranges that are read with the claims of all recent commits from now on, also of those that
    /// were no danger: see [`SimulatedDatabase::unclaimed`].
    pub fn check_all_claims(&self) {
        self.inner.state.lock().checks_all = true;
    }

    /// The ranges that were read without claims that keep others from changing them. Without
    /// [`SimulatedDatabase::check_all_claims`] a commit panics that finds one.
    #[must_use]
    pub fn unclaimed(&self) -> Vec<String> {
        self.inner.state.lock().unclaimed.iter().map(ToString::to_string).collect()
    }

    /// Gives others their turn, and lets the call fail as a fault of `kind` says.
    fn begin(&self, kind: impl Fn(&Faults) -> u64) -> Result<(), KvError> {
        let (turns, fails) = {
            let mut plan = self.inner.plan.lock();
            let Faults { delays, .. } = plan.faults;
            let of_thousand = kind(&plan.faults);
            (plan.chance.below(delays + 1), plan.chance.strikes(of_thousand))
        };
        (0..turns).for_each(|_| thread::yield_now());
        if fails || self.is_cut_off.load(Ordering::SeqCst) {
            return Err(lost_connection());
        }
        Ok(())
    }
}

impl Inner {
    /// Lets commits arrive whose answers nobody waits for.
    fn arrive(&self, late: Vec<(Worker, u64, Group)>) {
        let mut state = self.state.lock();
        for (worker, number, group) in late {
            if state.is_next(worker, number) {
                let _ = state.commit(worker, number, &group);
            }
        }
    }
}

/// The fate of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Happens,
    Refused,
    Conflict,
    Lost,
    AnswerLost,
    Late,
}

impl Plan {
    fn fate(&mut self) -> Fate {
        let Faults { refusals, conflicts, lost, lost_answers, late, .. } = self.faults;
        let fates = [
            (refusals, Fate::Refused),
            (conflicts, Fate::Conflict),
            (lost, Fate::Lost),
            (lost_answers, Fate::AnswerLost),
            (late, Fate::Late),
        ];
        let struck = fates.into_iter().find(|(of_thousand, _)| self.chance.strikes(*of_thousand));
        struck.map_or(Fate::Happens, |(_, fate)| fate)
    }

    /// Those of the late commits that arrive now.
    fn arriving(&mut self) -> Vec<(Worker, u64, Group)> {
        let Self { chance, late, .. } = self;
        let (now, later) = late.drain(..).partition(|_| chance.strikes(300));
        *late = later;
        now
    }
}

impl Database for SimulatedDatabase {
    fn run(&self) -> u32 {
        self.run
    }

    fn fetch(&self, wants: &[Want]) -> Result<Fetched, KvError> {
        self.begin(|faults| faults.fetches)?;
        let state = self.inner.state.lock();
        Ok(state.fetch(wants, state.commit))
    }

    fn fetch_later(&self, wants: Vec<Want>) -> Fetching {
        Box::pin(std::future::ready(self.fetch(&wants)))
    }

    fn commit(&self, worker: Worker, number: u64, group: &Group) -> Result<(), CommitError> {
        check(group);
        self.begin(|_| 0).map_err(CommitError::Unknown)?;
        let (fate, arriving) = {
            let mut plan = self.inner.plan.lock();
            (plan.fate(), plan.arriving())
        };
        self.inner.arrive(arriving);
        match fate {
            Fate::Refused => return Err(CommitError::Refused(lost_connection())),
            Fate::Conflict => return Err(CommitError::Conflict(Vec::new())),
            Fate::Lost => return Err(CommitError::Unknown(lost_connection())),
            Fate::Late => {
                self.inner.plan.lock().late.push((worker, number, group.clone()));
                return Err(CommitError::Unknown(lost_connection()));
            }
            Fate::Happens | Fate::AnswerLost => {}
        }
        let mut state = self.inner.state.lock();
        if !state.is_next(worker, number) {
            // As after the loss of commits that were acknowledged.
            return Err(CommitError::Unknown(lost_connection()));
        }
        let unclaimed = state.unclaimed.len();
        let result = state.commit(worker, number, group);
        if !state.checks_all
            && let Some(unclaimed) = state.unclaimed.get(unclaimed)
        {
            let unclaimed = unclaimed.to_string();
            drop(state);
            panic!("a claim is missing: {unclaimed}");
        }
        drop(state);
        match fate {
            Fate::AnswerLost => Err(CommitError::Unknown(lost_connection())),
            _ => result,
        }
    }

    fn settle(&self, worker: Worker, number: u64) -> Result<Settled, KvError> {
        self.begin(|faults| faults.settlings / 2)?;
        let settled = self.inner.state.lock().settle(worker, number);
        self.begin(|faults| faults.settlings / 2)?;
        Ok(settled)
    }

    fn take_numbers(&self, count: u32, floor: u64) -> Result<u64, KvError> {
        self.begin(|faults| faults.fetches)?;
        Ok(self.inner.state.lock().take_numbers(count, floor))
    }

    fn view(&self) -> Result<Box<dyn View>, KvError> {
        self.begin(|faults| faults.fetches)?;
        let mut state = self.inner.state.lock();
        let (view, generation) = (state.open_view(), state.generation);
        Ok(Box::new(SimulatedView { inner: Arc::clone(&self.inner), view, generation }))
    }

    fn primary(&self) -> Option<PrimaryId> {
        Some(self.primary.load(Ordering::SeqCst))
    }
}

impl fmt::Debug for SimulatedDatabase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SimulatedDatabase").field("run", &self.run).finish_non_exhaustive()
    }
}

/// All of the database at one moment.
struct SimulatedView {
    inner: Arc<Inner>,
    view: u64,
    generation: u64,
}

impl View for SimulatedView {
    fn fetch(&self, wants: &[Want]) -> Result<Fetched, KvError> {
        let state = self.inner.state.lock();
        match state.moment_of(self.view) {
            Some(moment) if state.generation == self.generation => Ok(state.fetch(wants, moment)),
            _ => Err(lost_connection()),
        }
    }
}

impl Drop for SimulatedView {
    fn drop(&mut self) {
        self.inner.state.lock().close_view(self.view);
    }
}

impl fmt::Debug for SimulatedView {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SimulatedView").field("view", &self.view).finish_non_exhaustive()
    }
}

/// Panics if a group is not in the form that databases may rely on.
fn check(group: &Group) {
    assert!(group.version > 0, "a version");
    assert!(group.claims.is_sorted_by(|one, other| one.name < other.name), "sorted claims");
    assert!(group.writes.is_sorted_by(|one, other| one.key < other.key), "sorted writes");
    assert!(group.counters.is_sorted_by(|one, other| one.key < other.key), "sorted counters");
    assert!(group.keys.is_sorted_by(|one, other| one.0 < other.0), "sorted keys");
    let is_written = |key: &Vec<u8>| group.writes.iter().any(|write| write.key == *key);
    assert!(!group.keys.iter().any(|(key, _)| is_written(key)), "keys that are not written");
}

fn lost_connection() -> KvError {
    io::Error::new(io::ErrorKind::ConnectionReset, "the connection to the database was lost").into()
}
