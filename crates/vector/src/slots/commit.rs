//! Group commit of vectors: one sync for everything staged.
//!
//! ```text
//! flush staged vectors ─► (large batch: sync) ─► write the older superblock ─► sync ─► publish
//! ```
//!
//! There are two superblocks, written alternately (ping-pong). One of them always belongs to a
//! commit that is certainly durable; only the other one is overwritten. A commit writes its
//! vectors, then a superblock with a checksum of them, then syncs once. The device may write these
//! in any order: a superblock whose vectors are missing does not verify, and recovery takes the
//! other one.

use liteio_disk::Durability;

use super::committer::Committer;
use super::format::{SUPERBLOCK_BYTES, Superblock};
use super::shared::Shared;
use super::writer::Writer;
use crate::error::VectorError;
use crate::limits::CHECKED_BYTES_MAX;

/// The appended vectors that one commit makes visible: the slots `base..count` and the rewritten
/// ones.
struct Batch {
    /// The writer's ticket: the commit covers every append with a ticket up to it.
    ticket: u64,
    count: u32,
    base: u32,
    check: u64,
    /// The part of the writer's checksum that this commit covers; subtracted once the commit is
    /// durable.
    taken_check: u64,
    has_rewritten: bool,
    /// Bytes of the vectors that become visible.
    bytes: u64,
    /// Bytes of the vectors that are not durable yet; more than `bytes` after commits with
    /// [`Durability::Os`].
    unsynced_bytes: u64,
}

impl Shared {
    pub(super) fn commit(&self, durability: Durability) -> Result<(), VectorError> {
        // The ticket is taken before waiting: whichever commit covers it has done this caller's
        // work.
        let ticket = self.writer.lock().ticket;
        // The first thread to get the lock commits for all that wait behind it.
        let mut committer = self.committer.lock();
        if committer.covers(ticket, durability) {
            return Ok(());
        }
        if !committer.is_synced {
            // After a `kill -9` the page cache may have bytes that the device lacks. The superblock
            // to be written builds on them, so they are made durable first.
            self.file.sync_data()?;
            committer.is_synced = true;
            if committer.covers(ticket, durability) {
                return Ok(());
            }
        }
        let mut batch = self.begin()?;
        let result = self
            .sync_large(&mut batch, durability)
            .and_then(|()| self.write_superblock(&mut committer, &batch, durability));
        match result {
            Ok(()) => self.publish(&mut committer, &batch, durability),
            // The superblock may be on disk all the same, which is safe: it verifies only with its
            // vectors, and recovery may then show a commit that was not acknowledged.
            Err(_) => self.writer.lock().take_back(),
        }
        result
    }

    fn begin(&self) -> Result<Batch, VectorError> {
        let mut writer = self.writer.lock();
        // A truncated file must not be extended again: the hole's zeros would pass for vectors.
        self.check_length(writer.file_end)?;
        writer.flush(self.shape, &*self.file)?;
        debug_assert!(writer.in_flight.is_empty(), "only one commit at a time");
        let Writer { in_flight, unpublished, .. } = &mut *writer;
        std::mem::swap(in_flight, unpublished);
        let has_rewritten = std::mem::take(&mut writer.has_rewritten);
        let bytes = writer.in_flight.count() * self.shape.stride() as u64;
        let unsynced_bytes = u64::from(writer.count - writer.base) * self.shape.stride() as u64;
        Ok(Batch {
            ticket: writer.ticket,
            count: writer.count,
            base: writer.base,
            check: writer.check,
            taken_check: writer.check,
            has_rewritten,
            bytes,
            unsynced_bytes,
        })
    }

    /// Syncs the vectors of a large batch before its superblock is written, whose batch is then
    /// empty. This bounds the bytes that recovery reads.
    fn sync_large(&self, batch: &mut Batch, durability: Durability) -> Result<(), VectorError> {
        if durability == Durability::Fsync && batch.unsynced_bytes > CHECKED_BYTES_MAX {
            self.file.sync_data()?;
            batch.base = batch.count;
            batch.check = 0;
        }
        Ok(())
    }

    fn write_superblock(
        &self,
        committer: &mut Committer,
        batch: &Batch,
        durability: Durability,
    ) -> Result<(), VectorError> {
        let sequence = committer.next_sequence;
        if batch.has_rewritten {
            // Kept even if this commit fails: the slots are rewritten all the same.
            committer.codes_valid_from = sequence;
        }
        let superblock = Superblock {
            version: committer.version,
            shape: self.shape,
            file_id: self.file_id,
            sequence,
            count: batch.count,
            base: batch.base,
            check: batch.check,
            codes_valid_from: committer.codes_valid_from,
        };
        // Never overwrites the superblock of the last durable commit: a torn write here leaves that
        // one.
        let place = 1 - committer.durable_place;
        superblock.encode_over(&mut committer.block);
        self.file.write_at(&*committer.block, place * SUPERBLOCK_BYTES as u64)?;
        if durability == Durability::Fsync {
            self.file.sync_data()?;
            committer.durable_place = place;
            committer.durable_sequence = sequence;
            committer.durable_count = batch.count;
        }
        committer.sequence = sequence;
        committer.next_sequence = sequence + 1;
        Ok(())
    }

    fn publish(&self, committer: &mut Committer, batch: &Batch, durability: Durability) {
        committer.visible_ticket = batch.ticket;
        let mut guard = self.writer.lock();
        let writer = &mut *guard;
        if durability == Durability::Fsync {
            committer.durable_ticket = batch.ticket;
            // The watermark of rewritable slots is the `base` of the commit before. Recovery falls
            // back to that commit if this superblock is torn, and verifies its batch `base..count`;
            // a slot rewritten in either batch would make the check fail.
            writer.rewritable_end = std::mem::replace(&mut committer.durable_base, batch.base);
            writer.base = batch.count;
            writer.check = writer.check.wrapping_sub(batch.taken_check);
        }
        // Readers see count, live set and checksums together: all change under this lock.
        let mut published = self.published.write();
        published.live.grow(batch.count);
        published.count = batch.count;
        published.sums = writer.sums.clone();
        for run in writer.in_flight.runs() {
            if writer.withdrawn.is_empty() {
                published.live.set_run(run);
                continue;
            }
            // Freed between append and commit: never shown, and free again at once.
            for slot in run {
                if writer.withdrawn.remove(&slot) {
                    writer.free.push(std::cmp::Reverse(slot));
                } else {
                    published.live.set(slot);
                }
            }
        }
        // Lock order: `published` before `changed`.
        drop(published);
        self.changed.lock().fresh.append(&writer.in_flight);
        writer.in_flight.clear();
        writer.last_commit_bytes = batch.bytes;
    }
}
