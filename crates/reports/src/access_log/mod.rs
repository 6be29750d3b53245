//! Server access logs: one line for each request on a bucket that has logging, delivered as objects.
//!
//! ```text
//! request on a bucket with logging ──► Record ──► ends: a line ──► Buffer ──► worker, each interval ──► object
//!                                                                 full: lost, counted        (deliver.rs)
//! ```
//! Deliveries are no requests, so they leave no lines: a bucket may log into itself without a loop.
//!
//! Logs are best effort, as on AWS. Lines wait in memory. If the store fails (a full disk), they wait for the next
//! attempt, and within the limits of the buffer none is lost. If the target does not take them (it is deleted, belongs
//! to somebody else, or does not allow it), they are lost and counted.

mod buffer;
mod line;
mod name;
mod operation;
mod record;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use liteio_access::state::App;
use liteio_access::{AccessLog, DeliveryService, LoggedKind, LoggedRequest};
use liteio_s3::bucket_logging;
use liteio_store::{Bucket, RandomSource as _, Store, StoreError, SystemRandom};
use liteio_wire::origin::timestamp;

use tokio::sync::Notify;

use self::buffer::{Batch, Buffer};
use self::record::Record;
use crate::deliver::{DeliveryError, Parcel, Target};
use crate::figures::{Counters, add};

/// The access logs of a space.
#[derive(Debug)]
pub(crate) struct AccessLogs {
    app: Arc<App>,
    buffer: Arc<Buffer>,
    /// The last delivery failed, which is logged once.
    is_failing: AtomicBool,
    /// Ends the worker, after a delivery that runs.
    stop: Notify,
}

/// The log that requests are told to. It does not keep the state of the server alive, which has it.
#[derive(Debug)]
struct Recorder {
    app: Weak<App>,
    buffer: Arc<Buffer>,
}

impl AccessLogs {
    /// Begins to record the requests of `app`.
    pub(crate) fn start(app: &Arc<App>, counters: &Arc<Counters>) -> Arc<AccessLogs> {
        let counters = Arc::clone(counters);
        let buffer = Arc::new(Buffer::new(counters));
        let recorder = Recorder { app: Arc::downgrade(app), buffer: Arc::clone(&buffer) };
        app.log_requests_to(Arc::new(recorder));
        let (app, is_failing, stop) = (Arc::clone(app), AtomicBool::new(false), Notify::new());
        Arc::new(AccessLogs { app, buffer, is_failing, stop })
    }

    /// Ends [`AccessLogs::run`].
    pub(crate) fn stop(&self) {
        self.stop.notify_one();
    }

    /// Delivers each `interval`, and earlier where many lines wait, until it is stopped.
    pub(crate) async fn run(self: Arc<Self>, interval: Duration) {
        loop {
            // While the store fails, lines that are due must not end the wait at once.
            let is_failing = self.is_failing.load(Ordering::Relaxed);
            tokio::select! {
                () = self.stop.notified() => return,
                () = tokio::time::sleep(interval) => {}
                () = self.buffer.is_due.notified(), if !is_failing => {}
            }
            self.deliver().await;
        }
    }

    /// Bytes of lines that wait.
    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.buffer.bytes()
    }

    /// Delivers all lines that wait. Those stay for which the store fails.
    pub(crate) async fn deliver(&self) {
        for batch in self.buffer.take() {
            self.deliver_one(batch).await;
        }
    }

    async fn deliver_one(&self, batch: Batch) {
        let app = Arc::clone(&self.app);
        let batch = Arc::new(batch);
        let one = Arc::clone(&batch);
        let put =
            self.app.blocking(move |store| -> Result<_, StoreError> { Ok(put(&app, store, &one)) });
        let put = put.await.unwrap_or_else(|error| Err(error.into()));
        // The work has ended, so this is the last handle.
        let Some(batch) = Arc::into_inner(batch) else { return };
        let counters = &self.buffer.counters;
        match &put {
            Ok(()) => {
                self.is_failing.store(false, Ordering::Relaxed);
                add(&counters.log_objects, 1);
                add(&counters.log_lines, batch.lines);
            }
            Err(error) => {
                add(&counters.log_failures, 1);
                self.warn(&batch, error);
            }
        }
        match put {
            Err(DeliveryError::Failed(_)) => {
                self.buffer.give_back(batch);
                return;
            }
            Err(DeliveryError::Refused(_)) => add(&counters.log_lines_lost, batch.lines),
            Ok(()) => {}
        }
        self.buffer.done(&batch);
    }

    /// Warns of the first of several failures.
    fn warn(&self, batch: &Batch, error: &DeliveryError) {
        if !self.is_failing.swap(true, Ordering::Relaxed) {
            let (bucket, target) = (&batch.source.name, &batch.rule.target);
            tracing::warn!(bucket = bucket.as_str(), target, %error, "access logs are not delivered");
        }
    }
}

/// Writes a batch into its target.
fn put(app: &App, store: &Store, batch: &Batch) -> Result<(), DeliveryError> {
    let Batch { source, rule, .. } = batch;
    let mut unique = [0; 8];
    SystemRandom.fill(&mut unique).map_err(StoreError::from)?;
    let now = timestamp(store.now_ms());
    let key = name::key(batch, &app.account_id(&source.owner.id), now, unique);
    let service = DeliveryService::AccessLogs;
    let target = Target { service, source, bucket: &rule.target, encryption: None };
    let bucket = target.open(app, &key)?;
    check_target(source, &bucket)?;
    let parcel = Parcel { key: &key, content_type: "text/plain", encryption: None };
    let mut writing = Target::begin(app, &bucket, parcel)?;
    writing.write(batch.text.as_bytes())?;
    writing.finish(store, rule.acl(&bucket.owner))?;
    Ok(())
}

/// Checks what PutBucketLogging has checked: the bucket may be another one, or have changed, since.
fn check_target(source: &Bucket, target: &Bucket) -> Result<(), DeliveryError> {
    let refused = |reason: &str| Err(DeliveryError::Refused(reason.to_owned()));
    if target.owner.id != source.owner.id {
        return refused("the target bucket belongs to another account");
    }
    if target.region != source.region {
        return refused("the target bucket is in another region");
    }
    if target.settings.default_retention.is_some() {
        return refused("the target bucket has a default retention");
    }
    Ok(())
}

impl Recorder {
    /// Makes the record of a request; `None` if the bucket has no logging.
    fn record(
        &self,
        bucket: &Arc<Bucket>,
        request: &LoggedRequest<'_>,
    ) -> Option<impl FnOnce() -> Record> {
        let app = self.app.upgrade()?;
        let rule = bucket_logging::of_bucket(&app, bucket)?;
        Some(move || {
            let now_ms = app.store.now_ms();
            Record::begin(&self.buffer, bucket, rule, now_ms, request)
        })
    }
}

impl AccessLog for Recorder {
    fn begin(&self, bucket: &Arc<Bucket>, request: &LoggedRequest<'_>) {
        let Some(record) = self.record(bucket, request) else { return };
        let begin = || Box::new(record()) as _;
        match request.kind {
            LoggedKind::CopySource => request.origin.found.note_source_record(begin),
            _ => request.origin.found.note_record(begin),
        }
    }

    fn deleted(
        &self,
        bucket: &Arc<Bucket>,
        request: &LoggedRequest<'_>,
        status: u16,
        code: Option<&str>,
    ) {
        if let Some(record) = self.record(bucket, request) {
            record().end_deletion(status, code);
        }
    }
}
