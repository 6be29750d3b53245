//! [`Attachments`]: data outside of the key space that updates depend on.

use std::fmt::Debug;
use std::io;

/// Data outside of the key space that must be durable before a record that references it may survive a
/// crash, such as the file that a record names.
///
/// An attachment is written before the update that needs it. If it is not synced then, the update
/// [notes](super::Transaction::note) it, at [`Durability::Fsync`](crate::Durability::Fsync) with its
/// contents. Then
/// - it is synced before a checkpoint, which forgets the note, and before a
///   [sync](super::Kv::sync) says that it is;
/// - after a crash it is made anew from the contents in the note. An update whose note has none is
///   kept only if its attachment is there, and no update behind it is kept otherwise.
///
/// An attachment may be removed only after [`Kv::sync`](super::Kv::sync), when no update needs it any
/// more: until then a crash may bring back one that does.
pub trait Attachments: Debug + Send + Sync + 'static {
    /// Makes durable the attachments that were noted by updates submitted before the call. Several
    /// threads may call it.
    ///
    /// # Errors
    /// When it is not durable; a later call tries again, if the disk allows it.
    fn sync(&self) -> io::Result<()>;

    /// Bytes that wait for their sync, plus an allowance for the cost of each sync.
    fn unsynced_bytes(&self) -> u64;

    /// After a crash: checks that the attachment is there and whole, or makes it anew from `contents`
    /// unless they are empty. After `true` the next [`Attachments::sync`] makes it durable.
    ///
    /// # Errors
    /// When it cannot be checked, or the disk does not take the contents.
    fn recover(&self, attachment: &[u8], contents: &[u8]) -> io::Result<bool>;
}
