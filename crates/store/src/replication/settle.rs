//! The ends of rows: what a target has answered, noted in the records of versions.

use liteio_kv::{Transaction, Write as _};

use super::find;
use crate::error::StoreError;
use crate::meta::claim::Claim;
use crate::meta::{ReplicationRow, ReplicationStatus, ReplicationTask};
use crate::name::ObjectKey;
use crate::pending::{Committed, Pending};
use crate::queue::Queue;
use crate::store::Store;

/// The outcome of the work on a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicationOutcome {
    /// The number of the row.
    pub number: u64,
    /// The result.
    pub result: ReplicationResult,
}

/// The result of the work on a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplicationResult {
    /// The target has it.
    Done {
        /// The version id of the copy, if the target chose one.
        version: Option<String>,
    },
    /// There is nothing to do: the version does not exist any more.
    Gone,
    /// It is not copied: the target has a later version of the key, and would take this one for the
    /// current one.
    LeftOut,
    /// The target refuses it. The row stays.
    Refused,
}

impl Store {
    /// Ends rows for `target`.
    ///
    /// Fails with the errors of the disk.
    pub fn settle_replication(
        &self,
        target: &str,
        outcomes: Vec<ReplicationOutcome>,
    ) -> Pending<()> {
        let target = target.to_owned();
        self.update_freeing(move |write, _| {
            let queue = Queue::<ReplicationRow>::of(&target);
            let mut ended = Vec::new();
            write.for_each(&outcomes, |write, ReplicationOutcome { number, result }| {
                match queue.get(write, *number)?.transpose() {
                    Ok(Some(row)) => note(write, &target, *number, &row, result)?,
                    Ok(None) => return Ok(()),
                    // It is left for verify and repair.
                    Err(StoreError::Corrupt { .. }) => return Ok(()),
                    Err(error) => return Err(error),
                }
                if *result != ReplicationResult::Refused {
                    ended.push(*number);
                }
                Ok(())
            })?;
            queue.forget(write, ended)?;
            Ok(Committed::new(()))
        })
    }
}

/// Notes the end of a row in the record of its version, if that exists.
fn note(
    write: &mut Transaction<'_>,
    target: &str,
    number: u64,
    row: &ReplicationRow,
    result: &ReplicationResult,
) -> Result<(), StoreError> {
    if matches!(row.task, ReplicationTask::Delete { .. }) {
        return Ok(());
    }
    let key = ObjectKey::new(row.key.clone())?;
    write.claim(Claim::Bucket(row.bucket))?;
    write.claim(Claim::Key(row.bucket, key.as_str()))?;
    let Some((place, mut record)) = find(write, row.bucket, &key, &row.stamp)? else {
        return Ok(());
    };
    let Some(mut state) = record.extensions.replication()? else { return Ok(()) };
    let Some(place_of_copy) = state.copies.iter().position(|copy| copy.target == target) else {
        return Ok(());
    };
    let copy = &mut state.copies[place_of_copy];
    let before = copy.clone();
    // A later row has a later change.
    let is_last = copy.row <= number;
    match result {
        ReplicationResult::Done { version } => {
            copy.is_sent = true;
            copy.version.clone_from(version);
            if is_last {
                copy.status = ReplicationStatus::Completed;
            }
        }
        ReplicationResult::Refused if is_last => copy.status = ReplicationStatus::Failed,
        ReplicationResult::Refused | ReplicationResult::Gone | ReplicationResult::LeftOut => {}
    }
    match result {
        ReplicationResult::LeftOut => drop(state.copies.remove(place_of_copy)),
        _ if *copy == before => return Ok(()),
        _ => {}
    }
    record.extensions = std::mem::take(&mut record.extensions).with_replication(Some(&state));
    record.write(write, &place)
}
