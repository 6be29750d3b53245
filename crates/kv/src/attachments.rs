//! [`Attachments`]: data outside of the key space that updates depend on.

use std::fmt::Debug;
use std::io;

/// Data outside of the key space that must be durable before a record that references it may survive a
/// crash, such as the file of a blob.
///
/// An attachment is written before the update that needs it. If it is not synced then, the update
/// [notes](super::Transaction::note) it, with its contents or without. Then
/// - it is written before the record of the update is appended; at
///   [`Durability::Fsync`](liteio_disk::Durability::Fsync) also synced, if the note has no contents: then
///   the log need not have the note, and the following does not concern it;
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

    /// Lets readers find the attachments `noted`, and, with `is_synced`, makes them durable. Each commit
    /// calls it before it appends a record with notes: no update becomes visible without its
    /// attachments, and at [`Durability::Fsync`](liteio_disk::Durability::Fsync) none is acknowledged
    /// before those are durable that it notes without contents.
    ///
    /// # Errors
    /// Any error of the disk: the updates fail, and nothing of them is in the log.
    fn write_with_record(&self, _noted: &[&[u8]], is_synced: bool) -> io::Result<()> {
        if is_synced { self.sync() } else { Ok(()) }
    }

    /// Bytes that wait for their sync, plus an allowance for the cost of each sync.
    fn unsynced_bytes(&self) -> u64;

    /// After a crash: rewrites the attachment from `contents`, or, if these are empty, checks that
    /// it is whole. After `true` the next [`Attachments::sync`] makes it durable.
    ///
    /// # Errors
    /// Any error of the disk while it is read or written. A missing or damaged attachment is `false`.
    fn recover(&self, attachment: &[u8], contents: &[u8]) -> io::Result<bool>;
}
