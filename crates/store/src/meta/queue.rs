//! The rows that count the queues, one for each target.

use std::collections::BTreeMap;

use liteio_kv::{CountChange, Counted, CounterRow, Counts, QueueRow, Read};
use serde::{Deserialize, Serialize};

use super::record;
use super::record::Sealed;
use super::space::QueueKind;
use crate::error::StoreError;

/// State of the queue for one target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueState {
    /// Number of events that wait.
    pub waiting: u64,
    /// Number of events that were lost because too many waited.
    pub lost: u64,
}

impl From<Counts> for QueueState {
    fn from(Counts([waiting, lost, ..]): Counts) -> Self {
        let count = |it| u64::try_from(it).unwrap_or(0);
        Self { waiting: count(waiting), lost: count(lost) }
    }
}

/// One row more, or as many as `rows`, that is lost.
pub(crate) fn lost(rows: i64) -> Counts {
    Counts([0, rows, 0, 0])
}

/// The row of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QueueRecord {
    /// Number of the next row, greater than all before.
    pub(crate) next: u64,
    pub(crate) state: QueueState,
}

impl QueueRecord {
    /// Decodes a row.
    pub(crate) fn open(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        const WHAT: &str = "the record of a queue";
        record::split_version(bytes, VERSION)?;
        Sealed::open(place, bytes, WHAT)?.decode(WHAT)
    }
}

impl CounterRow for QueueRecord {
    type Error = StoreError;

    fn decode(place: &[u8], bytes: &[u8]) -> Result<Option<Self>, StoreError> {
        match Self::open(place, bytes) {
            // The rows of the queue can be counted again.
            Err(StoreError::Corrupt { .. }) => Ok(None),
            row => row.map(Some),
        }
    }

    fn encode(&self, place: &[u8]) -> Vec<u8> {
        record::seal(VERSION, place, self, &[])
    }

    fn counted(&self) -> Counted {
        let QueueState { waiting, lost } = self.state;
        let [waiting, lost] = [waiting, lost].map(|it| i64::try_from(it).unwrap_or(i64::MAX));
        Counted { counts: Counts([waiting, lost, 0, 0]), is_complete: true }
    }

    fn change(&mut self, change: &CountChange<'_>) -> bool {
        let Counts([waiting, lost, ..]) = change.counts;
        self.state.waiting = self.state.waiting.saturating_add_signed(waiting);
        self.state.lost = self.state.lost.saturating_add_signed(lost);
        true
    }
}

impl QueueRow for QueueRecord {
    fn take_number(&mut self, floor: u64) -> u64 {
        let number = self.next.max(floor);
        self.next = number.saturating_add(1);
        number
    }
}

/// The queues of a kind in the one record in which programs before this one kept all of them; `None`
/// without that record.
pub(crate) fn read_former(
    from: &impl Read,
    kind: QueueKind,
) -> Result<Option<BTreeMap<String, QueueRecord>>, StoreError> {
    from.get(kind.former_place())?.map(|bytes| decode_former(kind, &bytes)).transpose()
}

/// Decodes the record of [`read_former`].
pub(crate) fn decode_former(
    kind: QueueKind,
    bytes: &[u8],
) -> Result<BTreeMap<String, QueueRecord>, StoreError> {
    const WHAT: &str = "the record of all queues";
    record::split_version(bytes, 1)?;
    let sealed = Sealed::open(kind.former_place(), bytes, WHAT)?;
    let (next, queues): (u64, BTreeMap<String, QueueState>) = match kind {
        QueueKind::Events => sealed.decode(WHAT)?,
        QueueKind::Replication => {
            let (next, waiting): (u64, BTreeMap<String, u64>) = sealed.decode(WHAT)?;
            let state = |(target, waiting)| (target, QueueState { waiting, lost: 0 });
            (next, waiting.into_iter().map(state).collect())
        }
    };
    let record = |(target, state)| (target, QueueRecord { next, state });
    Ok(queues.into_iter().map(record).collect())
}

const VERSION: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::space;

    #[test]
    fn a_row_survives_encoding_and_damage_is_refused() {
        let row = QueueRecord { next: 1 << 60, state: QueueState { waiting: 300, lost: 2 } };
        let place = space::queue_counter(QueueKind::Events, "target");
        let encoded = row.encode(&place);
        assert_eq!(QueueRecord::open(&place, &encoded).expect("own bytes"), row);
        for bit in 0..encoded.len() * 8 {
            let mut damaged = encoded.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            QueueRecord::open(&place, &damaged).expect_err("damaged");
        }
        let other = space::queue_counter(QueueKind::Replication, "target");
        QueueRecord::open(&other, &encoded).expect_err("of another queue");
    }

    #[test]
    fn a_row_of_a_newer_program_is_not_taken_for_damage() {
        let place = space::queue_counter(QueueKind::Events, "target");
        let newer = record::seal(VERSION + 1, &place, &QueueRecord::default(), &[]);
        let error = <QueueRecord as CounterRow>::decode(&place, &newer).expect_err("too new");
        assert!(matches!(error, StoreError::FormatTooNew { .. }), "{error}");
    }
}
