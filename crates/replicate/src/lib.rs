//! Replication of buckets: from the store's queues to their targets.
//!
//! The store writes a row in the transaction of the change that it is about. For each target, a task
//! reads its queue in order ([`worker`]), reads the version that a row names and sends it
//! ([`copy`]), with the headers that the kind of the service wants ([`remote`]). The row is deleted
//! when the target has confirmed it, so each change arrives at least once; a version that is there
//! already is not made twice, since it keeps its version id.
//!
//! | Module | Content |
//! |---|---|
//! | `limits` | bounds of the work for a target |
//! | `remote` | a target: its client, the kind of its service, names of versions and headers there |
//! | `body` | bodies of versions, streamed from the store |
//! | `annotations` | annotations of copies at another LiteIO |
//! | `copy` | the work on one row: versions in one piece and in parts, markers, deletions, tags and locks |
//! | `worker` | the task of one target: order, repetitions, waits |
//! | `resync` | the task that queues versions that are there already |
//!
//! The crate must not know requests to this server or where targets are configured.

mod annotations;
mod body;
mod copy;
mod limits;
mod lock;
mod remote;
mod resync;
mod worker;

use std::collections::BTreeMap;
use std::sync::Arc;

use liteio_access::remote::RemoteTarget;
use liteio_access::state::App;
use tokio::task::JoinHandle;

use self::worker::Worker;

/// The tasks of replication, which end when this is dropped.
#[derive(Debug)]
pub struct Replicators {
    tasks: [JoinHandle<()>; 2],
}

impl Replicators {
    /// Starts a task for each target, now and when one is added.
    #[must_use]
    pub fn start(app: &Arc<App>) -> Replicators {
        let supervised = tokio::spawn(supervise(Arc::clone(app)));
        let resyncs = tokio::spawn(resync::run(Arc::clone(app)));
        Replicators { tasks: [supervised, resyncs] }
    }

    /// Stops the tasks. What is in flight is sent again after the next start.
    pub fn stop(&self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Drop for Replicators {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A task that ends with its handle.
struct Running(JoinHandle<()>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Keeps a task running for each target.
async fn supervise(app: Arc<App>) {
    let mut changes = app.remote_targets.changes();
    let mut running: BTreeMap<String, (Arc<RemoteTarget>, Running)> = BTreeMap::new();
    loop {
        let targets = app.remote_targets.all();
        running.retain(|arn, (known, _)| {
            targets.iter().any(|(target, _)| target.arn == *arn && Arc::ptr_eq(target, known))
        });
        for (target, figures) in targets {
            if running.contains_key(&target.arn) {
                continue;
            }
            match Worker::new(Arc::clone(&app), Arc::clone(&target), figures) {
                Ok(worker) => {
                    let task = Running(tokio::spawn(worker.run()));
                    running.insert(target.arn.clone(), (target, task));
                }
                Err(reason) => {
                    tracing::error!(target = target.arn, reason, "a target cannot be used");
                }
            }
        }
        if changes.changed().await.is_err() {
            return;
        }
    }
}
