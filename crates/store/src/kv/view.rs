//! Reading: values, cursors and snapshots.

use std::fmt;
use std::ops::{Bound, Deref};
use std::sync::Arc;

use super::engine::{self, Engine, PairGuard, Place, Tree, View};
use super::{KvError, Read};

/// A value, borrowed from the engine without a copy.
pub struct Value<'a>(engine::Value<'a>);

impl<'a> Value<'a> {
    #[inline]
    pub(super) fn new(value: engine::Value<'a>) -> Self {
        Self(value)
    }
}

impl Deref for Value<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.0.bytes()
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

/// A key and its value, borrowed from the engine without a copy.
pub type Pair<'a> = (&'a [u8], &'a [u8]);

/// A cursor over a range: a position between two keys. It starts before the first key.
///
/// [`next`](Cursor::next) steps over the key after that place and shows it,
/// [`previous`](Cursor::previous) the key before, so that one after the other show the same key.
/// At an end of the range they return `None` and do not move.
///
/// A pair is shown until the next step. Its guard has some 200 bytes, so it stays here: handed out, it
/// would be copied by every call in between, which takes as long as the step.
pub struct Cursor<'a> {
    tree: Tree<'a>,
    /// Not above `upper`: see [`in_order`].
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    /// Never outside of the bounds, so that a step forward checks `upper` only, and one back `lower`.
    place: Place<'a>,
    shown: Option<PairGuard<'a>>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(
        tree: Tree<'a>,
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
    /// [`KvError::Io`] or [`KvError::Corrupt`] if the engine cannot read.
    #[expect(clippy::should_implement_trait, reason = "what it shows is borrowed from it")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Pair<'_>>, KvError> {
        self.shown = None;
        self.shown = self.place.next()?;
        let Some(pair) = &self.shown else { return Ok(None) };
        if is_above(pair.key(), &self.upper) {
            self.place.previous()?;
            return Ok(None);
        }
        Ok(Some((pair.key(), pair.value())))
    }

    /// Steps backward: the previous key with its value.
    ///
    /// # Errors
    /// [`KvError::Io`] or [`KvError::Corrupt`] if the engine cannot read.
    #[inline]
    pub fn previous(&mut self) -> Result<Option<Pair<'_>>, KvError> {
        self.shown = None;
        self.shown = self.place.previous()?;
        let Some(pair) = &self.shown else { return Ok(None) };
        if is_below(pair.key(), &self.lower) {
            self.place.next()?;
            return Ok(None);
        }
        Ok(Some((pair.key(), pair.value())))
    }

    /// Moves before the first key that is not less than `key`, within the range.
    ///
    /// # Errors
    /// [`KvError::Io`] or [`KvError::Corrupt`] if the engine cannot read.
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
    /// [`KvError::Io`] or [`KvError::Corrupt`] if the engine cannot read.
    pub fn seek_start(&mut self) -> Result<(), KvError> {
        self.place = self.tree.lower_bound(self.lower.as_ref().map(Vec::as_slice))?;
        Ok(())
    }

    /// Moves behind the last key of the range.
    ///
    /// # Errors
    /// [`KvError::Io`] or [`KvError::Corrupt`] if the engine cannot read.
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

/// A snapshot: all updates that were acknowledged when it was taken, and no later ones (snapshot
/// isolation).
///
/// Keep it only for one request. While it lives, no page that it can see is reused, and a store that ran
/// out of space cannot return to writing.
pub struct Snapshot {
    view: View,
    /// Declared after the view, so that the view is dropped before the engine closes its files.
    _engine: Arc<Engine>,
}

impl Snapshot {
    pub(super) fn new(engine: &Arc<Engine>) -> Result<Self, KvError> {
        Ok(Self { view: engine.view()?, _engine: Arc::clone(engine) })
    }
}

impl Read for Snapshot {
    fn get(&self, key: &[u8]) -> Result<Option<Value<'_>>, KvError> {
        Ok(self.view.get(key)?.map(Value::new))
    }

    fn cursor(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<Cursor<'_>, KvError> {
        Cursor::new(self.view.tree(), lower, upper)
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Snapshot").finish_non_exhaustive()
    }
}
