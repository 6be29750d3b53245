//! Metrics for Prometheus: `/_liteio/metrics`, and the paths and names of MinIO.
//!
//! [`Counters`] are told of every request and count it. Everything else is looked up when somebody asks: the store
//! keeps the usage of its buckets and counters of its work, the budget knows what is used. So an answer costs a
//! look-up for each bucket and each vector index, whatever is in them, and for each content that waits to be deleted, up
//! to a number.

mod access;
mod figures;
mod minio;
mod own;
mod page;
mod process;
mod requests;
mod routes;
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
    /// Set once the front is made.
    budget: OnceLock<Arc<Budget>>,
}

impl Counters {
    /// Counters of the operations `s3` of S3, and of `others`.
    pub fn new(
        s3: impl Iterator<Item = &'static str>,
        others: impl Iterator<Item = &'static str>,
    ) -> Counters {
        process::started();
        Counters { requests: Requests::new(s3, others), budget: OnceLock::new() }
    }

    /// Lets the use of `budget` be told.
    pub fn watch_budget(&self, budget: &Arc<Budget>) {
        // The first is that of the server.
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

/// The metrics of a store, with the counters of its server.
pub struct Metrics {
    app: Arc<App>,
    counters: Arc<Counters>,
    /// Targets of events that do not take them.
    failing_targets: Box<dyn Fn() -> usize + Send + Sync>,
}

impl Metrics {
    /// The metrics of `app`. `failing_targets` is asked for each answer.
    pub fn new(
        app: Arc<App>,
        counters: Arc<Counters>,
        failing_targets: impl Fn() -> usize + Send + Sync + 'static,
    ) -> Metrics {
        Metrics { app, counters, failing_targets: Box::new(failing_targets) }
    }
}
