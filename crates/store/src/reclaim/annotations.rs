//! Removing the annotations of removed versions.
//!
//! The transaction that removes a version queues its set. The rows of the set go in bounded steps, the entry of the
//! queue with the last. A crash at any point leaves the entry.

use liteio_kv::{Transaction, Write};

use super::ReclaimReport;
use crate::error::StoreError;
use crate::limits::RECLAIM_BATCH;
use crate::meta::annotation::{SetDeletion, SetId};
use crate::meta::claim::Claim;
use crate::meta::space;
use crate::pending::Committed;
use crate::store::Store;

impl Store {
    /// Works off the queue of removed sets of annotations.
    pub(super) fn reclaim_annotations(&self, report: &mut ReclaimReport) -> Result<(), StoreError> {
        let now_ms = self.now_ms();
        let mut queued: Vec<SetId> = Vec::new();
        self.walk(&self.snapshot()?, space::ALL_ANNOTATION_DELETIONS, &mut |place, value| {
            // A damaged entry stays for verify and repair, and does not stop the others.
            if let (Some(set), Ok(deletion)) =
                (space::split_annotation_deletion(place), SetDeletion::decode(place, value))
                && deletion.after_ms <= now_ms
                && queued.len() < RECLAIM_BATCH
            {
                queued.push(set);
            }
            Ok(())
        })?;
        for set in queued {
            self.check_term()?;
            loop {
                let step = self
                    .update_freeing(move |write, _| take_apart(write, &set).map(Committed::new));
                let removed = step.wait()?;
                report.annotations += removed;
                if removed == 0 {
                    break;
                }
            }
        }
        Ok(())
    }
}

/// Removes some annotations of a set; once none is left, its head and its entry in the queue. Returns the
/// number of removed annotations.
fn take_apart(write: &mut Transaction<'_>, set: &SetId) -> Result<u64, StoreError> {
    write.claim(Claim::Annotations(set))?;
    let Some(deletion) = SetDeletion::read(write, set)? else { return Ok(0) };
    let mut names = Vec::new();
    let mut cursor = space::within(write, &space::annotation(set, ""))?;
    while names.len() < RECLAIM_BATCH
        && let Some((place, _)) = cursor.next()?
    {
        let name = space::split_annotation(place).map(|(_, name)| name.to_owned());
        names.push(name.ok_or_else(|| StoreError::corrupt("the key of an annotation"))?);
    }
    drop(cursor);
    for name in &names {
        write.delete(&space::annotation(set, name))?;
        write.delete(&space::payload(set, name))?;
    }
    match names.is_empty() {
        true => {
            write.delete(&space::annotations(set))?;
            write.delete(&space::annotation_deletion(set))?;
        }
        // From now on no copy takes the set.
        false if deletion.after_ms > 0 => SetDeletion { after_ms: 0 }.write(write, set)?,
        false => {}
    }
    Ok(names.len() as u64)
}
