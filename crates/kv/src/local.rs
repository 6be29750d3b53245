//! The transaction over the layers of this key space.

use std::cell::OnceCell;
use std::fmt;
use std::ops::Bound;

use liteio_disk::Durability;

use crate::counter;
use crate::cursor::Cursor;
use crate::layers::Layers;
use crate::learner::Learner;
use crate::log::{Record, RecordFill};
use crate::memtable::{MEMTABLE_BYTES_MAX, Place, hash};
use crate::noted::{Noted, NotedFill};
use crate::view::Value;
use crate::{
    Attachments, Claim, CountChange, Counted, CounterRow, Counts, Grouped, GroupedRange, KvError,
    Queue, QueueRow, Read, Write,
};

/// Maximum bytes of a key with its value; redb's own limit is 3 GiB.
const PAIR_BYTES_MAX: usize = 1 << 30;
/// The sequence of a reader that sees everything, staged writes included.
const NEWEST: u64 = u64::MAX;

/// The view of one update on the layers.
///
/// It sees its own writes and the writes of all earlier updates of its group. They are in the
/// active table already, with sequences that no snapshot sees yet. If the update fails, they are
/// rolled back.
pub(super) struct LocalTransaction<'a> {
    layers: &'a Layers,
    stage: &'a mut Stage,
    /// The first failed read or write. It fails the update even if the closure ignores it: the
    /// closure may have acted on wrong data.
    failure: OnceCell<KvError>,
}

/// The unpublished writes of a group.
#[derive(Debug)]
pub(super) struct Stage {
    /// The record for the log.
    pub(super) record: Record,
    noted: Noted,
    durability: Durability,
    /// The places of the writes in the active table.
    places: Vec<Place>,
    /// The sequence of the newest write.
    pub(super) sequence: u64,
    pub(super) learner: Learner,
}

/// A position in the staged writes, to roll back to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Savepoint {
    record: RecordFill,
    noted: NotedFill,
    places: usize,
}

impl Stage {
    /// An empty stage; everything up to `sequence` is published.
    pub(super) fn new(sequence: u64, durability: Durability) -> Self {
        let (record, noted) = (Record::new(), Noted::default());
        let learner = Learner::default();
        Self { record, noted, durability, places: Vec::new(), sequence, learner }
    }

    /// Starts the next group.
    pub(super) fn clear(&mut self) {
        self.record.clear();
        self.noted.clear();
        self.places.clear();
    }

    /// Writes the attachments of the group. At [`Durability::Fsync`] those are durable afterwards
    /// that were noted without contents.
    pub(super) fn write_attachments(&self, attachments: &dyn Attachments) -> Result<(), KvError> {
        self.noted.write(attachments)
    }

    fn savepoint(&self) -> Savepoint {
        let (record, noted) = (self.record.fill(), self.noted.fill());
        Savepoint { record, noted, places: self.places.len() }
    }

    /// Takes back all writes of the group.
    pub(super) fn take_back(&mut self, layers: &Layers) {
        self.places.drain(..).for_each(|place| layers.active().take_back(place));
        self.record.clear();
        self.noted.clear();
    }
}

impl<'a> LocalTransaction<'a> {
    pub(super) fn new(layers: &'a Layers, stage: &'a mut Stage) -> Self {
        Self { layers, stage, failure: OnceCell::new() }
    }

    /// Notes an attachment.
    pub(super) fn note(&mut self, attachment: &[u8], contents: &[u8]) {
        let Stage { record, noted, durability, .. } = &mut *self.stage;
        if noted.add(attachment, contents, *durability) {
            record.note(attachment, contents);
        }
    }

    /// Starts an update. Returns the savepoint for [`LocalTransaction::roll_back`].
    pub(super) fn begin(&mut self) -> Savepoint {
        self.failure.take();
        self.stage.savepoint()
    }

    /// Takes back everything since `begin` returned `savepoint`.
    pub(super) fn roll_back(&mut self, savepoint: Savepoint) {
        for place in self.stage.places.drain(savepoint.places..) {
            self.layers.active().take_back(place);
        }
        self.stage.record.truncate(savepoint.record);
        self.stage.noted.truncate(savepoint.noted);
    }

    /// Bytes of the group's log record so far.
    pub(super) fn record_bytes(&self) -> usize {
        self.stage.record.bytes()
    }

    /// The failed read or write of this update, if any.
    pub(super) fn failure(&self) -> Option<&KvError> {
        self.failure.get()
    }

    /// Writes the newest entry of `key` above the tree once more, because it cannot be drained.
    pub(super) fn carry(&mut self, key: &[u8]) -> Result<(), KvError> {
        // A newer write in the active table makes the copy unnecessary.
        if self.layers.active().get(key, hash(key), NEWEST).is_some() {
            return Ok(());
        }
        let layers = self.layers;
        let Some(above) = layers.above_tree(key, NEWEST)? else { return Ok(()) };
        self.write(key, above.entry().value)
    }

    fn write(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), KvError> {
        let sequence = self.stage.sequence + 1;
        let Some(place) = self.layers.active().insert(key, hash(key), value, sequence) else {
            let bytes = self.record_bytes() + key.len() + value.map_or(0, <[u8]>::len);
            return Err(KvError::TooLarge { bytes, bytes_max: MEMTABLE_BYTES_MAX });
        };
        self.stage.sequence = sequence;
        self.stage.places.push(place);
        match value {
            Some(value) => {
                self.layers.dead().staged(key, sequence);
                self.stage.record.put(key, value);
            }
            None => {
                self.stage.learner.deleted(key);
                self.stage.record.delete(key);
            }
        }
        Ok(())
    }
}

impl Read for LocalTransaction<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<Value<'_>>, KvError> {
        Ok(Value::of(keep(&self.failure, self.layers.get(key, NEWEST))?))
    }

    #[inline]
    fn fetch<K: AsRef<[u8]>>(&self, _: impl IntoIterator<Item = K>) -> Result<(), KvError> {
        Ok(())
    }

    fn cursor(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<Cursor<'_>, KvError> {
        keep(&self.failure, Cursor::new(self.layers, NEWEST, lower, upper))
    }

    fn grouped(&self, range: &GroupedRange<'_>) -> Result<Grouped<'_>, KvError> {
        let (lower, upper) = (Bound::Included(range.lower), Bound::Excluded(range.upper));
        Ok(Grouped::new(self.cursor(lower, upper)?, range))
    }

    fn counter<R: CounterRow>(&self, key: &[u8]) -> Result<Option<Counted>, R::Error> {
        counter::counter::<R>(self, key)
    }
}

impl Write for LocalTransaction<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), KvError> {
        let bytes = key.len().saturating_add(value.len());
        if bytes > PAIR_BYTES_MAX {
            return Err(KvError::TooLarge { bytes, bytes_max: PAIR_BYTES_MAX });
        }
        self.write(key, Some(value))
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), KvError> {
        if self.get(key)?.is_none() {
            // No tombstone for a key that does not exist: it would travel through the log and every
            // layer for nothing.
            return Ok(());
        }
        self.write(key, None)
    }

    fn add<R: CounterRow>(
        &mut self,
        key: &[u8],
        changes: &[CountChange<'_>],
    ) -> Result<(), R::Error> {
        let Some(mut row) = counter::row::<R>(self, key)? else { return Ok(()) };
        let mut is_changed = false;
        for change in changes {
            is_changed |= row.change(change);
        }
        if is_changed {
            self.put(key, &row.encode(key))?;
        }
        Ok(())
    }

    fn set_counter<R: CounterRow>(&mut self, key: &[u8], row: &R) -> Result<(), KvError> {
        self.put(key, &row.encode(key))
    }

    fn end_counter(&mut self, key: &[u8]) -> Result<(), KvError> {
        self.delete(key)
    }

    fn append<R: QueueRow>(
        &mut self,
        queue: Queue<'_>,
        floor: u64,
        value: impl FnOnce(&[u8]) -> Vec<u8>,
    ) -> Result<u64, R::Error> {
        let mut row = counter::row::<R>(self, queue.counter)?.unwrap_or_default();
        let number = row.take_number(floor);
        let key = queue.key(number);
        row.change(&CountChange { at: &key, counts: Counts::ONE });
        self.put(queue.counter, &row.encode(queue.counter))?;
        self.put(&key, &value(&key))?;
        Ok(number)
    }

    #[inline]
    fn claim(&mut self, _: impl Claim) -> Result<(), KvError> {
        // Updates are serial: each has everything for itself.
        Ok(())
    }
}

impl fmt::Debug for LocalTransaction<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LocalTransaction").finish_non_exhaustive()
    }
}

/// Remembers the first failure.
fn keep<T>(failure: &OnceCell<KvError>, result: Result<T, KvError>) -> Result<T, KvError> {
    result.inspect_err(|error| _ = failure.get_or_init(|| error.clone()))
}
