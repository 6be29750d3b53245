//! A run: operations, faults and time, by chance from the seed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use liteio_store::{SeededRandom, SimulatedBlobs};

use super::clock::{MachineClock, Passed};
use super::database::{Blobs, Shared};
use super::history::Outcome;
use super::op::{Named, Op, OpId};
use super::server::{Names, Server, Uploads};
use super::steps::next_op;
use super::world::{Rates, Turn, World};

/// Number of servers.
pub(super) const SERVERS: usize = 3;
/// Time after its last beat until a server stops to answer.
const SUSPENDED_AFTER_MS: u64 = 10_000;
/// Time after its last beat from which a server may be ended by others.
const SILENT_MS: u64 = 55_000;
/// Numbers of an operation: it may make a version of each key.
const IDS: OpId = 1 + super::op::KEYS.len() as OpId;
/// Interval of beats.
const BEAT_EVERY_MS: u64 = 1_000;
/// Time that a put is under way at most: a connection ends with its server, or after the server's own limits. Others look for
/// what a dead server has left a minute after its last beat.
const LATE_MS_MAX: u64 = 30_000;
/// Longest time of commits that a failover loses, for which deleted bodies are kept.
const GRACE_MS: u64 = 20_000;

/// The result of a check; an error describes the deviation.
pub(super) type Check = Result<(), String>;

/// The faults of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) steps: u64,
    yields: u64,
    rates: Rates,
    pub(super) cuts: bool,
    kills: bool,
    jumps: bool,
    pub(super) fails_over: bool,
    sleeps: bool,
    days: bool,
}

impl Plan {
    /// The plan of a seed.
    pub(super) fn new(seed: u64) -> Self {
        let random = SeededRandom::new(seed ^ 0x00C1_0573);
        let one_in = |of: u64| random.below(of) == 0;
        let rate = |most: u64| if random.below(2) == 0 { 0 } else { random.below(most) };
        let rates = match random.below(3) {
            0 => Rates::default(),
            _ => Rates {
                fetches: rate(20),
                refused: rate(30),
                conflicts: rate(60),
                lost: rate(60),
                answers_lost: rate(60),
                late: rate(60),
                settlings: rate(200),
                blobs: rate(60),
            },
        };
        Self {
            // Some are long.
            steps: if one_in(12) { 500 } else { 40 + random.below(100) },
            yields: [0, 10, 30, 60][random.below(4) as usize],
            rates,
            cuts: one_in(2),
            kills: one_in(2),
            jumps: one_in(2),
            fails_over: one_in(3),
            sleeps: one_in(3),
            days: one_in(4),
        }
    }
}

pub(super) struct Run {
    pub(super) seed: u64,
    pub(super) plan: Plan,
    random: SeededRandom,
    pub(super) shared: Arc<Shared>,
    pub(super) blobs: SimulatedBlobs,
    pub(super) passed_ms: Passed,
    pub(super) servers: Vec<Server>,
    pub(super) uploads: Uploads,
    next_id: OpId,
    /// `true` if a server has died of which a failover may have lost the begin: its bodies may stay.
    pub(super) has_lost_a_run: bool,
    /// Time since which puts may be late.
    late_since_ms: u64,
    /// The time at which a server has died last.
    killed_ms: Option<u64>,
    /// The end of the operation that ended last.
    pub(super) last: Option<Outcome>,
    /// Numbers of commits and the times at which they were the newest.
    commits: Vec<(u64, u64)>,
}

impl Run {
    pub(super) fn new(seed: u64) -> Self {
        let world = Arc::new(World::new(seed ^ 0x5EED));
        let shared = Shared::new(Arc::clone(&world));
        let blobs = SimulatedBlobs::new(Arc::new(Blobs(Arc::clone(&shared))));
        let passed_ms: Passed = Arc::new(AtomicU64::new(0));
        let mut run = Self {
            seed,
            plan: Plan::new(seed),
            random: SeededRandom::new(seed),
            shared,
            blobs,
            passed_ms,
            servers: Vec::new(),
            uploads: Uploads::default(),
            next_id: 1,
            has_lost_a_run: false,
            late_since_ms: 0,
            killed_ms: None,
            last: None,
            commits: Vec::new(),
        };
        for _ in 0..SERVERS {
            let server = run.new_server();
            run.servers.push(server);
        }
        run
    }

    pub(super) fn passed(&self) -> u64 {
        self.passed_ms.load(Ordering::SeqCst)
    }

    pub(super) fn tell(&self, what: String) {
        let passed = self.passed();
        self.shared.world.state().told.push(format!("{passed:>7} ms  {what}"));
    }

    /// The steps so far, for people.
    pub(super) fn told(&self) -> Vec<String> {
        self.shared.world.state().told.clone()
    }

    /// Loses the last commits, and tells nobody.
    pub(super) fn lose_in_silence(&self) {
        self.shared.database.fail_over(6);
    }

    fn new_server(&self) -> Server {
        let clock = MachineClock::new(&self.passed_ms);
        let of = (self.seed, if self.plan.fails_over { GRACE_MS } else { 0 });
        let server = Server::start(&self.shared, &self.blobs, clock, of, &self.uploads);
        if self.plan.jumps {
            server.clock.skew(self.random.below(1_200_000) as i64 - 600_000);
        }
        server
    }

    pub(super) fn check(&self) -> Check {
        match self.shared.world.state().history.violation.take() {
            Some(what) => Err(what),
            None => Ok(()),
        }
    }

    /// Lets time pass.
    pub(super) fn pass(&mut self, ms: u64) {
        if self.passed() + ms > self.late_since_ms + LATE_MS_MAX {
            self.late_since_ms = self.passed();
            self.blobs.deliver_late();
        }
        let commits = self.shared.database.commits();
        self.commits.push((commits, self.passed()));
        self.passed_ms.fetch_add(ms, Ordering::SeqCst);
        self.shared.database.advance(ms);
        self.shared.world.state().now_ms += ms;
    }

    /// Does the steps of the seed.
    pub(super) fn work(&mut self) -> Check {
        {
            let mut state = self.shared.world.state();
            (state.yields, state.rates) = (self.plan.yields, self.plan.rates);
        }
        for _ in 0..self.plan.steps {
            self.step();
            self.check()?;
        }
        Ok(())
    }

    pub(super) fn turn(&self, server: usize) -> Turn {
        self.shared.world.state().slots[self.servers[server].slot].turn
    }

    fn step(&mut self) {
        let waiting: Vec<usize> =
            (0..SERVERS).filter(|it| self.turn(*it) == Turn::Waiting).collect();
        let idle: Vec<usize> = (0..SERVERS).filter(|it| self.turn(*it) == Turn::Idle).collect();
        let choose = |of: &[usize]| of[self.random.below(of.len() as u64) as usize];
        match self.random.below(100) {
            0..10 => {
                let ms = match self.random.below(20) {
                    0..3 if self.plan.days => 650_000,
                    0 => 12_000,
                    1..5 => 3_000,
                    _ => self.random.below(1_500),
                };
                self.tell(format!("{ms} ms pass"));
                self.pass(ms);
            }
            10..18 => self.chaos(),
            18..50 if !waiting.is_empty() => self.go_on(choose(&waiting)),
            _ if idle.is_empty() => self.go_on(choose(&waiting)),
            _ => self.begin_some(choose(&idle)),
        }
    }

    /// Begins what a server has to do, or what a client asks it for.
    fn begin_some(&mut self, server: usize) {
        let at = &self.servers[server];
        if !at.is_open {
            return self.begin(server, Op::Open);
        }
        let is_due = self.passed() >= at.beat_ms + BEAT_EVERY_MS;
        if is_due && self.random.below(8) > 0 {
            return self.begin(server, Op::Beat);
        }
        let op = {
            let state = self.shared.world.state();
            next_op(&self.random, state.history.model(), at, state.now_ms)
        };
        self.begin(server, op);
    }

    pub(super) fn begin(&mut self, server: usize, op: Op) {
        let Some(names) = self.names_of(&op) else { return };
        let id = self.next_id;
        self.next_id += IDS;
        let passed_ms = self.passed();
        self.tell(format!("server {server}, operation {id}: {op:?}"));
        let at = &mut self.servers[server];
        let outcome = at.begin(&self.shared, (id, &op), names, passed_ms);
        self.ended(server, outcome);
    }

    pub(super) fn go_on(&mut self, server: usize) {
        let slot = self.servers[server].slot;
        self.shared.world.go_on(slot);
        let outcome = self.shared.world.wait(slot);
        self.ended(server, outcome);
    }

    /// The names that a client knows; `None` if it does not know them.
    fn names_of(&self, op: &Op) -> Option<Names> {
        let state = self.shared.world.state();
        let history = &state.history;
        let mut names = Names::default();
        match op {
            Op::DeleteVersion { version, .. } | Op::GetVersion { version, .. } => {
                names.version = Some(match version {
                    Named::Null => liteio_store::VersionId::Null,
                    Named::Id(by) => history.id_of(*by)?,
                });
            }
            Op::PutPart { upload, .. } | Op::Complete { upload, .. } | Op::Abort { upload, .. } => {
                let known = self.uploads.lock();
                names.upload = Some(known.iter().find(|(by, _)| by == upload)?.1);
            }
            _ => {}
        }
        Some(names)
    }

    /// Looks at the end of an operation.
    fn ended(&mut self, server: usize, outcome: Option<Outcome>) {
        let Some(outcome) = outcome else { return };
        let passed_ms = self.passed();
        let slot = self.servers[server].slot;
        let (id, op, begun_ms) = self.servers[server].doing.take().expect("it has begun");
        self.last = Some(outcome.clone());
        self.tell(format!("server {server}, operation {id} ends: {}", told(&outcome)));
        let at = &mut self.servers[server];
        let is_done = matches!(outcome, Outcome::Answered(_));
        let was_suspended = begun_ms >= at.heard_ms + SUSPENDED_AFTER_MS;
        let is_suspended = passed_ms >= at.beat_ms + SUSPENDED_AFTER_MS;
        match op.clone() {
            Op::Open => {
                at.is_open = is_done;
                (at.beat_ms, at.heard_ms) = (begun_ms, passed_ms);
            }
            Op::Beat if is_done => {
                (at.beat_ms, at.heard_ms) = (begun_ms, passed_ms);
                at.may_have_lost_its_run &= at.lost_at_ms >= begun_ms;
            }
            // It may have failed behind its commit.
            Op::Beat => at.heard_ms = passed_ms,
            Op::Stage { bytes } if is_done => at.staged.push((id, bytes)),
            Op::PutStaged { staged, .. } => at.staged.retain(|(by, _)| *by != staged),
            Op::DropStaged => at.staged.clear(),
            Op::OpenReader { .. } => at.has_reader = is_done,
            Op::ReadOn if !is_done => at.has_reader = false,
            _ => {}
        }
        let mut state = self.shared.world.state();
        let now_ms = state.now_ms;
        state.history.finish(id, &outcome, now_ms);
        let what = format!("operation {id} {op:?} of server {server}");
        let is_ended = told(&outcome).contains("have ended it");
        let is_silent = passed_ms >= at.beat_ms + SILENT_MS || at.may_have_lost_its_run;
        if is_ended && !is_silent {
            state.history.break_with(format!("{what}: the server was ended, and was not silent"));
        }
        // The end of a body, and what it was begun with, need nobody.
        if is_done && was_suspended && !op.is_own() && !matches!(op, Op::ReadOn) {
            state.history.break_with(format!("{what} was answered without the database"));
        }
        let slot = &state.slots[slot];
        if let Outcome::Failed { error, .. } = &outcome
            && !slot.is_struck
            && !is_suspended
            && !is_ended
            // What it has open may be gone since it slept.
            && !matches!(op, Op::ReadOn)
            && !op.is_own()
            && state.yields == 0
        {
            state.history.break_with(format!("{what} failed, with nothing wrong: {error}"));
        }
        drop(state);
        // A process that cannot start ends, and so does one that others have ended.
        match op {
            Op::Open if !is_done => self.kill(server),
            Op::Beat if is_ended => {
                self.servers[server].may_have_lost_its_run = false;
                self.kill(server);
            }
            // It notices with its next beat.
            _ if is_ended => self.begin(server, Op::Beat),
            _ => {}
        }
    }

    /// Something goes wrong, or is right again.
    fn chaos(&mut self) {
        let server = self.random.below(SERVERS as u64) as usize;
        let slot = self.servers[server].slot;
        match self.random.below(6) {
            0 if self.plan.cuts => {
                let is_cut_off = {
                    let slot = &mut self.shared.world.state().slots[slot];
                    slot.is_cut_off = !slot.is_cut_off;
                    slot.is_cut_off
                };
                self.tell(format!("server {server} is cut off: {is_cut_off}"));
            }
            1 if self.plan.kills => self.kill(server),
            2 if self.plan.jumps => {
                let ms = self.random.below(1_200_000) as i64 - 600_000;
                self.tell(format!("the clock of server {server} is wrong by {ms} ms"));
                self.servers[server].clock.skew(ms);
            }
            3 if self.plan.fails_over => self.fail_over(),
            4 if self.plan.sleeps => self.sleep(server),
            5 => {
                self.tell("what is late arrives".to_owned());
                self.blobs.deliver_late();
                self.shared.deliver_late(&mut self.shared.world.state());
            }
            _ => {}
        }
    }

    /// Kills a server, and starts it again.
    pub(super) fn kill(&mut self, server: usize) {
        self.tell(format!("server {server} is killed"));
        // Nobody may know any more that it was there.
        self.has_lost_a_run |= self.servers[server].may_have_lost_its_run;
        self.killed_ms = Some(self.passed());
        let slot = self.servers[server].slot;
        self.shared.world.state().slots[slot].is_dead = true;
        if self.turn(server) == Turn::Waiting {
            self.go_on(server);
        }
        self.servers[server].end();
        self.servers[server] = self.new_server();
    }

    /// A server sleeps, perhaps in the middle of an operation, while the others go on.
    fn sleep(&mut self, server: usize) {
        let others: Vec<usize> = (0..SERVERS).filter(|it| *it != server).collect();
        let beats = 2 + self.random.below(20);
        self.tell(format!("server {server} sleeps for {beats} beats of the others"));
        for _ in 0..beats {
            self.pass(4_000);
            for other in &others {
                while self.turn(*other) == Turn::Waiting {
                    self.go_on(*other);
                }
                if self.servers[*other].is_open {
                    self.begin(*other, Op::Beat);
                }
                if self.random.below(3) == 0 && self.turn(*other) == Turn::Idle {
                    self.begin(*other, Op::Tidy);
                }
            }
        }
    }

    /// Loses the commits of the last seconds.
    fn fail_over(&mut self) {
        let now = self.passed();
        let newest = self.shared.database.commits();
        // The newest commit of before the time whose commits may be lost.
        let kept = self.commits.iter().rev().find(|(_, at)| at + GRACE_MS < now);
        let kept = kept.map_or(0, |(commit, _)| *commit).min(newest);
        // The store itself is older.
        let most = newest.saturating_sub(kept.max(4)).min(400);
        if most == 0 {
            return;
        }
        let commits = 1 + self.random.below(most.min(12)) as usize;
        self.tell(format!("the last {commits} of {newest} commits are lost"));
        self.shared.fail_over(commits);
        let newest = self.shared.database.commits();
        self.commits.retain(|(commit, _)| *commit <= newest);
        // The row of one that is dead may be among them.
        self.has_lost_a_run |= self.killed_ms.is_some_and(|at| at + GRACE_MS >= now);
        for server in &mut self.servers {
            (server.may_have_lost_its_run, server.lost_at_ms) = (true, now);
        }
    }
}

fn told(outcome: &Outcome) -> String {
    let text = format!("{outcome:?}");
    text.chars().take(300).collect()
}
