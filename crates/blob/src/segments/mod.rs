//! Segments: short blobs one behind another in large files, instead of a file each.
//!
//! # Why
//! A body of 64 KiB in a file of its own costs 240 µs of CPU for the file: an inode, a name, the
//! sync of the file and of its directory, and later the removal. Appended to a file that exists,
//! whose space is allocated and whose sync is shared, it costs a write.
//!
//! # A frame
//! A segment is a sequence of frames of whole blocks of 4 KiB. A frame is what the file of the blob
//! would be (body, checksums, tail: see `footer`), zeros, and a mark of 32 bytes at its end:
//!
//! ```text
//! 0 ............. body bytes .......... footer ...... zeros ...... mark, up to the end of a block
//! | body          | checksums and tail  |             | magic, length, id, CRC32C
//! ```
//! So a reader of a file reads a frame, too: all offsets are relative to its start, and its
//! checksums verify any range alone. A segment has no header and no index: a damaged byte is in the
//! frame of one blob.
//!
//! # The place is in the id
//! A record names a blob by its id only, and so do copies, parts, queues and notes. The id of a blob
//! in a segment *is* its place: number of the segment, nonce of the segment, first block, number of
//! blocks ([`Place`]). A file has another id, which names no segment: number and nonce do not match
//! one. Three other designs were weighed:
//!
//! - Places in the records: a record would change when its blob is moved, and copies share blobs.
//! - An index in memory: 40 bytes for each blob, and a start that reads every frame.
//! - Places in the key space: one more pair for each blob, one more look-up for each read.
//!
//! With the place in the id a start lists the segments, one name for 64 MiB, and a read needs no
//! look-up. The price: a blob is never moved. Nothing needs to move it, because the file system
//! gives back the space of a dead frame in the middle of a file ([`DiskFile::discard`]); where it
//! cannot, blobs have files as before. So no body is written twice, and no compaction competes with
//! requests.
//!
//! # Life of a segment
//! ```text
//!            create: length, space,        frames are appended            no room       all are dead
//! (no file) ─────────────────────► active ───────────────────► active ─────────► full ────────────► spare
//!            name, sync, directory            group sync                          │ ▲                 │
//!                                                                    some are dead│ │discard          │ renamed, active
//!                                                                                 └─┘                 │ or removed
//! ```
//! A block is written once in the life of a segment, and its bytes are synced before a record names
//! them, or later if the update notes them (at [`Durability::Os`](liteio_disk::Durability::Os), and of a
//! short blob whose contents are in the log; recovery writes its frame again). So a crash leaves
//! whole frames, and behind them blocks that no record names: nothing to repair. A process appends
//! to its own segments only; what an earlier one left unused is cut off.
//!
//! A spare segment is written again under a new number and nonce. Its blocks are allocated and
//! written, so that a sync needs no journal; frames of its earlier life have another nonce and are
//! nobody's.
//!
//! # Deleting
//! [`Segments::delete`] forgets a frame in memory. [`Segments::settle`] gives its space back: the
//! whole segment if nothing in it lives, otherwise the dead ranges once no more have died for a
//! while. When appends pause, too, the spare segments are removed, and the active one if it is
//! dead. A crash in between leaves a frame that no record references: an orphan, as a file would be.
//! A frame that is being read is deleted when its last reader ends.

mod active;
mod all;
mod dirty;
mod live;
pub(super) mod mark;
mod place;
mod readers;
mod segment;
mod unwritten;
mod walk;
mod window;

#[cfg(test)]
mod crash_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod unwritten_tests;

pub(super) use self::active::Reserved;
pub(super) use self::all::Segments;
pub(super) use self::window::Window;

/// The unit of places: what a write past the page cache is aligned to.
pub(super) const BLOCK: usize = liteio_disk::UNCACHED_ALIGNMENT;

/// The lengths of bodies and segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// Largest body in a segment; 0 if every new blob gets a file.
    pub body_bytes_max: u64,
    /// Length of the first segment of a process, so that a store with few bodies takes little space.
    /// Each next one has twice the length.
    pub first_bytes: u64,
    /// Length of a segment in the long run. Each costs a sync and a name.
    pub bytes: u64,
}

impl Lengths {
    /// The lengths for bodies up to `body_bytes_max`.
    pub const fn new(body_bytes_max: u64) -> Self {
        Self { body_bytes_max, first_bytes: 4 << 20, bytes: 64 << 20 }
    }
}

/// Segments are made while the disk has this many times their length free. Otherwise the space
/// allocated ahead could be what makes it full.
const FREE_SEGMENTS_MIN: u64 = 16;
