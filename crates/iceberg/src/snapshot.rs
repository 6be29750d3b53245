//! Snapshots, and the branches and tags that name them.

use serde_json::{Map, Value};

use crate::error::{Invalid, quoted, refuse};
use crate::json::Fields;

/// The branch whose snapshot is the current one.
pub const MAIN_BRANCH: &str = "main";

/// A snapshot of a table: the fields that the catalog reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot<'t> {
    /// The id.
    pub id: i64,
    /// The snapshot that it follows.
    pub parent_id: Option<i64>,
    /// The sequence number; 0 in format version 1.
    pub sequence_number: i64,
    /// The time of its commit, milliseconds since 1970.
    pub timestamp_ms: i64,
    /// The location of its manifest list. `None`: an old snapshot of format version 1, which lists its manifests.
    pub manifest_list: Option<&'t str>,
    /// Row lineage: the id of its first row.
    pub first_row_id: Option<i64>,
    /// Row lineage: how many ids of rows it takes.
    pub added_rows: Option<i64>,
    map: &'t Map<String, Value>,
}

impl<'t> Snapshot<'t> {
    /// The snapshot of an object.
    pub(crate) fn parse(map: &'t Map<String, Value>) -> Result<Snapshot<'t>, Invalid> {
        let id = Fields::of_map(map, "snapshot").long("snapshot-id")?;
        let of = format!("snapshot {id}");
        let fields = Fields::of_map(map, &of);
        if let Some(summary) = fields.optional_object("summary")?
            && summary.values().any(|value| !value.is_string())
        {
            refuse!("{of}: summary must be an object of strings");
        }
        let manifest_list = fields.optional_text("manifest-list")?;
        if manifest_list.is_none() {
            fields
                .optional_texts("manifests")?
                .ok_or_else(|| Invalid::new(format!("{of}: manifest-list is missing")))?;
        }
        fields.optional_int("schema-id")?;
        fields.optional_text("key-id")?;
        let snapshot = Snapshot {
            id,
            parent_id: fields.optional_long("parent-snapshot-id")?,
            sequence_number: fields.optional_long("sequence-number")?.unwrap_or_default(),
            timestamp_ms: fields.long("timestamp-ms")?,
            manifest_list: map.get("manifest-list").and_then(Value::as_str),
            first_row_id: fields.optional_long("first-row-id")?,
            added_rows: fields.optional_long("added-rows")?,
            map,
        };
        let numbers = [
            ("snapshot-id", Some(snapshot.id)),
            ("sequence-number", Some(snapshot.sequence_number)),
            ("first-row-id", snapshot.first_row_id),
            ("added-rows", snapshot.added_rows),
        ];
        for (name, number) in numbers {
            if number.is_some_and(|number| number < 0) {
                refuse!("{of}: {name} must not be negative");
            }
        }
        Ok(snapshot)
    }

    /// The whole object.
    pub fn object(&self) -> &'t Map<String, Value> {
        self.map
    }

    /// Manifests of a snapshot without a manifest list.
    pub fn manifests(&self) -> impl Iterator<Item = &'t str> + use<'t> {
        let manifests = self.map.get("manifests").and_then(Value::as_array);
        manifests.into_iter().flatten().filter_map(Value::as_str)
    }

    /// The summary's entry, for example `operation`.
    pub fn summary(&self, key: &str) -> Option<&'t str> {
        self.map.get("summary")?.get(key)?.as_str()
    }
}

/// Kind of a reference to a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceKind {
    /// A branch, which commits move.
    Branch,
    /// A tag.
    Tag,
}

/// A branch or tag.
#[derive(Clone, Debug, PartialEq)]
pub struct SnapshotReference {
    /// The snapshot.
    pub snapshot_id: i64,
    /// Branch or tag.
    pub kind: ReferenceKind,
    /// Snapshots of a branch that are kept, however old they are.
    pub min_snapshots_to_keep: Option<i32>,
    /// Age up to which snapshots of a branch are kept, milliseconds.
    pub max_snapshot_age_ms: Option<i64>,
    /// Age of its snapshot up to which the branch or tag is kept, milliseconds.
    pub max_ref_age_ms: Option<i64>,
}

impl SnapshotReference {
    /// `true` for a branch.
    pub fn is_branch(&self) -> bool {
        self.kind == ReferenceKind::Branch
    }

    /// The branch or tag of an object.
    pub(crate) fn from_fields(fields: &Fields<'_>) -> Result<SnapshotReference, Invalid> {
        let kind = match fields.text("type")? {
            "branch" => ReferenceKind::Branch,
            "tag" => ReferenceKind::Tag,
            other => refuse!("type of a reference must be branch or tag, not {}", quoted(other)),
        };
        let reference = SnapshotReference {
            snapshot_id: fields.long("snapshot-id")?,
            kind,
            min_snapshots_to_keep: fields.optional_int("min-snapshots-to-keep")?,
            max_snapshot_age_ms: fields.optional_long("max-snapshot-age-ms")?,
            max_ref_age_ms: fields.optional_long("max-ref-age-ms")?,
        };
        let limits = [
            ("min-snapshots-to-keep", reference.min_snapshots_to_keep.map(i64::from)),
            ("max-snapshot-age-ms", reference.max_snapshot_age_ms),
            ("max-ref-age-ms", reference.max_ref_age_ms),
        ];
        for (name, limit) in limits {
            if limit.is_some_and(|limit| limit <= 0) {
                refuse!("{name} of a reference must be positive");
            }
        }
        if kind == ReferenceKind::Tag {
            for (name, limit) in &limits[..2] {
                if limit.is_some() {
                    refuse!("a tag must not have {name}");
                }
            }
        }
        Ok(reference)
    }

    /// Writes the fields into the object of a reference, whose unknown fields stay.
    pub(crate) fn write(&self, map: &mut Map<String, Value>) {
        let mut set = |name: &str, value: Option<Value>| match value {
            Some(value) => {
                map.insert(name.to_owned(), value);
            }
            None => {
                map.remove(name);
            }
        };
        let kind = if self.is_branch() { "branch" } else { "tag" };
        set("snapshot-id", Some(self.snapshot_id.into()));
        set("type", Some(kind.into()));
        set("min-snapshots-to-keep", self.min_snapshots_to_keep.map(Value::from));
        set("max-snapshot-age-ms", self.max_snapshot_age_ms.map(Value::from));
        set("max-ref-age-ms", self.max_ref_age_ms.map(Value::from));
    }
}
