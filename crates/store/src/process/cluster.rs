//! [`Cluster`]: the decisions that one process makes alone, and several processes over one key
//! space only together.
//!
//! ```text
//!  readers:    reading ─► snapshot ─► open, or keep ─► read … ─► end
//!  reclaimer:                               queued ─► may_delete ─► unlink
//!  jobs:       lease ─► a handle of the store with the term ─► admit, in each transaction ─┐
//!                ▲                          over: the update is refused, the job asks again │
//!                └──────────────────────────────────────────────────────────────────────────┘
//! ```
//! Everything above this module works with any implementation, and none of it can learn which one
//! it has: no method tells.

use std::fmt;
use std::time::Duration;

use liteio_blob::BlobId;
use liteio_kv::database::PrimaryId;
use liteio_kv::{Snapshot, Transaction};
use parking_lot::RwLockReadGuard;

use super::Pin;
use super::servers::OpenReader;
use crate::error::StoreError;
use crate::meta::content::{Content, ContentId};

/// The decisions about state outside of transactions. [`Alone`](super::alone::Alone) makes them
/// from the memory of this process.
pub(crate) trait Cluster: fmt::Debug + Send + Sync + 'static {
    /// The standing of this process: whether it may submit updates. [`Cluster::admit`] decides.
    ///
    /// # Errors
    /// [`StoreError::Suspended`] with the reason why it may not.
    fn standing(&self) -> Result<(), StoreError>;

    /// The standing of this process for reads: whether what it reads is up to date.
    ///
    /// # Errors
    /// [`StoreError::Suspended`] with the reason why it may not be.
    fn serving(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// `false` while another process may still read at a primary of the database that this one, `primary`, has replaced.
    /// Answers wait until then: they may tell of writes that the other process does not see.
    fn has_one_primary(&self, _primary: Option<PrimaryId>) -> bool {
        true
    }

    /// The standing of this process for content that it keeps: whether the others have known all the time that it
    /// does.
    ///
    /// # Errors
    /// [`StoreError::Suspended`] with the reason why it may be gone.
    fn still_keeping(&self, _kept: &Kept) -> Result<(), StoreError> {
        self.serving()
    }

    /// `true` once the others have ended this process: only another start can serve again.
    fn is_over(&self) -> bool {
        false
    }

    /// The reason why bodies cannot be read or written, as far as it is known; `None` if they can.
    fn blobs_failure(&self) -> Option<String> {
        None
    }

    /// The term in which this process does `job`; `None` while another one does it, or while updates are
    /// suspended. It does not wait: tasks ask, too, and terms are got and kept beside that.
    ///
    /// # Errors
    /// The errors of asking the others.
    fn lease(&self, job: &Job) -> Result<Option<Term>, StoreError>;

    /// Admits an update, of the job that `term` is for, if any. Called in its transaction: updates
    /// of one key space run one after another, so none is admitted behind the one that ends the
    /// term.
    ///
    /// # Errors
    /// [`StoreError::Suspended`] if updates are suspended, or the term is over.
    fn admit(&self, term: Option<&Term>, write: &mut Transaction<'_>) -> Result<(), StoreError>;

    /// The section of a read, from before its snapshot until the content that it finds is open or
    /// kept. Content is not deleted meanwhile.
    fn reading(&self) -> Reading<'_>;

    /// Keeps content that was found in a section of [`Cluster::reading`], and goes on being read
    /// behind it.
    fn keep(&self, content: &Content, opened: Opened) -> Kept;

    /// Leaves in `queued` the content that may be deleted: no reader of any process needs it, nor a
    /// running backup. The transactions that removed its last references are committed, and what
    /// `queued` was read from came later. `at` is the primary of the database.
    ///
    /// # Errors
    /// The errors of asking the others. Nothing may be deleted then.
    fn may_delete(
        &self,
        queued: &mut Vec<ContentId>,
        at: Option<PrimaryId>,
    ) -> Result<(), StoreError>;

    /// Time for which content stays in the queue before [`Cluster::may_delete`] is asked about it: a database that
    /// has lost its last commits, or was restored, may have records of it again.
    fn deletion_grace(&self) -> Duration {
        Duration::ZERO
    }

    /// `true` if the remote objects of this body, queued for deletion like the content of
    /// [`Cluster::may_delete`], may be deleted in their tier.
    ///
    /// # Errors
    /// The errors of asking the others.
    fn may_delete_in_tier(
        &self,
        body: &[u8; 16],
        at: Option<PrimaryId>,
    ) -> Result<bool, StoreError>;

    /// `true` if a record of a running process may come to reference this blob, so that it is no
    /// orphan yet. Asked before the snapshot in which its record is looked for.
    ///
    /// # Errors
    /// The errors of asking the others. No blob is an orphan then.
    fn in_flight(&self, blob: &BlobId) -> Result<bool, StoreError>;

    /// The runs of other processes that have ended and are not swept yet. They can commit no more records.
    fn ended_runs(&self) -> Vec<u32> {
        Vec::new()
    }

    /// The stamp of the entries about users, for [`Cluster::change_users`].
    ///
    /// # Errors
    /// The errors of a read.
    fn users_stamp(&self, _from: &Snapshot) -> Result<u64, StoreError> {
        Ok(0)
    }

    /// Admits a change of the entries about users by who has seen them with `stamp`; `None` by who need not
    /// have seen them. Returns the new stamp. A process that is alone makes one change after another.
    ///
    /// # Errors
    /// [`StoreError::ChangedMeanwhile`] if another process has changed them since.
    fn change_users(
        &self,
        _stamp: Option<u64>,
        _write: &mut Transaction<'_>,
    ) -> Result<u64, StoreError> {
        Ok(0)
    }

    /// Wakes the worker of a queue, after the commit that filled it.
    fn wake(&self, sleeper: Sleeper<'_>);
}

/// Work in the background that one process at a time does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Job {
    /// Deleting content that no record references, and lost blobs.
    Reclaim,
    /// Finding orphans.
    Sweep,
    /// Reading everything to find damage.
    Scrub,
    /// Executing lifecycle rules.
    Lifecycle,
    /// Counting the usage of buckets without counts.
    Usage,
    /// Rewrapping data keys.
    Rewrap,
    /// Sending the events for this target.
    Events(String),
    /// Replicating to this target.
    Replication(String),
    /// Queueing versions that were there before their rule of replication.
    Resync,
    /// Moving bodies into tiers, and deleting them there.
    Tiers,
    /// Writing inventories.
    Inventories,
    /// Maintaining tables.
    Tables,
    /// Writing snapshots of the vectors of the index with this number.
    Index(u32),
}

/// The right of this process to do a job, until another one gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    pub(super) job: Job,
    /// Grows with each change of the process. A process that is alone has one term for ever.
    pub(super) number: u64,
}

impl Job {
    /// The name of the job, by which several processes know it.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Reclaim => "reclaim".to_owned(),
            Self::Sweep => "sweep".to_owned(),
            Self::Scrub => "scrub".to_owned(),
            Self::Lifecycle => "lifecycle".to_owned(),
            Self::Usage => "usage".to_owned(),
            Self::Rewrap => "rewrap".to_owned(),
            Self::Events(target) => format!("events {target}"),
            Self::Replication(target) => format!("replication {target}"),
            Self::Resync => "resync".to_owned(),
            Self::Tiers => "tiers".to_owned(),
            Self::Inventories => "inventories".to_owned(),
            Self::Tables => "tables".to_owned(),
            Self::Index(id) => format!("index {id}"),
        }
    }
}

impl Term {
    pub(crate) fn job(&self) -> &Job {
        &self.job
    }

    /// The refusal of an update, or of other work, whose term is over.
    pub(crate) fn over() -> StoreError {
        let reason = "Another server has taken over this work in the background.".to_owned();
        StoreError::Suspended { reason }
    }
}

/// A section of [`Cluster::reading`], which ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Reading<'a> {
    pub(super) _section: RwLockReadGuard<'a, ()>,
    /// For other processes.
    pub(super) _open: Option<Box<OpenReader>>,
}

/// The part of the content that a reader has opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opened {
    /// All of it. An open file survives its deletion.
    Whole,
    /// Not all: some is opened while the rest is read.
    Begun,
}

/// Keeps content from deletion until dropped.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(super) _pin: Option<Pin>,
    /// For other processes.
    pub(super) open: Option<Box<OpenReader>>,
}

/// A receiver of [`Cluster::wake`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sleeper<'a> {
    /// The reclaimer.
    Reclaimer,
    /// The worker of the queue with this name: of events, or of replication.
    Queue(&'a str),
}
