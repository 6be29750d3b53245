//! What updates depend on beside the key space.

use std::fmt::Debug;
use std::io;

/// The attachments of updates: whatever else must be durable for what an update put to be worth
/// anything, such as the file that a record names.
///
/// At [`Durability::Os`](crate::Durability::Os) an attachment is written before the update that needs
/// it, but not synced. The update [notes](super::Transaction::note) it. Then
/// - it is synced before a sync of the log or a checkpoint promises the update;
/// - after a crash an update that was not promised is kept only if its attachment is there, and no
///   update behind it is kept otherwise.
///
/// An attachment may be removed only after [`Kv::sync`](super::Kv::sync), when no update needs it any
/// more: until then a crash may bring back one that does.
pub trait Attachments: Debug + Send + Sync + 'static {
    /// Makes durable what updates have noted that were submitted before the call. Several threads may
    /// call it.
    ///
    /// # Errors
    /// When it is not durable; a later call tries again, if the disk allows it.
    fn sync(&self) -> io::Result<()>;

    /// How much waits for its sync: its bytes, and for the cost of each sync some more.
    fn unsynced_bytes(&self) -> u64;

    /// After a crash: whether the attachment is there, whole. If it is, the next
    /// [`Attachments::sync`] makes it durable.
    ///
    /// # Errors
    /// When that cannot be found out.
    fn recover(&self, attachment: &[u8]) -> io::Result<bool>;
}
