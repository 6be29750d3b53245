//! [`Postgres`]: the engine.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use liteio_kv::KvError;
use liteio_kv::database::{
    CommitError, Database, Fetched, Fetching, Group, PrimaryId, Settled, View, Want, Worker,
};
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_postgres::types::Type;

use crate::commit::{self, Committer};
use crate::config::PostgresConfig;
use crate::core::{Core, Counters};
use crate::error::{Fault, PostgresError, damaged, failed};
use crate::fetch::{self, column, positive};
use crate::gather::Gather;
use crate::limits;
use crate::locks;
use crate::pool::Purpose;
use crate::schema::{self, ClusterId};
use crate::session::Parameter;
use crate::statements::Kind;
use crate::view::Snapshot;
use crate::wait::{Within, wait};

/// The engine of a key space in PostgreSQL.
///
/// Its calls block the thread. It has threads of its own for its connections.
#[derive(Debug)]
pub struct Postgres {
    core: Arc<Core>,
    gather: Arc<Gather>,
    cluster: String,
    id: ClusterId,
    fingerprint: Option<Vec<u8>>,
    run: u32,
    owner: String,
    /// The workers that the database has a number of.
    known: Mutex<BTreeSet<u32>>,
    shard: AtomicU32,
}

/// Numbers of calls since the engine was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PostgresStats {
    /// Fetches that were answered, without those of views.
    pub fetches: u64,
    /// Commits that were acknowledged.
    pub commits: u64,
    /// Commits that met a conflict.
    pub conflicts: u64,
    /// Commits whose answer was lost.
    pub unknown: u64,
    /// Settlements that found acknowledged commits lost.
    pub lost: u64,
}

impl Postgres {
    /// Opens a cluster, which [`create`](crate::create) has made.
    ///
    /// # Errors
    /// One line that tells what to change: see [`PostgresError`].
    pub fn open(config: &PostgresConfig) -> Result<Self, PostgresError> {
        let core = Arc::new(Core::new(config)?);
        let opened = wait(core.runtime(), async {
            let deadline = Instant::now() + config.connect_timeout * 2;
            let mut leased = core.pool.take(Purpose::Commit, deadline).await?;
            let session = leased.begin();
            let meta = schema::check_with(session, config).await?;
            let (run, owner) = schema::begin_run(session, config).await?;
            leased.end();
            Ok::<_, PostgresError>((meta, run, owner))
        });
        let (meta, run, owner) = opened?;
        // Processes begin with different shards.
        let shard = AtomicU32::new(RandomState::new().hash_one(run) as u32);
        Ok(Self {
            gather: Gather::new(Arc::clone(&core)),
            core,
            cluster: config.cluster.clone(),
            id: meta.cluster,
            fingerprint: meta.fingerprint,
            run,
            owner,
            known: Mutex::default(),
            shard,
        })
    }

    /// The id of the cluster, which its blob store has, too.
    #[must_use]
    pub fn cluster_id(&self) -> ClusterId {
        self.id
    }

    /// The fingerprint of the master key that the cluster had when it was opened.
    #[must_use]
    pub fn fingerprint(&self) -> Option<&[u8]> {
        self.fingerprint.as_deref()
    }

    /// Counters of calls.
    #[must_use]
    pub fn stats(&self) -> PostgresStats {
        let counters = &self.core.counters;
        PostgresStats {
            fetches: counters.fetches.load(Relaxed),
            commits: counters.commits.load(Relaxed),
            conflicts: counters.conflicts.load(Relaxed),
            unknown: counters.unknown.load(Relaxed),
            lost: counters.lost.load(Relaxed),
        }
    }

    fn committer(&self, worker: Worker) -> Committer<'_> {
        let is_first = !self.known.lock().contains(&worker.index);
        Committer { worker, owner: &self.owner, is_first }
    }

    async fn commit_by(&self, request: &commit::Request<'_>) -> Result<(), CommitError> {
        let changed = self.core.change(Kind::Commit, &request.parameters(), false).await;
        let changed = changed.map_err(|fault| match fault {
            Fault::Conflict => CommitError::Conflict(Vec::new()),
            Fault::Stale(error) | Fault::Refused(error) => CommitError::Refused(error),
            Fault::Unknown(error) => CommitError::Unknown(error),
        })?;
        commit::outcome(&changed.rows)?;
        match changed.has_warned {
            true => Err(CommitError::Unknown(not_waited())),
            false => Ok(()),
        }
    }

    async fn settle_by(&self, worker: Worker, number: u64) -> Result<Settled, KvError> {
        let committer = self.committer(worker);
        let signed = |number: u32| i32::try_from(number).map_err(|_| damaged("a large number"));
        let (run, index) = (signed(worker.run)?, signed(worker.index)?);
        let number_signed = i64::try_from(number).map_err(|_| damaged("a large number"))?;
        let parameters: [Parameter<'_>; 5] = [
            (&run, Type::INT4),
            (&index, Type::INT4),
            (&committer.owner, Type::TEXT),
            (&number_signed, Type::INT8),
            (&committer.is_first, Type::BOOL),
        ];
        // Settling twice tells the same: a number that was taken is marked.
        let changed = self.core.change(Kind::Settle, &parameters, true).await;
        let changed = changed.map_err(Fault::into_error)?;
        if changed.has_warned {
            return Err(not_waited());
        }
        let row = changed.rows.first().ok_or_else(|| damaged("no settlement"))?;
        if !column::<bool>(row, 2)? {
            return Err(failed("another process has the run of this one: restart it".to_owned()));
        }
        self.known.lock().insert(worker.index);
        let is_committed: bool = column(row, 1)?;
        let last = positive(row, 0)?;
        match last {
            _ if is_committed => Ok(Settled::Committed),
            last if last + 1 == number => Ok(Settled::NotCommitted),
            last if last < number => Ok(Settled::Lost { last }),
            _ => Err(damaged("a worker's number is ahead of its commits")),
        }
    }

    async fn numbers_by(&self, count: i32, floor: i64) -> Result<u64, KvError> {
        let lock = locks::of_numbers(&self.cluster);
        for is_alone in [count > limits::NUMBERS_PER_BLOCK.cast_signed(), true] {
            let parameters: [Parameter<'_>; 4] = [
                (&count, Type::INT4),
                (&floor, Type::INT8),
                (&lock, Type::INT8),
                (&is_alone, Type::BOOL),
            ];
            // Numbers that nobody learns of are passed.
            let changed = self.core.change(Kind::TakeNumbers, &parameters, true).await;
            let changed = changed.map_err(Fault::into_error)?;
            // A standby that does not know of them may give them again.
            if changed.has_warned {
                return Err(not_waited());
            }
            let row = changed.rows.first().ok_or_else(|| damaged("no number"))?;
            if column::<Option<i64>>(row, 0)?.is_some() {
                return positive(row, 0);
            }
        }
        Err(damaged("no number"))
    }
}

/// The error of a change that the standby may not have.
fn not_waited() -> KvError {
    failed("the database did not wait for its standby".to_owned())
}

impl Database for Postgres {
    fn run(&self) -> u32 {
        self.run
    }

    fn fetch(&self, wants: &[Want]) -> Result<Fetched, KvError> {
        let request = fetch::Request::new(wants);
        wait(self.core.runtime(), self.core.fetch(&request))
    }

    fn fetch_later(&self, wants: Vec<Want>) -> Fetching {
        let runtime = self.core.runtime().clone();
        Box::pin(Within::new(runtime, Arc::clone(&self.gather).fetch(wants)))
    }

    fn commit(&self, worker: Worker, number: u64, group: &Group) -> Result<(), CommitError> {
        let shard = self.shard.fetch_add(1, Relaxed) % limits::COUNTER_SHARDS;
        let committer = self.committer(worker);
        let request = commit::Request::new(&self.cluster, committer, number, group, shard);
        let request = request.map_err(CommitError::Refused)?;
        let outcome = wait(self.core.runtime(), self.commit_by(&request));
        let counters = &self.core.counters;
        match &outcome {
            Ok(()) => {
                if committer.is_first {
                    self.known.lock().insert(worker.index);
                }
                Counters::count(&counters.commits);
            }
            Err(CommitError::Conflict(_)) => Counters::count(&counters.conflicts),
            Err(CommitError::Unknown(_)) => Counters::count(&counters.unknown),
            Err(CommitError::Refused(_)) => {}
        }
        outcome
    }

    fn settle(&self, worker: Worker, number: u64) -> Result<Settled, KvError> {
        let settled = wait(self.core.runtime(), self.settle_by(worker, number));
        if let Ok(Settled::Lost { .. }) = settled {
            Counters::count(&self.core.counters.lost);
        }
        settled
    }

    fn take_numbers(&self, count: u32, floor: u64) -> Result<u64, KvError> {
        let count =
            i32::try_from(count.max(1)).map_err(|_| failed("too many numbers".to_owned()))?;
        let floor =
            i64::try_from(floor).map_err(|_| failed("no such number is left".to_owned()))?;
        wait(self.core.runtime(), self.numbers_by(count, floor))
    }

    fn view(&self) -> Result<Box<dyn View>, KvError> {
        Ok(Box::new(Snapshot::new(self.core.clone())))
    }

    fn primary(&self) -> Option<PrimaryId> {
        self.core.pool.primary().map(PrimaryId::from)
    }
}
