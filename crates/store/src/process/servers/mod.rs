//! [`Servers`]: one of several servers over one key space.
//!
//! ```text
//!            join                 beat, each second                     leave
//!  (no row) ─────► running ────────────────────────────► running ───────────► (no row)
//!                    │ its beats stop: after 10 s it answers 503
//!                    │ 60 s: another server ends its run
//!                    ▼
//!                  ended: no transaction of it commits any more, and its leftovers are swept
//! ```
//! A *beat* writes the row of the server, takes and renews the leases of the jobs that it was asked
//! for, and reads the rows of all servers. Everything between two beats is decided from that, without
//! a round trip; what must be exact is decided in transactions ([`Servers::admit`]): they read the row
//! of the run, and the lease of their job, so that another server that ends one of them ends this
//! server's commits, too, whatever its clocks say.
//!
//! # Times
//! Times in rows are those of the database, which all servers know within [`SKEW`] by a
//! [`DatabaseClock`]. Whether this server is up to date is decided by its monotonic clock, from the moment at which its last
//! successful beat was sent.

mod beat;
mod clock;
mod member;
mod primaries;
mod probe;
mod readers;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use liteio_blob::BlobId;
use liteio_disk::Clock;
use liteio_kv::database::PrimaryId;
use liteio_kv::{Read, Snapshot, Transaction, Write as _};
use parking_lot::Mutex;

use super::alone::Alone;
use super::cluster::{Cluster, Job, Kept, Opened, Reading, Sleeper, Term};
use crate::error::StoreError;
use crate::meta::claim::Claim;
use crate::meta::content::{Content, ContentId};
use crate::meta::server::{LeaseRecord, ServerRecord};
use crate::meta::space;
pub(crate) use clock::DatabaseClock;
pub(crate) use member::Member;
use primaries::Primaries;
use probe::Probed;
pub(crate) use probe::Probes;
pub(crate) use readers::OpenReader;
use readers::Readers;

/// Interval of beats.
pub(crate) const BEAT_EVERY: Duration = Duration::from_secs(1);
/// Time after the last successful beat until a server stops to answer. A server that was cut off from the
/// database answers nothing that others have changed more than this long ago.
const SUSPENDED_AFTER: Duration = Duration::from_secs(10);
/// Time after the last beat until the readers of a server do not count any more. It has cut them by
/// then.
const UNREAD_AFTER: Duration = Duration::from_secs(20);
/// Time after the last beat until other servers end the run of a server.
const ENDED_AFTER: Duration = Duration::from_secs(60);
/// Time for which a server must have heard the others before it ends one of them: longer than any of them
/// needs for its first beat once the database answers again.
const HEARD_FOR: Duration = Duration::from_secs(15);
/// Length of a lease.
const LEASE: Duration = Duration::from_secs(30);
/// Time before the end of a lease from which it is not relied on.
const LEASE_MARGIN: Duration = Duration::from_secs(5);
/// Time for which the lease of a job is renewed that nobody asks for.
const WANTED: Duration = Duration::from_secs(120);
/// Longest difference between the times that two servers take for that of the database.
const SKEW: Duration = Duration::from_secs(2);

/// The part of a server among others.
#[derive(Clone, Debug)]
pub(crate) struct ServersConfig {
    /// The number of its run, which no other server ever has. See
    /// [`Database::run`](liteio_kv::database::Database::run).
    pub(crate) run: u32,
    /// Its name, for people.
    pub(crate) name: String,
    /// Time for which content is kept after its last record is gone, beside the readers: a database that may lose
    /// its last commits in a failover may bring back records.
    pub(crate) deletion_grace: Duration,
}

/// The decisions of one of several servers.
#[derive(Debug)]
pub(crate) struct Servers {
    config: ServersConfig,
    /// The decisions in the memory of this process.
    alone: Alone,
    clock: Arc<dyn Clock>,
    readers: Arc<Readers>,
    primaries: Primaries,
    state: Mutex<State>,
    probed: Mutex<Probed>,
}

#[derive(Debug, Default)]
struct State {
    /// The monotonic time at which the last successful beat was sent.
    beat_ms: Option<u64>,
    /// The monotonic time since which beats have succeeded without a gap of [`SUSPENDED_AFTER`].
    hears_since_ms: u64,
    /// `true` once others have ended the run.
    is_ended: bool,
    /// `true` once the row of the run that is over was seen.
    has_left_trace: bool,
    jobs: HashMap<Job, Wanted>,
    /// All servers at the last beat, by their runs.
    servers: BTreeMap<u32, ServerRecord>,
    /// Runs that may commit at the last beat.
    running: Vec<u32>,
    /// The primary at which what follows was seen.
    queues_at: Option<PrimaryId>,
    /// Content in the deletion queue.
    content: FirstSeen<ContentId>,
    /// Bodies in the deletion queue of tiers.
    bodies: FirstSeen<[u8; 16]>,
}

/// A job that this server has been asked for.
#[derive(Debug)]
struct Wanted {
    /// The monotonic time at which it was asked for last.
    asked_ms: u64,
    /// The number of the term, and the monotonic time until which it may be relied on.
    term: Option<(u64, u64)>,
}

/// The times at which things were first seen in a queue, in milliseconds since 1970.
#[derive(Debug)]
struct FirstSeen<T>(HashMap<T, u64>);

impl<T> Default for FirstSeen<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Copy + Eq + Hash> FirstSeen<T> {
    /// `true` if the thing has been in the queue since before `horizon_ms`. It is forgotten then.
    fn is_before(&mut self, thing: T, now_ms: u64, horizon_ms: u64) -> bool {
        let is_before = *self.0.entry(thing).or_insert(now_ms) < horizon_ms;
        if is_before {
            self.0.remove(&thing);
        }
        is_before
    }
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Servers {
    pub(super) fn new(alone: Alone, config: ServersConfig, clock: Arc<dyn Clock>) -> Self {
        let probed = Probed { good_ms: clock.monotonic_ms(), ..Probed::default() };
        let (state, probed) = (Mutex::default(), Mutex::new(probed));
        Self {
            config,
            alone,
            clock,
            readers: Arc::default(),
            primaries: Primaries::default(),
            state,
            probed,
        }
    }

    fn suspended(reason: &str) -> StoreError {
        StoreError::Suspended { reason: reason.to_owned() }
    }

    fn ended() -> StoreError {
        Self::suspended(
            "This server did not reach the database for so long that the others have ended it. Start it again.",
        )
    }

    /// The time before which all readers of all servers began that are still open.
    fn horizon_ms(&self, state: &State, now_ms: u64) -> u64 {
        let counts = |it: &&ServerRecord| it.beat_ms.saturating_add(ms(UNREAD_AFTER)) > now_ms;
        let oldest = state.servers.values().filter(counts).map(|it| it.reads_since_ms).min();
        oldest.unwrap_or(0).saturating_sub(ms(SKEW))
    }
}

fn users_stamp(from: &impl Read) -> Result<u64, StoreError> {
    let Some(stamp) = from.get(space::USERS_STAMP_KEY)? else { return Ok(0) };
    let stamp = stamp.as_ref().try_into().map(u64::from_be_bytes);
    stamp.map_err(|_| StoreError::corrupt("the stamp of the entries about users"))
}

impl State {
    /// Forgets when what is queued was seen at another primary: a failover may have lost an entry, whose content was in use
    /// until it was queued again.
    fn see_queues_at(&mut self, primary: Option<PrimaryId>) {
        if self.queues_at != primary {
            (self.content, self.bodies) = Default::default();
            self.queues_at = primary;
        }
    }

    fn serving(&self, monotonic_ms: u64) -> Result<(), StoreError> {
        if self.is_ended {
            return Err(Servers::ended());
        }
        match self.beat_ms {
            Some(beat_ms) if monotonic_ms < beat_ms + ms(SUSPENDED_AFTER) => Ok(()),
            _ => Err(Servers::suspended(
                "This server does not reach the database at the moment. Try again.",
            )),
        }
    }
}

impl Cluster for Servers {
    fn standing(&self) -> Result<(), StoreError> {
        self.alone.standing()?;
        self.serving()
    }

    fn serving(&self) -> Result<(), StoreError> {
        self.state.lock().serving(self.clock.monotonic_ms())
    }

    fn has_one_primary(&self, primary: Option<PrimaryId>) -> bool {
        primary.is_none_or(|own| self.primaries.are_one(own, self.clock.monotonic_ms()))
    }

    fn still_keeping(&self, kept: &Kept) -> Result<(), StoreError> {
        let state = self.state.lock();
        state.serving(self.clock.monotonic_ms())?;
        match &kept.open {
            Some(open) if open.began_before(state.hears_since_ms) => Err(Self::suspended(
                "This server did not reach the database for a while, and the data it was reading may be gone. Try again.",
            )),
            _ => Ok(()),
        }
    }

    fn is_over(&self) -> bool {
        self.state.lock().is_ended
    }

    fn blobs_failure(&self) -> Option<String> {
        self.probe_failure()
    }

    fn lease(&self, job: &Job) -> Result<Option<Term>, StoreError> {
        self.alone.standing()?;
        let now = self.clock.monotonic_ms();
        let mut state = self.state.lock();
        if state.serving(now).is_err() {
            return Ok(None);
        }
        let wanted = state.jobs.entry(job.clone());
        let wanted = wanted.or_insert(Wanted { asked_ms: now, term: None });
        wanted.asked_ms = now;
        let term = wanted.term.filter(|(_, until)| now < *until);
        Ok(term.map(|(number, _)| Term { job: job.clone(), number }))
    }

    fn admit(&self, term: Option<&Term>, write: &mut Transaction<'_>) -> Result<(), StoreError> {
        self.standing()?;
        // What is read only is compared at one moment of the commit. The claims make it true to its end.
        write.claim(Claim::Run(self.config.run))?;
        if write.get(&space::running(self.config.run))?.is_none() {
            return Err(Self::ended());
        }
        let Some(term) = term else { return Ok(()) };
        let job = term.job.name();
        write.claim(Claim::Job(&job))?;
        match LeaseRecord::read(write, &job)? {
            Some(lease) if (lease.run, lease.term) == (self.config.run, term.number) => Ok(()),
            _ => Err(Term::over()),
        }
    }

    fn reading(&self) -> Reading<'_> {
        let open = Readers::section(&self.readers, &*self.clock);
        Reading { _open: Some(Box::new(open)), ..self.alone.reading() }
    }

    fn keep(&self, content: &Content, opened: Opened) -> Kept {
        // A file on another machine, or an object, does not survive its deletion.
        let open = Readers::keep(&self.readers, &*self.clock);
        Kept { open: Some(Box::new(open)), ..self.alone.keep(content, opened) }
    }

    fn may_delete(
        &self,
        queued: &mut Vec<ContentId>,
        at: Option<PrimaryId>,
    ) -> Result<(), StoreError> {
        self.serving()?;
        let now_ms = self.clock.now_ms();
        let mut state = self.state.lock();
        state.see_queues_at(at);
        let horizon_ms = self.horizon_ms(&state, now_ms);
        queued.retain(|id| state.content.is_before(*id, now_ms, horizon_ms));
        Ok(())
    }

    fn deletion_grace(&self) -> Duration {
        self.config.deletion_grace
    }

    fn may_delete_in_tier(
        &self,
        body: &[u8; 16],
        at: Option<PrimaryId>,
    ) -> Result<bool, StoreError> {
        self.serving()?;
        let now_ms = self.clock.now_ms();
        let mut state = self.state.lock();
        state.see_queues_at(at);
        let horizon_ms = self.horizon_ms(&state, now_ms);
        let horizon_ms = horizon_ms.saturating_sub(ms(self.config.deletion_grace));
        Ok(state.bodies.is_before(*body, now_ms, horizon_ms))
    }

    fn in_flight(&self, blob: &BlobId) -> Result<bool, StoreError> {
        let run = blob.run();
        if run == self.config.run {
            return self.alone.in_flight(blob);
        }
        self.serving()?;
        let state = self.state.lock();
        // A run above all that were seen has begun since.
        let newest = state.servers.keys().next_back().copied().unwrap_or(0);
        Ok(run > newest || state.running.contains(&run))
    }

    fn ended_runs(&self) -> Vec<u32> {
        let state = self.state.lock();
        let others = state.servers.keys().filter(|run| **run != self.config.run);
        others.filter(|run| !state.running.contains(run)).copied().collect()
    }

    fn users_stamp(&self, from: &Snapshot) -> Result<u64, StoreError> {
        users_stamp(from)
    }

    fn change_users(
        &self,
        stamp: Option<u64>,
        write: &mut Transaction<'_>,
    ) -> Result<u64, StoreError> {
        let now = users_stamp(write)?;
        if stamp.is_some_and(|seen| seen != now) {
            return Err(StoreError::ChangedMeanwhile);
        }
        write.put(space::USERS_STAMP_KEY, &(now + 1).to_be_bytes())?;
        Ok(now + 1)
    }

    fn wake(&self, sleeper: Sleeper<'_>) {
        self.alone.wake(sleeper);
    }
}
