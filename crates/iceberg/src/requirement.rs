//! Requirements of commits on tables and views.

use serde_json::Value;

use crate::error::{Invalid, quoted, refuse};
use crate::json::Fields;

/// A requirement of a commit on a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// `assert-create`: there is no table.
    Create,
    /// `assert-table-uuid`
    TableUuid(String),
    /// `assert-ref-snapshot-id`
    RefSnapshotId {
        /// The name of the branch or tag.
        name: String,
        /// Its snapshot. `None`: there is no such branch or tag.
        snapshot_id: Option<i64>,
    },
    /// `assert-last-assigned-field-id`
    LastAssignedFieldId(i32),
    /// `assert-current-schema-id`
    CurrentSchemaId(i32),
    /// `assert-last-assigned-partition-id`
    LastAssignedPartitionId(i32),
    /// `assert-default-spec-id`
    DefaultSpecId(i32),
    /// `assert-default-sort-order-id`
    DefaultSortOrderId(i32),
}

impl Requirement {
    /// The requirement of an object with `type`.
    ///
    /// # Errors
    /// An unknown type, by its name; a missing field or one of another type.
    pub fn from_value(value: &Value) -> Result<Requirement, Invalid> {
        let kind = Fields::of(value, "requirement")?.text("type")?;
        let fields = Fields::of(value, kind)?;
        Ok(match kind {
            "assert-create" => Requirement::Create,
            "assert-table-uuid" => Requirement::TableUuid(fields.text("uuid")?.to_owned()),
            "assert-ref-snapshot-id" => Requirement::RefSnapshotId {
                name: fields.text("ref")?.to_owned(),
                snapshot_id: fields.optional_long("snapshot-id")?,
            },
            "assert-last-assigned-field-id" => {
                Requirement::LastAssignedFieldId(fields.int("last-assigned-field-id")?)
            }
            "assert-current-schema-id" => {
                Requirement::CurrentSchemaId(fields.int("current-schema-id")?)
            }
            "assert-last-assigned-partition-id" => {
                Requirement::LastAssignedPartitionId(fields.int("last-assigned-partition-id")?)
            }
            "assert-default-spec-id" => Requirement::DefaultSpecId(fields.int("default-spec-id")?),
            "assert-default-sort-order-id" => {
                Requirement::DefaultSortOrderId(fields.int("default-sort-order-id")?)
            }
            other => refuse!("unknown requirement on a table: {}", quoted(other)),
        })
    }
}

/// A requirement of a commit on a view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ViewRequirement {
    /// `assert-view-uuid`
    ViewUuid(String),
}

impl ViewRequirement {
    /// The requirement of an object with `type`.
    ///
    /// # Errors
    /// As [`Requirement::from_value`].
    pub fn from_value(value: &Value) -> Result<ViewRequirement, Invalid> {
        let kind = Fields::of(value, "requirement")?.text("type")?;
        let fields = Fields::of(value, kind)?;
        match kind {
            "assert-view-uuid" => Ok(ViewRequirement::ViewUuid(fields.text("uuid")?.to_owned())),
            other => refuse!("unknown requirement on a view: {}", quoted(other)),
        }
    }
}
