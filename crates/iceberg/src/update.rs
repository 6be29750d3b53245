//! Updates of tables and views, as commits send them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::error::{Invalid, quoted, refuse};
use crate::json::{Fields, object};
use crate::snapshot::SnapshotReference;

/// An update of a table: an element of `updates` of a commit.
///
/// Objects of the specification are kept as they came, with their unknown fields; they are checked when they are applied.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// `assign-uuid`
    AssignUuid(String),
    /// `upgrade-format-version`
    UpgradeFormatVersion(i32),
    /// `add-schema`
    AddSchema {
        /// The schema.
        schema: Map<String, Value>,
        /// Deprecated: computed where it is absent.
        last_column_id: Option<i32>,
    },
    /// `set-current-schema`; -1 is the last added one.
    SetCurrentSchema(i32),
    /// `add-spec`
    AddSpec(Map<String, Value>),
    /// `set-default-spec`; -1 is the last added one.
    SetDefaultSpec(i32),
    /// `add-sort-order`
    AddSortOrder(Map<String, Value>),
    /// `set-default-sort-order`; -1 is the last added one.
    SetDefaultSortOrder(i32),
    /// `add-snapshot`
    AddSnapshot(Map<String, Value>),
    /// `set-snapshot-ref`
    SetSnapshotRef {
        /// The name of the branch or tag.
        name: String,
        /// The branch or tag.
        reference: SnapshotReference,
    },
    /// `remove-snapshots`
    RemoveSnapshots(Vec<i64>),
    /// `remove-snapshot-ref`
    RemoveSnapshotRef(String),
    /// `set-location`
    SetLocation(String),
    /// `set-properties`
    SetProperties(BTreeMap<String, String>),
    /// `remove-properties`
    RemoveProperties(Vec<String>),
    /// `set-statistics`
    SetStatistics(Map<String, Value>),
    /// `remove-statistics`: of this snapshot.
    RemoveStatistics(i64),
    /// `set-partition-statistics`
    SetPartitionStatistics(Map<String, Value>),
    /// `remove-partition-statistics`: of this snapshot.
    RemovePartitionStatistics(i64),
    /// `remove-partition-specs`
    RemovePartitionSpecs(Vec<i32>),
    /// `remove-schemas`
    RemoveSchemas(Vec<i32>),
    /// `add-encryption-key`
    AddEncryptionKey(Map<String, Value>),
    /// `remove-encryption-key`
    RemoveEncryptionKey(String),
    /// `enable-row-lineage`: of versions before row lineage became a part of format version 3, where it changes nothing.
    EnableRowLineage,
}

impl Update {
    /// The update of an object with `action`.
    ///
    /// # Errors
    /// An unknown action, by its name; a missing field or one of another type.
    pub fn from_value(value: &Value) -> Result<Update, Invalid> {
        let action = action(value)?;
        let fields = Fields::of(value, action)?;
        let part = |name: &str| object(fields.value(name)?, name);
        Ok(match action {
            "assign-uuid" => Update::AssignUuid(fields.text("uuid")?.to_owned()),
            "upgrade-format-version" => Update::UpgradeFormatVersion(fields.int("format-version")?),
            "add-schema" => Update::AddSchema {
                schema: part("schema")?,
                last_column_id: fields.optional_int("last-column-id")?,
            },
            "set-current-schema" => Update::SetCurrentSchema(fields.int("schema-id")?),
            "add-spec" => Update::AddSpec(part("spec")?),
            "set-default-spec" => Update::SetDefaultSpec(fields.int("spec-id")?),
            "add-sort-order" => Update::AddSortOrder(part("sort-order")?),
            "set-default-sort-order" => Update::SetDefaultSortOrder(fields.int("sort-order-id")?),
            "add-snapshot" => Update::AddSnapshot(part("snapshot")?),
            "set-snapshot-ref" => Update::SetSnapshotRef {
                name: fields.text("ref-name")?.to_owned(),
                reference: SnapshotReference::from_fields(&fields)?,
            },
            "remove-snapshots" => Update::RemoveSnapshots(fields.longs("snapshot-ids")?),
            "remove-snapshot-ref" => Update::RemoveSnapshotRef(fields.text("ref-name")?.to_owned()),
            "set-location" => Update::SetLocation(fields.text("location")?.to_owned()),
            "set-properties" => Update::SetProperties(set_properties(&fields)?),
            "remove-properties" => Update::RemoveProperties(remove_properties(&fields)?),
            "set-statistics" => Update::SetStatistics(set_statistics(&fields, part)?),
            "remove-statistics" => Update::RemoveStatistics(fields.long("snapshot-id")?),
            "set-partition-statistics" => {
                Update::SetPartitionStatistics(part("partition-statistics")?)
            }
            "remove-partition-statistics" => {
                Update::RemovePartitionStatistics(fields.long("snapshot-id")?)
            }
            "remove-partition-specs" => Update::RemovePartitionSpecs(fields.ints("spec-ids")?),
            "remove-schemas" => Update::RemoveSchemas(fields.ints("schema-ids")?),
            "add-encryption-key" => Update::AddEncryptionKey(part("encryption-key")?),
            "remove-encryption-key" => {
                Update::RemoveEncryptionKey(fields.text("key-id")?.to_owned())
            }
            "enable-row-lineage" => Update::EnableRowLineage,
            other => refuse!("unknown update of a table: {}", quoted(other)),
        })
    }
}

/// An update of a view: an element of `updates` of a commit.
#[derive(Clone, Debug, PartialEq)]
pub enum ViewUpdate {
    /// `assign-uuid`
    AssignUuid(String),
    /// `upgrade-format-version`
    UpgradeFormatVersion(i32),
    /// `add-schema`
    AddSchema(Map<String, Value>),
    /// `set-location`
    SetLocation(String),
    /// `set-properties`
    SetProperties(BTreeMap<String, String>),
    /// `remove-properties`
    RemoveProperties(Vec<String>),
    /// `add-view-version`
    AddViewVersion(Map<String, Value>),
    /// `set-current-view-version`; -1 is the last added one.
    SetCurrentViewVersion(i32),
}

impl ViewUpdate {
    /// The update of an object with `action`.
    ///
    /// # Errors
    /// As [`Update::from_value`].
    pub fn from_value(value: &Value) -> Result<ViewUpdate, Invalid> {
        let action = action(value)?;
        let fields = Fields::of(value, action)?;
        let part = |name: &str| object(fields.value(name)?, name);
        Ok(match action {
            "assign-uuid" => ViewUpdate::AssignUuid(fields.text("uuid")?.to_owned()),
            "upgrade-format-version" => {
                ViewUpdate::UpgradeFormatVersion(fields.int("format-version")?)
            }
            "add-schema" => ViewUpdate::AddSchema(part("schema")?),
            "set-location" => ViewUpdate::SetLocation(fields.text("location")?.to_owned()),
            "set-properties" => ViewUpdate::SetProperties(set_properties(&fields)?),
            "remove-properties" => ViewUpdate::RemoveProperties(remove_properties(&fields)?),
            "add-view-version" => ViewUpdate::AddViewVersion(part("view-version")?),
            "set-current-view-version" => {
                ViewUpdate::SetCurrentViewVersion(fields.int("view-version-id")?)
            }
            other => refuse!("unknown update of a view: {}", quoted(other)),
        })
    }
}

fn action(value: &Value) -> Result<&str, Invalid> {
    Fields::of(value, "update")?.text("action")
}

/// `updates`, which older clients call `updated`.
fn set_properties(fields: &Fields<'_>) -> Result<BTreeMap<String, String>, Invalid> {
    match (fields.optional_properties("updates")?, fields.optional_properties("updated")?) {
        (Some(updates), _) | (None, Some(updates)) => Ok(updates),
        (None, None) => fields.properties("updates"),
    }
}

/// `removals`, which older clients call `removed`.
fn remove_properties(fields: &Fields<'_>) -> Result<Vec<String>, Invalid> {
    match (fields.optional_texts("removals")?, fields.optional_texts("removed")?) {
        (Some(removals), _) | (None, Some(removals)) => Ok(removals),
        (None, None) => fields.texts("removals"),
    }
}

/// The statistics, whose snapshot older clients name twice.
fn set_statistics(
    fields: &Fields<'_>,
    part: impl Fn(&str) -> Result<Map<String, Value>, Invalid>,
) -> Result<Map<String, Value>, Invalid> {
    let statistics = part("statistics")?;
    let of = Fields::of_map(&statistics, "statistics").long("snapshot-id")?;
    match fields.optional_long("snapshot-id")? {
        Some(other) if other != of => Err(Invalid::new(format!(
            "set-statistics: snapshot-id is {other}, but the statistics name {of}"
        ))),
        _ => Ok(statistics),
    }
}
