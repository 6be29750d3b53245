//! The task that ends restores: it notes those that have completed or expired, for their events.

use std::sync::Arc;

use liteio_access::state::App;
use liteio_store::{Store, StoreError};
use tokio::time::sleep;

use crate::limits::LOOK_EVERY;

pub(crate) async fn run(app: Arc<App>) {
    let mut is_told = false;
    loop {
        // Another server does it.
        if app.store.suspended().is_none() {
            match app.blocking(Store::run_restores).await {
                Ok(()) => is_told = false,
                Err(StoreError::Closed) => return,
                Err(error) if !is_told => {
                    tracing::error!(%error, "restores cannot be ended; their events wait");
                    is_told = true;
                }
                Err(_) => {}
            }
        }
        sleep(LOOK_EVERY).await;
    }
}
