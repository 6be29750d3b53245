//! Copies of a store elsewhere: what a backup reads while the store is in use, and how a directory
//! is made from it again.
//!
//! A backup has pairs of the key space and blobs. Both sides use the same encoding of pairs, the
//! *changes* of [`liteio_kv::changes`]:
//!
//! ```text
//!  Store ──► BackupFeed ─┬─► pages: every pair, read page by page while writes go on ─┐
//!                        ├─► batches: the records written since, in order ────────────┼─► Restore ─► directory
//!                        └─► the blobs that they name ────────────────────────────────┘
//! ```
//! The pages are of different moments. With all records from before the first page to after the
//! last one applied on top, they are the state of one moment: a record sets a pair or removes it, so
//! applying one that a page has already seen changes nothing. So no snapshot lives long, and nothing
//! is held back but content that loses its last reference: it is deleted once the records that
//! reference it are backed up ([`Holds`](crate::process::Holds)).
//!
//! Two kinds of rows are of backups alone: `47` has the elements of a vector, which a store has in a
//! file of slots; and `32`, which only the store has, the place of a blob in a backup, so that the
//! next backup finds it there. Queued events are in a backup: a restored store delivers them again.

mod copy;
mod elements;
mod feed;
mod named;
mod restore;
mod slots;

pub use crate::directory::CopyTarget;
pub use crate::meta::BackupPlace;
pub use copy::{BlobPieces, BlobSource, COPY_FILE, copy_target};
pub use feed::{BackupBatch, BackupFeed, BackupPage, BackupRecord, FeedError, FeedWatch};
pub use named::{BackupBlob, blobs_of};
pub use restore::{MissingBlobs, Restore, RestoreReport, RestoredPart};
