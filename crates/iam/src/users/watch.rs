//! The task that reloads the credentials file.

use std::sync::Arc;
use std::time::Duration;

use liteio_store::StoreError;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use super::Users;
use crate::settings::CredentialsSource;
use liteio_access::state::App;

/// Interval between two checks of the credentials file.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

impl Users {
    /// Checks the file every second while the result lives.
    pub fn watch(self: &Arc<Users>, app: &Arc<App>) -> Watch {
        if matches!(self.source, CredentialsSource::Pair { .. }) {
            return Watch(None);
        }
        let (users, app) = (Arc::clone(self), Arc::clone(app));
        Watch(Some(tokio::spawn(async move {
            let mut ticks = interval(LOOK_AGAIN);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let users = Arc::clone(&users);
                let looked = app.blocking(move |_| -> Result<(), StoreError> {
                    users.read_again_if_changed();
                    Ok(())
                });
                if let Err(error) = looked.await {
                    tracing::debug!(%error, "the users were not read again");
                }
            }
        })))
    }
}

/// The task that reloads users. It ends when this is dropped.
pub struct Watch(Option<JoinHandle<()>>);

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}
