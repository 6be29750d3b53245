//! What updates depend on beside the key space.

use std::fmt::Debug;
use std::io;

/// The attachments of updates: whatever else must be durable for what an update put to be worth
/// anything, such as the file that a record names.
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
    /// Makes durable what updates have noted that were submitted before the call. Several threads may
    /// call it.
    ///
    /// # Errors
    /// When it is not durable; a later call tries again, if the disk allows it.
    fn sync(&self) -> io::Result<()>;

    /// How much waits for its sync: its bytes, and for the cost of each sync some more.
    fn unsynced_bytes(&self) -> u64;

    /// After a crash: makes sure that the attachment is there, whole, with the help of its
    /// `contents` unless they are empty, and says whether it is. If so, the next
    /// [`Attachments::sync`] makes it durable.
    ///
    /// # Errors
    /// When that cannot be found out, or the disk does not take the contents.
    fn recover(&self, attachment: &[u8], contents: &[u8]) -> io::Result<bool>;
}
