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
mod traffic;

use std::sync::{Arc, OnceLock};

pub(crate) use self::process::started as process_started;
use self::requests::Requests;
pub use self::routes::{is_minio, routes};
use self::traffic::Traffic;
use liteio_access::state::App;
use liteio_observe::delivery::Follower;
use liteio_wire::budget::Budget;
use liteio_wire::front::{Finished, Observer};
use liteio_wire::reply::ApiError;
use liteio_wire::tls::Certificates;

/// The counters of one server.
pub struct Counters {
    requests: Requests,
    traffic: Traffic,
    /// Set once the HTTP front end exists.
    budget: OnceLock<Arc<Budget>>,
    /// Set once the server has certificates.
    certificates: OnceLock<Arc<Certificates>>,
    /// Set once the followers of requests have started.
    followers: OnceLock<Arc<[Arc<dyn Follower>]>>,
}

impl Counters {
    /// Creates counters for the operations `s3` of S3 and `others` of other services.
    pub fn new(
        s3: impl Iterator<Item = &'static str>,
        others: impl Iterator<Item = &'static str>,
    ) -> Counters {
        process::started();
        Counters {
            requests: Requests::new(s3, others),
            traffic: Traffic::default(),
            budget: OnceLock::new(),
            certificates: OnceLock::new(),
            followers: OnceLock::new(),
        }
    }

    /// Adds the use of `budget` to the metrics.
    pub fn watch_budget(&self, budget: &Arc<Budget>) {
        // The first budget is the server's; later ones are ignored.
        let _ = self.budget.set(Arc::clone(budget));
    }

    /// Adds the certificates that the server uses.
    pub fn watch_certificates(&self, certificates: &Arc<Certificates>) {
        // As above: a server has one set of them.
        let _ = self.certificates.set(Arc::clone(certificates));
    }

    /// Number of certificates whose changed files are not usable.
    pub fn refused_certificates(&self) -> usize {
        self.certificates.get().map_or(0, |certificates| certificates.refused())
    }

    /// Adds the audit log and the exporter of spans.
    pub fn watch_followers(&self, followers: &Arc<[Arc<dyn Follower>]>) {
        let _ = self.followers.set(Arc::clone(followers));
    }
}

impl Observer for Counters {
    fn finished(&self, finished: &Finished<'_>) {
        self.requests.finished(finished);
        self.traffic.finished(finished);
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
    /// The time of the last verification, in milliseconds since 1970.
    pub verified_ms: Option<u64>,
    /// Number of damaged objects that it has found.
    pub verified_damaged: Option<u64>,
}

/// The values of access logs and inventories since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReportFigures {
    /// Number of delivered log objects.
    pub log_objects: u64,
    /// Number of log lines in them.
    pub log_lines: u64,
    /// Number of lost log lines.
    pub log_lines_lost: u64,
    /// Number of failed deliveries of log objects.
    pub log_failures: u64,
    /// Bytes of log lines that wait.
    pub log_bytes_waiting: u64,
    /// Number of complete inventories.
    pub inventories: u64,
    /// Number of rows in them.
    pub inventory_rows: u64,
    /// Number of failed attempts to write an inventory.
    pub inventory_failures: u64,
}

/// The values of the maintenance of tables since the start.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableFigures {
    /// Number of expired snapshots.
    pub snapshots_expired: u64,
    /// Number of deleted files that no table named.
    pub files_deleted: u64,
    /// Bytes of these files.
    pub bytes_deleted: u64,
    /// Number of failures: jobs on tables, and records that could not be read.
    pub failures: u64,
}

/// The values of a standby.
#[derive(Clone, Copy, Debug, Default)]
pub struct StandbyFigures {
    /// Time since it last had everything that the backup has.
    pub seconds_behind: f64,
    /// All that it has was written by this time, in milliseconds since 1970.
    pub applied_ms: u64,
    /// Number of applied segments and bases.
    pub applied: u64,
    /// Number of failures.
    pub failures: u64,
    /// Number of blobs and vectors that the backup does not have whole.
    pub left_out: u64,
}

/// The metrics of a store, with the counters of its server.
pub struct Metrics {
    app: Arc<App>,
    counters: Arc<Counters>,
    /// The number of event targets that are failing.
    failing_targets: Box<dyn Fn() -> usize + Send + Sync>,
    /// Access logs and inventories.
    reports: Box<dyn Fn() -> ReportFigures + Send + Sync>,
    /// The maintenance of tables.
    tables: Box<dyn Fn() -> TableFigures + Send + Sync>,
    /// The backup, if there is one, and the standby, until it is promoted.
    backup: Option<Box<dyn Fn() -> (Option<BackupFigures>, Option<StandbyFigures>) + Send + Sync>>,
}

impl Metrics {
    /// Creates the metrics of `app`. `failing_targets` is called for each scrape.
    pub fn new(
        app: Arc<App>,
        counters: Arc<Counters>,
        failing_targets: impl Fn() -> usize + Send + Sync + 'static,
    ) -> Metrics {
        Metrics {
            app,
            counters,
            failing_targets: Box::new(failing_targets),
            backup: None,
            reports: Box::new(ReportFigures::default),
            tables: Box::new(TableFigures::default),
        }
    }

    /// Adds access logs and inventories. `figures` is called for each scrape.
    #[must_use]
    pub fn with_reports(
        self,
        figures: impl Fn() -> ReportFigures + Send + Sync + 'static,
    ) -> Metrics {
        Metrics { reports: Box::new(figures), ..self }
    }

    /// Adds the maintenance of tables. `figures` is called for each scrape.
    #[must_use]
    pub fn with_tables(
        self,
        figures: impl Fn() -> TableFigures + Send + Sync + 'static,
    ) -> Metrics {
        Metrics { tables: Box::new(figures), ..self }
    }

    /// Adds the continuous backup and the standby. `figures` is called for each scrape.
    #[must_use]
    pub fn with_backup(
        self,
        figures: impl Fn() -> (Option<BackupFigures>, Option<StandbyFigures>) + Send + Sync + 'static,
    ) -> Metrics {
        Metrics { backup: Some(Box::new(figures)), ..self }
    }
}
