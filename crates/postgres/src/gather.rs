//! [`Gather`]: the rows of many requests by one statement.
//!
//! Each statement costs the database more than the rows that it finds. So only [`STATEMENTS_MAX`] of them run at a
//! time, and the requests that come meanwhile wait for the end of one: then one statement fetches for all of them.
//! A request that comes while fewer run does not wait.

use std::collections::BTreeMap;
use std::sync::Arc;

use liteio_kv::KvError;
use liteio_kv::database::{Fetched, Want};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::core::{Core, no_answer};
use crate::fetch::Request;

/// Statements at a time.
const STATEMENTS_MAX: usize = 4;

/// Requests of one statement at most.
const REQUESTS_MAX: usize = 64;

/// Fetches of rows, gathered.
#[derive(Debug)]
pub(crate) struct Gather {
    core: Arc<Core>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<Waiting>,
    /// Statements that run.
    statements: usize,
}

/// A request that waits.
#[derive(Debug)]
struct Waiting {
    wants: Vec<Want>,
    answer: oneshot::Sender<Result<Fetched, KvError>>,
}

/// The place of a statement that runs. The next one begins when it is dropped.
struct Place(Arc<Gather>);

impl Gather {
    pub(crate) fn new(core: Arc<Core>) -> Arc<Self> {
        Arc::new(Self { core, state: Mutex::default() })
    }

    /// Fetches rows as [`Core::fetch`], with what others want at the same time. What it answers is of a moment after
    /// the call.
    ///
    /// # Errors
    /// Those of [`Core::fetch`].
    pub(crate) async fn fetch(self: Arc<Self>, wants: Vec<Want>) -> Result<Fetched, KvError> {
        let waits = {
            let mut state = self.state.lock();
            if state.statements < STATEMENTS_MAX {
                state.statements += 1;
                Err(wants)
            } else {
                let (answer, answered) = oneshot::channel();
                state.waiting.push(Waiting { wants, answer });
                Ok(answered)
            }
        };
        match waits {
            Ok(answered) => answered.await.unwrap_or_else(|_| Err(no_answer())),
            Err(wants) => {
                let place = Place(self);
                place.0.core.fetch(&Request::new(&wants)).await
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let next: Vec<_> = {
            let mut state = self.0.state.lock();
            state.waiting.retain(|it| !it.answer.is_closed());
            let count = state.waiting.len().min(REQUESTS_MAX);
            state.statements -= usize::from(count == 0);
            state.waiting.drain(..count).collect()
        };
        if !next.is_empty() {
            let place = Self(Arc::clone(&self.0));
            self.0.core.runtime().spawn(fetch_for_all(place, next));
        }
    }
}

/// Fetches for several requests. A row that several want is fetched once.
async fn fetch_for_all(place: Place, waiting: Vec<Waiting>) {
    let mut wants: Vec<Want> = Vec::new();
    let mut keys = BTreeMap::new();
    let mut place_of = |want: &Want| {
        let new = wants.len();
        let at = match want {
            Want::Key(key) => *keys.entry(key.clone()).or_insert(new),
            _ => new,
        };
        if at == new {
            wants.push(want.clone());
        }
        at
    };
    let places: Vec<Vec<usize>> =
        waiting.iter().map(|it| it.wants.iter().map(&mut place_of).collect()).collect();
    let fetched = place.0.core.fetch(&Request::new(&wants)).await;
    drop(place);
    for (request, places) in waiting.into_iter().zip(places) {
        let answer = fetched.as_ref().map_err(Clone::clone).map(|it| Fetched {
            now_ms: it.now_ms,
            epochs: it.epochs,
            answers: places.iter().map(|at| it.answers[*at].clone()).collect(),
        });
        // Nobody waits any more if the client has gone.
        let _ = request.answer.send(answer);
    }
}
