//! Objects that the server writes into buckets by itself: server access logs and inventories.
//!
//! A [`Reports`] belongs to one space and has one background task for each kind. No request waits for them, and both
//! write through `deliver`, which has the permission and the path of a PUT.
//!
//! | Module | Content |
//! |---|---|
//! | `access_log` | Server access logs: `record` (a request), `line` (its text), `operation` (its name), `buffer` (lines that wait), `name` (keys) |
//! | `deliver` | The permission for one object, and its write |
//! | `inventory` | Inventories: `state` (the schedule), `run` (one inventory), `column` (values), `csv` and `parquet` (rows), `file` (a data file), `manifest` (names and manifest) |
//! | `figures`, `limits` | Counters for metrics; limits of what waits |
//!
//! The crate must not know signatures, sockets or settings of the server. It reads the settings of buckets through
//! `liteio_s3`, which stores them.
//!
//! ```
//! use std::time::Duration;
//!
//! let settings = liteio_reports::Settings::default();
//! assert_eq!(settings.access_log_interval, Duration::from_secs(300));
//! ```

mod access_log;
mod deliver;
mod figures;
mod inventory;
mod limits;

use std::sync::Arc;
use std::time::Duration;

use liteio_access::state::App;
use parking_lot::Mutex;
use tokio::task::JoinHandle;

use self::access_log::AccessLogs;
use self::figures::Counters;
use self::inventory::Inventories;

pub use self::figures::Figures;

/// Time to deliver what waits when the server stops.
const END: Duration = Duration::from_secs(5);

/// Settings of deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The longest time that a log line waits for its delivery.
    pub access_log_interval: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { access_log_interval: Duration::from_secs(5 * 60) }
    }
}

/// The reports of one space. The tasks end when this is dropped.
pub struct Reports {
    logs: Arc<AccessLogs>,
    inventories: Arc<Inventories>,
    counters: Arc<Counters>,
    tasks: Mutex<Vec<JoinHandle<()>>>,
}

impl Reports {
    /// Starts the tasks.
    #[must_use]
    pub fn start(app: &Arc<App>, settings: Settings) -> Reports {
        let counters = Arc::<Counters>::default();
        let logs = AccessLogs::start(app, &counters);
        let delivery = tokio::spawn(Arc::clone(&logs).run(settings.access_log_interval));
        let inventories = Inventories::new(app, &counters);
        let listing = tokio::spawn(Arc::clone(&inventories).run());
        let tasks = Mutex::new(vec![delivery, listing]);
        Reports { logs, inventories, counters, tasks }
    }

    /// The counters.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let log_bytes_waiting = self.logs.waiting_bytes();
        Figures { log_bytes_waiting, ..self.counters.figures() }
    }

    /// Writes the inventories that are due by now, for tests that move the clock.
    pub async fn write_inventories(&self) {
        self.inventories.write_due_now().await;
    }

    /// Stops the tasks, after the log lines that wait are delivered, or after a time-out.
    pub async fn close(&self) {
        self.logs.stop();
        self.inventories.stop();
        let tasks = std::mem::take(&mut *self.tasks.lock());
        let end = async {
            for task in tasks {
                let _ = task.await;
            }
            self.logs.deliver().await;
        };
        if tokio::time::timeout(END, end).await.is_err() {
            tracing::warn!("the last access logs are lost: their delivery took too long");
        }
    }
}

impl Drop for Reports {
    fn drop(&mut self) {
        self.tasks.lock().iter().for_each(JoinHandle::abort);
    }
}
