//! Publishing: the only way in which a version of an object becomes current, and the only way in
//! which it is removed.
//!
//! ```text
//!                 put, append, copy, complete, rename         delete without a version
//!  never          replaces the current object                 removes the current object
//!  enabled        archives the current object                 archives it, adds a delete marker
//!  suspended      replaces `null`, archives any other         removes `null`, archives any other,
//!                                                             adds a delete marker `null`
//! ```
//!
//! The versions of a key are in three places: the current object (unless the newest version is a
//! delete marker), the history with all others, newest first, and the index that finds the version
//! `null` in the history. Invariant: the current object is newer than every version in the history.
//!
//! One transaction does all of it, in this order:
//! 1. Read the bucket and the current object ([`Slot::open`]).
//! 2. Decide the conditions ([`Slot::check`]).
//! 3. Assign a version id, newer than every version of the key.
//! 4. Change the history: archive or discard the current version.
//! 5. Write the record.
//! 6. Update the bucket's usage, release the content of removed versions, queue the event.
//!
//! Every removed version passes [`Slot::check_removal`], where object lock refuses. A rename
//! withdraws the current object of one key with its content ([`Slot::withdraw`]) and publishes it
//! under another. A version of another store becomes current by [`Slot::import`], which keeps its
//! time and sends no event; one of a replica, at the place of its stamp, by [`Slot::replicate`].

mod delete;
mod marker;
mod new_version;
mod room;
mod slot;

pub(crate) use self::new_version::NewVersion;
pub(crate) use self::slot::{Slot, fetch};
use super::tell::Told;
use crate::error::StoreError;
use crate::process::{WakeReclaimer, WakeSender};

/// Guards that, after the commit, wake the threads for which the transaction has queued work.
pub(crate) type Wakes = (WakeReclaimer, (Told, Vec<WakeSender>));

/// The error for a lock in a bucket without object lock.
pub(crate) fn missing_lock_configuration() -> StoreError {
    let message = "Bucket is missing Object Lock Configuration".to_owned();
    StoreError::InvalidRequest { message }
}
