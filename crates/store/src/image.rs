//! [`StoreImage`]: a copy of a store in memory at one moment, and stores opened from it.
//!
//! Records and elements of vectors are copied. Bodies are immutable and therefore shared. An image
//! has no threads; every store opened from it is independent.

use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use liteio_blob::MemoryBlobStore;
use liteio_kv::{Kv, Read as _, Snapshot, Write as _};
use liteio_vector::{Durability, SlotSet, VectorIndex};

use crate::config::{Backend, StoreConfig};
use crate::error::StoreError;
use crate::indexes::{Index, OpenIndex};
use crate::meta::space::{self, QueueKind};
use crate::open::open_memory_with;
use crate::store::Store;
use crate::vectors::{shape_of, used_slots};

/// Bytes of records per transaction.
const BATCH_BYTES: usize = 1 << 20;
/// Elements of vectors appended per call.
const ELEMENTS_AT_ONCE: usize = 1 << 18;

/// The contents of a store in memory at one moment.
///
/// Queued events are left out: otherwise two stores would deliver them.
pub struct StoreImage {
    pairs: Arc<[Pair]>,
    blobs: MemoryBlobStore,
    vectors: Vec<IndexImage>,
}

/// A key and its value.
type Pair = (Box<[u8]>, Box<[u8]>);

/// The vectors of an index.
struct IndexImage {
    index: Index,
    /// Slots referenced by records.
    used: SlotSet,
    /// The elements of every slot up to the last used one, in order.
    elements: Vec<f32>,
}

impl Store {
    /// The contents of a store in memory: a consistent state that includes every write acknowledged
    /// before the call. Writes of vectors wait meanwhile.
    ///
    /// # Errors
    /// [`StoreError::InvalidRequest`] for a store in a directory; [`StoreError::Closed`].
    pub fn image(&self) -> Result<StoreImage, StoreError> {
        let blobs = self.shared().blobs.clone_in_memory();
        if blobs.is_none() {
            return Err(not_in_memory());
        }
        // Held until the blobs are copied: a reclaim could delete a blob that the snapshot
        // references.
        let _no_reclaim = self.inner.reclaim_lock.lock();
        // Optimistic: open the indexes of one snapshot, stop their writers, and retry if the set of
        // indexes has changed in between. A vector's record and slot are then copied from the same
        // state.
        loop {
            let indexes = self.indexes_of(&self.snapshot()?)?;
            let open = match indexes.iter().map(|index| self.open_index(index)).collect() {
                Ok::<Vec<_>, _>(open) => open,
                // Deleted meanwhile: retry.
                Err(StoreError::NoSuchIndex { .. }) => continue,
                Err(error) => return Err(error),
            };
            // The order does not matter: a commit holds only one of these locks.
            let held: Vec<_> = open.iter().map(|open| open.referenced.hold()).collect();
            let snapshot = self.snapshot()?;
            let is_same = indexes
                .iter()
                .map(|index| index.id)
                .eq(self.indexes_of(&snapshot)?.iter().map(|index| index.id));
            if !is_same {
                continue;
            }
            let vectors = indexes.into_iter().zip(&open);
            let vectors = vectors.map(|(index, open)| IndexImage::of(index, open, &snapshot));
            let vectors = vectors.collect::<Result<_, _>>()?;
            drop(held);
            let blobs = self.shared().blobs.clone_in_memory().ok_or_else(not_in_memory)?;
            return Ok(StoreImage { pairs: pairs(&snapshot)?.into(), blobs, vectors });
        }
    }

    /// Opens a store in memory with the contents of `image`.
    ///
    /// # Errors
    /// The errors of [`Store::open`]; [`StoreError::InvalidRequest`] if `config` is for a
    /// directory.
    pub fn open_image(config: StoreConfig, image: &StoreImage) -> Result<Self, StoreError> {
        if !matches!(config.backend, Backend::Memory) {
            return Err(not_in_memory());
        }
        let opened = open_memory_with(config, image.blobs.clone(), |kv| image.write_into(kv))?;
        let store = Self::from_opened(opened);
        for vectors in &image.vectors {
            let opened = vectors.open()?;
            let entry = store.inner.vectors.entry(vectors.index.id);
            *entry.open.lock() = Some(Arc::new(opened));
        }
        // Bodies that were staged when the image was made have no record: they are orphans.
        store.sweep()?;
        store.start()?;
        Ok(store)
    }

    /// All indexes, ordered by number.
    fn indexes_of(&self, snapshot: &Snapshot) -> Result<Vec<Index>, StoreError> {
        let mut indexes: Vec<Index> = Index::all_in(self, snapshot)?.into_values().collect();
        indexes.sort_by_key(|index| index.id.0);
        Ok(indexes)
    }
}

impl StoreImage {
    fn write_into(&self, kv: &Kv) -> Result<(), StoreError> {
        let mut begin = 0;
        while begin < self.pairs.len() {
            let mut bytes = 0;
            let rest = self.pairs[begin..].iter();
            let count = rest
                .take_while(|(key, value)| {
                    // At least one pair, so that a large one does not stop the loop.
                    let is_first = bytes == 0;
                    bytes += key.len() + value.len();
                    is_first || bytes <= BATCH_BYTES
                })
                .count();
            let (pairs, end) = (Arc::clone(&self.pairs), begin + count);
            let written = kv.update(move |write| -> Result<(), StoreError> {
                for (key, value) in &pairs[begin..end] {
                    write.put(key, value)?;
                }
                Ok(())
            });
            written.wait()?;
            begin = end;
        }
        Ok(())
    }
}

impl fmt::Debug for StoreImage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("StoreImage")
            .field("records", &self.pairs.len())
            .field("indexes", &self.vectors.len())
            .finish_non_exhaustive()
    }
}

impl IndexImage {
    /// The vectors of an index in `snapshot`, while its commits are held back.
    fn of(index: Index, open: &OpenIndex, snapshot: &Snapshot) -> Result<Self, StoreError> {
        let used = used_slots(snapshot, index.id)?;
        let view = open.vectors.slots().view();
        let end = used.iter().last().map_or(0, |slot| slot.number() as usize + 1);
        let dimension = index.dimension as usize;
        // Free slots between used ones need a vector that passes the checks; they are freed after
        // copying.
        let mut elements = vec![1.0; end * dimension];
        for slot in used.iter() {
            let begin = slot.number() as usize * dimension;
            view.read_into(slot, &mut elements[begin..begin + dimension])
                .map_err(|error| index.failure(error))?;
        }
        Ok(Self { index, used, elements })
    }

    /// An index in memory with the same vectors in the same slots.
    fn open(&self) -> Result<OpenIndex, StoreError> {
        let failure = |error| self.index.failure(error);
        let vectors = VectorIndex::in_memory(shape_of(&self.index)?)?;
        let slots = vectors.slots();
        let dimension = self.index.dimension as usize;
        let at_once = (ELEMENTS_AT_ONCE / dimension).max(1) * dimension;
        let mut expected = 0;
        for elements in self.elements.chunks(at_once) {
            for written in slots.append_many(elements).map_err(failure)? {
                assert_eq!(written.slot.number(), expected, "a new file fills its slots in order");
                expected += 1;
            }
        }
        slots.commit(Durability::Os).map_err(failure)?;
        slots.retain(&self.used).map_err(failure)?;
        vectors.prepare_soon();
        Ok(OpenIndex::with(vectors, self.used.clone(), 0))
    }
}

/// All records except queued events and their counters.
fn pairs(snapshot: &Snapshot) -> Result<Vec<Pair>, StoreError> {
    let mut cursor = snapshot.cursor(Bound::Unbounded, Bound::Unbounded)?;
    let mut pairs = Vec::new();
    let counters = space::queue_counter(QueueKind::Events, "");
    while let Some((key, value)) = cursor.next()? {
        if !key.starts_with(space::ALL_EVENTS) && !key.starts_with(&counters) {
            pairs.push((key.into(), value.into()));
        }
    }
    Ok(pairs)
}

fn not_in_memory() -> StoreError {
    let message = "only a store in memory has an image, and is opened with one".to_owned();
    StoreError::InvalidRequest { message }
}
