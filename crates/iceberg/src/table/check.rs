//! Requirements of commits, compared with the current metadata.

use crate::error::{Failed, quoted};
use crate::requirement::Requirement;

use super::TableMetadata;

/// Checks a requirement against the current metadata of the table.
pub(super) fn check(
    current: Option<&TableMetadata>,
    requirement: &Requirement,
) -> Result<(), Failed> {
    let Some(table) = current else {
        return match requirement {
            Requirement::Create => Ok(()),
            _ => Err(Failed::new("table does not exist")),
        };
    };
    match requirement {
        Requirement::Create => Err(Failed::new("table already exists")),
        Requirement::TableUuid(uuid) => Failed::unless_same_uuid("UUID", uuid, table.uuid()),
        Requirement::RefSnapshotId { name, snapshot_id } => {
            snapshot_of_ref(table, name, *snapshot_id)
        }
        Requirement::LastAssignedFieldId(id) => {
            same_id("last assigned field id", *id, table.last_column_id())
        }
        Requirement::CurrentSchemaId(id) => {
            same_id("current schema", *id, table.current_schema_id())
        }
        Requirement::LastAssignedPartitionId(id) => {
            same_id("last assigned partition id", *id, table.last_partition_id())
        }
        Requirement::DefaultSpecId(id) => {
            same_id("default partition spec", *id, table.default_spec_id())
        }
        Requirement::DefaultSortOrderId(id) => {
            same_id("default sort order", *id, table.default_sort_order_id())
        }
    }
}

fn same_id(what: &str, expected: i32, found: i32) -> Result<(), Failed> {
    match expected == found {
        true => Ok(()),
        false => Err(Failed::new(format!("{what} changed: expected id {expected} != {found}"))),
    }
}

fn snapshot_of_ref(table: &TableMetadata, name: &str, expected: Option<i64>) -> Result<(), Failed> {
    let quoted = quoted(name);
    let kind = |is_branch: bool| if is_branch { "branch" } else { "tag" };
    let message = match (expected, table.reference(name)) {
        (None, None) => return Ok(()),
        (Some(expected), Some(found)) if expected == found.snapshot_id => return Ok(()),
        (None, Some(found)) => {
            format!("{} {quoted} was created concurrently", kind(found.is_branch()))
        }
        (Some(expected), Some(found)) => format!(
            "{} {quoted} has changed: expected id {expected} != {}",
            kind(found.is_branch()),
            found.snapshot_id
        ),
        (Some(expected), None) => {
            format!("branch or tag {quoted} is missing, expected {expected}")
        }
    };
    Err(Failed::new(message))
}
