//! Inventories: lists of the objects of a bucket, written each day or week.
//!
//! One task looks each minute whether a day has begun, and at once when a configuration was put. Inventories are written
//! one after another, page by page, with a rest after each page.

mod column;
mod csv;
mod file;
mod manifest;
mod parquet;
mod run;
mod state;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use liteio_access::bucket_for_rules;
use liteio_access::state::App;
use liteio_s3::bucket_inventory::{self, Inventory};
use liteio_store::{Bucket, DocumentKind, Job, ListBuckets, Store, StoreError};
use tokio::sync::Notify;

use self::run::Run;
use self::state::LastRun;
use crate::deliver::DeliveryError;
use crate::figures::{Counters, add};

/// Interval at which the time of day is checked. It is not slept through, because the clock may jump.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// The wait after a failure; each further wait is twice as long.
const WAIT_MIN: Duration = Duration::from_secs(60);
const WAIT_MAX: Duration = Duration::from_secs(60 * 60);
/// Rest after a page, as a multiple of the duration of the page.
const RESTS: u32 = 1;
/// Buckets looked at per page.
const PAGE: usize = 100;

/// The inventories of a space.
pub(crate) struct Inventories {
    app: Arc<App>,
    counters: Arc<Counters>,
    /// Held while inventories are written, of which only one is at a time.
    alone: tokio::sync::Mutex<()>,
    stop: Notify,
    is_stopping: AtomicBool,
}

impl Inventories {
    pub(crate) fn new(app: &Arc<App>, counters: &Arc<Counters>) -> Arc<Inventories> {
        Arc::new(Inventories {
            app: Arc::clone(app),
            counters: Arc::clone(counters),
            alone: tokio::sync::Mutex::default(),
            stop: Notify::new(),
            is_stopping: AtomicBool::new(false),
        })
    }

    /// Ends [`Inventories::run`], after a page that is being written. The next start repeats the inventory.
    pub(crate) fn stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
        self.stop.notify_one();
    }

    /// Writes what is due, until it is stopped.
    pub(crate) async fn run(self: Arc<Self>) {
        let day = Duration::from_millis(self.app.store.lifecycle_day_ms());
        let look_every = LOOK_EVERY.min(day / 4);
        let (mut looked, mut retry, mut wait) = (None, None::<Instant>, WAIT_MIN);
        loop {
            let today = self.app.store.now_ms() / self.app.store.lifecycle_day_ms().max(1);
            match self.app.store.for_job(Job::Inventories) {
                // Another server writes them, until this one takes over.
                Ok(None) | Err(_) => looked = None,
                Ok(Some(store))
                    if looked != Some(today) || retry.is_some_and(|at| at <= Instant::now()) =>
                {
                    looked = Some(today);
                    retry = match self.write_due(&store).await {
                        0 => {
                            wait = WAIT_MIN;
                            None
                        }
                        _ => {
                            let at = Instant::now() + wait;
                            wait = (wait * 2).min(WAIT_MAX);
                            Some(at)
                        }
                    };
                }
                Ok(Some(_)) => {}
            }
            tokio::select! {
                () = self.stop.notified() => return,
                () = self.app.inventory_changed.notified() => looked = None,
                () = tokio::time::sleep(look_every) => {}
            }
            if self.is_stopping.load(Ordering::Relaxed) {
                return;
            }
        }
    }

    /// Writes all inventories that are due, unless another server does.
    pub(crate) async fn write_due_now(&self) {
        if let Ok(Some(store)) = self.app.store.for_job(Job::Inventories) {
            self.write_due(&store).await;
        }
    }

    /// Writes all inventories that are due, by the handle for [`Job::Inventories`]. Returns the number of those that
    /// failed.
    pub(crate) async fn write_due(&self, store: &Store) -> usize {
        let _alone = self.alone.lock().await;
        let (mut failed, mut after) = (0, None);
        loop {
            let query = ListBuckets { after, max: PAGE, ..ListBuckets::default() };
            let page = match self.app.blocking(move |store| with_inventories(store, &query)).await {
                Ok(page) => page,
                Err(StoreError::Closed) => return failed,
                Err(error) => {
                    tracing::warn!(%error, "inventories are not written: the list of buckets fails");
                    return failed + 1;
                }
            };
            for bucket in page.0 {
                failed += self.write_due_of(store, &bucket).await;
            }
            after = page.1;
            if after.is_none() || self.is_stopping.load(Ordering::Relaxed) {
                return failed;
            }
        }
    }

    async fn write_due_of(&self, store: &Store, bucket: &Arc<Bucket>) -> usize {
        let inventories = bucket_inventory::of_bucket(bucket);
        let ids: BTreeSet<String> = inventories.iter().map(|it| it.id.clone()).collect();
        let runs = state::of_bucket(bucket);
        let mut failed = 0;
        for inventory in inventories {
            if !inventory.is_enabled {
                continue;
            }
            let now_ms = self.app.store.now_ms();
            let day_ms = self.app.store.lifecycle_day_ms();
            let slot = state::slot(inventory.frequency, now_ms, day_ms);
            let last = runs.get(&inventory.id);
            let Some(run) = state::due(last, slot, now_ms) else { continue };
            let is_repeated = last == Some(&run);
            let id = inventory.id.clone();
            match self.write(store, bucket, inventory, run, is_repeated, &ids).await {
                Ok(rows) => {
                    add(&self.counters.inventories, 1);
                    add(&self.counters.inventory_rows, rows);
                }
                // The server stops, or the bucket is gone.
                Err(DeliveryError::Failed(StoreError::Closed)) => return failed,
                // Another server has taken over, and repeats it.
                Err(DeliveryError::Failed(StoreError::Suspended { .. })) => return failed + 1,
                Err(error) => {
                    add(&self.counters.inventory_failures, 1);
                    failed += 1;
                    let bucket = bucket.name.as_str();
                    tracing::warn!(bucket, id, %error, "an inventory is not written");
                }
            }
        }
        failed
    }

    /// Writes one inventory. Returns the number of its rows.
    async fn write(
        &self,
        store: &Store,
        bucket: &Arc<Bucket>,
        inventory: Inventory,
        last: LastRun,
        is_repeated: bool,
        ids: &BTreeSet<String>,
    ) -> Result<u64, DeliveryError> {
        let id = inventory.id.clone();
        let mut run = Run::new(&self.app, bucket, inventory, last.started_ms);
        let save = async |last: LastRun| {
            let (bucket, ids, id) = (Arc::clone(bucket), ids.clone(), id.clone());
            let store = store.clone();
            self.app.blocking(move |_| state::save(&store, &bucket, ids, id, last)).await
        };
        let mut is_complete = false;
        if is_repeated {
            let looked = self.app.blocking(move |store| -> Result<_, DeliveryError> {
                Ok((run.is_complete(store)?, run))
            });
            (is_complete, run) = looked.await?;
        } else {
            save(last.clone()).await?;
        }
        while !is_complete {
            if self.is_stopping.load(Ordering::Relaxed) {
                return Err(StoreError::Closed.into());
            }
            let begun = Instant::now();
            let of_job = store.clone();
            let step = self
                .app
                .blocking(move |_| -> Result<_, DeliveryError> { Ok((run.step(&of_job)?, run)) });
            (is_complete, run) = step.await?;
            if !is_complete {
                tokio::time::sleep(begun.elapsed() * RESTS).await;
            }
        }
        save(LastRun { is_done: true, ..last }).await?;
        Ok(run.rows)
    }
}

/// The buckets of a page that have inventories, and the end of the page.
fn with_inventories(
    store: &Store,
    query: &ListBuckets,
) -> Result<(Vec<Arc<Bucket>>, Option<String>), StoreError> {
    let page = store.list_buckets(query)?;
    let buckets = page.buckets.iter().filter_map(|listed| {
        // A bucket that was deleted meanwhile, or is damaged, has none.
        let bucket = bucket_for_rules(store, listed.name.as_str()).ok()?;
        bucket.settings.document(DocumentKind::Inventory).is_some().then_some(bucket)
    });
    Ok((buckets.collect(), page.next))
}
