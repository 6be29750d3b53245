//! [`StoreImage`]: the contents of a store in memory at one moment, and stores that are opened with them.
//!
//! Records and the elements of vectors are copied, bodies are shared: they never change. An image has no threads;
//! every store that is opened with one is a store of its own.

use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use liteio_kv::{Kv, Read as _, Snapshot, Write as _};
use liteio_vector::{Durability, SlotSet, VectorIndex};

use crate::blob::MemoryBlobStore;
use crate::config::{Backend, StoreConfig};
use crate::error::StoreError;
use crate::indexes::{Index, OpenIndex};
use crate::meta::space;
use crate::open::open_memory_with;
use crate::store::Store;
use crate::vectors::{shape_of, used_slots};

/// Bytes of records that one transaction writes.
const BATCH_BYTES: usize = 1 << 20;
/// Elements of vectors that are appended at once.
const ELEMENTS_AT_ONCE: usize = 1 << 18;

/// The contents of a store in memory at one moment.
///
/// Left out are events that wait to be told: two stores would tell them.
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
    /// Those that records reference.
    used: SlotSet,
    /// The elements of every slot up to the last one used, in order.
    elements: Vec<f32>,
}

impl Store {
    /// The contents of a store in memory: one consistent state, which includes every write acknowledged before the
    /// call. Writes of vectors wait meanwhile.
    ///
    /// # Errors
    /// [`StoreError::InvalidRequest`] for a store in a directory; [`StoreError::Closed`].
    pub fn image(&self) -> Result<StoreImage, StoreError> {
        let blobs = self.shared().blobs.clone_in_memory();
        if blobs.is_none() {
            return Err(not_in_memory());
        }
        // Until the blobs are copied, or those that the snapshot references might be deleted.
        let _no_reclaim = self.inner.reclaim_lock.lock();
        loop {
            let indexes = self.indexes_of(&self.snapshot()?)?;
            let open = match indexes.iter().map(|index| self.open_index(index)).collect() {
                Ok::<Vec<_>, _>(open) => open,
                // Deleted since.
                Err(StoreError::NoSuchIndex { .. }) => continue,
                Err(error) => return Err(error),
            };
            // A commit holds one of them only, so their order does not matter.
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
    /// Those of [`Store::open`]; [`StoreError::InvalidRequest`] if `config` is for a directory.
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
        // Bodies that were on their way when the image was made.
        store.sweep()?;
        store.start()?;
        Ok(store)
    }

    /// All indexes, in the order of their numbers.
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
    /// The vectors of an index in `snapshot`, whose commits are held.
    fn of(index: Index, open: &OpenIndex, snapshot: &Snapshot) -> Result<Self, StoreError> {
        let used = used_slots(snapshot, index.id)?;
        let view = open.vectors.slots().view();
        let end = used.iter().last().map_or(0, |slot| slot.number() as usize + 1);
        let dimension = index.dimension as usize;
        // Of slots between them that are free: any vector that may be appended.
        let mut elements = vec![1.0; end * dimension];
        for slot in used.iter() {
            let begin = slot.number() as usize * dimension;
            view.read_into(slot, &mut elements[begin..begin + dimension])
                .map_err(|error| index.failure(error))?;
        }
        Ok(Self { index, used, elements })
    }

    /// The same vectors in the same slots, in memory.
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

/// All records but those of events that wait.
fn pairs(snapshot: &Snapshot) -> Result<Vec<Pair>, StoreError> {
    let mut cursor = snapshot.cursor(Bound::Unbounded, Bound::Unbounded)?;
    let mut pairs = Vec::new();
    while let Some((key, value)) = cursor.next()? {
        if !key.starts_with(space::ALL_EVENTS) && key != space::OUTBOX_KEY {
            pairs.push((key.into(), value.into()));
        }
    }
    Ok(pairs)
}

fn not_in_memory() -> StoreError {
    let message = "only a store in memory has an image, and is opened with one".to_owned();
    StoreError::InvalidRequest { message }
}
