//! [`SlotFile`]: creating, opening, appending, freeing.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use liteio_disk::{Disk, DiskFile, Durability, OpenMode, memory_file};
use parking_lot::{Mutex, RwLock};

use super::ahead;
use super::committer::{Committer, Stamp};
use super::format::{DATA_OFFSET, SUPERBLOCK_BYTES, Superblock, VERSION, slot_offset};
use super::live::LiveSet;
use super::readers::Readers;
use super::recover::{self, Recovered};
use super::shared::{FileDamage, Opened, Published, Shared};
use super::sums::Sums;
use super::view::View;
use super::writer::{Checks, Runs, Writer, Written};
use crate::check::{check_vector, check_vectors};
use crate::config::Shape;
use crate::error::VectorError;
use crate::map::{Backing, prefetch_behind};
use crate::slot::{Slot, SlotSet};

/// Vectors of one dimension in a file, one per slot.
///
/// Threads may share it: writers take turns and share their syncs, and readers do not wait for
/// writers. See the [crate page](crate) for an example and the promises.
#[derive(Debug)]
pub struct SlotFile {
    pub(super) shared: Arc<Shared>,
}

/// The result of [`SlotFile::verify`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verified {
    /// Slots of the file, including free ones.
    pub slots: u32,
    /// Vectors that were read.
    pub vectors: u64,
}

impl SlotFile {
    /// Creates an empty file at `path`. Its name is durable when this returns.
    ///
    /// # Errors
    /// [`VectorError::AlreadyThere`], [`VectorError::NoSpace`], [`VectorError::Poisoned`] or
    /// [`VectorError::Io`].
    pub fn create(disk: &dyn Disk, path: &str, shape: Shape) -> Result<Self, VectorError> {
        let file = disk.create_temporary()?;
        let superblock = initialise(&*file, shape)?;
        file.sync_data()?;
        file.try_lock()?;
        // The file is complete before it has a name: a crash leaves all of it or nothing.
        disk.link(&*file, path).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => {
                VectorError::AlreadyThere { path: path.to_owned() }
            }
            _ => error.into(),
        })?;
        disk.sync_dir(directory_of(path))?;
        Ok(Self::with_new_file(file, Backing::Disk, superblock))
    }

    /// Opens the file at `path` and locks it against a second opening. All slots of the last commit
    /// count as in use until [`SlotFile::retain`]. The file is not changed.
    ///
    /// # Errors
    /// [`VectorError::NotThere`]; [`VectorError::InUse`]; [`VectorError::OtherDimension`] or
    /// [`VectorError::OtherMetric`] if the file has another shape; [`VectorError::Corrupt`] if no
    /// commit verifies.
    pub fn open(disk: &dyn Disk, path: &str, shape: Shape) -> Result<Self, VectorError> {
        let file = disk.open(path, OpenMode::Write).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => VectorError::NotThere { path: path.to_owned() },
            _ => error.into(),
        })?;
        file.try_lock()?;
        let recovered = recover::recover(&*file, shape)?;
        if recovered.superblock.sequence == 1 {
            // The creating process may have ended before the name was durable.
            disk.sync_dir(directory_of(path))?;
        }
        Ok(Self::with(file, &recovered, Backing::Disk, false))
    }

    /// An empty file in memory. Its commits last as long as the process.
    ///
    /// # Errors
    /// [`VectorError::NoSpace`] or [`VectorError::Io`] if the kernel has no memory or descriptor
    /// left.
    pub fn in_memory(shape: Shape) -> Result<Self, VectorError> {
        let file = memory_file("vectors")?;
        let superblock = initialise(&*file, shape)?;
        Ok(Self::with_new_file(file, Backing::Memory, superblock))
    }

    fn with_new_file(file: Box<dyn DiskFile>, backing: Backing, superblock: Superblock) -> Self {
        let recovered = Recovered {
            superblock,
            place: 0,
            next_sequence: superblock.sequence + 1,
            codes_valid_from: superblock.codes_valid_from,
            file_end: DATA_OFFSET,
        };
        Self::with(file, &recovered, backing, true)
    }

    fn with(
        file: Box<dyn DiskFile>,
        recovered: &Recovered,
        backing: Backing,
        is_synced: bool,
    ) -> Self {
        let superblock = &recovered.superblock;
        let live = LiveSet::full(superblock.count);
        let mut sums = Sums::default();
        sums.grow(superblock.count);
        let published = Published { count: superblock.count, live, sums: sums.clone(), map: None };
        let shared = Shared {
            file,
            backing,
            damage: FileDamage::default(),
            shape: superblock.shape,
            file_id: superblock.file_id,
            opened: Opened {
                stamp: Stamp { file_id: superblock.file_id, sequence: superblock.sequence },
                codes_valid_from: recovered.codes_valid_from,
                slots: superblock.count,
            },
            committer: Mutex::new(Committer::new(recovered, is_synced)),
            writer: Mutex::new(Writer::new(superblock.count, recovered.file_end, sums)),
            readers: Mutex::new(Readers::default()),
            published: RwLock::new(published),
            changed: Mutex::default(),
            is_filling: AtomicBool::new(false),
            filler: Mutex::new(None),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Dimension and metric.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shared.shape
    }

    /// Number of slots of the last commit, including free ones.
    #[must_use]
    pub fn slot_count(&self) -> u32 {
        self.shared.published.read().count
    }

    /// Number of free slots that later vectors take before the file grows. It counts them one by one.
    #[must_use]
    pub fn free_count(&self) -> usize {
        self.shared.writer.lock().count_free(&self.shared.readers)
    }

    /// Number of visible vectors.
    #[must_use]
    pub fn vector_count(&self) -> usize {
        self.published().live.count()
    }

    /// Appends one vector. The next [`SlotFile::commit`] makes it visible and durable.
    ///
    /// # Errors
    /// [`VectorError::WrongLength`], [`VectorError::NotFinite`], [`VectorError::ZeroLength`],
    /// [`VectorError::Full`], or the errors of writing. The vector is not appended then.
    pub fn append(&self, vector: &[f32]) -> Result<Written, VectorError> {
        let shared = &*self.shared;
        if vector.len() != shared.shape.dimension() {
            let (expected, found) = (shared.shape.dimension(), vector.len());
            return Err(VectorError::WrongLength { expected, found });
        }
        // Callers that append one by one usually walk through an array: prefetch its next vector
        // while this one is copied.
        prefetch_behind(bytemuck::cast_slice(vector));
        check_vector(vector, 0, shared.shape)?;
        // Checks and checksums are computed before the lock is taken, to keep the critical section
        // short.
        let checks = Checks::of(vector);
        let mut writer = shared.writer.lock();
        let slot = shared.append(&mut writer, vector, checks)?;
        Ok(Written { slot, crc: checks.crc })
    }

    /// Appends several vectors, stored one behind the other in `vectors`, and returns their slots
    /// in the same order: all of them or none.
    ///
    /// # Errors
    /// The errors of [`SlotFile::append`]; an index in an error counts within `vectors`.
    pub fn append_many(&self, vectors: &[f32]) -> Result<Vec<Written>, VectorError> {
        let shared = &*self.shared;
        let dimension = shared.shape.dimension();
        if !vectors.len().is_multiple_of(dimension) {
            let expected = vectors.len().next_multiple_of(dimension);
            return Err(VectorError::WrongLength { expected, found: vectors.len() });
        }
        let mut checks = Vec::with_capacity(vectors.len() / dimension);
        for (index, vector) in vectors.chunks_exact(dimension).enumerate() {
            check_vector(vector, index, shared.shape)?;
            checks.push(Checks::of(vector));
        }
        let mut writer = shared.writer.lock();
        shared.damage.check()?;
        let (file, readers) = (&*shared.file, &shared.readers);
        if let Some(written) = writer.append_run(vectors, &checks, shared.shape, file, readers)? {
            return Ok(written);
        }
        let mut written = Vec::with_capacity(checks.len());
        for (vector, checks) in vectors.chunks_exact(dimension).zip(checks) {
            match shared.append(&mut writer, vector, checks) {
                Ok(slot) => written.push(Written { slot, crc: checks.crc }),
                Err(error) => {
                    // The slots of the vectors before are allocated and staged. They are written
                    // with the stage, never published, and freed by the next commit.
                    writer.withdrawn.extend(written.iter().map(|written| written.slot.number()));
                    return Err(error);
                }
            }
        }
        Ok(written)
    }

    /// Makes all vectors appended before visible, and as durable as requested. Concurrent commits
    /// share one sync.
    ///
    /// After `Ok` with [`Durability::Fsync`] they survive a power cut. With [`Durability::Os`] a
    /// power cut takes the whole file back to the last synced commit. After an error none of them
    /// is visible, and after a later crash a commit is there as a whole or not at all.
    ///
    /// # Errors
    /// [`VectorError::NoSpace`]: staged vectors can be committed once there is space.
    /// [`VectorError::Poisoned`]: nothing is written until the file is opened again.
    pub fn commit(&self, durability: Durability) -> Result<(), VectorError> {
        self.shared.commit(durability)?;
        ahead::fill_if_worthwhile(&self.shared);
        Ok(())
    }

    /// Frees slots for later vectors. Readers no longer find the old vectors. A slot is written
    /// again only after all [`View`]s that may have seen its vector are dropped. Freeing a free
    /// slot has no effect.
    ///
    /// **The file does not record which slots are in use**: after opening no slot is free until
    /// [`SlotFile::retain`]. An owner that keeps names for vectors must free a slot only after the
    /// removal of its name is durable.
    ///
    /// # Errors
    /// [`VectorError::NoSuchSlot`] if one of them was never allocated; none is freed then.
    pub fn free(&self, slots: &[Slot]) -> Result<(), VectorError> {
        let mut writer = self.shared.writer.lock();
        if let Some(slot) = slots.iter().find(|slot| slot.number() >= writer.count) {
            return Err(VectorError::NoSuchSlot(*slot));
        }
        self.shared.free(&mut writer, slots.iter().map(|slot| slot.number()));
        Ok(())
    }

    /// Frees all visible slots except those in `used`. Call it after opening.
    ///
    /// # Errors
    /// [`VectorError::NoSuchSlot`] if one of `used` is not in the file; none is freed then. Such a
    /// file has lost a committed vector; [`SlotFile::ensure_slots`] lets the owner continue.
    pub fn retain(&self, used: &SlotSet) -> Result<(), VectorError> {
        let mut writer = self.shared.writer.lock();
        let count = self.shared.published.read().count;
        if let Some(slot) = used.iter().find(|slot| slot.number() >= count) {
            return Err(VectorError::NoSuchSlot(slot));
        }
        let unused = (0..count).filter(|slot| !used.contains(Slot::new(*slot)));
        self.shared.free(&mut writer, unused);
        Ok(())
    }

    /// Makes the slots below `count` readable although no verified commit covers them, for an owner
    /// whose records reference them. Their bytes are whatever the file has: compare them with their
    /// [`vector_crc`](super::vector_crc). Then call [`SlotFile::ensure_slots`] if all of them
    /// match, else [`SlotFile::refuse`]. The file is not changed.
    pub fn expose(&self, count: u32) {
        let mut writer = self.shared.writer.lock();
        let mut published = self.shared.published.write();
        if count > published.count {
            writer.sums.grow(count);
            published.sums = writer.sums.clone();
            published.live.grow(count);
            published.live.set_run(published.count..count);
            published.count = count;
        }
    }

    /// Refuses searches and writes from now on, because the file is damaged. Single vectors stay
    /// readable, for comparison with their [`vector_crc`](super::vector_crc).
    pub fn refuse(&self, damage: &'static str) {
        self.shared.damage.note(damage);
    }

    /// Checks that no damage of the file was found.
    ///
    /// # Errors
    /// [`VectorError::Corrupt`].
    pub fn check(&self) -> Result<(), VectorError> {
        self.shared.damage.check()
    }

    /// Extends the file to at least `count` slots, for an owner whose records reference slots
    /// behind the last verified commit and which has verified their vectors. New vectors then do
    /// not get these slots. They are visible after the next commit.
    ///
    /// # Errors
    /// [`VectorError::Corrupt`] if the file was truncated while it was open, or the errors of
    /// reading and extending it.
    pub fn ensure_slots(&self, count: u32) -> Result<(), VectorError> {
        let shared = &*self.shared;
        let mut writer = shared.writer.lock();
        writer.flush(shared.shape, &*shared.file)?;
        if count <= writer.count {
            return Ok(());
        }
        let end = slot_offset(shared.shape, count);
        if end > writer.file_end {
            shared.file.set_len(end)?;
            writer.file_end = end;
        }
        // The next commit's batch covers these slots, so their checksums join its check.
        let sum = recover::batch_check(&*shared.file, shared.shape, writer.count, count)?;
        let sum = sum.ok_or(VectorError::Corrupt("the file was cut while it was open"))?;
        writer.check = writer.check.wrapping_add(sum);
        (writer.count..count).for_each(|slot| writer.unpublished.push(slot));
        writer.count = count;
        writer.sums.grow(count);
        writer.ticket += 1;
        Ok(())
    }

    /// A snapshot of the visible vectors, from which they are borrowed without copying.
    #[must_use]
    pub fn view(&self) -> View {
        View::new(Arc::clone(&self.shared))
    }

    /// Copies the vector in `slot` into `buffer` with one read. It suits a single vector that may
    /// not be in memory.
    ///
    /// # Errors
    /// [`VectorError::NoSuchSlot`], [`VectorError::WrongLength`] for `buffer`,
    /// [`VectorError::Corrupt`] or [`VectorError::Io`].
    pub fn read_into(&self, slot: Slot, buffer: &mut [f32]) -> Result<(), VectorError> {
        let shared = &*self.shared;
        if buffer.len() != shared.shape.dimension() {
            let (expected, found) = (shared.shape.dimension(), buffer.len());
            return Err(VectorError::WrongLength { expected, found });
        }
        // Registered before the live set is read, so that the slot is not rewritten while it is
        // copied.
        let _entered = super::view::Entered::new(shared);
        if !shared.published.read().live.contains(slot.number()) {
            return Err(VectorError::NoSuchSlot(slot));
        }
        shared.read(slot.number(), buffer)
    }

    /// Reads everything back from the file: the superblocks, the batch of the last commit, every
    /// visible vector.
    ///
    /// # Errors
    /// [`VectorError::Corrupt`] with the kind of damage, or [`VectorError::Io`].
    pub fn verify(&self) -> Result<Verified, VectorError> {
        let shared = &*self.shared;
        {
            // The committer's lock keeps commits out: a superblock in the middle of being written
            // would look torn.
            let committer = shared.committer.lock();
            let recovered = recover::recover(&*shared.file, shared.shape)?;
            if recovered.superblock.sequence != committer.sequence() {
                return Err(VectorError::Corrupt("the last commit is not in the file"));
            }
        }
        let view = self.view();
        let mut vectors = 0;
        let mut vector = vec![0.0; shared.shape.dimension()];
        for slot in view.slots() {
            match view.read_into(slot, &mut vector) {
                Ok(()) => {}
                // Freed meanwhile.
                Err(VectorError::NoSuchSlot(_)) => continue,
                Err(error) => return Err(error),
            }
            check_vectors(&vector, shared.shape)
                .map_err(|_| VectorError::Corrupt("a vector has impossible values"))?;
            vectors += 1;
        }
        Ok(Verified { slots: view.slot_count(), vectors })
    }

    pub(crate) fn published(&self) -> Published {
        self.shared.published.read().clone()
    }

    /// The state at opening, to compare saved codes with.
    pub(crate) fn opened(&self) -> &Opened {
        &self.shared.opened
    }

    /// The stamp of the last durable commit, and its number of slots. All changes up to it are
    /// visible and were added to the changed slots.
    pub(crate) fn stamp(&self) -> (Stamp, u32) {
        let (sequence, count) = self.shared.committer.lock().durable();
        (Stamp { file_id: self.shared.file_id, sequence }, count)
    }

    /// The slots without a code.
    pub(crate) fn changed(&self) -> SlotSet {
        let changed = self.shared.changed.lock();
        let slots = changed.taken.slots().chain(changed.fresh.slots());
        slots.map(Slot::new).collect()
    }

    /// `true` on the simulated disk, which replays a run only if everything happens on one thread.
    pub(crate) fn is_simulated(&self) -> bool {
        self.shared.backing == Backing::Disk && self.shared.file.descriptor().is_none()
    }

    /// Takes up to `count` slots without a code, or again the slots that were taken and not
    /// finished. The caller makes their codes and then calls [`SlotFile::finish_changed`]. Only one
    /// thread at a time may do this.
    pub(crate) fn take_changed(&self, count: u32) -> Runs {
        let mut changed = self.shared.changed.lock();
        if changed.taken.is_empty() {
            changed.taken = changed.fresh.take(count);
        }
        changed.taken.clone()
    }

    /// Adds slots without a code.
    pub(crate) fn add_changed(&self, slots: &Runs) {
        self.shared.changed.lock().fresh.append(slots);
    }

    /// `true` if some slot has no code.
    pub(crate) fn has_changed(&self) -> bool {
        let changed = self.shared.changed.lock();
        !changed.taken.is_empty() || !changed.fresh.is_empty()
    }

    /// Removes the taken slots: they have codes now.
    pub(crate) fn finish_changed(&self) {
        let mut changed = self.shared.changed.lock();
        changed.finished += changed.taken.count();
        changed.taken = Runs::default();
    }

    /// Number of finished changes, and of all changes so far. Changes are finished in order.
    pub(crate) fn changes(&self) -> (u64, u64) {
        let changed = self.shared.changed.lock();
        let left = changed.taken.count() + changed.fresh.count();
        // The sum stays exact: a change moves from fresh to taken to finished.
        (changed.finished, changed.finished + left)
    }
}

impl Drop for SlotFile {
    fn drop(&mut self) {
        let filler = self.shared.filler.lock().take();
        if let Some(filler) = filler {
            self.shared.is_filling.store(false, Ordering::Relaxed);
            // The zeros are only an optimisation, so a panic of the thread is ignored.
            let _ = filler.join();
        }
    }
}

pub(crate) fn directory_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// Writes the first superblock of a new file.
fn initialise(file: &dyn DiskFile, shape: Shape) -> Result<Superblock, VectorError> {
    let superblock = Superblock {
        version: VERSION,
        shape,
        // It only identifies the file, so the random keys of the standard hasher are good enough.
        file_id: RandomState::new().build_hasher().finish(),
        sequence: 1,
        count: 0,
        base: 0,
        check: 0,
        codes_valid_from: 0,
    };
    file.set_len(DATA_OFFSET)?;
    let mut block = [0; SUPERBLOCK_BYTES];
    superblock.encode_over(&mut block);
    file.write_at(&block, 0)?;
    Ok(superblock)
}
