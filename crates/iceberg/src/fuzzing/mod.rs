//! Checks for fuzz targets: documents, commits and manifests of others.

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::maintenance::{Policy, References, expired, read_manifest, read_manifest_list};
use crate::{CommitTable, CommitView, Invalid, TableMetadata, ViewMetadata, json};

/// The time of commits.
const NOW_MS: i64 = 1_700_000_000_000;

/// Input: metadata of a table or view, an empty line, a commit.
///
/// Metadata are either refused with one line, or written so that they are read as the same. So are those after a commit. Maintenance
/// of them ends, and the commit that it makes is legal.
pub fn commit(data: &[u8]) {
    let end = data.windows(2).position(|pair| pair == b"\n\n").unwrap_or(data.len());
    let (metadata, commit) = data.split_at(end);
    let commit = json::parse(commit);
    if let Some(metadata) = accepted(TableMetadata::parse(metadata)) {
        table(&metadata);
        if let Ok(commit) = &commit {
            of_table(&metadata, commit);
        }
    }
    if let Some(metadata) = accepted(ViewMetadata::parse(metadata)) {
        assert_eq!(ViewMetadata::parse(&metadata.to_bytes()).as_ref(), Ok(&metadata));
        let commit = commit.ok().and_then(|commit| accepted(CommitView::from_value(&commit)));
        let updates = commit.map(|commit| commit.updates).unwrap_or_default();
        if let Some(next) = accepted(metadata.apply(&updates, NOW_MS)) {
            assert_eq!(ViewMetadata::parse(&next.to_bytes()), Ok(next));
        }
    }
}

fn of_table(metadata: &TableMetadata, commit: &Value) {
    let Some(commit) = accepted(CommitTable::from_value(commit)) else { return };
    for requirement in &commit.requirements {
        let holds = TableMetadata::check(Some(metadata), requirement).is_ok();
        let holds_without = TableMetadata::check(None, requirement).is_ok();
        assert!(!(holds && holds_without), "{requirement:?}");
    }
    if let Some(next) =
        accepted(metadata.apply(&commit.updates, NOW_MS, Some("s3://bucket/m.json")))
    {
        table(&next);
    }
    let created = TableMetadata::from_updates(&commit.updates, metadata.uuid(), NOW_MS);
    accepted(created).iter().for_each(table);
}

fn table(metadata: &TableMetadata) {
    assert_eq!(TableMetadata::parse(&metadata.to_bytes()).as_ref(), Ok(metadata));
    let of_refs = metadata.with_snapshots_of_refs();
    assert_eq!(TableMetadata::parse(&of_refs.to_bytes()), Ok(of_refs));
    assert!(
        References::of(metadata, None).missing_in(&References::of(metadata, None)).next().is_none()
    );
    let policy = Policy::of(metadata, Policy::DEFAULT).ok().flatten().unwrap_or(Policy::DEFAULT);
    let expired = expired(metadata, &policy, NOW_MS);
    let next = metadata.apply(&expired.updates(), NOW_MS, None);
    let current = next.expect("an expiry is legal").current_snapshot_id();
    assert_eq!(current, metadata.current_snapshot_id());
}

/// Input: a manifest or a manifest list.
///
/// It is either refused with one line, or its locations are not empty.
pub fn manifest(data: &[u8]) {
    for manifest in accepted(read_manifest_list(data)).unwrap_or_default() {
        assert!(!manifest.path.is_empty());
    }
    accepted(read_manifest(data, |entry| assert!(!entry.path.is_empty())));
}

/// The value, or the check of the line that refuses it.
fn accepted<T>(result: Result<T, Invalid>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            let line = error.to_string();
            assert!(!line.is_empty() && !line.contains('\n'), "{line:?}");
            None
        }
    }
}
