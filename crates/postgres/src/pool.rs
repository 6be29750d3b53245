//! [`Pool`]: sessions that are open and rest, and the permits to have one.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout_at};

use crate::config::PostgresConfig;
use crate::error::PostgresError;
use crate::limits;
use crate::primary::Primary;
use crate::session::{Connector, Session};

/// The purpose of a session. Each has its own: commits do not wait for reads, nor fetches for
/// views.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Commit,
    Fetch,
    View,
}

/// All sessions of a process.
pub(crate) struct Pool {
    connector: Connector,
    permits: [Arc<Semaphore>; 3],
    /// The sessions that rest. The one used last is taken first: its caches are warm.
    resting: Arc<Mutex<Vec<Session>>>,
}

impl Pool {
    pub(crate) fn new(config: &PostgresConfig) -> Result<Self, PostgresError> {
        let views = config.read_connections / 2;
        let permits = [config.connections, config.read_connections - views, views];
        Ok(Self {
            connector: Connector::new(config)?,
            permits: permits.map(|count| Arc::new(Semaphore::new(count))),
            resting: Arc::default(),
        })
    }

    /// A session, as soon as there is one, until the deadline. While the database cannot be reached, it is
    /// tried again and again.
    pub(crate) async fn take(
        &self,
        purpose: Purpose,
        deadline: Instant,
    ) -> Result<Leased, PostgresError> {
        let permits = self.permits[purpose as usize].clone();
        let permit = timeout_at(deadline, permits.acquire_owned()).await;
        let busy = || PostgresError::Database("all connections are in use".to_owned());
        let permit = permit.map_err(|_| busy())?.map_err(|_| busy())?;
        let mut pause = limits::RECONNECT_PAUSE.0;
        loop {
            if let Some(session) = self.rested() {
                return Ok(self.leased(session, permit));
            }
            match timeout_at(deadline, self.connector.connect()).await {
                Ok(Ok(session)) => return Ok(self.leased(session, permit)),
                Ok(Err(failure)) if !failure.may_pass || Instant::now() + pause >= deadline => {
                    return Err(failure.error);
                }
                Ok(Err(_)) => sleep(pause).await,
                Err(_) => {
                    return Err(PostgresError::Database("it does not answer".to_owned()));
                }
            }
            pause = longer(pause);
        }
    }

    /// A session that rests and is of use.
    fn rested(&self) -> Option<Session> {
        let mut resting = self.resting.lock();
        while let Some(session) = resting.pop() {
            if session.is_of_use() {
                return Some(session);
            }
        }
        None
    }

    fn leased(&self, session: Session, permit: OwnedSemaphorePermit) -> Leased {
        Leased {
            session: Some(session),
            is_idle: true,
            resting: self.resting.clone(),
            _permit: permit,
        }
    }

    /// The newest primary that a session was opened at.
    pub(crate) fn primary(&self) -> Option<Primary> {
        self.connector.primary()
    }

    /// Ends all sessions that rest: they are at a host that is of no use any more.
    pub(crate) fn forget(&self) {
        self.resting.lock().clear();
    }

    /// As [`Pool::forget`], for a host that does not answer commits: another one is tried first from now on.
    pub(crate) fn leave_host(&self) {
        self.connector.leave_host();
        self.forget();
    }
}

/// The pause after this one.
pub(crate) fn longer(pause: Duration) -> Duration {
    (pause * 2).min(limits::RECONNECT_PAUSE.1)
}

/// A session that is in use. One whose use has not come to its end is closed when this is dropped, and never
/// cancelled: a cancelled wait for a standby would be acknowledged.
pub(crate) struct Leased {
    session: Option<Session>,
    is_idle: bool,
    resting: Arc<Mutex<Vec<Session>>>,
    _permit: OwnedSemaphorePermit,
}

impl Leased {
    /// The session, to begin something with it.
    pub(crate) fn begin(&mut self) -> &mut Session {
        self.is_idle = false;
        self.session.as_mut().expect("a session until it is dropped")
    }

    /// Notes that nothing is under way any more.
    pub(crate) fn end(&mut self) {
        self.is_idle = true;
    }
}

impl Drop for Leased {
    fn drop(&mut self) {
        if let Some(session) = self.session.take()
            && self.is_idle
            && session.is_of_use()
        {
            self.resting.lock().push(session);
        }
    }
}
