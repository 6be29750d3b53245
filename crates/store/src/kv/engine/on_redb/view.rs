//! Tables, places and guards of redb.
//!
//! The wrappers are one field each and inlined: a step of a cursor is a step of redb's cursor.

use std::ops::Bound;
use std::sync::Arc;

use redb::{AccessGuard, ReadOnlyTable, ReadableTable};

use super::error::{EndsQuietly, guarded};
use crate::kv::KvError;

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

/// A read transaction with its table.
pub(crate) struct View(pub(super) Arc<EndsQuietly<ReadTable>>);

impl View {
    #[inline]
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Value<'_>>, KvError> {
        guarded(|| self.0.get(key).map(checked))
    }

    pub(crate) fn tree(&self) -> Tree<'_> {
        Tree::View(&self.0)
    }
}

/// The table of a write transaction.
pub(crate) struct Table<'b>(pub(super) redb::Table<'b, Bytes, Bytes>);

impl Table<'_> {
    #[inline]
    pub(crate) fn get(&self, key: &[u8]) -> Result<Option<Value<'_>>, KvError> {
        guarded(|| self.0.get(key).map(checked))
    }

    #[inline]
    pub(crate) fn insert(
        &mut self,
        key: &[u8],
        value: &[u8],
    ) -> Result<Option<Value<'_>>, KvError> {
        guarded(|| self.0.insert(key, value).map(checked))
    }

    #[inline]
    pub(crate) fn remove(&mut self, key: &[u8]) -> Result<Option<Value<'_>>, KvError> {
        guarded(|| self.0.remove(key).map(checked))
    }

    pub(crate) fn tree(&self) -> Tree<'_> {
        Tree::Table(&self.0)
    }
}

/// Either kind of table.
#[derive(Clone, Copy)]
pub(crate) enum Tree<'a> {
    View(&'a ReadTable),
    Table(&'a redb::Table<'a, Bytes, Bytes>),
}

impl<'a> Tree<'a> {
    pub(crate) fn lower_bound(self, bound: Bound<&[u8]>) -> Result<Place<'a>, KvError> {
        guarded(|| match self {
            Self::View(table) => ReadableTable::lower_bound(table, bound).map(Place),
            Self::Table(table) => ReadableTable::lower_bound(table, bound).map(Place),
        })
    }

    pub(crate) fn upper_bound(self, bound: Bound<&[u8]>) -> Result<Place<'a>, KvError> {
        guarded(|| match self {
            Self::View(table) => ReadableTable::upper_bound(table, bound).map(Place),
            Self::Table(table) => ReadableTable::upper_bound(table, bound).map(Place),
        })
    }
}

/// redb's cursor.
pub(crate) struct Place<'a>(redb::Cursor<'a, Bytes, Bytes>);

impl<'a> Place<'a> {
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<PairGuard<'a>>, KvError> {
        guarded(|| self.0.next().map(|pair| pair.map(PairGuard::new)))
    }

    #[inline]
    pub(crate) fn previous(&mut self) -> Result<Option<PairGuard<'a>>, KvError> {
        guarded(|| self.0.prev().map(|pair| pair.map(PairGuard::new)))
    }
}
