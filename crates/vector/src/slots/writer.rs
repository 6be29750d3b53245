//! The staging buffer of appended vectors, and the allocator of slots.
//!
//! The life of a slot:
//!
//! ```text
//!         append            commit             free               last view left
//! (new) ─────────► staged ─────────► visible ─────────► retired ─────────────────► free
//!                     │ free before the commit: withdrawn                            │ append, if below
//!                     └──────────────────────────────────────► free at the commit    ▼ `rewritable_end`
//!                                                                                 staged
//! ```
//!
//! A freed slot is written again only if both conditions hold:
//! - No view that may have seen it live is open, since a slice of it would change ([`Readers`]).
//! - It is below the watermark `rewritable_end`. Recovery may have to verify the batches above it,
//!   which belong to the two newest durable commits.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::ops::Range;

use liteio_disk::DiskFile;
use parking_lot::Mutex;

use super::format::{check, slot_offset, vector_crc};
use super::readers::Readers;
use super::shared::TRUNCATED;
use super::sums::Sums;
use crate::config::Shape;
use crate::distance::{Kernels, Sum};
use crate::error::VectorError;
use crate::limits::{
    FIRST_RUN_BYTES_MIN, RESERVE_PIECE_BYTES, RESERVE_WRITE_BYTES_MAX, RUN_BYTES_MIN, SLOTS_MAX,
    STAGE_BYTES_MAX,
};
use crate::slot::Slot;

/// A vector's slot and CRC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// The slot of the vector, valid after the commit.
    pub slot: Slot,
    /// The [`vector_crc`] of the vector, computed once for caller and commit.
    pub crc: u64,
}

/// Checksums that a vector is verified by later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checks {
    pub(super) crc: u64,
    pub(super) sum: Sum,
}

impl Checks {
    pub(super) fn of(vector: &[f32]) -> Self {
        Self { crc: vector_crc(vector), sum: Kernels::best().sum(vector) }
    }
}

/// The state of the writer, of which there is one at a time.
#[derive(Debug)]
pub(super) struct Writer {
    /// One past the highest slot ever allocated: the number of the next new slot.
    pub(super) count: u32,
    /// Length of the file, including zeros written ahead.
    pub(super) file_end: u64,
    /// First slot that is not durable: the batch of the next commit starts here.
    pub(super) base: u32,
    /// Checksum of the slots `base..count`.
    pub(super) check: u64,
    /// Checksums of all slots below `count`.
    pub(super) sums: Sums,
    /// `true` if a slot below `base` was written since the last commit.
    pub(super) has_rewritten: bool,
    /// The watermark below which free slots may be rewritten. Slots of the batches of the two
    /// newest durable commits are above it: rewriting one would make its commit fail to verify.
    pub(super) rewritable_end: u32,
    /// Number of appends and rewrites so far, by which a commit knows what it covers.
    pub(super) ticket: u64,
    /// Slots written or staged, but not visible yet.
    pub(super) unpublished: Runs,
    /// Slots that the commit in progress makes visible.
    pub(super) in_flight: Runs,
    /// Slots freed before they became visible.
    pub(super) withdrawn: HashSet<u32>,
    /// Slots without a vector and without readers, lowest first: low slots keep the file short.
    pub(super) free: BinaryHeap<Reverse<u32>>,
    /// `true` while retired slots wait for readers.
    pub(super) has_retired: bool,
    /// Bytes of the vectors of the last commit.
    pub(super) last_commit_bytes: u64,
    /// [`DiskFile::is_in_memory`], once it was asked.
    is_in_memory: Option<bool>,
    /// End of the space reserved for small writes.
    reserved_end: u64,
    staged_bytes: Vec<u8>,
    staged_slots: Vec<u32>,
}

impl Writer {
    /// The writer of a file with `count` slots, all of them visible.
    pub(super) fn new(count: u32, file_end: u64, sums: Sums) -> Self {
        Self {
            count,
            file_end,
            base: count,
            check: 0,
            sums,
            has_rewritten: false,
            rewritable_end: 0,
            ticket: 0,
            unpublished: Runs::default(),
            in_flight: Runs::default(),
            withdrawn: HashSet::new(),
            free: BinaryHeap::new(),
            has_retired: false,
            last_commit_bytes: 0,
            is_in_memory: None,
            reserved_end: file_end,
            staged_bytes: Vec::new(),
            staged_slots: Vec::new(),
        }
    }

    /// Stages a vector. It stays in memory until the stage is full or a commit begins.
    ///
    /// # Errors
    /// [`VectorError::Full`] if no slot is left; the errors of writing if the stage is full. The
    /// vector is not staged then.
    pub(super) fn append(
        &mut self,
        vector: &[f32],
        checks: Checks,
        shape: Shape,
        file: &dyn DiskFile,
        readers: &Mutex<Readers>,
    ) -> Result<Slot, VectorError> {
        let stride = shape.stride();
        if self.staged_bytes.len() + stride > STAGE_BYTES_MAX {
            self.flush(shape, file)?;
        }
        let slot = self.take_slot(readers)?;
        if self.staged_bytes.capacity() == 0 {
            self.staged_bytes.reserve_exact(STAGE_BYTES_MAX);
        }
        // The vector, padded with zeros to the stride.
        self.staged_bytes.extend_from_slice(bytemuck::cast_slice(vector));
        let end = self.staged_bytes.len().next_multiple_of(stride);
        self.staged_bytes.resize(end, 0);
        self.staged_slots.push(slot);
        // A slot below `base` is in no batch: the checksum of a commit cannot cover it.
        if slot < self.base {
            self.has_rewritten = true;
        } else {
            self.check = self.check.wrapping_add(check(Slot::new(slot), checks.crc));
        }
        self.sums.set(slot, checks.sum);
        self.unpublished.push(slot);
        self.ticket += 1;
        Ok(Slot::new(slot))
    }

    /// Writes many vectors to new slots without staging them. `None` without writing anything if
    /// they are too few, need padding, or free slots should be reused first.
    ///
    /// # Errors
    /// [`VectorError::Full`] if too few slots are left, or the errors of writing. No vector is
    /// appended then.
    pub(super) fn append_run(
        &mut self,
        vectors: &[f32],
        checks: &[Checks],
        shape: Shape,
        file: &dyn DiskFile,
        readers: &Mutex<Readers>,
    ) -> Result<Option<Vec<Written>>, VectorError> {
        let bytes: &[u8] = bytemuck::cast_slice(vectors);
        self.take_released(readers);
        let has_free = self.free.peek().is_some_and(|Reverse(slot)| *slot < self.rewritable_end);
        let is_first = self.staged_slots.is_empty();
        let bytes_min = if is_first { FIRST_RUN_BYTES_MIN } else { RUN_BYTES_MIN };
        if bytes.len() < bytes_min || shape.vector_bytes() != shape.stride() || has_free {
            return Ok(None);
        }
        let first = self.count;
        let end = u32::try_from(checks.len()).ok().and_then(|count| first.checked_add(count));
        let end = end.filter(|end| *end <= SLOTS_MAX).ok_or(VectorError::Full)?;
        // Staged vectors have lower slots, so they are written first and the file has no hole.
        self.flush(shape, file)?;
        self.check_length(file)?;
        let offset = slot_offset(shape, first);
        file.write_at(bytes, offset)?;
        // Nothing fails from here on, so the state changes as a whole.
        self.file_end = self.file_end.max(offset + bytes.len() as u64);
        self.count = end;
        self.sums.grow(end);
        self.ticket += 1;
        let take = |(slot, checks): (u32, &Checks)| {
            self.check = self.check.wrapping_add(check(Slot::new(slot), checks.crc));
            self.sums.set(slot, checks.sum);
            self.unpublished.push(slot);
            Written { slot: Slot::new(slot), crc: checks.crc }
        };
        Ok(Some((first..end).zip(checks).map(take).collect()))
    }

    /// Moves retired slots that no view can see any more to the free ones.
    fn take_released(&mut self, readers: &Mutex<Readers>) {
        if self.has_retired {
            let mut readers = readers.lock();
            self.free.extend(readers.released().into_iter().map(Reverse));
            self.has_retired = readers.has_retired();
        }
    }

    /// Number of free slots below `rewritable_end`.
    pub(super) fn count_free(&mut self, readers: &Mutex<Readers>) -> usize {
        self.take_released(readers);
        self.free.iter().filter(|Reverse(slot)| *slot < self.rewritable_end).count()
    }

    /// The lowest slot that may be written: a free one below `rewritable_end`, else a new one.
    fn take_slot(&mut self, readers: &Mutex<Readers>) -> Result<u32, VectorError> {
        self.take_released(readers);
        // The heap yields the lowest free slot; if that is above the watermark, all are.
        if let Some(Reverse(slot)) = self.free.peek().copied()
            && slot < self.rewritable_end
        {
            self.free.pop();
            return Ok(slot);
        }
        if self.count >= SLOTS_MAX {
            return Err(VectorError::Full);
        }
        self.count += 1;
        self.sums.grow(self.count);
        Ok(self.count - 1)
    }

    /// Writes the staged vectors to the file. After an error the unwritten ones stay staged.
    pub(super) fn flush(&mut self, shape: Shape, file: &dyn DiskFile) -> Result<(), VectorError> {
        if self.staged_slots.is_empty() {
            return Ok(());
        }
        self.check_length(file)?;
        let is_in_memory = self.is_in_memory(file);
        let stride = shape.stride();
        let mut written = 0;
        let mut result = Ok(());
        while written < self.staged_slots.len() {
            // Consecutive slots are written with one call.
            let first = self.staged_slots[written];
            let following = self.staged_slots[written..].iter().zip(first..);
            let length = following.take_while(|(slot, expected)| **slot == *expected).count();
            let bytes = &self.staged_bytes[written * stride..(written + length) * stride];
            let offset = slot_offset(shape, first);
            let end = offset + bytes.len() as u64;
            if is_in_memory && end > self.reserved_end {
                if (bytes.len() as u64) < RESERVE_WRITE_BYTES_MAX {
                    file.reserve(offset, RESERVE_PIECE_BYTES);
                    self.reserved_end = offset + RESERVE_PIECE_BYTES;
                } else {
                    self.reserved_end = end;
                }
            }
            result = file.write_at(bytes, offset);
            if result.is_err() {
                break;
            }
            self.file_end = self.file_end.max(end);
            written += length;
        }
        self.staged_slots.drain(..written);
        self.staged_bytes.drain(..written * stride);
        Ok(result?)
    }

    /// Refuses a file that was truncated from outside. Writing behind its new end would make a hole,
    /// whose zeros look like vectors.
    pub(super) fn check_length(&self, file: &dyn DiskFile) -> Result<(), VectorError> {
        if file.len()? < self.file_end { Err(VectorError::Corrupt(TRUNCATED)) } else { Ok(()) }
    }

    /// `true` for a file in memory, where syncs cost nothing: space is reserved for small writes,
    /// and no zeros are written ahead. The first call is a system call, so it is left to the first
    /// write.
    pub(super) fn is_in_memory(&mut self, file: &dyn DiskFile) -> bool {
        *self.is_in_memory.get_or_insert_with(|| file.is_in_memory())
    }

    /// Returns the slots of a failed commit to the unpublished ones, in front of those appended
    /// since. The next commit includes them.
    pub(super) fn take_back(&mut self) {
        let later = std::mem::take(&mut self.unpublished);
        self.unpublished = std::mem::take(&mut self.in_flight);
        self.unpublished.append(&later);
    }

    /// `true` if `slot` is written or staged, but not visible yet.
    pub(super) fn is_unpublished(&self, slot: u32) -> bool {
        self.unpublished.contains(slot) || self.in_flight.contains(slot)
    }
}

impl FromIterator<u32> for Runs {
    fn from_iter<I: IntoIterator<Item = u32>>(slots: I) -> Self {
        let mut runs = Self::default();
        slots.into_iter().for_each(|slot| runs.push(slot));
        runs
    }
}

/// Slots in the order in which they were pushed, as runs of consecutive ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Runs(Vec<Range<u32>>);

impl Runs {
    pub(crate) fn push(&mut self, slot: u32) {
        match self.0.last_mut() {
            Some(run) if run.end == slot => run.end += 1,
            _ => self.0.push(slot..slot + 1),
        }
    }

    pub(crate) fn append(&mut self, later: &Self) {
        for run in &later.0 {
            match self.0.last_mut() {
                Some(last) if last.end == run.start => last.end = run.end,
                _ => self.0.push(run.clone()),
            }
        }
    }

    pub(crate) fn contains(&self, slot: u32) -> bool {
        self.0.iter().any(|run| run.contains(&slot))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes and returns the first `count` slots.
    pub(crate) fn take(&mut self, count: u32) -> Self {
        let (mut taken, mut left, mut whole) = (Vec::new(), count, 0);
        for run in &mut self.0 {
            let length = left.min(run.end - run.start);
            if length == 0 {
                break;
            }
            taken.push(run.start..run.start + length);
            run.start += length;
            left -= length;
            whole += usize::from(run.start == run.end);
        }
        self.0.drain(..whole);
        Self(taken)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The number of slots.
    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|run| u64::from(run.end - run.start)).sum()
    }

    pub(super) fn runs(&self) -> impl Iterator<Item = Range<u32>> + '_ {
        self.0.iter().cloned()
    }

    pub(crate) fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().cloned().flatten()
    }
}
