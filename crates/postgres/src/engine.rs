//! [`Postgres`]: the engine.

use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use liteio_kv::KvError;
use liteio_kv::database::{
    CommitError, Database, Fetched, Group, Settled, View, Want, Worker,
};
use parking_lot::Mutex;
use tokio::time::{Instant, timeout};
use tokio_postgres::types::Type;

use crate::commit::{self, Committer};
use crate::config::PostgresConfig;
use crate::core::{Core, Counters, no_answer};
use crate::error::{Fault, PostgresError, damaged, failed};
use crate::fetch::{self, column};
use crate::limits;
use crate::locks;
use crate::pool::Purpose;
use crate::schema::{self, ClusterId};
use crate::statements::Kind;
use crate::view::Snapshot;
use crate::wait::wait;

/// The engine of a key space in PostgreSQL.
///
/// Its calls block the thread. It has threads of its own for its connections.
#[derive(Debug)]
pub struct Postgres {
    core: Arc<Core>,
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
        let deadline = Instant::now() + limits::CONNECTION_WAIT;
        loop {
            let leased = self.core.prepared(Kind::Commit, deadline).await;
            let mut leased = leased.map_err(CommitError::Refused)?;
            let session = leased.begin();
            let error = match timeout(limits::ANSWER_TIMEOUT, request.run(session)).await {
                Err(_) => return Err(CommitError::Unknown(no_answer())),
                Ok(Ok(rows)) => {
                    let has_warned = session.has_warned();
                    leased.end();
                    commit::outcome(&rows)?;
                    if has_warned {
                        let reason = "the database did not wait for its standby".to_owned();
                        return Err(CommitError::Unknown(failed(reason)));
                    }
                    return Ok(());
                }
                Ok(Err(error)) => error,
            };
            match Fault::of(&error) {
                Fault::Conflict => {
                    leased.end();
                    return Err(CommitError::Conflict(Vec::new()));
                }
                Fault::Refused(error) => {
                    leased.end();
                    return Err(CommitError::Refused(error));
                }
                // Nothing was written: another host, or a session that knows the statement.
                Fault::Stale(_) if Instant::now() < deadline => self.core.pool.forget(),
                Fault::Stale(error) => return Err(CommitError::Refused(error)),
                Fault::Unknown(error) => return Err(CommitError::Unknown(error)),
            }
        }
    }

    async fn settle_by(&self, worker: Worker, number: u64) -> Result<Settled, KvError> {
        let committer = self.committer(worker);
        let signed = |number: u32| i32::try_from(number).map_err(|_| damaged("a large number"));
        let (run, index) = (signed(worker.run)?, signed(worker.index)?);
        let number_signed = i64::try_from(number).map_err(|_| damaged("a large number"))?;
        let deadline = Instant::now() + limits::CONNECTION_WAIT;
        let mut leased = self.core.prepared(Kind::Settle, deadline).await?;
        let session = leased.begin();
        let answered = timeout(limits::ANSWER_TIMEOUT, async {
            let parameters = [
                (&run as &(dyn tokio_postgres::types::ToSql + Sync), Type::INT4),
                (&index, Type::INT4),
                (&committer.owner, Type::TEXT),
                (&number_signed, Type::INT8),
                (&committer.is_first, Type::BOOL),
            ];
            session.run(Kind::Settle, &parameters).await
        });
        let rows = match answered.await {
            Err(_) => return Err(no_answer()),
            Ok(Ok(rows)) => rows,
            Ok(Err(error)) => return Err(Fault::of(&error).into_error()),
        };
        // Its own wait for the standby was given up: it may be lost yet.
        if session.has_warned() {
            return Err(failed("the database did not wait for its standby".to_owned()));
        }
        leased.end();
        let row = rows.first().ok_or_else(|| damaged("no settlement"))?;
        if !column::<bool>(row, 2)? {
            return Err(failed("another process has the run of this one: restart it".to_owned()));
        }
        self.known.lock().insert(worker.index);
        let is_committed: bool = column(row, 1)?;
        let last = u64::try_from(column::<i64>(row, 0)?).map_err(|_| damaged("a negative number"))?;
        match last {
            _ if is_committed => Ok(Settled::Committed),
            last if last + 1 == number => Ok(Settled::NotCommitted),
            last if last < number => Ok(Settled::Lost { last }),
            _ => Err(damaged("a worker's number is ahead of its commits")),
        }
    }
}

impl Database for Postgres {
    fn run(&self) -> u32 {
        self.run
    }

    fn fetch(&self, wants: &[Want]) -> Result<Fetched, KvError> {
        let request = fetch::Request::new(wants);
        wait(self.core.runtime(), self.core.fetch(&request))
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
        let count = i32::try_from(count.max(1)).map_err(|_| failed("too many numbers".to_owned()))?;
        let floor = i64::try_from(floor).map_err(|_| failed("no such number is left".to_owned()))?;
        let lock = locks::of_numbers(&self.cluster);
        wait(self.core.runtime(), async {
            for is_alone in [count > limits::NUMBERS_PER_BLOCK.cast_signed(), true] {
                let deadline = Instant::now() + limits::CONNECTION_WAIT;
                let mut leased = self.core.prepared(Kind::TakeNumbers, deadline).await?;
                let session = leased.begin();
                let answered = timeout(limits::ANSWER_TIMEOUT, async {
                    let parameters = [
                        (&count as &(dyn tokio_postgres::types::ToSql + Sync), Type::INT4),
                        (&floor, Type::INT8),
                        (&lock, Type::INT8),
                        (&is_alone, Type::BOOL),
                    ];
                    session.run(Kind::TakeNumbers, &parameters).await
                });
                let rows = match answered.await {
                    Err(_) => return Err(no_answer()),
                    Ok(Ok(rows)) => rows,
                    Ok(Err(error)) => return Err(Fault::of(&error).into_error()),
                };
                leased.end();
                let row = rows.first().ok_or_else(|| damaged("no number"))?;
                if let Some(first) = column::<Option<i64>>(row, 0)? {
                    return u64::try_from(first).map_err(|_| damaged("a negative number"));
                }
            }
            Err(damaged("no number"))
        })
    }

    fn view(&self) -> Result<Box<dyn View>, KvError> {
        Ok(Box::new(Snapshot::new(self.core.clone())))
    }
}
