//! Reading: values and snapshots.

use std::fmt;
use std::ops::{Bound, Deref};
use std::sync::Arc;

use crate::counter;
use crate::cursor::Cursor;
use crate::database::{DatabaseSnapshot, Moment};
use crate::engine;
#[cfg(any(test, feature = "test-util"))]
use crate::fetched::Fetching;
use crate::fetched::{FetchedCursor, FetchedGroups};
use crate::layers::{Found, Layers};
use crate::run::RunPair;
use crate::{Counted, CounterRow, Grouped, GroupedRange, KvError, Read};

/// A value, borrowed without a copy.
pub struct Value<'a>(Inner<'a>);

enum Inner<'a> {
    Memory(&'a [u8]),
    Run(RunPair),
    Tree(engine::Value<'a>),
    Fetched(Arc<[u8]>),
}

impl<'a> Value<'a> {
    pub(super) fn in_memory(value: &'a [u8]) -> Self {
        Self(Inner::Memory(value))
    }

    #[inline]
    pub(super) fn of(found: Found<'a>) -> Option<Self> {
        match found {
            Found::Memory(value) => Some(Self(Inner::Memory(value))),
            Found::Run(pair) => Some(Self(Inner::Run(pair))),
            Found::Tree(value) => Some(Self(Inner::Tree(value))),
            Found::Nothing => None,
        }
    }
}

impl Deref for Value<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Inner::Memory(value) => value,
            Inner::Run(pair) => pair.entry().value.unwrap_or_default(),
            Inner::Tree(value) => value.bytes(),
            Inner::Fetched(value) => value,
        }
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

/// A snapshot: all updates acknowledged when it was taken, and no later ones (snapshot isolation).
///
/// Keep it for one request only. While it lives, the pages and memory that it can see are not
/// freed, and a store that ran out of space cannot return to writing.
///
/// Over a [`Database`](crate::database::Database) each read blocks the thread for the database, unless
/// the snapshot has the row. Its moment is at the latest that of its first read.
pub struct Snapshot(Kind);

enum Kind {
    Local(LocalSnapshot),
    Database(Box<DatabaseSnapshot>),
}

struct LocalSnapshot {
    layers: Arc<Layers>,
    sequence: u64,
    #[cfg(any(test, feature = "test-util"))]
    counting: Option<Counting>,
}

/// The keys that a snapshot has read, where fetches are counted.
#[cfg(any(test, feature = "test-util"))]
struct Counting {
    fetching: Arc<Fetching>,
    seen: parking_lot::Mutex<std::collections::BTreeSet<Vec<u8>>>,
}

impl Snapshot {
    /// A snapshot of everything up to `published`, which was read before the layers were taken.
    pub(super) fn new(layers: Arc<Layers>, published: u64) -> Self {
        // A write may be published and drained between the two reads. Then it is in the tree, which
        // has no sequences, so the snapshot must count it as visible.
        let sequence = published.max(layers.drained());
        Self(Kind::Local(LocalSnapshot {
            layers,
            sequence,
            #[cfg(any(test, feature = "test-util"))]
            counting: None,
        }))
    }

    pub(super) fn of_database(snapshot: DatabaseSnapshot) -> Self {
        Self(Kind::Database(Box::new(snapshot)))
    }

    /// The snapshot, with its fetches counted there.
    #[cfg(any(test, feature = "test-util"))]
    pub(super) fn counted(mut self, fetching: Option<&Arc<Fetching>>) -> Self {
        let counting =
            |it: &Arc<Fetching>| Counting { fetching: Arc::clone(it), seen: Default::default() };
        if let Kind::Local(local) = &mut self.0 {
            local.counting = fetching.map(counting);
        }
        self
    }

    /// The moment of the snapshot, as the database tells it; `None` for a key space of one process.
    ///
    /// # Errors
    /// [`KvError::Io`] or [`KvError::Corrupt`] if the engine cannot read.
    pub fn moment(&self) -> Result<Option<Moment>, KvError> {
        match &self.0 {
            Kind::Local(_) => Ok(None),
            Kind::Database(snapshot) => snapshot.moment().map(Some),
        }
    }
}

impl LocalSnapshot {
    /// Counts the fetch of a key that was not read before, or of a range.
    #[cfg(any(test, feature = "test-util"))]
    fn count(&self, key: Option<&[u8]>) {
        let Some(counting) = &self.counting else { return };
        if key.is_none_or(|key| counting.seen.lock().insert(key.to_vec())) {
            counting.fetching.of_snapshot();
        }
    }
}

impl Read for Snapshot {
    #[inline]
    fn get(&self, key: &[u8]) -> Result<Option<Value<'_>>, KvError> {
        match &self.0 {
            Kind::Local(local) => {
                #[cfg(any(test, feature = "test-util"))]
                local.count(Some(key));
                Ok(Value::of(local.layers.get(key, local.sequence)?))
            }
            Kind::Database(snapshot) => {
                Ok(snapshot.get(key)?.map(|value| Value(Inner::Fetched(value))))
            }
        }
    }

    fn fetch<K: AsRef<[u8]>>(&self, keys: impl IntoIterator<Item = K>) -> Result<(), KvError> {
        match &self.0 {
            Kind::Local(_) => Ok(()),
            Kind::Database(snapshot) => {
                snapshot.fetch_rows(keys.into_iter().map(|key| key.as_ref().to_vec()).collect())
            }
        }
    }

    fn cursor(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<Cursor<'_>, KvError> {
        match &self.0 {
            Kind::Local(local) => {
                #[cfg(any(test, feature = "test-util"))]
                local.count(None);
                Cursor::new(&local.layers, local.sequence, lower, upper)
            }
            Kind::Database(snapshot) => {
                Ok(Cursor::fetched(FetchedCursor::of_view(&**snapshot, lower, upper)))
            }
        }
    }

    fn grouped(&self, range: &GroupedRange<'_>) -> Result<Grouped<'_>, KvError> {
        match &self.0 {
            Kind::Local(_) => {
                let (lower, upper) = (Bound::Included(range.lower), Bound::Excluded(range.upper));
                Ok(Grouped::new(self.cursor(lower, upper)?, range))
            }
            Kind::Database(snapshot) => {
                Ok(Grouped::fetched(FetchedGroups::new(&**snapshot, range)))
            }
        }
    }

    fn counter<R: CounterRow>(&self, key: &[u8]) -> Result<Option<Counted>, R::Error> {
        let counted = counter::counter::<R>(self, key)?;
        match (&self.0, counted) {
            (Kind::Database(snapshot), Some(Counted { counts, is_complete })) => {
                Ok(Some(Counted { counts: counts + snapshot.counts(key)?, is_complete }))
            }
            (_, counted) => Ok(counted),
        }
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Snapshot").finish_non_exhaustive()
    }
}
