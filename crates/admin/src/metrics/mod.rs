//! Metrics for Prometheus: `/_liteio/metrics`, and MinIO's paths and names.
//!
//! [`Counters`] counts requests as they happen. Everything else is read at scrape time: the store
//! maintains bucket usage and counters of its work, the budget knows its use. So a scrape costs one
//! lookup per bucket and vector index, independent of their size, and one per waiting deletion, up
//! to a limit.

mod access;
mod figures;
mod minio;
mod own;
mod page;
mod process;
mod requests;
mod routes;
mod tiers;
mod token;

use std::sync::{Arc, OnceLock};

use self::requests::Requests;
pub use self::routes::{is_minio, routes};
use liteio_access::state::App;
use liteio_wire::budget::Budget;
use liteio_wire::front::{Finished, Observer};
use liteio_wire::reply::ApiError;

/// The counters of one server.
pub struct Counters {
    requests: Requests,
    /// Set once the HTTP front end exists.
    budget: OnceLock<Arc<Budget>>,
}

impl Counters {
    /// Creates counters for the operations `s3` of S3 and `others` of other services.
    pub fn new(
        s3: impl Iterator<Item = &'static str>,
        others: impl Iterator<Item = &'static str>,
    ) -> Counters {
        process::started();
        Counters { requests: Requests::new(s3, others), budget: OnceLock::new() }
    }

    /// Adds the use of `budget` to the metrics.
    pub fn watch_budget(&self, budget: &Arc<Budget>) {
        // The first budget is the server's; later ones are ignored.
        let _ = self.budget.set(Arc::clone(budget));
    }
}

impl Observer for Counters {
    fn finished(&self, finished: &Finished<'_>) {
        self.requests.finished(finished);
    }

    fn rejected(&self, error: &ApiError) {
        self.requests.rejected(error);
    }
}

/// The values of a continuous backup.
#[derive(Clone, Copy, Debug, Default)]
pub struct BackupFigures {
    /// Age of the newest moment that can be restored.
    pub seconds_behind: f64,
    /// The time of the last complete base, in milliseconds since 1970.
    pub last_base_ms: Option<u64>,
    /// Bytes sent to the target.
    pub sent_bytes: u64,
    /// Number of objects sent to the target.
    pub sent_objects: u64,
    /// Number of failures.
    pub failures: u64,
    /// Number of damaged pairs and blobs that could not be backed up whole.
    pub unreadable: u64,
}

/// The metrics of a store, with the counters of its server.
pub struct Metrics {
    app: Arc<App>,
    counters: Arc<Counters>,
    /// The number of event targets that are failing.
    failing_targets: Box<dyn Fn() -> usize + Send + Sync>,
    /// The backup, if there is one.
    backup: Option<Box<dyn Fn() -> BackupFigures + Send + Sync>>,
}

impl Metrics {
    /// Creates the metrics of `app`. `failing_targets` is called for each scrape.
    pub fn new(
        app: Arc<App>,
        counters: Arc<Counters>,
        failing_targets: impl Fn() -> usize + Send + Sync + 'static,
    ) -> Metrics {
        Metrics { app, counters, failing_targets: Box::new(failing_targets), backup: None }
    }

    /// Adds the continuous backup. `figures` is called for each scrape.
    #[must_use]
    pub fn with_backup(
        self,
        figures: impl Fn() -> BackupFigures + Send + Sync + 'static,
    ) -> Metrics {
        Metrics { backup: Some(Box::new(figures)), ..self }
    }
}
