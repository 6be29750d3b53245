//! Agreement with other servers over the same key space about what this one remembers.
//!
//! A request begins with [`Store::agree`], which fetches the epochs of the key space: numbers that change
//! with each change of a bucket's settings, or of a user. What was remembered at another epoch is
//! forgotten. So a request that begins after a change was acknowledged, by any server, sees it.

use std::sync::atomic::Ordering;

use crate::error::StoreError;
use crate::store::Store;

/// The place of the settings of buckets, and of the entries about users, in
/// [`Epochs`](liteio_kv::database::Epochs).
pub(crate) const SETTINGS: usize = 0;
pub(crate) const USERS: usize = 1;

impl Store {
    /// Forgets what other servers have changed. Returns the epoch of the entries about users, which the
    /// caller remembers; `None` for a server that is alone, which has nothing to ask for.
    ///
    /// # Errors
    /// [`StoreError::Suspended`] if the server does not reach the database; the errors of a read.
    pub fn agree(&self) -> Result<Option<u64>, StoreError> {
        if !self.reads_may_wait() {
            return Ok(None);
        }
        self.shared().cluster.serving()?;
        let Some(moment) = self.moment()? else { return Ok(None) };
        let counters = &self.shared().counters;
        let is_newer = [
            self.shared().buckets.agree(moment.epochs[SETTINGS]),
            counters.users_epoch.swap(moment.epochs[USERS], Ordering::Relaxed)
                != moment.epochs[USERS],
        ];
        let reloads = is_newer.into_iter().filter(|it| *it).count() as u64;
        if reloads > 0 {
            counters.epoch_reloads.fetch_add(reloads, Ordering::Relaxed);
        }
        Ok(Some(moment.epochs[USERS]))
    }
}
