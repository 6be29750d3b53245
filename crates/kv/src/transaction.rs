//! [`Transaction`]: the view of an update, of either kind.

use std::fmt;
use std::ops::Bound;

use crate::cursor::Cursor;
use crate::fetched::FetchedTransaction;
use crate::layers::Layers;
use crate::local::{LocalTransaction, Savepoint, Stage};
use crate::view::Value;
use crate::{
    Claim, CountChange, Counted, CounterRow, Grouped, GroupedRange, KvError, Queue, QueueRow, Read,
    Write,
};

/// The view of one update on the key space, to read and write.
///
/// It sees its own writes and the writes of all earlier updates.
pub struct Transaction<'a>(Kind<'a>);

/// The kinds of transactions. Nobody outside of this crate can tell which one it has.
enum Kind<'a> {
    Local(LocalTransaction<'a>),
    Fetched(Box<FetchedTransaction<'a>>),
}

/// The same of each kind.
macro_rules! of_each {
    ($kind:expr, $local:ident => $of_local:expr, $fetched:ident => $of_fetched:expr) => {
        match $kind {
            Kind::Local($local) => $of_local,
            Kind::Fetched($fetched) => $of_fetched,
        }
    };
}

impl<'a> Transaction<'a> {
    pub(super) fn new(layers: &'a Layers, stage: &'a mut Stage) -> Self {
        Self(Kind::Local(LocalTransaction::new(layers, stage)))
    }

    /// Notes an attachment that is not durable yet, without which the writes of this update must not
    /// survive a crash: see [`Attachments`](super::Attachments). With its `contents` (else empty) the
    /// update is as durable as any other.
    ///
    /// Refused over a [`Database`](crate::database::Database), which has no log to keep contents in: the
    /// update fails.
    pub fn note(&mut self, attachment: &[u8], contents: &[u8]) {
        of_each!(&mut self.0, it => it.note(attachment, contents), it => it.note(attachment, contents));
    }

    /// Writes the newest entry of `key` above the tree once more, because it cannot be drained.
    pub(super) fn carry(&mut self, key: &[u8]) -> Result<(), KvError> {
        of_each!(&mut self.0, it => it.carry(key), it => {
            it.carry(key);
            Ok(())
        })
    }

    /// The transaction of the committer, which is over the layers.
    fn local(&self) -> &LocalTransaction<'a> {
        of_each!(&self.0, it => it, _it => unreachable!("the committer stages in the layers"))
    }

    pub(super) fn local_mut(&mut self) -> &mut LocalTransaction<'a> {
        of_each!(&mut self.0, it => it, _it => unreachable!("the committer stages in the layers"))
    }

    /// Starts an update. Returns the savepoint for [`Transaction::roll_back`].
    pub(super) fn begin(&mut self) -> Savepoint {
        self.local_mut().begin()
    }

    /// Takes back everything since `begin` returned `savepoint`.
    pub(super) fn roll_back(&mut self, savepoint: Savepoint) {
        self.local_mut().roll_back(savepoint);
    }

    /// Bytes of the group's log record so far.
    pub(super) fn record_bytes(&self) -> usize {
        self.local().record_bytes()
    }

    /// The failed read or write of this update, if any.
    pub(super) fn failure(&self) -> Option<&KvError> {
        self.local().failure()
    }
}

impl<'a> Transaction<'a> {
    /// Calls `each` for every item. Where rows have to be fetched, it goes on behind an item that misses some, so
    /// that what all of them read is fetched together: then its result and all effects are those of a
    /// run that does not count.
    ///
    /// # Errors
    /// The first error of `each`.
    pub fn for_each<T, E>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut each: impl FnMut(&mut Self, T) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut missed = Ok(());
        for item in items {
            match each(self, item) {
                Err(error) if self.misses() => missed = missed.and(Err(error)),
                ended => ended?,
            }
        }
        missed
    }

    /// `true` if something that was read has to be fetched first.
    #[inline]
    fn misses(&self) -> bool {
        of_each!(&self.0, _it => false, it => it.misses())
    }

    pub(super) fn fetched(transaction: FetchedTransaction<'a>) -> Self {
        Self(Kind::Fetched(Box::new(transaction)))
    }

    pub(super) fn into_fetched(self) -> FetchedTransaction<'a> {
        match self.0 {
            Kind::Fetched(transaction) => *transaction,
            Kind::Local(_) => unreachable!("it was made of a fetched one"),
        }
    }
}

impl Read for Transaction<'_> {
    #[inline]
    fn get(&self, key: &[u8]) -> Result<Option<Value<'_>>, KvError> {
        of_each!(&self.0, it => it.get(key), it => Ok(it.get(key)?.map(Value::in_memory)))
    }

    #[inline]
    fn fetch<K: AsRef<[u8]>>(&self, keys: impl IntoIterator<Item = K>) -> Result<(), KvError> {
        of_each!(&self.0, it => it.fetch(keys), it => it.fetch(keys))
    }

    #[inline]
    fn cursor(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Result<Cursor<'_>, KvError> {
        of_each!(&self.0, it => it.cursor(lower, upper), it => Ok(Cursor::fetched(it.cursor(lower, upper))))
    }

    #[inline]
    fn grouped(&self, range: &GroupedRange<'_>) -> Result<Grouped<'_>, KvError> {
        of_each!(&self.0, it => it.grouped(range), _it => {
            let (lower, upper) = (Bound::Included(range.lower), Bound::Excluded(range.upper));
            Ok(Grouped::new(self.cursor(lower, upper)?, range))
        })
    }

    #[inline]
    fn counter<R: CounterRow>(&self, key: &[u8]) -> Result<Option<Counted>, R::Error> {
        of_each!(&self.0, it => it.counter::<R>(key), it => it.counter::<R>(key))
    }
}

impl Write for Transaction<'_> {
    #[inline]
    fn put(&mut self, key: &[u8], value: &[u8]) -> Result<(), KvError> {
        of_each!(&mut self.0, it => it.put(key, value), it => it.put(key, value))
    }

    #[inline]
    fn delete(&mut self, key: &[u8]) -> Result<(), KvError> {
        of_each!(&mut self.0, it => it.delete(key), it => {
            it.delete(key);
            Ok(())
        })
    }

    #[inline]
    fn add<R: CounterRow>(
        &mut self,
        key: &[u8],
        changes: &[CountChange<'_>],
    ) -> Result<(), R::Error> {
        of_each!(
            &mut self.0,
            it => it.add::<R>(key, changes),
            it => it.add::<R>(key, changes)
        )
    }

    #[inline]
    fn set_counter<R: CounterRow>(&mut self, key: &[u8], row: &R) -> Result<(), KvError> {
        of_each!(
            &mut self.0,
            it => it.set_counter(key, row),
            it => it.set_counter(key, row)
        )
    }

    #[inline]
    fn end_counter(&mut self, key: &[u8]) -> Result<(), KvError> {
        of_each!(&mut self.0, it => it.end_counter(key), it => {
            it.end_counter(key);
            Ok(())
        })
    }

    #[inline]
    fn append<R: QueueRow>(
        &mut self,
        queue: Queue<'_>,
        floor: u64,
        value: impl FnOnce(&[u8]) -> Vec<u8>,
    ) -> Result<u64, R::Error> {
        of_each!(
            &mut self.0,
            it => it.append::<R>(queue, floor, value),
            it => it.append::<R>(queue, floor, value)
        )
    }

    #[inline]
    fn claim(&mut self, claim: impl Claim) -> Result<(), KvError> {
        of_each!(&mut self.0, it => it.claim(claim), it => {
            it.claim(claim);
            Ok(())
        })
    }
}

impl fmt::Debug for Transaction<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Transaction").finish_non_exhaustive()
    }
}
