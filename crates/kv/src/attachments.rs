//! [`Attachments`]: data outside of the key space that updates depend on.

use std::fmt::Debug;
use std::io;

/// Data outside of the key space that must be durable before a record that references it may survive a
/// crash, such as the file of a blob.
///
/// An attachment is written before the update that needs it. If it is not synced then, the update
/// [notes](super::Transaction::note) it, at [`Durability::Fsync`](liteio_disk::Durability::Fsync) with its
/// contents. Then
/// - it is synced before a checkpoint, which drops the note, and before a
///   [sync](super::Kv::sync) returns;
/// - after a crash it is written again from the contents in the note. An update whose note has none is
///   kept only if its attachment is whole; otherwise the replay ends before it, because later updates
///   may build on it.
///
/// An attachment may be removed only after a [`Kv::sync`](super::Kv::sync) that covers the update which
/// dropped the last reference: until then a crash may bring back a record that references it.
pub trait Attachments: Debug + Send + Sync + 'static {
    /// Makes durable the attachments that were noted by updates submitted before the call. Several
    /// threads may call it.
    ///
    /// # Errors
    /// Any error of the disk: some attachments may not be durable. A later call tries again, unless the
    /// disk refuses writes by then.
    fn sync(&self) -> io::Result<()>;

    /// Bytes that wait for their sync, plus an allowance for the cost of each sync.
    fn unsynced_bytes(&self) -> u64;

    /// After a crash: rewrites the attachment from `contents`, or, if these are empty, checks that
    /// it is whole. After `true` the next [`Attachments::sync`] makes it durable.
    ///
    /// # Errors
    /// Any error of the disk while it is read or written. A missing or damaged attachment is `false`.
    fn recover(&self, attachment: &[u8], contents: &[u8]) -> io::Result<bool>;
}
