//! Metadata of a table.

mod builder;
mod check;
mod create;
mod history;
mod parse;
#[cfg(test)]
pub(crate) mod tests;

use serde_json::{Map, Value};

use crate::document::{CHECKED, Document};
use crate::error::{Failed, Invalid};
use crate::json::{self, Fields};
use crate::request::CreateTable;
use crate::requirement::Requirement;
use crate::snapshot::{Snapshot, SnapshotReference};
use crate::update::Update;

use self::builder::Builder;

/// Metadata of a table, of format version 1 to 3.
///
/// Invariant: the document is one that [`TableMetadata::parse`] accepts, with the lists that only format version 1 may leave
/// out. Unknown fields are kept through every change.
#[derive(Clone, Debug, PartialEq)]
pub struct TableMetadata {
    document: Document,
}

impl TableMetadata {
    /// Parses and checks a metadata file, decompressed.
    ///
    /// # Errors
    /// Bytes that are not JSON; a format version other than 1 to 3; a missing field or one of another type; fields that
    /// contradict each other.
    pub fn parse(bytes: &[u8]) -> Result<TableMetadata, Invalid> {
        TableMetadata::from_value(json::parse(bytes)?)
    }

    /// Checks a document that is parsed.
    ///
    /// # Errors
    /// As [`TableMetadata::parse`].
    pub fn from_value(document: Value) -> Result<TableMetadata, Invalid> {
        match document {
            Value::Object(document) => TableMetadata::from_document(document),
            _ => Err(Invalid::new("table metadata must be an object")),
        }
    }

    fn from_document(document: Map<String, Value>) -> Result<TableMetadata, Invalid> {
        Ok(TableMetadata { document: Document::checked(parse::checked(document)?) })
    }

    /// Metadata of a new table. Columns, partition fields, schema, spec and sort order get new ids, depth last: ids of the
    /// columns of a struct before those of their own fields. The property `format-version` chooses the format version, which
    /// is 2 otherwise; it and the other reserved names do not become properties.
    ///
    /// # Errors
    /// A schema, spec or sort order that contradicts the specification; an unknown format version.
    pub fn create(
        request: &CreateTable,
        uuid: &str,
        location: &str,
        now_ms: i64,
    ) -> Result<TableMetadata, Invalid> {
        create::create(request, uuid, location, now_ms)
    }

    /// Metadata of a table that a commit with `assert-create` makes of nothing, for example after a staged creation. `uuid` is
    /// the identity of the table unless the updates assign one. The first `upgrade-format-version` chooses the format
    /// version, which is 2 otherwise.
    ///
    /// # Errors
    /// As [`TableMetadata::apply`]; updates that leave out the schema or the location.
    pub fn from_updates(
        updates: &[Update],
        uuid: &str,
        now_ms: i64,
    ) -> Result<TableMetadata, Invalid> {
        let first = updates.iter().find_map(|update| match update {
            Update::UpgradeFormatVersion(version) => Some(*version),
            _ => None,
        });
        let mut builder = Builder::new(first, uuid, now_ms)?;
        for update in updates {
            builder.apply(update)?;
        }
        builder.build(None)
    }

    /// Checks a requirement of a commit. `None` is a table that does not exist.
    ///
    /// # Errors
    /// [`Failed`]: another commit came first.
    pub fn check(current: Option<&TableMetadata>, requirement: &Requirement) -> Result<(), Failed> {
        check::check(current, requirement)
    }

    /// The metadata after all of the updates, in their order. `previous` is the location of these metadata's file, which goes
    /// into the metadata log. Updates that change nothing return these metadata, equal to the old ones: the caller writes no
    /// file then.
    ///
    /// # Errors
    /// An update that contradicts the specification or the table: [`Invalid::Malformed`]; a snapshot that another commit
    /// overtook: [`Invalid::Stale`].
    pub fn apply(
        &self,
        updates: &[Update],
        now_ms: i64,
        previous: Option<&str>,
    ) -> Result<TableMetadata, Invalid> {
        let mut builder = Builder::of(self, now_ms);
        for update in updates {
            builder.apply(update)?;
        }
        if !builder.has_changes() {
            return Ok(self.clone());
        }
        builder.build(previous)
    }

    /// The bytes of a metadata file, not compressed.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.document.to_bytes()
    }

    /// The document.
    pub fn document(&self) -> &Map<String, Value> {
        &self.document
    }

    /// The document for answers.
    pub fn to_value(&self) -> Value {
        Value::Object((*self.document).clone())
    }

    /// The metadata without snapshots that no branch or tag names: the answer of a load with `snapshots=refs`.
    pub fn with_snapshots_of_refs(&self) -> TableMetadata {
        let named: Vec<i64> = self.refs().map(|(_, reference)| reference.snapshot_id).collect();
        let mut document = (*self.document).clone();
        if let Some(Value::Array(snapshots)) = document.get_mut("snapshots") {
            snapshots.retain(|snapshot| {
                snapshot["snapshot-id"].as_i64().is_some_and(|id| named.contains(&id))
            });
        }
        TableMetadata { document: Document::checked(document) }
    }

    /// `format-version`
    pub fn format_version(&self) -> i32 {
        self.document.read("format-version", Fields::int)
    }

    /// `table-uuid`
    pub fn uuid(&self) -> &str {
        self.document.read("table-uuid", Fields::text)
    }

    /// `location`, without a slash at its end.
    pub fn location(&self) -> &str {
        self.document.read("location", Fields::text)
    }

    /// `last-sequence-number`; 0 in format version 1.
    pub fn last_sequence_number(&self) -> i64 {
        self.document.read("last-sequence-number", Fields::optional_long).unwrap_or_default()
    }

    /// `last-updated-ms`, milliseconds since 1970
    pub fn last_updated_ms(&self) -> i64 {
        self.document.read("last-updated-ms", Fields::long)
    }

    /// `last-column-id`
    pub fn last_column_id(&self) -> i32 {
        self.document.read("last-column-id", Fields::int)
    }

    /// `current-schema-id`
    pub fn current_schema_id(&self) -> i32 {
        self.document.read("current-schema-id", Fields::int)
    }

    /// Schemas, with the current one among them.
    pub fn schemas(&self) -> impl Iterator<Item = &Map<String, Value>> {
        self.document.objects("schemas")
    }

    /// The current schema.
    pub fn current_schema(&self) -> &Map<String, Value> {
        self.document.by_id("schemas", "schema-id", self.current_schema_id())
    }

    /// `default-spec-id`
    pub fn default_spec_id(&self) -> i32 {
        self.document.read("default-spec-id", Fields::int)
    }

    /// Partition specs, with the default one among them.
    pub fn partition_specs(&self) -> impl Iterator<Item = &Map<String, Value>> {
        self.document.objects("partition-specs")
    }

    /// The default partition spec.
    pub fn default_spec(&self) -> &Map<String, Value> {
        self.document.by_id("partition-specs", "spec-id", self.default_spec_id())
    }

    /// `last-partition-id`
    pub fn last_partition_id(&self) -> i32 {
        self.document.read("last-partition-id", Fields::int)
    }

    /// `default-sort-order-id`
    pub fn default_sort_order_id(&self) -> i32 {
        self.document.read("default-sort-order-id", Fields::int)
    }

    /// Sort orders, with the default one among them.
    pub fn sort_orders(&self) -> impl Iterator<Item = &Map<String, Value>> {
        self.document.objects("sort-orders")
    }

    /// The default sort order.
    pub fn default_sort_order(&self) -> &Map<String, Value> {
        self.document.by_id("sort-orders", "order-id", self.default_sort_order_id())
    }

    /// Properties.
    pub fn properties(&self) -> impl Iterator<Item = (&str, &str)> {
        self.document.properties()
    }

    /// A property.
    pub fn property(&self, key: &str) -> Option<&str> {
        self.document.property(key)
    }

    /// The current snapshot's id, if the table has one.
    pub fn current_snapshot_id(&self) -> Option<i64> {
        self.document.read("current-snapshot-id", Fields::optional_long).filter(|id| *id != -1)
    }

    /// The current snapshot, if the table has one.
    pub fn current_snapshot(&self) -> Option<Snapshot<'_>> {
        self.snapshot(self.current_snapshot_id()?)
    }

    /// Snapshots, in the order of their commits.
    pub fn snapshots(&self) -> impl Iterator<Item = Snapshot<'_>> {
        self.document.objects("snapshots").map(|map| Snapshot::parse(map).expect(CHECKED))
    }

    /// The snapshot with an id.
    pub fn snapshot(&self, id: i64) -> Option<Snapshot<'_>> {
        let mut snapshots = self.document.objects("snapshots");
        let found =
            snapshots.find(|map| map.get("snapshot-id").and_then(Value::as_i64) == Some(id));
        found.map(|map| Snapshot::parse(map).expect(CHECKED))
    }

    /// Branches and tags with their names.
    pub fn refs(&self) -> impl Iterator<Item = (&str, SnapshotReference)> {
        let refs = self.document.read("refs", Fields::optional_object).into_iter().flatten();
        refs.map(|(name, value)| {
            let fields = Fields::of(value, "reference");
            let reference = fields.and_then(|fields| SnapshotReference::from_fields(&fields));
            (name.as_str(), reference.expect(CHECKED))
        })
    }

    /// The branch or tag with a name.
    pub fn reference(&self, name: &str) -> Option<SnapshotReference> {
        let value = self.document.get("refs")?.get(name)?;
        let fields = Fields::of(value, "reference");
        let reference = fields.and_then(|fields| SnapshotReference::from_fields(&fields));
        Some(reference.expect(CHECKED))
    }

    /// Earlier metadata files, oldest first: the time of each, milliseconds since 1970, and its location.
    pub fn metadata_log(&self) -> impl Iterator<Item = (i64, &str)> {
        self.document.objects("metadata-log").map(|entry| {
            let fields = Fields::of_map(entry, "metadata-log");
            let read =
                fields.long("timestamp-ms").and_then(|at| Ok((at, fields.text("metadata-file")?)));
            read.expect(CHECKED)
        })
    }

    /// Changes of the current snapshot, oldest first: the time, milliseconds since 1970, and the snapshot's id.
    pub fn snapshot_log(&self) -> impl Iterator<Item = (i64, i64)> {
        self.document.objects("snapshot-log").map(|entry| {
            let fields = Fields::of_map(entry, "snapshot-log");
            let read =
                fields.long("timestamp-ms").and_then(|at| Ok((at, fields.long("snapshot-id")?)));
            read.expect(CHECKED)
        })
    }

    /// Statistics files of tables and partitions: the snapshot of each, and its location.
    pub fn statistics(&self) -> impl Iterator<Item = (i64, &str)> {
        let files = self
            .document
            .objects("statistics")
            .chain(self.document.objects("partition-statistics"));
        files.map(|file| {
            let fields = Fields::of_map(file, "statistics");
            let read =
                fields.long("snapshot-id").and_then(|id| Ok((id, fields.text("statistics-path")?)));
            read.expect(CHECKED)
        })
    }

    /// `next-row-id`; 0 before format version 3.
    pub fn next_row_id(&self) -> i64 {
        self.document.read("next-row-id", Fields::optional_long).unwrap_or_default()
    }
}
