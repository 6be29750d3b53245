//! The parts that an engine and its views share: the runtime, the sessions, and fetches over
//! them.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use liteio_kv::KvError;
use liteio_kv::database::Fetched;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::time::{Instant, sleep, timeout};
use tokio_postgres::Row;
use tokio_postgres::error::Severity;

use crate::config::PostgresConfig;
use crate::error::{Fault, PostgresError, failed};
use crate::fetch;
use crate::limits;
use crate::pool::{Leased, Pool, Purpose, longer};
use crate::session::Parameter;
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
                // What a former primary has is old, perhaps older than what this process has committed meanwhile.
                Ok(Ok(_)) if !session.is_at_newest() && Instant::now() < deadline => continue,
                Ok(Ok(rows)) => {
                    leased.end();
                    Counters::count(&self.counters.fetches);
                    return request.answers(&rows);
                }
                Ok(Err(error)) => error,
            };
            let fault = Fault::of(&error);
            if is_rolled_back(&error) && !matches!(fault, Fault::Stale(_)) {
                leased.end();
            }
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
            Fault::Unknown(_) => is_rolled_back(error),
        }
    }

    pub(crate) async fn take(
        &self,
        purpose: Purpose,
        deadline: Instant,
    ) -> Result<Leased, KvError> {
        let leased = self.pool.take(purpose, deadline).await;
        leased.map_err(|error| failed(error.to_string()))
    }

    /// Runs a statement that changes something. It is sent once, unless it surely changed nothing or
    /// `is_harmless` says that it may happen twice.
    pub(crate) async fn change(
        &self,
        kind: Kind,
        parameters: &[Parameter<'_>],
        is_harmless: bool,
    ) -> Result<Changed, Fault> {
        let deadline = Instant::now() + limits::CONNECTION_WAIT;
        let mut pause = limits::RECONNECT_PAUSE.0;
        loop {
            let mut leased = self.take(Purpose::Commit, deadline).await.map_err(Fault::Refused)?;
            let session = leased.begin();
            session.has_warned();
            let mut is_sent = false;
            let answered = timeout(limits::ANSWER_TIMEOUT, async {
                session.prepare(kind).await?;
                is_sent = true;
                session.run(kind, parameters).await
            });
            let (fault, is_over) = match answered.await {
                Ok(Ok(rows)) => {
                    let has_warned = session.has_warned();
                    leased.end();
                    return Ok(Changed { rows, has_warned });
                }
                Ok(Err(error)) => {
                    let fault = Fault::of(&error);
                    if is_rolled_back(&error) && !matches!(fault, Fault::Stale(_)) {
                        leased.end();
                    }
                    let is_over = self.is_over(&fault, &error);
                    (fault, is_over)
                }
                Err(_) => {
                    // It may be a former primary, whose commits wait for a standby that follows another one.
                    self.pool.leave_host();
                    (Fault::Unknown(no_answer()), true)
                }
            };
            let is_nothing = !is_sent || is_harmless || matches!(fault, Fault::Stale(_));
            let is_over =
                is_over || matches!(fault, Fault::Conflict) || Instant::now() + pause >= deadline;
            match fault {
                _ if is_nothing && !is_over => {}
                Fault::Unknown(error) | Fault::Stale(error) if !is_sent => {
                    return Err(Fault::Refused(error));
                }
                Fault::Stale(error) => return Err(Fault::Refused(error)),
                fault => return Err(fault),
            }
            sleep(pause).await;
            pause = longer(pause);
        }
    }
}

/// The rows of a statement that has changed something.
pub(crate) struct Changed {
    pub(crate) rows: Vec<Row>,
    /// `true` if the database has not waited for its standby.
    pub(crate) has_warned: bool,
}

/// `true` for an error of the statement alone: the session goes on.
fn is_rolled_back(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|it| it.parsed_severity() == Some(Severity::Error))
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
