//! The pairs of a key space that are moved, page by page.

use std::ops::Bound;

use crc_fast::{CrcAlgorithm, Digest};
use liteio_kv::{CounterRow, Kv, Read, Snapshot};

use super::Moved;
use crate::error::StoreError;
use crate::meta::key::successor;
use crate::meta::queue::QueueRecord;
use crate::meta::space;
use crate::meta::usage::UsageRecord;

/// Pairs of a page, and about their bytes: one commit of the database.
const PAGE_PAIRS: usize = 1000;
const PAGE_BYTES: usize = 4 << 20;

/// A key and its value.
pub(super) type Pair = (Vec<u8>, Vec<u8>);

/// Pairs in the order of their keys.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) pairs: Vec<Pair>,
    /// The key after which the next page begins; `None` at the end.
    pub(super) next: Option<Vec<u8>>,
}

/// `true` for the pairs that a move compares and writes. The store's own record is the last one, by which the rest is known
/// to be whole.
fn is_moved(key: &[u8]) -> bool {
    key != space::STORE_KEY
        && !space::is_of_directory(key)
        && !space::is_of_servers(key)
        && !space::is_of_vectors(key)
}

/// `true` for the row of a counter.
pub(super) fn is_counter(key: &[u8]) -> bool {
    key.starts_with(space::ALL_USAGE) || key.starts_with(space::ALL_QUEUES)
}

/// The page after the key `after`.
pub(super) fn page(from: &Snapshot, after: Option<&[u8]>) -> Result<Page, StoreError> {
    let lower = after.map_or(Bound::Unbounded, Bound::Excluded);
    let mut rows = from.cursor(lower, Bound::Unbounded)?;
    let (mut page, mut bytes) = (Page::default(), 0);
    while let Some((key, value)) = rows.next()? {
        if !is_moved(key) {
            continue;
        }
        bytes += key.len() + value.len();
        page.pairs.push((key.to_vec(), value.to_vec()));
        if page.pairs.len() >= PAGE_PAIRS || bytes >= PAGE_BYTES {
            page.next = Some(key.to_vec());
            break;
        }
    }
    Ok(page)
}

/// The pairs after `after`, up to `last` or the end.
pub(super) fn between(
    from: &Snapshot,
    after: Option<&[u8]>,
    last: Option<&[u8]>,
) -> Result<Vec<Pair>, StoreError> {
    let lower = after.map_or(Bound::Unbounded, Bound::Excluded);
    let mut rows = from.cursor(lower, last.map_or(Bound::Unbounded, Bound::Included))?;
    let mut pairs = Vec::new();
    while let Some((key, value)) = rows.next()? {
        if is_moved(key) {
            pairs.push((key.to_vec(), value.to_vec()));
        }
    }
    Ok(pairs)
}

/// The first key that begins with one of these prefixes.
pub(super) fn first_of(from: &Snapshot, prefixes: &[&[u8]]) -> Result<Option<Vec<u8>>, StoreError> {
    for prefix in prefixes {
        let end = successor(prefix).unwrap_or_default();
        let mut rows = from.cursor(Bound::Included(prefix), Bound::Excluded(&end))?;
        if let Some((key, _)) = rows.next()? {
            return Ok(Some(key.to_vec()));
        }
    }
    Ok(None)
}

/// The value of a counter with all that was counted beside its row. `number` is greater than those of all rows of queues.
pub(super) fn added_up(
    from: &Snapshot,
    key: &[u8],
    value: Vec<u8>,
    number: u64,
) -> Result<Vec<u8>, StoreError> {
    if key.starts_with(space::ALL_USAGE)
        && let Some(row) = <UsageRecord as CounterRow>::decode(key, &value)?
        && let Some(counted) = from.counter::<UsageRecord>(key)?
    {
        let row = UsageRecord { usage: counted.counts.into(), ..row };
        return Ok(CounterRow::encode(&row, key));
    }
    if key.starts_with(space::ALL_QUEUES)
        && let Some(row) = <QueueRecord as CounterRow>::decode(key, &value)?
        && let Some(counted) = from.counter::<QueueRecord>(key)?
    {
        let row = QueueRecord { next: row.next.max(number), state: counted.counts.into() };
        return Ok(CounterRow::encode(&row, key));
    }
    // A damaged row says nothing, and is counted again.
    Ok(value)
}

/// Counts pairs, and sums them up.
pub(super) struct Sum {
    digest: Digest,
    pairs: u64,
    bytes: u64,
}

impl Sum {
    pub(super) fn new() -> Self {
        Self { digest: Digest::new(CrcAlgorithm::Crc64Nvme), pairs: 0, bytes: 0 }
    }

    pub(super) fn add(&mut self, (key, value): &Pair) {
        for part in [key, value] {
            self.digest.update(&(part.len() as u64).to_be_bytes());
            self.digest.update(part);
            self.bytes += part.len() as u64;
        }
        self.pairs += 1;
    }

    /// The sum of all pairs of a key space, with the values that `value` returns. Calls `seen` with the number of
    /// pairs of each page.
    pub(super) fn of(
        kv: &Kv,
        mut value: impl FnMut(&Snapshot, &[u8], Vec<u8>) -> Result<Vec<u8>, StoreError>,
        seen: &mut dyn FnMut(u64),
    ) -> Result<Self, StoreError> {
        let mut sum = Self::new();
        let mut after: Option<Vec<u8>> = None;
        loop {
            let snapshot = kv.snapshot()?;
            let page = page(&snapshot, after.as_deref())?;
            seen(page.pairs.len() as u64);
            for (key, old) in page.pairs {
                let new = value(&snapshot, &key, old)?;
                sum.add(&(key, new));
            }
            after = page.next;
            if after.is_none() {
                return Ok(sum);
            }
        }
    }

    /// Notes the counts, if both sides are equal; otherwise returns how they differ.
    pub(super) fn compare(&self, target: &Self, moved: &mut Moved) -> Result<(), String> {
        (moved.pairs, moved.pair_bytes) = (self.pairs, self.bytes);
        let all = |sum: &Self| (sum.pairs, sum.bytes, sum.digest.finalize());
        if all(self) == all(target) {
            return Ok(());
        }
        Err(format!(
            "the two sides differ: {} pairs with {} bytes at the source, {} with {} at the target",
            self.pairs, self.bytes, target.pairs, target.bytes
        ))
    }
}
