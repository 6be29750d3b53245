//! Snapshots, branches and tags that are too old.

use std::collections::HashSet;

use crate::error::{Invalid, quoted, refuse};
use crate::snapshot::{MAIN_BRANCH, SnapshotReference};
use crate::table::TableMetadata;
use crate::update::Update;

/// Ages and numbers up to which snapshots are kept, for branches and tags that have none of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Age up to which the snapshots of a branch are kept, milliseconds.
    pub max_snapshot_age_ms: i64,
    /// Snapshots of a branch that are kept, however old they are. At least one.
    pub min_snapshots_to_keep: usize,
    /// Age of its snapshot up to which a branch or tag is kept, milliseconds. `main` is always kept.
    pub max_ref_age_ms: i64,
}

impl Policy {
    /// The values of the specification: five days, one snapshot, references for ever.
    pub const DEFAULT: Policy = Policy {
        max_snapshot_age_ms: 5 * 24 * 60 * 60 * 1000,
        min_snapshots_to_keep: 1,
        max_ref_age_ms: i64::MAX,
    };

    /// The policy of a table: its properties `history.expire.*`, else `default`. `None` where `gc.enabled` is `false`: files of
    /// the table may belong to others.
    ///
    /// # Errors
    /// A property that is no number: nothing is deleted by a guess.
    pub fn of(metadata: &TableMetadata, default: Policy) -> Result<Option<Policy>, Invalid> {
        match metadata.property("gc.enabled") {
            Some(text) if !text.eq_ignore_ascii_case("true") => return Ok(None),
            _ => {}
        }
        let number = |name: &str, default: i64| match metadata.property(name) {
            None => Ok(default),
            Some(text) => match text.parse::<i64>() {
                Ok(number) if number >= 0 => Ok(number),
                _ => refuse!("the property {name} must be a number: {}", quoted(text)),
            },
        };
        let least = i64::try_from(default.min_snapshots_to_keep).unwrap_or(i64::MAX);
        let least = number("history.expire.min-snapshots-to-keep", least)?;
        Ok(Some(Policy {
            max_snapshot_age_ms: number(
                "history.expire.max-snapshot-age-ms",
                default.max_snapshot_age_ms,
            )?,
            min_snapshots_to_keep: usize::try_from(least).unwrap_or(usize::MAX),
            max_ref_age_ms: number("history.expire.max-ref-age-ms", default.max_ref_age_ms)?,
        }))
    }
}

/// Snapshots, branches and tags to remove.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expired {
    /// Names of branches and tags.
    pub references: Vec<String>,
    /// Ids of snapshots, none of which a branch or tag names that stays.
    pub snapshots: Vec<i64>,
}

impl Expired {
    /// `true` if there is nothing to remove.
    pub fn is_empty(&self) -> bool {
        self.references.is_empty() && self.snapshots.is_empty()
    }

    /// The updates of a commit that removes them.
    pub fn updates(&self) -> Vec<Update> {
        let references = self.references.iter().cloned().map(Update::RemoveSnapshotRef);
        let snapshots = Update::RemoveSnapshots(self.snapshots.clone());
        references.chain((!self.snapshots.is_empty()).then_some(snapshots)).collect()
    }
}

/// Snapshots, branches and tags that a policy does not keep. Limits of a branch or tag itself go before those of the policy.
///
/// Kept are: snapshots that a kept reference names; of each kept branch the first snapshots up to its number, and those that
/// are young enough without an older one between; young ones of no branch, whose commits may still come.
pub fn expired(metadata: &TableMetadata, policy: &Policy, now_ms: i64) -> Expired {
    let mut expired = Expired::default();
    let mut references = Vec::new();
    for (name, reference) in metadata.refs() {
        let snapshot_ms = metadata.snapshot(reference.snapshot_id).map(|it| it.timestamp_ms);
        let age_max = reference.max_ref_age_ms.unwrap_or(policy.max_ref_age_ms);
        // A snapshot that is not there has no age: its reference stays.
        let is_old =
            snapshot_ms.is_some_and(|snapshot_ms| now_ms.saturating_sub(snapshot_ms) > age_max);
        match is_old && name != MAIN_BRANCH {
            true => expired.references.push(name.to_owned()),
            false => references.push(reference),
        }
    }
    let parents: std::collections::HashMap<i64, (Option<i64>, i64)> =
        metadata.snapshots().map(|it| (it.id, (it.parent_id, it.timestamp_ms))).collect();
    let mut kept: HashSet<i64> = references.iter().map(|it| it.snapshot_id).collect();
    let mut reachable = kept.clone();
    for reference in references.iter().filter(|it| it.is_branch()) {
        let (oldest_ms, least) = limits(reference, policy, now_ms);
        let mut is_in_reach = true;
        let mut seen = HashSet::new();
        let mut next = Some(reference.snapshot_id);
        // A parent may have been removed. A circle of parents ends as well.
        while let Some(id) = next
            && let Some((parent, snapshot_ms)) = parents.get(&id)
            && seen.insert(id)
        {
            is_in_reach &= seen.len() <= least || *snapshot_ms >= oldest_ms;
            if is_in_reach {
                kept.insert(id);
            }
            reachable.insert(id);
            next = *parent;
        }
    }
    let oldest_ms = now_ms.saturating_sub(policy.max_snapshot_age_ms);
    let old = metadata.snapshots().filter(|snapshot| {
        let is_young = !reachable.contains(&snapshot.id) && snapshot.timestamp_ms >= oldest_ms;
        !kept.contains(&snapshot.id) && !is_young
    });
    expired.snapshots = old.map(|snapshot| snapshot.id).collect();
    expired
}

/// The time of the oldest snapshot that a branch keeps, and the number that it keeps in any case.
fn limits(reference: &SnapshotReference, policy: &Policy, now_ms: i64) -> (i64, usize) {
    let age = reference.max_snapshot_age_ms.unwrap_or(policy.max_snapshot_age_ms);
    let own = reference.min_snapshots_to_keep.and_then(|least| usize::try_from(least).ok());
    (now_ms.saturating_sub(age), own.unwrap_or(policy.min_snapshots_to_keep).max(1))
}
