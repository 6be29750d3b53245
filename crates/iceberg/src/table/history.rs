//! Updates of snapshots, branches and tags, and the log of the current snapshot.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::error::{Invalid, refuse};
use crate::limits::CLOCK_AHEAD_MS_MAX;
use crate::snapshot::{MAIN_BRANCH, Snapshot, SnapshotReference};

use super::builder::{Builder, named};
use super::parse::is_before;

/// Changes of snapshots since the last metadata file.
#[derive(Default)]
pub(super) struct History {
    /// Snapshots that were added.
    added: HashSet<i64>,
    /// Added snapshots that the branch main was moved to.
    on_main: Vec<i64>,
    has_removals: bool,
}

impl Builder {
    pub(super) fn add_snapshot(&mut self, map: &Map<String, Value>) -> Result<(), Invalid> {
        let snapshot = Snapshot::parse(map)?;
        let id = snapshot.id;
        if self.list("schemas").is_empty() {
            refuse!("add-snapshot: the table has no schema");
        }
        if self.snapshot_ms(id).is_some() {
            refuse!("snapshot {id} already exists");
        }
        if self.version() >= 2 && snapshot.manifest_list.is_none() {
            refuse!("snapshot {id}: manifest-list is missing, which format version 2 requires");
        }
        self.take_sequence_number(&snapshot)?;
        if self.version() >= 3 {
            self.take_row_ids(&snapshot)?;
        }
        let ahead_ms = snapshot.timestamp_ms.saturating_sub(self.now_ms);
        if ahead_ms > CLOCK_AHEAD_MS_MAX {
            refuse!("snapshot {id}: timestamp-ms is {ahead_ms} ms ahead of the catalog's clock");
        }
        self.now_ms = self.now_ms.max(snapshot.timestamp_ms);
        self.list("snapshots").push(Value::Object(map.clone()));
        self.history.added.insert(id);
        self.has_changes = true;
        Ok(())
    }

    /// Moves the sequence number of the table. Only a snapshot without a parent may have one that was used: its writer could
    /// not see another snapshot.
    fn take_sequence_number(&mut self, snapshot: &Snapshot<'_>) -> Result<(), Invalid> {
        let (id, number) = (snapshot.id, snapshot.sequence_number);
        if self.version() == 1 {
            match number {
                0 => return Ok(()),
                _ => refuse!("snapshot {id}: sequence-number must be 0 in format version 1"),
            }
        }
        let last = self.long("last-sequence-number");
        if number <= last && snapshot.parent_id.is_some() {
            return Err(Invalid::stale(format!(
                "Cannot add snapshot with sequence number {number} older than last sequence number {last}"
            )));
        }
        self.set("last-sequence-number", number.max(last).into());
        Ok(())
    }

    /// Moves the row id of the table behind the rows of the snapshot.
    fn take_row_ids(&mut self, snapshot: &Snapshot<'_>) -> Result<(), Invalid> {
        let id = snapshot.id;
        let Some(first) = snapshot.first_row_id else {
            refuse!("snapshot {id}: first-row-id is missing, which format version 3 requires");
        };
        let Some(added) = snapshot.added_rows else {
            refuse!("snapshot {id}: added-rows is missing, which format version 3 requires");
        };
        let next = self.long("next-row-id");
        if first < next {
            return Err(Invalid::stale(format!(
                "Cannot add a snapshot, first-row-id is behind table next-row-id: {first} < {next}"
            )));
        }
        match first.checked_add(added) {
            Some(next) => self.set("next-row-id", next.into()),
            None => refuse!("snapshot {id}: added-rows is too large"),
        }
        Ok(())
    }

    pub(super) fn set_ref(
        &mut self,
        name: &str,
        reference: &SnapshotReference,
    ) -> Result<(), Invalid> {
        let id = reference.snapshot_id;
        let of = named("reference", name);
        if name.is_empty() {
            refuse!("set-snapshot-ref: ref-name must not be empty");
        }
        let Some(snapshot_ms) = self.snapshot_ms(id) else {
            refuse!("{of}: there is no snapshot {id}");
        };
        let is_main = name == MAIN_BRANCH;
        if is_main && !reference.is_branch() {
            refuse!("{of} cannot be a tag, it must be a branch");
        }
        let refs = self.object("refs");
        let old = refs.get(name).cloned();
        let mut map = old.as_ref().and_then(Value::as_object).cloned().unwrap_or_default();
        reference.write(&mut map);
        let new = Value::Object(map);
        if old.as_ref() == Some(&new) {
            return Ok(());
        }
        refs.insert(name.to_owned(), new);
        self.has_changes = true;
        if is_main {
            self.set("current-snapshot-id", id.into());
            let is_new = self.history.added.contains(&id);
            // Going back to an old snapshot is a change of now.
            let at = if is_new { snapshot_ms } else { self.now_ms };
            let log = self.list("snapshot-log");
            // The clock of this writer may be far behind the clock of the previous writer.
            let latest = log.last().and_then(|entry| entry["timestamp-ms"].as_i64());
            let at = latest.filter(|latest| is_before(at, *latest)).unwrap_or(at);
            log.push(json!({"timestamp-ms": at, "snapshot-id": id}));
            if is_new {
                self.history.on_main.push(id);
            }
        }
        Ok(())
    }

    pub(super) fn remove_ref(&mut self, name: &str) {
        if self.object("refs").remove(name).is_none() {
            return;
        }
        self.has_changes = true;
        if name == MAIN_BRANCH {
            self.set("current-snapshot-id", Value::Null);
        }
    }

    /// Removes snapshots with their statistics, and the branches and tags that name them.
    pub(super) fn remove_snapshots(&mut self, ids: &[i64]) -> Result<(), Invalid> {
        let ids: HashSet<i64> = ids.iter().copied().collect();
        let is_removed =
            |value: &Value| value["snapshot-id"].as_i64().is_some_and(|id| ids.contains(&id));
        let before = self.list("snapshots").len();
        self.retain("snapshots", |snapshot| !is_removed(snapshot));
        if self.list("snapshots").len() == before {
            return Ok(());
        }
        self.history.has_removals = true;
        for files in ["statistics", "partition-statistics"] {
            self.retain(files, |file| !is_removed(file));
        }
        let refs = self.object("refs").iter();
        let dangling: Vec<String> =
            refs.filter(|(_, it)| is_removed(it)).map(|(name, _)| name.clone()).collect();
        for name in dangling {
            self.remove_ref(&name);
        }
        Ok(())
    }

    /// Removes what the log must not show: snapshots that were current only between two updates, and everything before a
    /// snapshot that was removed, because the log would show another one as current at its time.
    pub(super) fn finish_snapshot_log(&mut self) -> Result<(), Invalid> {
        let current = self.document.get("current-snapshot-id").and_then(Value::as_i64);
        let on_main = self.history.on_main.iter();
        let between: HashSet<i64> = on_main.copied().filter(|id| Some(*id) != current).collect();
        if between.is_empty() && !self.history.has_removals {
            return Ok(());
        }
        let known: HashSet<i64> =
            self.list("snapshots").iter().filter_map(|it| it["snapshot-id"].as_i64()).collect();
        let has_removals = self.history.has_removals;
        let mut kept = Vec::new();
        for entry in std::mem::take(self.list("snapshot-log")) {
            let id = entry["snapshot-id"].as_i64().unwrap_or(-1);
            if known.contains(&id) {
                if !between.contains(&id) {
                    kept.push(entry);
                }
            } else if has_removals {
                kept.clear();
            }
        }
        // Writers may leave the log out.
        if let Some(last) = kept.last().and_then(|entry| entry["snapshot-id"].as_i64())
            && let Some(current) = current.filter(|id| known.contains(id))
            && last != current
        {
            refuse!("snapshot-log: its last entry would not be the current snapshot {current}");
        }
        *self.list("snapshot-log") = kept;
        Ok(())
    }

    /// The time of a snapshot, if there is one.
    fn snapshot_ms(&mut self, id: i64) -> Option<i64> {
        let mut snapshots = self.list("snapshots").iter();
        let found = snapshots.find(|snapshot| snapshot["snapshot-id"].as_i64() == Some(id))?;
        found["timestamp-ms"].as_i64()
    }
}
