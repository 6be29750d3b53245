//! Reading: values, cursors and snapshots.

use std::fmt;
use std::ops::{Bound, Deref};
use std::sync::Arc;

use redb::{AccessGuard, ReadableTable, StorageError, Table};

use super::engine::{Engine, ReadTable};
use super::{KvError, Read};

/// What redb stores: bytes to bytes.
pub(super) type Bytes = &'static [u8];
type EngineCursor<'a> = redb::Cursor<'a, Bytes, Bytes>;
/// A key and its value.
type Guards<'a> = (AccessGuard<'a, Bytes>, AccessGuard<'a, Bytes>);

/// A value, borrowed from the page it lies in.
pub struct Value<'a>(AccessGuard<'a, Bytes>);

impl<'a> Value<'a> {
    #[inline]
    pub(super) fn new(guard: AccessGuard<'a, Bytes>) -> Self {
        Self(guard)
    }
}

impl Deref for Value<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.0.value()
    }
}

impl AsRef<[u8]> for Value<'_> {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:?}", self.escape_ascii().to_string())
    }
}

/// A table of a snapshot or of a transaction, for cursors.
pub(super) trait Tree {
    fn lower_bound(&self, bound: Bound<&[u8]>) -> Result<EngineCursor<'_>, StorageError>;
    fn upper_bound(&self, bound: Bound<&[u8]>) -> Result<EngineCursor<'_>, StorageError>;
}

impl Tree for ReadTable {
    fn lower_bound(&self, bound: Bound<&[u8]>) -> Result<EngineCursor<'_>, StorageError> {
        ReadableTable::lower_bound(self, bound)
    }

    fn upper_bound(&self, bound: Bound<&[u8]>) -> Result<EngineCursor<'_>, StorageError> {
        ReadableTable::upper_bound(self, bound)
    }
}

impl Tree for Table<'_, Bytes, Bytes> {
    fn lower_bound(&self, bound: Bound<&[u8]>) -> Result<EngineCursor<'_>, StorageError> {
        ReadableTable::lower_bound(self, bound)
    }

    fn upper_bound(&self, bound: Bound<&[u8]>) -> Result<EngineCursor<'_>, StorageError> {
        ReadableTable::upper_bound(self, bound)
    }
}

/// A key and its value, in the page they lie in.
pub type Pair<'a> = (&'a [u8], &'a [u8]);

/// A place between two keys of a range. It starts before the first key.
///
/// [`next`](Cursor::next) steps over the key after that place and shows it,
/// [`previous`](Cursor::previous) the key before, so that one after the other show the same key.
/// At an end of the range they return `None` and do not move.
///
/// A pair is shown until the next step. The guards that keep its page are some 200 bytes, so they stay
/// here: handed out, they would be copied by every call in between, which takes as long as the step.
pub struct Cursor<'a> {
    tree: &'a dyn Tree,
    /// Not behind `upper`: see [`in_order`].
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    /// Never outside of the bounds, so that a step looks at the bound before it only.
    place: EngineCursor<'a>,
    shown: Option<Guards<'a>>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(
        tree: &'a dyn Tree,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
    ) -> Result<Self, KvError> {
        let (lower, upper) = in_order(lower, upper);
        let place = tree.lower_bound(lower)?;
        let (lower, upper) = (lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec));
        Ok(Self { tree, lower, upper, place, shown: None })
    }

    /// Steps forward: the next key with its value.
    ///
    /// # Errors
    /// When the engine cannot read.
    #[expect(clippy::should_implement_trait, reason = "what it shows is borrowed from it")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Pair<'_>>, KvError> {
        self.shown = None;
        self.shown = self.place.next()?;
        let Some((key, value)) = &self.shown else { return Ok(None) };
        if is_above(key.value(), &self.upper) {
            self.place.prev()?;
            return Ok(None);
        }
        Ok(Some((key.value(), value.value())))
    }

    /// Steps backward: the previous key with its value.
    ///
    /// # Errors
    /// When the engine cannot read.
    #[inline]
    pub fn previous(&mut self) -> Result<Option<Pair<'_>>, KvError> {
        self.shown = None;
        self.shown = self.place.prev()?;
        let Some((key, value)) = &self.shown else { return Ok(None) };
        if is_below(key.value(), &self.lower) {
            self.place.next()?;
            return Ok(None);
        }
        Ok(Some((key.value(), value.value())))
    }

    /// Moves before the first key that is not less than `key`, within the range.
    ///
    /// # Errors
    /// When the engine cannot read.
    pub fn seek(&mut self, key: &[u8]) -> Result<(), KvError> {
        if is_below(key, &self.lower) {
            return self.seek_start();
        }
        if is_above(key, &self.upper) {
            return self.seek_end();
        }
        self.place = self.tree.lower_bound(Bound::Included(key))?;
        Ok(())
    }

    /// Moves before the first key of the range.
    ///
    /// # Errors
    /// When the engine cannot read.
    pub fn seek_start(&mut self) -> Result<(), KvError> {
        self.place = self.tree.lower_bound(self.lower.as_ref().map(Vec::as_slice))?;
        Ok(())
    }

    /// Moves behind the last key of the range.
    ///
    /// # Errors
    /// When the engine cannot read.
    pub fn seek_end(&mut self) -> Result<(), KvError> {
        self.place = self.tree.upper_bound(self.upper.as_ref().map(Vec::as_slice))?;
        Ok(())
    }
}

impl fmt::Debug for Cursor<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cursor = formatter.debug_struct("Cursor");
        cursor.field("lower", &self.lower).field("upper", &self.upper).finish_non_exhaustive()
    }
}

/// The same range; one that ends before it begins as an empty one at its beginning.
fn in_order<'k>(
    lower: Bound<&'k [u8]>,
    upper: Bound<&'k [u8]>,
) -> (Bound<&'k [u8]>, Bound<&'k [u8]>) {
    use Bound::{Excluded, Included};
    let begin = match (lower, upper) {
        (Excluded(begin), Excluded(end)) if begin >= end => begin,
        (Included(begin) | Excluded(begin), Included(end) | Excluded(end)) if begin > end => begin,
        _ => return (lower, upper),
    };
    (Included(begin), Excluded(begin))
}

#[inline]
fn is_below(key: &[u8], lower: &Bound<Vec<u8>>) -> bool {
    match lower {
        Bound::Included(bound) => key < bound.as_slice(),
        Bound::Excluded(bound) => key <= bound.as_slice(),
        Bound::Unbounded => false,
    }
}

#[inline]
fn is_above(key: &[u8], upper: &Bound<Vec<u8>>) -> bool {
    match upper {
        Bound::Included(bound) => key > bound.as_slice(),
        Bound::Excluded(bound) => key >= bound.as_slice(),
        Bound::Unbounded => false,
    }
}

/// All that was acknowledged when it was taken, and nothing later.
///
/// Keep it only for one request: while it lives no page that it can see is used again, and a store
/// that ran out of space cannot return to writing.
pub struct Snapshot {
    table: Arc<ReadTable>,
    /// Behind the table, which must be gone before the engine closes its file.
    _engine: Arc<Engine>,
}

impl Snapshot {
    pub(super) fn new(engine: &Arc<Engine>) -> Result<Self, KvError> {
        Ok(Self { table: engine.begin_read()?, _engine: Arc::clone(engine) })
    }
}

impl Read for Snapshot {
    fn get(&self, key: &[u8]) -> Result<Option<Value<'_>>, KvError> {
        Ok(self.table.get(key)?.map(Value::new))
    }

    fn cursor(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<Cursor<'_>, KvError> {
        Cursor::new(&*self.table, lower, upper)
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Snapshot").finish_non_exhaustive()
    }
}
