//! The task that queues versions that were there before their rule, step by step.

use std::sync::Arc;

use liteio_access::state::App;
use liteio_store::{Job, Resync, Store, StoreError};
use tokio::time::sleep;

use crate::limits::{RESYNC_PAUSE, RESYNC_WAITING_MAX, SUSPENDED};

pub(crate) async fn run(app: Arc<App>) {
    loop {
        let seen = app.store.resyncs_begun();
        let done = match app.store.for_job(Job::Resync) {
            Ok(Some(store)) => all(&app, &store).await,
            // Another server queues them.
            Ok(None) => {
                sleep(SUSPENDED).await;
                continue;
            }
            Err(error) => Err(error),
        };
        match done {
            Ok(()) => app.store.wait_for_resyncs(seen).await,
            Err(StoreError::Closed) => return,
            // Another server has taken over.
            Err(StoreError::Suspended { .. }) => sleep(SUSPENDED).await,
            Err(error) => {
                tracing::error!(%error, "a resynchronization fails");
                sleep(RESYNC_PAUSE * 60).await;
            }
        }
    }
}

/// Steps through all resynchronizations until all are done.
async fn all(app: &Arc<App>, store: &Store) -> Result<(), StoreError> {
    loop {
        let found = app.blocking(|store: &Store| store.resyncs()).await?;
        let open: Vec<Resync> =
            found.into_iter().map(|(_, resync)| resync).filter(|it| !it.is_done).collect();
        if open.is_empty() {
            return Ok(());
        }
        let queues = app.blocking(|store: &Store| store.replication_queues()).await?;
        let mut has_stepped = false;
        for resync in open {
            let waiting = queues.get(&resync.target).map_or(0, |queue| queue.waiting);
            if waiting < RESYNC_WAITING_MAX {
                let store = store.clone();
                app.blocking(move |_| store.step_resync(&resync)).await?;
                has_stepped = true;
            }
        }
        if !has_stepped {
            sleep(RESYNC_PAUSE).await;
        }
    }
}
