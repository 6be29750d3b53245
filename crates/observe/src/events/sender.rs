//! The tasks that deliver events, one per target.
//!
//! A task reads its queue in order, sends the events to the target, several in parallel, and
//! deletes the accepted ones. Failed events are skipped; at the end of the queue, the task starts
//! again at its front, after exponentially growing waits. So an event that a target always rejects
//! does not block the others. As long as no event is accepted, the target may be down: then it gets
//! few events, with pauses. A target that keeps the order of events gets one at a time, and nothing
//! else after one that it has not taken.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use liteio_store::{EventKind, Job, QueuedEvent, Store, StoreError};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

use super::message::{self, Form};
use super::target::{NotTaken, Target};
use liteio_access::state::App;

/// Events read per page.
const PAGE: usize = 64;
/// Events in flight per target.
const AT_A_TIME: usize = 32;
/// Consecutive failures after which a target may be down.
const DOUBTFUL: usize = 16;
/// Events in flight then, between two pauses.
const AT_A_TIME_DOUBTFUL: usize = 8;
/// The first wait before failed events are retried; each further wait is twice as long.
const WAIT_MIN: Duration = Duration::from_millis(100);
const WAIT_MAX: Duration = Duration::from_secs(60);
/// Pause between two looks while another server sends the events.
const SUSPENDED: Duration = Duration::from_secs(1);
/// Longest pause: the failures may be due to the events themselves, and the next one accepted.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// The delivery tasks, which end when this is dropped.
pub struct Senders {
    tasks: Vec<(Arc<AtomicBool>, JoinHandle<()>)>,
}

impl Senders {
    /// Starts a task for each target.
    pub fn start(app: &Arc<App>, targets: Vec<Arc<dyn Target>>) -> Senders {
        let start = |target: Arc<dyn Target>| {
            let is_failing = Arc::new(AtomicBool::new(false));
            let sender = Sender::new(Arc::clone(app), target, Arc::clone(&is_failing));
            (is_failing, tokio::spawn(sender.run()))
        };
        Senders { tasks: targets.into_iter().map(start).collect() }
    }

    /// The number of failing targets.
    pub fn failing(&self) -> usize {
        self.tasks.iter().filter(|(is_failing, _)| is_failing.load(Ordering::Relaxed)).count()
    }

    /// Stops the tasks. Events in flight are sent again after the next start (delivery is at least
    /// once).
    pub fn stop(&self) {
        self.tasks.iter().for_each(|(_, task)| task.abort());
    }
}

impl Drop for Senders {
    fn drop(&mut self) {
        self.stop();
    }
}

/// An event's number and the outcome of its delivery.
type Given = (u64, Result<(), NotTaken>);

struct Sender {
    app: Arc<App>,
    target: Arc<dyn Target>,
    is_failing: Arc<AtomicBool>,
    /// Events that were read but not sent yet.
    read: VecDeque<QueuedEvent>,
    on_the_way: FuturesUnordered<BoxFuture<'static, Given>>,
    /// The number of the last event read since the front of the queue.
    position: Option<u64>,
    /// The queue's counter of additions when its end was read.
    end_seen: Option<u64>,
    /// The time to start again at the front, for skipped events.
    retry: Option<Instant>,
    /// The wait before the next retry.
    wait: Duration,
    refused_in_a_row: usize,
    /// The number of lost events that was last logged.
    lost: u64,
    /// The number of the last damaged event that was logged.
    damaged: Option<u64>,
}

impl Sender {
    fn new(app: Arc<App>, target: Arc<dyn Target>, is_failing: Arc<AtomicBool>) -> Sender {
        Sender {
            app,
            target,
            is_failing,
            read: VecDeque::new(),
            on_the_way: FuturesUnordered::new(),
            position: None,
            end_seen: None,
            retry: None,
            wait: WAIT_MIN,
            refused_in_a_row: 0,
            lost: 0,
            damaged: None,
        }
    }

    async fn run(mut self) {
        loop {
            match self.step().await {
                Ok(()) => {}
                Err(StoreError::Closed) => return,
                // Another server has taken over.
                Err(StoreError::Suspended { .. }) => sleep(SUSPENDED).await,
                Err(error) => {
                    let event_target = self.target.name();
                    tracing::error!(event_target, %error, "the queue of events fails");
                    sleep(WAIT_MAX).await;
                }
            }
        }
    }

    /// Sends events while there is room, then waits for the next thing to happen.
    async fn step(&mut self) -> Result<(), StoreError> {
        let job = Job::Events(self.target.name().to_owned());
        let Some(store) = self.app.store.for_job(job)? else {
            // Another server delivers them: what this one delivered, it could not delete.
            self.read.clear();
            // One that arrives after those of the other server would undo them where the last event counts.
            self.on_the_way.clear();
            self.begin_again();
            sleep(SUSPENDED).await;
            return Ok(());
        };
        if let (Some(at), true) =
            (self.retry, self.target.keeps_order() && self.on_the_way.is_empty())
        {
            // What was not taken goes first again.
            sleep_until(at).await;
            self.read.clear();
            self.begin_again();
            return Ok(());
        }
        let goes_back =
            self.end_seen.is_some() && self.retry.is_some_and(|at| at <= Instant::now());
        match (goes_back, self.on_the_way.is_empty()) {
            (false, _) => self.give_some().await?,
            (true, true) => self.begin_again(),
            // Events in flight must not be read a second time: wait for them before starting again.
            (true, false) => {}
        }
        if !self.on_the_way.is_empty() {
            let given = self.on_the_way.next().await;
            return self.settle(&store, given).await;
        }
        let Some(seen) = self.end_seen else { return Ok(()) };
        let queued = self.app.store.wait_for_events(self.target.name(), seen);
        match self.retry {
            Some(at) => tokio::select! {
                () = queued => self.end_seen = None,
                () = sleep_until(at) => {}
            },
            None => {
                self.recovered();
                queued.await;
                // All deliverable events are gone, so the front of the queue is its end.
                self.begin_again();
            }
        }
        Ok(())
    }

    /// Sends events up to the limit of events in flight.
    async fn give_some(&mut self) -> Result<(), StoreError> {
        let is_doubtful = self.refused_in_a_row >= DOUBTFUL;
        let room = match is_doubtful {
            _ if self.target.keeps_order() => 1,
            false => AT_A_TIME,
            true if self.on_the_way.is_empty() => AT_A_TIME_DOUBTFUL,
            true => 0,
        };
        let mut is_paused = !is_doubtful;
        while self.on_the_way.len() < room {
            if self.read.is_empty() && !self.read_page().await? {
                return Ok(());
            }
            if !std::mem::replace(&mut is_paused, true) {
                sleep(self.wait.min(PAUSE_MAX)).await;
            }
            if let Some(event) = self.read.pop_front() {
                self.give(event);
            }
        }
        Ok(())
    }

    /// Reads the next page; `false` at the end of the queue.
    async fn read_page(&mut self) -> Result<bool, StoreError> {
        let name = self.target.name().to_owned();
        let queued = self.app.store.events_queued(&name);
        if self.end_seen.is_some_and(|seen| seen >= queued) {
            return Ok(false);
        }
        let position = self.position;
        let read = move |store: &Store| -> Result<_, StoreError> {
            let lost = store.outbox_state().ok().and_then(|state| {
                let queue = state.queues.get(&name)?;
                Some(queue.lost)
            });
            Ok((store.queued_events(&name, position, PAGE)?, lost))
        };
        let (page, lost) = self.app.blocking(read).await?;
        self.tell_lost(lost.unwrap_or_default());
        self.position = page.last().map(|event| event.number).or(self.position);
        self.end_seen = page.is_empty().then_some(queued);
        self.read = page.into();
        Ok(!self.read.is_empty())
    }

    fn give(&mut self, QueuedEvent { number, event }: QueuedEvent) {
        let event = match event {
            Ok(event) => event,
            // A damaged event stays in the queue for verify and repair, and does not block the
            // others.
            Err(error) => {
                if self.damaged.is_none_or(|last| number > last) {
                    self.damaged = Some(number);
                    let event_target = self.target.name();
                    tracing::error!(event_target, number, %error, "an event cannot be told");
                }
                return;
            }
        };
        let is_minio = self.app.acts_as_minio && self.target.is_of_minio();
        if is_minio && event.kind == EventKind::Test {
            // MinIO sends none, and its receivers may refuse a document without records, which would be sent again forever.
            self.on_the_way.push(async move { (number, Ok(())) }.boxed());
            return;
        }
        let form = if is_minio { Form::Minio } else { Form::Aws };
        let message = message::of_event(number, &event, &self.app.region, form);
        let target = Arc::clone(&self.target);
        self.on_the_way.push(async move { (number, target.give(&message).await) }.boxed());
    }

    /// Deletes the accepted events, of `first` and of all others that have completed.
    async fn settle(&mut self, store: &Store, first: Option<Given>) -> Result<(), StoreError> {
        let mut taken = Vec::new();
        let mut next = first;
        while let Some((number, outcome)) = next {
            match outcome {
                Ok(()) => {
                    self.refused_in_a_row = 0;
                    taken.push(number);
                }
                Err(reason) => self.passed_over(&reason),
            }
            next = self.on_the_way.next().now_or_never().flatten();
        }
        if taken.is_empty() {
            return Ok(());
        }
        let forgotten = store.forget_events(self.target.name(), taken).await;
        if forgotten.is_err() {
            // The deletion failed, so these events are still in the queue and will be sent again.
            self.retry = self.retry.or(Some(Instant::now() + WAIT_MAX));
        }
        forgotten
    }

    fn passed_over(&mut self, reason: &NotTaken) {
        self.refused_in_a_row += 1;
        if self.retry.is_none() {
            self.retry = Some(Instant::now() + self.wait);
            self.wait = (self.wait * 2).min(WAIT_MAX);
        }
        if !self.is_failing.swap(true, Ordering::Relaxed) {
            let event_target = self.target.name();
            tracing::warn!(event_target, %reason, "the target does not take events; they wait");
        }
    }

    /// Resets the backoff: all events were accepted.
    fn recovered(&mut self) {
        self.wait = WAIT_MIN;
        if self.is_failing.swap(false, Ordering::Relaxed) {
            tracing::info!(event_target = self.target.name(), "the target takes events again");
        }
    }

    fn begin_again(&mut self) {
        (self.position, self.end_seen, self.retry) = (None, None, None);
        self.refused_in_a_row = 0;
    }

    fn tell_lost(&mut self, lost: u64) {
        if lost > self.lost {
            let (event_target, more) = (self.target.name(), lost - self.lost);
            tracing::error!(event_target, more, lost, "events were lost: too many waited");
        }
        self.lost = lost;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use liteio_access::offload::Offload;
    use liteio_access::state::Settings;
    use liteio_store::{
        BodyOptions, BucketName, Cause, NewBucket, NotificationRule, Notifications, ObjectKey,
        Owner, Several, StoreConfig,
    };
    use parking_lot::Mutex;

    use super::*;
    use crate::events::target::Message;

    const TARGET: &str = "hook";

    /// Takes everything, and counts it.
    #[derive(Default)]
    struct Taking(AtomicUsize);

    #[async_trait::async_trait]
    impl Target for Taking {
        fn name(&self) -> &str {
            TARGET
        }

        async fn give(&self, _: &Message) -> Result<(), NotTaken> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }

    /// A store with three events: one about the notifications, and two about objects.
    async fn with_events(several: &Several) -> Store {
        let store = Store::open_among(StoreConfig::memory(), several).expect("memory");
        let name = BucketName::new("bucket").expect("a name");
        let new = NewBucket::new(name.clone(), Owner::default(), String::new());
        store.create_bucket(new).await.expect("new");
        let bucket = store.bucket(&name).expect("there");
        let rule = NotificationRule {
            id: "rule".to_owned(),
            target: TARGET.to_owned(),
            events: vec!["ObjectCreated:*".to_owned()],
            prefix: String::new(),
            suffix: String::new(),
        };
        let notifications = Notifications { rules: vec![rule], document: b"document".to_vec() };
        let set = store.set_notifications(&bucket, Some(notifications), Cause::Unknown);
        set.await.expect("set");
        let bucket = store.bucket(&name).expect("there");
        for key in ["a", "b"] {
            let body = store.begin_body(BodyOptions::default()).expect("body");
            let body = body.finish().expect("staged");
            let key = ObjectKey::new(key).expect("a key");
            store.put_object(&bucket, key, body, Default::default()).await.expect("put");
        }
        store
    }

    #[tokio::test]
    async fn events_are_sent_by_the_server_whose_turn_it_is_and_none_is_lost() {
        let several = Several::default();
        let job = Job::Events(TARGET.to_owned());
        let store = with_events(&several).await;
        let queued = || store.queued_events(TARGET, None, 10).expect("a queue").len();
        let app = App::new(store.clone(), Settings::default(), Arc::default(), Offload::default());
        let target = Arc::new(Taking::default());
        let mut sender = Sender::new(Arc::new(app), Arc::clone(&target) as _, Arc::default());
        let given = || target.0.load(Ordering::Relaxed);

        // Another server sends them: this one waits.
        several.take(job.clone());
        assert!(sender.step().now_or_never().is_none());
        assert_eq!((given(), queued()), (0, 3));

        // It takes over while this one sends, which cannot delete what it has sent.
        several.give(job.clone());
        several.take_after(job.clone(), 0);
        let over = sender.step().await.expect_err("over");
        assert!(matches!(over, StoreError::Suspended { .. }), "{over}");
        assert_eq!((given(), queued()), (3, 3));
        assert!(sender.step().now_or_never().is_none());

        // They are sent again, from the first.
        several.give(job);
        while queued() > 0 {
            sender.step().await.expect("sent");
        }
        assert_eq!(given(), 6);
    }

    /// Refuses the first message twice, and keeps the order of what it is given.
    #[derive(Default)]
    struct Ordered(Mutex<Vec<String>>);

    #[async_trait::async_trait]
    impl Target for Ordered {
        fn name(&self) -> &str {
            TARGET
        }

        fn keeps_order(&self) -> bool {
            true
        }

        async fn give(&self, message: &Message) -> Result<(), NotTaken> {
            let mut given = self.0.lock();
            let entry = message.entry.as_ref();
            given.push(entry.map_or("test", |entry| &entry.path).to_owned());
            match given.len() {
                1 | 2 => Err(NotTaken("not yet".to_owned())),
                _ => Ok(()),
            }
        }
    }

    #[tokio::test]
    async fn a_target_that_keeps_order_gets_nothing_before_what_it_refused() {
        let store = with_events(&Several::default()).await;
        let queued = || store.queued_events(TARGET, None, 10).expect("a queue").len();
        let app = App::new(store.clone(), Settings::default(), Arc::default(), Offload::default());
        let target = Arc::new(Ordered::default());
        let mut sender = Sender::new(Arc::new(app), Arc::clone(&target) as _, Arc::default());
        while queued() > 0 {
            sender.step().await.expect("sent");
        }
        assert_eq!(*target.0.lock(), ["test", "test", "test", "bucket/a", "bucket/b"]);
    }
}
