//! Agreement with other servers over the same key space about what this one remembers.
//!
//! A request begins with [`Store::agree`], which fetches the epochs of the key space: numbers that change
//! with each change of a bucket's settings, or of a user. What was remembered at another epoch is
//! forgotten. So a request that begins after a change was acknowledged, by any server, sees it. The rows that it
//! will read come with the epochs.

use std::sync::atomic::Ordering;

use liteio_kv::database::Moment;
use liteio_kv::{Ahead, Snapshot};

use crate::error::StoreError;
use crate::meta::space;
use crate::name::BucketName;
use crate::store::Store;

/// The place of the settings of buckets, and of the entries about users, in
/// [`Epochs`](liteio_kv::database::Epochs).
pub(crate) const SETTINGS: usize = 0;
pub(crate) const USERS: usize = 1;

/// The object that a request is about, by what it sends.
#[derive(Clone, Copy, Debug)]
pub struct AboutObject<'r> {
    /// The name of its bucket.
    pub bucket: &'r str,
    /// The key.
    pub key: &'r str,
    /// `true` if the request may write it.
    pub writes: bool,
}

/// The begin of a request, beside other servers.
#[derive(Clone, Debug)]
pub struct Agreed {
    /// The epoch of the entries about users, which the caller remembers.
    pub users: u64,
    /// The rows that the request will read first: see [`Ahead::around`].
    pub ahead: Ahead,
}

impl Store {
    /// Forgets what other servers have changed, and fetches with the same question what a request about an object
    /// reads first. `None` for a server that is alone, which has nothing to ask for.
    ///
    /// # Errors
    /// [`StoreError::Suspended`] if the server does not reach the database; the errors of a read.
    pub async fn agree(
        &self,
        about: Option<AboutObject<'_>>,
    ) -> Result<Option<Agreed>, StoreError> {
        self.shared().cluster.serving()?;
        let fetched = self.kv()?.fetch_ahead(self.rows_of(about)).await?;
        let Some(ahead) = fetched else { return Ok(None) };
        let moment = ahead.moment();
        self.agree_with(moment);
        Ok(Some(Agreed { users: moment.epochs[USERS], ahead }))
    }

    /// `false` for a short time after a failover of the database, in which another server may not have met the new
    /// primary and reads what was there before. An answer waits for `true`, whatever it tells: no client then sees
    /// something old after something new. It lasts until all servers have beaten, and 10 seconds at most.
    #[must_use]
    pub fn has_one_primary(&self) -> bool {
        self.kv().map_or(true, |kv| self.shared().cluster.has_one_primary(kv.primary()))
    }

    /// [`Store::agree`] for work in the background, which goes by the settings of buckets. Waits for the database.
    pub(crate) fn agree_now(&self) -> Result<(), StoreError> {
        self.shared().cluster.serving()?;
        if let Some(moment) = self.kv()?.moment()? {
            self.agree_with(moment);
        }
        Ok(())
    }

    /// The epoch of what a snapshot shows; `None` for a server that is alone.
    pub(crate) fn epoch_of(snapshot: &Snapshot, place: usize) -> Result<Option<u64>, StoreError> {
        Ok(snapshot.moment()?.map(|moment| moment.epochs[place]))
    }

    /// Forgets what was remembered at other epochs.
    fn agree_with(&self, moment: Moment) {
        if let Some(member) = &*self.inner.member.lock() {
            member.clock().advance(moment);
        }
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
    }

    /// The rows that an operation on an object reads first. None if the bucket is not remembered: their places
    /// have its number.
    fn rows_of(&self, about: Option<AboutObject<'_>>) -> Vec<Vec<u8>> {
        let about = about.filter(|about| !about.key.is_empty());
        let known = about.and_then(|about| {
            let bucket = self.shared().buckets.get(&BucketName::new(about.bucket).ok()?)?;
            Some((about, bucket))
        });
        let Some((about, bucket)) = known else { return Vec::new() };
        let current = space::current(bucket.id, about.key);
        match about.writes {
            true => vec![space::bucket(about.bucket), space::usage(bucket.id), current],
            false => vec![current],
        }
    }
}
