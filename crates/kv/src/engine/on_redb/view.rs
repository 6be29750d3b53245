//! redb's tables, positions and guards, wrapped.
//!
//! Each wrapper is a single inlined field, so a step of a cursor costs a step of redb's cursor.

use std::ops::Bound;

use redb::{AccessGuard, ReadOnlyTable, ReadableTable, StorageError};

use super::error::{EndsQuietly, guarded};
use crate::KvError;

/// The type of redb's keys and values.
pub(super) type Bytes = &'static [u8];
/// The pairs as one commit left them.
pub(super) type ReadTable = ReadOnlyTable<Bytes, Bytes>;

/// A value in the page it lies in.
pub(crate) struct Value<'a>(AccessGuard<'a, Bytes>);

impl Value<'_> {
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.0.value()
    }
}

/// The value, its place in the page looked at.
#[inline]
fn checked(guard: Option<AccessGuard<'_, Bytes>>) -> Option<Value<'_>> {
    let guard = guard?;
    let _ = guard.value();
    Some(Value(guard))
}

/// A pair in the page it lies in.
pub(crate) struct PairGuard<'a> {
    key: AccessGuard<'a, Bytes>,
    value: AccessGuard<'a, Bytes>,
}

impl<'a> PairGuard<'a> {
    #[inline]
    fn new((key, value): (AccessGuard<'a, Bytes>, AccessGuard<'a, Bytes>)) -> Self {
        // Their places in the page are looked at here, where a wrong one is caught.
        let _ = (key.value(), value.value());
        Self { key, value }
    }

    #[inline]
    pub(crate) fn key(&self) -> &[u8] {
        self.key.value()
    }

    #[inline]
    pub(crate) fn value(&self) -> &[u8] {
        self.value.value()
    }
}

/// A read transaction with its table; `None` before the first change.
pub(crate) struct View(Option<EndsQuietly<ReadTable>>);

impl View {
    pub(super) fn new(table: Option<ReadTable>) -> Self {
        Self(table.map(EndsQuietly::new))
    }

    #[inline]
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Value<'_>>, KvError> {
        let Some(table) = &self.0 else { return Ok(None) };
        guarded(|| table.get(key).map(checked))
    }

    pub(crate) fn tree(&self) -> Tree<'_> {
        Tree(self.0.as_deref())
    }
}

/// The table of a view.
#[derive(Clone, Copy)]
pub(crate) struct Tree<'a>(Option<&'a ReadTable>);

impl<'a> Tree<'a> {
    pub(crate) fn lower_bound(self, bound: Bound<&[u8]>) -> Result<Place<'a>, KvError> {
        let Some(table) = self.0 else { return Ok(Place(None)) };
        guarded(|| ReadableTable::lower_bound(table, bound).map(|place| Place(Some(place))))
    }

    pub(crate) fn upper_bound(self, bound: Bound<&[u8]>) -> Result<Place<'a>, KvError> {
        let Some(table) = self.0 else { return Ok(Place(None)) };
        guarded(|| ReadableTable::upper_bound(table, bound).map(|place| Place(Some(place))))
    }
}

/// redb's cursor.
pub(crate) struct Place<'a>(Option<redb::Cursor<'a, Bytes, Bytes>>);

impl<'a> Place<'a> {
    /// Steps over the next key and puts its pair into `shown`, which is empty.
    ///
    /// A pair has 200 bytes: each function that returned it would copy it once more.
    #[inline]
    pub(crate) fn next_into<T: From<PairGuard<'a>>>(
        &mut self,
        shown: &mut Option<T>,
    ) -> Result<(), KvError> {
        let Some(cursor) = &mut self.0 else { return Ok(()) };
        guarded(|| {
            if let Some(pair) = cursor.next()? {
                *shown = Some(PairGuard::new(pair).into());
            }
            Ok::<_, StorageError>(())
        })
    }

    /// The same of the previous key.
    #[inline]
    pub(crate) fn previous_into<T: From<PairGuard<'a>>>(
        &mut self,
        shown: &mut Option<T>,
    ) -> Result<(), KvError> {
        let Some(cursor) = &mut self.0 else { return Ok(()) };
        guarded(|| {
            if let Some(pair) = cursor.prev()? {
                *shown = Some(PairGuard::new(pair).into());
            }
            Ok::<_, StorageError>(())
        })
    }
}
