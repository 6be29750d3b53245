//! Writing: the transaction that one update sees.

use std::cell::OnceCell;
use std::fmt;
use std::ops::{Bound, Range};

use super::engine::Table;
use super::log::{Record, RecordFill};
use super::view::{Cursor, Value};
use super::{KvError, Read, Write};

/// Bytes of a key with its value; the engine itself ends at 3 GiB.
const PAIR_BYTES_MAX: usize = 1 << 30;

/// The view of one update on the key space, to read and write.
///
/// It sees its own writes and those of all earlier updates of its group. If the update fails, its own
/// writes are rolled back one by one from an undo log of the values that they replaced.
pub struct Transaction<'a> {
    table: Table<'a>,
    record: &'a mut Record,
    undo: &'a mut Undo,
    /// The first failure of the engine. It ends the batch even if the closure ignores it: the batch may
    /// hold half of a write.
    failure: OnceCell<KvError>,
}

impl<'a> Transaction<'a> {
    pub(super) fn new(table: Table<'a>, record: &'a mut Record, undo: &'a mut Undo) -> Self {
        Self { table, record, undo, failure: OnceCell::new() }
    }

    /// Notes an attachment that is not durable yet, without which the writes of this update must not
    /// survive a crash: see [`Attachments`](super::Attachments). With its `contents` (else empty) the
    /// update is as durable as any other.
    pub fn note(&mut self, attachment: &[u8], contents: &[u8]) {
        self.record.note(attachment, contents);
    }

    /// Starts an update. Returns the savepoint for [`Transaction::roll_back`].
    pub(super) fn begin(&mut self) -> RecordFill {
        self.undo.clear();
        self.record.fill()
    }

    /// Takes back everything since `begin` returned `fill`.
    pub(super) fn roll_back(&mut self, fill: RecordFill) -> Result<(), KvError> {
        while let Some((key, previous)) = self.undo.entries.pop() {
            let key = &self.undo.bytes[key];
            match previous {
                Some(value) => drop(self.table.insert(key, &self.undo.bytes[value])?),
                None => drop(self.table.remove(key)?),
            }
        }
        self.undo.clear();
        self.record.truncate(fill);
        Ok(())
    }

    /// Bytes of the group's log record so far.
    pub(super) fn record_bytes(&self) -> usize {
        self.record.bytes()
    }

    pub(super) fn failure(&self) -> Option<&KvError> {
        self.failure.get()
    }
}

impl Read for Transaction<'_> {
    fn get(&self, key: &[u8]) -> Result<Option<Value<'_>>, KvError> {
        Ok(keep(&self.failure, self.table.get(key))?.map(Value::new))
    }

    fn cursor(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<Cursor<'_>, KvError> {
        keep(&self.failure, Cursor::new(self.table.tree(), lower, upper))
    }
}

impl Write for Transaction<'_> {
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), KvError> {
        let bytes = key.len().saturating_add(value.len());
        if bytes > PAIR_BYTES_MAX {
            return Err(KvError::TooLarge { bytes, bytes_max: PAIR_BYTES_MAX });
        }
        let previous = keep(&self.failure, self.table.insert(key, value))?;
        self.undo.push(key, previous.as_ref().map(|value| value.bytes()));
        drop(previous);
        self.record.put(key, value);
        Ok(())
    }

    fn delete(&mut self, key: &[u8]) -> Result<(), KvError> {
        let Some(previous) = keep(&self.failure, self.table.remove(key))? else { return Ok(()) };
        self.undo.push(key, Some(previous.bytes()));
        drop(previous);
        self.record.delete(key);
        Ok(())
    }
}

impl fmt::Debug for Transaction<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Transaction").finish_non_exhaustive()
    }
}

/// Remembers the first failure.
fn keep<T>(failure: &OnceCell<KvError>, result: Result<T, KvError>) -> Result<T, KvError> {
    result.inspect_err(|error| _ = failure.get_or_init(|| error.clone()))
}

/// The values that one update replaced, in one buffer that is used again by the next.
#[derive(Debug, Default)]
pub(super) struct Undo {
    bytes: Vec<u8>,
    /// Key and previous value, as ranges of `bytes`.
    entries: Vec<(Range<usize>, Option<Range<usize>>)>,
}

impl Undo {
    fn push(&mut self, key: &[u8], previous: Option<&[u8]>) {
        let key = self.store(key);
        let previous = previous.map(|value| self.store(value));
        self.entries.push((key, previous));
    }

    fn store(&mut self, bytes: &[u8]) -> Range<usize> {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        start..self.bytes.len()
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(1 << 20);
        self.entries.clear();
    }
}
