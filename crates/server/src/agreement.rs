//! Agreement with the other servers of a cluster, at the begin of each request.

use std::sync::Arc;
use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue, StatusCode};
use parking_lot::Mutex;

use liteio_access::state::App;
use liteio_iam::Users;
use liteio_space::Space;
use liteio_store::{AboutObject, Agreed, Ahead, StoreError};
use liteio_wire::origin::{Origin, Target};
use liteio_wire::reply::{ApiError, Dialect};

/// Pause between two looks at whether all servers have met a new primary of the database. The answer comes from the thread of the
/// beats, and only requests during a failover ask for it, so nobody is woken.
const SETTLES_EVERY: Duration = Duration::from_millis(20);

/// The settings and users that this server remembers, as current as those of all others.
pub(crate) struct Agreement {
    app: Arc<App>,
    users: Arc<Users>,
    /// Held while the users are read: a slow reader must not put older ones in the place of newer ones.
    reading: Arc<Mutex<()>>,
}

impl Agreement {
    /// The agreement of a server; `None` for one that is alone.
    pub(crate) fn of(space: &Space) -> Option<Agreement> {
        let (app, users) = (Arc::clone(&space.app), Arc::clone(&space.users));
        app.store.reads_may_wait().then(|| Agreement { app, users, reading: Arc::default() })
    }

    /// Brings everything that a request is decided by up to this moment. Returns what it will read first.
    ///
    /// # Errors
    /// 503 if the database cannot be reached: nothing that is remembered may be relied on.
    pub(crate) async fn reach(
        &self,
        origin: &Arc<Origin>,
        writes: bool,
    ) -> Result<Option<Ahead>, ApiError> {
        self.try_reach(&origin.target, writes).await.map_err(|error| {
            let reason = match error {
                StoreError::Suspended { reason } => reason,
                error => {
                    tracing::warn!(%error, "the database does not answer");
                    "This server does not reach its database at the moment. Try again.".to_owned()
                }
            };
            let status = StatusCode::SERVICE_UNAVAILABLE;
            // Soon: another server may answer, or this one after a failover.
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static("1"))]);
            let error = ApiError::with_status(Dialect::S3, "ServiceUnavailable", status, reason);
            error.with_headers(headers)
        })
    }

    /// Waits until what was found may be told: see [`Store::has_one_primary`](liteio_store::Store::has_one_primary).
    pub(crate) async fn settle(&self) {
        while !self.app.store.has_one_primary() {
            tokio::time::sleep(SETTLES_EVERY).await;
        }
    }

    async fn try_reach(&self, target: &Target, writes: bool) -> Result<Option<Ahead>, StoreError> {
        let about = AboutObject { bucket: target.bucket(), key: target.key(), writes };
        let agreed = self.app.store.agree(Some(about)).await?;
        let Some(Agreed { users: epoch, ahead }) = agreed else { return Ok(None) };
        // Epochs have no order: after a failover that has lost commits, an older one is right.
        if !self.users.are_of(epoch) {
            let (users, reading) = (Arc::clone(&self.users), Arc::clone(&self.reading));
            let read = self.app.blocking(move |store| -> Result<(), StoreError> {
                let _alone = reading.lock();
                match users.are_of(epoch) {
                    true => Ok(()),
                    false => users.read_store_again(store),
                }
            });
            read.await?;
        }
        Ok(Some(ahead))
    }
}
