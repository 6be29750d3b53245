//! Agreement with the other servers of a cluster, at the begin of each request.

use std::sync::Arc;

use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue, StatusCode};
use parking_lot::Mutex;

use liteio_access::state::App;
use liteio_iam::Users;
use liteio_space::Space;
use liteio_store::StoreError;
use liteio_wire::reply::{ApiError, Dialect};

/// The settings and users that this server remembers, as current as those of all others.
pub(crate) struct Agreement {
    app: Arc<App>,
    users: Arc<Users>,
    /// The epoch at which the users were read last. Held while they are read: a slow reader must not put
    /// older ones in the place of newer ones.
    read_at: Arc<Mutex<u64>>,
}

impl Agreement {
    /// The agreement of a server; `None` for one that is alone.
    pub(crate) fn of(space: &Space) -> Option<Agreement> {
        let (app, users) = (Arc::clone(&space.app), Arc::clone(&space.users));
        app.store.reads_may_wait().then(|| Agreement { app, users, read_at: Arc::default() })
    }

    /// Brings everything that requests are decided by up to this moment.
    ///
    /// # Errors
    /// 503 if the database cannot be reached: nothing that is remembered may be relied on.
    pub(crate) async fn reach(&self) -> Result<(), ApiError> {
        let (users, read_at) = (Arc::clone(&self.users), Arc::clone(&self.read_at));
        let reached = self.app.blocking(move |store| -> Result<(), StoreError> {
            let Some(epoch) = store.agree()? else { return Ok(()) };
            let mut read_at = read_at.lock();
            // Epochs have no order: after a failover that has lost commits, an older one is right.
            if *read_at != epoch {
                users.read_store_again(store)?;
                *read_at = epoch;
            }
            Ok(())
        });
        reached.await.map_err(|error| {
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
}
