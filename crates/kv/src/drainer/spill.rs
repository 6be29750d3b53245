//! Spilling: a table becomes a run.
//!
//! ```text
//!  frozen table ──► sync attachments ──► PATH.run.N, synced ──► sync its name ──► a transaction of the tree, with
//!                                                                                 the number of the last record
//!                                                                                 and the name of the run
//! ```
//! A power cut before the end of the transaction leaves a file that no checkpoint names; the next
//! start removes it.

use std::sync::Arc;

use super::Drainer;
use crate::committer::sync_attachments;
use crate::drain::Frozen;
use crate::engine::{Checkpoint, NoChanges};
use crate::home::Home;
use crate::log::{Round, Version};
use crate::memtable::Memtable;
use crate::run::{self, Run};
use crate::shared::Shared;
use crate::{KvError, Spilling};

/// Bytes of a page of the tree. A change copies the whole page.
const PAGE_BYTES: u64 = 4096;
/// Minimum size of a run. A smaller table is drained at once: a run costs one more file to read,
/// and one more commit.
const TABLE_BYTES_MIN: usize = 1 << 20;
/// Bytes written for each byte of a spilled table: the run itself, and its share of the pages that
/// a merge copies.
const SPILLED_BYTES: u64 = 4;

/// Removes the file of a run that no checkpoint names any more. Readers keep it open.
pub(super) fn remove(shared: &Shared, run: &Run) {
    if let Some(home) = &shared.home {
        // If the removal fails, the next start does it.
        let _ = home.disk.remove_if_there(&run.name().path(&home.path));
    }
}

/// `true` if a run of the table leaves the reserve free.
pub(super) fn has_room_for_run(shared: &Shared, table: &Memtable) -> bool {
    let needed = shared.config.reserve_bytes.saturating_add(table.bytes() as u64);
    // If the free space is unknown, the write itself fails when there is none.
    let has_room = |home: &Home| home.disk.free_bytes().map_or(true, |free| free >= needed);
    shared.home.as_ref().is_none_or(has_room)
}

impl Drainer {
    /// `true` if the tree would write more for this table alone than for its share of a merge.
    pub(super) fn pays_to_spill(&self, shared: &Shared, table: &Memtable) -> bool {
        match shared.config.spilling {
            Spilling::Never => return false,
            Spilling::Always { .. } => return true,
            Spilling::WhereItPays => {}
        }
        if table.bytes() < TABLE_BYTES_MIN {
            return false;
        }
        let tree_bytes = self.engine.as_ref().map_or(0, |engine| engine.file_bytes());
        // Assumes random keys. Keys close to each other share pages, and cost less than this
        // estimate.
        let pages = table.writes().min(tree_bytes / PAGE_BYTES);
        pages * PAGE_BYTES > table.bytes() as u64 * SPILLED_BYTES
    }

    /// Writes the table as a run.
    pub(super) fn spill(
        &mut self,
        shared: &Shared,
        table: &Memtable,
        frozen: Frozen,
    ) -> Result<Arc<Run>, KvError> {
        let engine = self.engine.clone().ok_or(KvError::Closed)?;
        if !has_room_for_run(shared, table) {
            return Err(KvError::NoSpace);
        }
        sync_attachments(shared.config.attachments.as_ref())?;
        let run = match self.unnamed.take() {
            // The failed checkpoint may be in the tree, and name this run: keep using the same
            // file.
            Some((sequence, run)) if sequence == frozen.sequence => run,
            _ => {
                let number = self.next_run;
                // A number is never reused, so no run can overwrite the file of another, even after
                // a failure.
                self.next_run += 1;
                let (entries, count) = (table.entries(frozen.sequence), table.writes());
                let written = |done| {
                    shared.drains.drained(done as f64 / count.max(1) as f64);
                    shared.discarded.free_unread();
                };
                let place = shared.home.as_ref().map(Home::place);
                Arc::new(run::write(place, number, entries, count, written)?)
            }
        };
        // Order: file contents, then its name, then the checkpoint that refers to it.
        self.unnamed = Some((frozen.sequence, Arc::clone(&run)));
        shared.home.as_ref().map_or(Ok(()), Home::sync_names)?;
        let round = Round { number: frozen.number, ..self.checkpoint.round };
        let round = Round { version: Version::Current, ..round };
        let mut checkpoint =
            Checkpoint { round, log_bytes: frozen.log_bytes, ..self.checkpoint.clone() };
        checkpoint.runs.push(run.name());
        self.checkpoint = engine.apply_whole(&mut NoChanges, &checkpoint)?;
        self.unnamed = None;
        shared.tree_file.iter().for_each(|files| files.set_runs(self.runs()));
        Ok(run)
    }

    /// Removes a run that is not needed after all, now that the checkpoint in the tree is known.
    pub(super) fn forget_unnamed(&mut self, shared: &Shared) {
        self.unnamed.take().iter().for_each(|(_, run)| remove(shared, run));
    }
}
