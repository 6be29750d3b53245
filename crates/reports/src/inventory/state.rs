//! The state of inventories of a bucket: the last run of each configuration, kept as a document of the bucket, so that a
//! restart neither skips an inventory nor writes one twice.
//!
//! ```text
//!          slot is due              complete
//!  none ───────────────► started ──────────────► done
//!                         │   ▲                    │
//!        restart, failure └───┘                    └── next slot ──► started
//! ```
//! A slot is a day, or a week that begins on Sunday. A run that is repeated keeps its start, and so the names of its
//! objects.

use std::collections::{BTreeMap, BTreeSet};

use liteio_s3::bucket_inventory::Frequency;
use liteio_store::{Bucket, DocumentKind, Store, StoreError};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The last run of one configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct LastRun {
    /// The day or week, counted from 1970.
    pub(super) slot: u64,
    /// Start of the run, in milliseconds since 1970.
    pub(super) started_ms: u64,
    /// `true` if the inventory is complete.
    pub(super) is_done: bool,
}

/// The last runs, by the ids of their configurations.
pub(super) type LastRuns = BTreeMap<String, LastRun>;

/// The last runs of a bucket. A document that cannot be read counts as none: then an inventory is written once more.
pub(super) fn of_bucket(bucket: &Bucket) -> LastRuns {
    let document = bucket.settings.document(DocumentKind::InventoryRuns);
    document.and_then(|document| serde_json::from_slice(document).ok()).unwrap_or_default()
}

/// The slot of a time, by days of `day_ms` milliseconds.
pub(super) fn slot(frequency: Frequency, now_ms: u64, day_ms: u64) -> u64 {
    let day = now_ms / day_ms.max(1);
    match frequency {
        Frequency::Daily => day,
        // The first of January 1970 was a Thursday.
        Frequency::Weekly => (day + 4) / 7,
    }
}

/// The run that is due: a new one, or one to be repeated; `None` if there is none.
pub(super) fn due(last: Option<&LastRun>, slot: u64, now_ms: u64) -> Option<LastRun> {
    match last {
        Some(last) if last.slot == slot && last.is_done => None,
        Some(last) if last.slot == slot => Some(last.clone()),
        _ => Some(LastRun { slot, started_ms: now_ms, is_done: false }),
    }
}

/// Stores the last run of `id`, and forgets those of configurations that are not among `ids` any more.
pub(super) fn save(
    store: &Store,
    bucket: &Arc<Bucket>,
    ids: BTreeSet<String>,
    id: String,
    run: LastRun,
) -> Result<(), StoreError> {
    let changed = store.change_document(bucket, DocumentKind::InventoryRuns, move |document| {
        let runs = document.and_then(|document| serde_json::from_slice(document).ok());
        let mut runs: LastRuns = runs.unwrap_or_default();
        runs.retain(|id, _| ids.contains(id));
        runs.insert(id.clone(), run.clone());
        // A map of texts always has a text.
        Ok(Some(serde_json::to_vec(&runs).unwrap_or_default()))
    });
    changed.wait()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_MS: u64 = 24 * 60 * 60 * 1000;

    #[test]
    fn weeks_begin_on_sunday() {
        // 2026-11-28 is a Saturday.
        let saturday = 20_785 * DAY_MS;
        let week = |ms| slot(Frequency::Weekly, ms, DAY_MS);
        assert_eq!(week(saturday) + 1, week(saturday + DAY_MS));
        assert_eq!(week(saturday + DAY_MS), week(saturday + 7 * DAY_MS + DAY_MS - 1));
        assert_eq!(slot(Frequency::Daily, saturday + 1, DAY_MS), 20_785);
    }

    #[test]
    fn a_run_is_due_once_in_a_slot_and_keeps_its_start_until_it_is_done() {
        let new = due(None, 7, 700).expect("due");
        assert_eq!(new, LastRun { slot: 7, started_ms: 700, is_done: false });
        assert_eq!(due(Some(&new), 7, 900), Some(new.clone()));
        let done = LastRun { is_done: true, ..new.clone() };
        assert_eq!(due(Some(&done), 7, 900), None);
        assert_eq!(due(Some(&done), 8, 900).map(|run| run.started_ms), Some(900));
        // Unfinished in the slot before, and a clock that was set back.
        assert_eq!(due(Some(&new), 8, 900).map(|run| run.started_ms), Some(900));
        assert_eq!(due(Some(&done), 6, 600).map(|run| run.started_ms), Some(600));
    }
}
