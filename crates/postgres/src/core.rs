//! The parts that an engine and its views share: the runtime, the sessions, and fetches over
//! them.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use liteio_kv::KvError;
use liteio_kv::database::Fetched;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::time::{Instant, sleep, timeout};

use crate::config::PostgresConfig;
use crate::error::{Fault, PostgresError, failed};
use crate::fetch;
use crate::limits;
use crate::pool::{Pool, Purpose, longer};
use crate::statements::Kind;

/// The runtime, the sessions and the counters.
pub(crate) struct Core {
    /// `None` once this is dropped.
    runtime: Option<Runtime>,
    pub(crate) pool: Pool,
    pub(crate) counters: Counters,
}

/// Counters of what was done, since the start.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) fetches: AtomicU64,
    pub(crate) commits: AtomicU64,
    pub(crate) conflicts: AtomicU64,
    pub(crate) unknown: AtomicU64,
    pub(crate) lost: AtomicU64,
}

impl Counters {
    pub(crate) fn count(counter: &AtomicU64) {
        counter.fetch_add(1, Relaxed);
    }
}

impl Core {
    pub(crate) fn new(config: &PostgresConfig) -> Result<Self, PostgresError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("postgres")
            .enable_all()
            .build()
            .map_err(|error| PostgresError::Settings(format!("cannot start threads: {error}")))?;
        Ok(Self { runtime: Some(runtime), pool: Pool::new(config)?, counters: Counters::default() })
    }

    pub(crate) fn runtime(&self) -> &Handle {
        self.runtime.as_ref().expect("a runtime until it is dropped").handle()
    }

    /// A statement over one snapshot. A fetch changes nothing, so one whose session has ended begins anew.
    pub(crate) async fn fetch(&self, request: &fetch::Request<'_>) -> Result<Fetched, KvError> {
        let deadline = Instant::now() + limits::CONNECTION_WAIT;
        let mut pause = limits::RECONNECT_PAUSE.0;
        loop {
            let mut leased = self.take(Purpose::Fetch, deadline).await?;
            let session = leased.begin();
            let answered = timeout(limits::ANSWER_TIMEOUT, async {
                session.prepare(request.kind()).await?;
                request.run(session).await
            });
            let error = match answered.await {
                Err(_) => return Err(no_answer()),
                Ok(Ok(rows)) => {
                    leased.end();
                    Counters::count(&self.counters.fetches);
                    return request.answers(&rows);
                }
                Ok(Err(error)) => error,
            };
            let fault = Fault::of(&error);
            if self.is_over(&fault, &error) || Instant::now() + pause >= deadline {
                return Err(fault.into_error());
            }
            sleep(pause).await;
            pause = longer(pause);
        }
    }

    /// `true` if the same again, with another session, would fail as well.
    fn is_over(&self, fault: &Fault, error: &tokio_postgres::Error) -> bool {
        match fault {
            Fault::Conflict => false,
            Fault::Stale(_) => {
                self.pool.forget();
                false
            }
            Fault::Refused(_) => true,
            // Without words of the database its session has ended.
            Fault::Unknown(_) => error.as_db_error().is_some_and(|it| {
                it.parsed_severity() == Some(tokio_postgres::error::Severity::Error)
            }),
        }
    }

    pub(crate) async fn take(
        &self,
        purpose: Purpose,
        deadline: Instant,
    ) -> Result<crate::pool::Leased, KvError> {
        let leased = self.pool.take(purpose, deadline).await;
        leased.map_err(|error| failed(error.to_string()))
    }

    /// A session for commits with this statement prepared. Nothing was sent if there is none.
    pub(crate) async fn prepared(
        &self,
        kind: Kind,
        deadline: Instant,
    ) -> Result<crate::pool::Leased, KvError> {
        let mut pause = limits::RECONNECT_PAUSE.0;
        loop {
            let mut leased = self.take(Purpose::Commit, deadline).await?;
            let session = leased.begin();
            session.has_warned();
            let error = match timeout(limits::ANSWER_TIMEOUT, session.prepare(kind)).await {
                Err(_) => return Err(no_answer()),
                Ok(Ok(())) => return Ok(leased),
                Ok(Err(error)) => error,
            };
            let fault = Fault::of(&error);
            if self.is_over(&fault, &error) || Instant::now() + pause >= deadline {
                return Err(fault.into_error());
            }
            sleep(pause).await;
            pause = longer(pause);
        }
    }
}

/// The error of an answer that does not come in time.
pub(crate) fn no_answer() -> KvError {
    failed("the database does not answer".to_owned())
}

impl Drop for Core {
    fn drop(&mut self) {
        // Waiting for its threads would not be allowed on the threads of another runtime.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Core").field("counters", &self.counters).finish_non_exhaustive()
    }
}
