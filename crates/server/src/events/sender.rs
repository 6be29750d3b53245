//! The tasks that tell events, one for each target.
//!
//! A task reads a page of its queue, gives the events to the target, several at a time, and deletes those that
//! were taken. Others are passed over, and tried again later, after waits that become longer: one event that a
//! target always refuses does not hold up the rest. If nothing of two pages in a row was taken, the target is
//! down: then the task waits, and begins at the front of the queue again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::StreamExt as _;
use liteio_store::{QueuedEvent, StoreError};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::message;
use super::target::{NotTaken, Target};
use crate::state::App;

/// Events that are read at once.
const PAGE: usize = 64;
/// Events that a target is given at the same time.
const AT_A_TIME: usize = 8;
/// The wait after the first failure; each further one waits twice as long.
const WAIT_MIN: Duration = Duration::from_millis(100);
const WAIT_MAX: Duration = Duration::from_secs(60);

/// The tasks. They end when this is dropped.
#[derive(Default)]
pub(crate) struct Senders {
    tasks: Vec<(Arc<AtomicBool>, JoinHandle<()>)>,
}

impl Senders {
    /// Starts a task for each target.
    pub(crate) fn start(app: &Arc<App>, targets: Vec<Arc<dyn Target>>) -> Senders {
        let start = |target: Arc<dyn Target>| {
            let is_failing = Arc::new(AtomicBool::new(false));
            let sender = Sender {
                app: Arc::clone(app),
                target,
                is_failing: Arc::clone(&is_failing),
                position: None,
                retry: None,
                is_doubtful: false,
                wait: WAIT_MIN,
            };
            (is_failing, tokio::spawn(sender.run()))
        };
        Senders { tasks: targets.into_iter().map(start).collect() }
    }

    /// The number of targets that do not take what they are given.
    pub(crate) fn failing(&self) -> usize {
        self.tasks.iter().filter(|(is_failing, _)| is_failing.load(Ordering::Relaxed)).count()
    }

    /// Ends the tasks. An event that is on its way is sent again after the next start.
    pub(crate) fn stop(&self) {
        self.tasks.iter().for_each(|(_, task)| task.abort());
    }
}

impl Drop for Senders {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Sender {
    app: Arc<App>,
    target: Arc<dyn Target>,
    is_failing: Arc<AtomicBool>,
    /// The number of the last event that was read since the front of the queue.
    position: Option<u64>,
    /// The time to begin at the front again, for what was passed over.
    retry: Option<Instant>,
    /// Nothing of the last page was taken.
    is_doubtful: bool,
    /// The next wait after a failure.
    wait: Duration,
}

/// The outcome of giving a page.
#[derive(Debug, Default)]
struct Given {
    taken: Vec<u64>,
    refused: Option<NotTaken>,
}

impl Sender {
    async fn run(mut self) {
        loop {
            match self.step().await {
                Ok(()) => {}
                Err(StoreError::Closed) => return,
                Err(error) => {
                    let webhook = self.target.name();
                    tracing::error!(webhook, %error, "events cannot be read");
                    tokio::time::sleep(WAIT_MAX).await;
                }
            }
        }
    }

    /// Reads a page and gives it to the target, or waits.
    async fn step(&mut self) -> Result<(), StoreError> {
        if self.retry.is_some_and(|at| at <= Instant::now()) {
            self.begin_again();
        }
        let seen = self.app.store.events_queued();
        let page = self.read().await?;
        let Some(last) = page.last().map(|event| event.number) else {
            let queued = self.app.store.wait_for_events(seen);
            match self.retry {
                Some(at) => drop(tokio::time::timeout_at(at, queued).await),
                None => queued.await,
            }
            return Ok(());
        };
        let Given { taken, refused } = self.give(page).await;
        let has_taken = !taken.is_empty();
        if has_taken {
            self.app.store.forget_events(self.target.name(), taken).await?;
        }
        self.position = Some(last);
        let Some(reason) = refused else {
            if has_taken {
                self.recovered();
            }
            return Ok(());
        };
        self.failed(&reason);
        let at = match self.retry {
            Some(at) => at,
            None => {
                let at = Instant::now() + self.wait;
                self.wait = (self.wait * 2).min(WAIT_MAX);
                *self.retry.insert(at)
            }
        };
        let was_doubtful = std::mem::replace(&mut self.is_doubtful, !has_taken);
        if was_doubtful && !has_taken {
            tokio::time::sleep_until(at).await;
            self.begin_again();
        }
        Ok(())
    }

    fn begin_again(&mut self) {
        (self.position, self.retry, self.is_doubtful) = (None, None, false);
    }

    async fn read(&self) -> Result<Vec<QueuedEvent>, StoreError> {
        // One that is down is asked with few.
        let max = if self.wait > WAIT_MIN { AT_A_TIME } else { PAGE };
        let (name, position) = (self.target.name().to_owned(), self.position);
        self.app.blocking(move |store| store.queued_events(&name, position, max)).await
    }

    async fn give(&self, page: Vec<QueuedEvent>) -> Given {
        let give = |QueuedEvent { number, event }| async move {
            let event = match event {
                Ok(event) => event,
                // It stays, for verify and repair, and keeps nobody from the others.
                Err(error) => {
                    let webhook = self.target.name();
                    tracing::error!(webhook, number, %error, "an event cannot be told");
                    return None;
                }
            };
            let message = message::of_event(number, &event, &self.app.region);
            Some((number, self.target.give(&message).await))
        };
        let mut outcomes = futures_util::stream::iter(page).map(give).buffered(AT_A_TIME);
        let mut given = Given::default();
        while let Some(outcome) = outcomes.next().await {
            match outcome {
                Some((number, Ok(()))) => given.taken.push(number),
                Some((_, Err(reason))) => given.refused = Some(reason),
                None => {}
            }
        }
        given
    }

    fn failed(&self, reason: &NotTaken) {
        if !self.is_failing.swap(true, Ordering::Relaxed) {
            let webhook = self.target.name();
            tracing::warn!(webhook, %reason, "the target takes no events; they wait");
        }
    }

    fn recovered(&mut self) {
        self.is_doubtful = false;
        // While something is left behind, it is tried less and less often.
        if self.retry.is_some() {
            return;
        }
        self.wait = WAIT_MIN;
        if self.is_failing.swap(false, Ordering::Relaxed) {
            tracing::info!(webhook = self.target.name(), "the target takes events again");
        }
    }
}
