//! A view: a transaction that reads one snapshot.

use std::fmt;
use std::sync::Arc;

use futures_util::future::try_join;
use liteio_kv::KvError;
use liteio_kv::database::{Fetched, View, Want};
use parking_lot::Mutex;
use tokio::time::{Instant, timeout};

use crate::core::{Core, no_answer};
use crate::error::{Fault, failed};
use crate::fetch;
use crate::limits;
use crate::pool::{Leased, Purpose};
use crate::wait::wait;

/// A view of one moment: that of its first fetch.
pub(crate) struct Snapshot {
    core: Arc<Core>,
    state: Mutex<State>,
}

enum State {
    /// Nothing was fetched.
    Unbegun,
    /// The session of its transaction.
    Begun(Box<Leased>),
    /// An error has ended the transaction, and its moment is gone.
    Over,
}

impl Snapshot {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        Self { core, state: Mutex::new(State::Unbegun) }
    }

    /// Begins the transaction and fetches, in one round trip. Nothing was read before, so a session that turns
    /// out to have ended is replaced.
    async fn begin(&self, request: &fetch::Request<'_>) -> Result<(Leased, Fetched), KvError> {
        let deadline = Instant::now() + limits::CONNECTION_WAIT;
        let begin = begin_text();
        loop {
            let mut leased = self.core.take(Purpose::View, deadline).await?;
            let session = leased.begin();
            let answered = timeout(limits::ANSWER_TIMEOUT, async {
                session.prepare(request.kind()).await?;
                let session = &*session;
                try_join(session.batch(&begin), request.run(session)).await
            });
            match answered.await {
                Err(_) => return Err(no_answer()),
                Ok(Ok(_)) if !leased.begin().is_at_newest() && Instant::now() < deadline => {}
                Ok(Ok(((), rows))) => return Ok((leased, request.answers(&rows)?)),
                Ok(Err(error)) => match Fault::of(&error) {
                    Fault::Stale(_) if Instant::now() < deadline => self.core.pool.forget(),
                    Fault::Unknown(_)
                        if error.as_db_error().is_none() && Instant::now() < deadline => {}
                    fault => return Err(fault.into_error()),
                },
            }
        }
    }

    /// Fetches in the transaction.
    async fn again(leased: &mut Leased, request: &fetch::Request<'_>) -> Result<Fetched, KvError> {
        let session = leased.begin();
        let answered = timeout(limits::ANSWER_TIMEOUT, async {
            session.prepare(request.kind()).await?;
            request.run(session).await
        });
        match answered.await {
            Err(_) => Err(no_answer()),
            Ok(Ok(rows)) => request.answers(&rows),
            Ok(Err(error)) => Err(Fault::of(&error).into_error()),
        }
    }
}

/// The begin of a transaction, with the limits that it needs itself: a pooler gives it another session than
/// the next one.
fn begin_text() -> String {
    format!(
        "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = {}; \
         SET LOCAL idle_in_transaction_session_timeout = {}; SET LOCAL enable_seqscan = off; \
         SET LOCAL enable_bitmapscan = off; SET LOCAL jit = off",
        limits::STATEMENT_TIMEOUT.as_millis(),
        limits::VIEW_REST.as_millis()
    )
}

impl View for Snapshot {
    fn fetch(&self, wants: &[Want]) -> Result<Fetched, KvError> {
        let request = fetch::Request::new(wants);
        let runtime = self.core.runtime();
        let mut state = self.state.lock();
        let fetched = match &mut *state {
            State::Unbegun => {
                let (leased, fetched) = wait(runtime, self.begin(&request))?;
                *state = State::Begun(Box::new(leased));
                Ok(fetched)
            }
            State::Begun(leased) => wait(runtime, Self::again(leased, &request)),
            State::Over => {
                return Err(failed(
                    "the database has given up a view that lasted too long".to_owned(),
                ));
            }
        };
        if fetched.is_err() {
            *state = State::Over;
        }
        fetched
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let State::Begun(mut leased) = std::mem::replace(self.state.get_mut(), State::Over) else {
            return;
        };
        self.core.runtime().spawn(async move {
            let ended = timeout(limits::ANSWER_TIMEOUT, leased.begin().batch("ROLLBACK")).await;
            if matches!(ended, Ok(Ok(()))) {
                leased.end();
            }
        });
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Snapshot").finish_non_exhaustive()
    }
}
