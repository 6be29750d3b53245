//! [`Cursor`]: a position in a range of the key space, over the tree and the layers above it.

use std::fmt;
use std::ops::Bound;

use crate::engine::{PairGuard, Place, Tree};
use crate::fetched::FetchedCursor;
use crate::layers::Layers;
use crate::memtable::shared_bytes;
use crate::merge::Merge;
use crate::{KvError, Pair};

/// A cursor over a range: a position between two keys. It starts before the first key.
///
/// [`next`](Cursor::next) steps over the key after that place and shows it,
/// [`previous`](Cursor::previous) the key before, so that one after the other show the same key.
/// At an end of the range they return `None` and do not move.
pub struct Cursor<'a> {
    /// Not above `upper`: see [`in_order`].
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    source: Source<'a>,
}

#[expect(
    clippy::large_enum_variant,
    reason = "the large one is the usual one: a box would cost it"
)]
enum Source<'a> {
    /// Everything is in the tree, so no merge is needed.
    Tree(TreeCursor<'a>),
    Merge(Box<Merge<'a>>),
    Fetched(Box<FetchedCursor<'a>>),
}

/// A cursor of the tree alone.
///
/// The shown pair stays valid until the next step. Its guard has about 200 bytes, so it stays here:
/// passed out, every call in between would copy it, which takes as long as the step.
struct TreeCursor<'a> {
    tree: Tree<'a>,
    /// Always within the bounds, so that a step forward checks `upper` only, and a step back
    /// `lower`.
    place: Place<'a>,
    shown: Option<PairGuard<'a>>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(
        layers: &'a Layers,
        sequence: u64,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
    ) -> Result<Self, KvError> {
        let (lower, upper) = in_order(lower, upper);
        let tree = layers.tree()?;
        let is_drained = layers.undrained().iter().all(|table| table.is_empty());
        let source = match is_drained && layers.runs().is_empty() {
            true => Source::Tree(TreeCursor { tree, place: tree.lower_bound(lower)?, shown: None }),
            false => {
                let shared = begin_of_all(lower, upper);
                Source::Merge(Box::new(Merge::new(layers, tree, sequence, lower, shared)))
            }
        };
        let (lower, upper) = (lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec));
        Ok(Self { lower, upper, source })
    }

    /// A cursor over what was fetched, which has the bounds itself.
    pub(super) fn fetched(cursor: FetchedCursor<'a>) -> Self {
        let source = Source::Fetched(Box::new(cursor));
        Self { lower: Bound::Unbounded, upper: Bound::Unbounded, source }
    }

    /// Steps forward: the next key with its value.
    ///
    /// # Errors
    /// [`KvError::Io`] or [`KvError::Corrupt`] if the engine cannot read.
    #[expect(clippy::should_implement_trait, reason = "what it shows is borrowed from it")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Pair<'_>>, KvError> {
        match &mut self.source {
            Source::Tree(cursor) => {
                cursor.shown = None;
                cursor.place.next_into(&mut cursor.shown)?;
                let Some(pair) = &cursor.shown else { return Ok(None) };
                if is_above(pair.key(), &self.upper) {
                    // Step back, so that the cursor stays at the end of the range.
                    cursor.place.previous_into(&mut None)?;
                    return Ok(None);
                }
                Ok(Some((pair.key(), pair.value())))
            }
            Source::Merge(merge) => merge.next(|key| is_above(key, &self.upper)),
            Source::Fetched(cursor) => cursor.next(),
        }
    }

    /// Steps backward: the previous key with its value.
    ///
    /// # Errors
    /// [`KvError::Io`] or [`KvError::Corrupt`] if the engine cannot read.
    #[inline]
    pub fn previous(&mut self) -> Result<Option<Pair<'_>>, KvError> {
        match &mut self.source {
            Source::Tree(cursor) => {
                cursor.shown = None;
                cursor.place.previous_into(&mut cursor.shown)?;
                let Some(pair) = &cursor.shown else { return Ok(None) };
                if is_below(pair.key(), &self.lower) {
                    // Step forward again, so that the cursor stays at the start of the range.
                    cursor.place.next_into(&mut None)?;
                    return Ok(None);
                }
                Ok(Some((pair.key(), pair.value())))
            }
            Source::Merge(merge) => merge.previous(|key| is_below(key, &self.lower)),
            Source::Fetched(cursor) => cursor.previous(),
        }
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
        match &mut self.source {
            Source::Tree(cursor) => {
                cursor.place = cursor.tree.lower_bound(Bound::Included(key))?;
            }
            Source::Merge(merge) => merge.go_before(Bound::Included(key)),
            Source::Fetched(cursor) => cursor.seek(key),
        }
        Ok(())
    }

    /// Moves before the first key of the range.
    ///
    /// # Errors
    /// [`KvError::Io`] or [`KvError::Corrupt`] if the engine cannot read.
    pub fn seek_start(&mut self) -> Result<(), KvError> {
        let lower = self.lower.as_ref().map(Vec::as_slice);
        match &mut self.source {
            Source::Tree(cursor) => cursor.place = cursor.tree.lower_bound(lower)?,
            Source::Merge(merge) => merge.go_before(lower),
            Source::Fetched(cursor) => cursor.seek_start(),
        }
        Ok(())
    }

    /// Moves behind the last key of the range.
    ///
    /// # Errors
    /// [`KvError::Io`] or [`KvError::Corrupt`] if the engine cannot read.
    pub fn seek_end(&mut self) -> Result<(), KvError> {
        let upper = self.upper.as_ref().map(Vec::as_slice);
        match &mut self.source {
            Source::Tree(cursor) => cursor.place = cursor.tree.upper_bound(upper)?,
            Source::Merge(merge) => merge.go_behind(upper),
            Source::Fetched(cursor) => cursor.seek_end(),
        }
        Ok(())
    }
}

impl fmt::Debug for Cursor<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cursor = formatter.debug_struct("Cursor");
        cursor.field("lower", &self.lower).field("upper", &self.upper).finish_non_exhaustive()
    }
}

/// The same range; an inverted one becomes the empty range at its beginning.
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

/// The common prefix of all keys of the range.
fn begin_of_all<'k>(lower: Bound<&'k [u8]>, upper: Bound<&'k [u8]>) -> &'k [u8] {
    use Bound::{Excluded, Included};
    match (lower, upper) {
        (Included(begin) | Excluded(begin), Included(end) | Excluded(end)) => {
            &begin[..shared_bytes(begin, end)]
        }
        _ => &[],
    }
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
