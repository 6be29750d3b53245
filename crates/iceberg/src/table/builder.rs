//! Updates of a table: a document that changes update by update, and is checked as a whole at the end.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value, json};

use crate::error::{Invalid, quoted, refuse};
use crate::files;
use crate::limits::{FIELD_ID_MAX, METADATA_LOG_ENTRIES, PARTITION_FIELD_ID_MIN};
use crate::partition::{PartitionSpec, fields_mut};
use crate::schema::{self, Schema};
use crate::sort::{SortOrder, UNSORTED};
use crate::update::Update;

use super::TableMetadata;
use super::create::{FORMAT_VERSION, complete};
use super::history::History;
use super::parse::check_version;

/// The id that stands for the schema, spec or order that was added last.
const LAST_ADDED: i32 = -1;

/// Metadata of a table between two files.
pub(super) struct Builder {
    pub(super) document: Map<String, Value>,
    /// The time of the metadata before. `None`: there is no table yet.
    base_ms: Option<i64>,
    pub(super) now_ms: i64,
    pub(super) has_changes: bool,
    added_schema: Option<i32>,
    added_spec: Option<i32>,
    added_order: Option<i32>,
    pub(super) history: History,
}

impl Builder {
    /// A table that does not exist yet. `version` is the format version that its updates name first.
    pub(super) fn new(version: Option<i32>, uuid: &str, now_ms: i64) -> Result<Builder, Invalid> {
        let version = version.unwrap_or(FORMAT_VERSION);
        check_version(version)?;
        let mut document = json!({
            "format-version": version,
            "table-uuid": uuid,
            "last-column-id": 0,
            "schemas": [],
            "current-schema-id": 0,
            "partition-specs": [],
            "default-spec-id": 0,
            "last-partition-id": PARTITION_FIELD_ID_MIN - 1,
            "sort-orders": [],
            "default-sort-order-id": UNSORTED,
            "properties": {},
        });
        complete(&mut document, version);
        let Value::Object(document) = document else { refuse!("table metadata must be an object") };
        Ok(Builder::with(document, None, now_ms))
    }

    /// A table with metadata.
    pub(super) fn of(base: &TableMetadata, now_ms: i64) -> Builder {
        let base_ms = base.last_updated_ms();
        // The clock may have been set back. Time in metadata does not go back.
        Builder::with(base.document().clone(), Some(base_ms), now_ms.max(base_ms))
    }

    fn with(document: Map<String, Value>, base_ms: Option<i64>, now_ms: i64) -> Builder {
        Builder {
            document,
            base_ms,
            now_ms,
            has_changes: base_ms.is_none(),
            added_schema: None,
            added_spec: None,
            added_order: None,
            history: History::default(),
        }
    }

    pub(super) fn has_changes(&self) -> bool {
        self.has_changes
    }

    /// Applies one update.
    pub(super) fn apply(&mut self, update: &Update) -> Result<(), Invalid> {
        match update {
            Update::AssignUuid(uuid) => self.assign_uuid(uuid),
            Update::UpgradeFormatVersion(version) => self.upgrade(*version),
            Update::AddSchema { schema, last_column_id } => {
                self.add_schema(schema, *last_column_id)
            }
            Update::SetCurrentSchema(id) => {
                let id = last_or(*id, self.added_schema, "schema")?;
                self.choose(id, "schemas", "schema-id", "current-schema-id")
            }
            Update::AddSpec(spec) => self.add_spec(spec),
            Update::SetDefaultSpec(id) => {
                let id = last_or(*id, self.added_spec, "partition spec")?;
                self.choose(id, "partition-specs", "spec-id", "default-spec-id")
            }
            Update::AddSortOrder(order) => self.add_sort_order(order),
            Update::SetDefaultSortOrder(id) => {
                let id = last_or(*id, self.added_order, "sort order")?;
                self.choose(id, "sort-orders", "order-id", "default-sort-order-id")
            }
            Update::AddSnapshot(snapshot) => self.add_snapshot(snapshot),
            Update::SetSnapshotRef { name, reference } => self.set_ref(name, reference),
            Update::RemoveSnapshots(ids) => self.remove_snapshots(ids),
            Update::RemoveSnapshotRef(name) => {
                self.remove_ref(name);
                Ok(())
            }
            Update::SetLocation(location) => self.set_location(location),
            Update::SetProperties(properties) => {
                self.set_properties(properties);
                Ok(())
            }
            Update::RemoveProperties(keys) => {
                self.remove_properties(keys);
                Ok(())
            }
            Update::SetStatistics(file) => {
                let snapshot = files::check_statistics(file)?;
                self.replace_file("statistics", snapshot, Some(file));
                Ok(())
            }
            Update::RemoveStatistics(snapshot) => {
                self.replace_file("statistics", *snapshot, None);
                Ok(())
            }
            Update::SetPartitionStatistics(file) => {
                let snapshot = files::check_partition_statistics(file)?;
                self.replace_file("partition-statistics", snapshot, Some(file));
                Ok(())
            }
            Update::RemovePartitionStatistics(snapshot) => {
                self.replace_file("partition-statistics", *snapshot, None);
                Ok(())
            }
            Update::RemovePartitionSpecs(ids) => {
                self.remove_ids(ids, "partition-specs", "spec-id", "default-spec-id")
            }
            Update::RemoveSchemas(ids) => {
                self.remove_ids(ids, "schemas", "schema-id", "current-schema-id")
            }
            Update::AddEncryptionKey(key) => self.add_encryption_key(key),
            Update::RemoveEncryptionKey(id) => {
                self.retain("encryption-keys", |key| key["key-id"].as_str() != Some(id));
                Ok(())
            }
            Update::EnableRowLineage => match self.version() {
                3.. => Ok(()),
                version => Err(Invalid::new(format!(
                    "row lineage needs format version 3; the table has {version}"
                ))),
            },
        }
    }

    /// The finished metadata. `previous` is the file of the metadata before.
    pub(super) fn build(mut self, previous: Option<&str>) -> Result<TableMetadata, Invalid> {
        self.add_defaults();
        self.finish_snapshot_log()?;
        if let (Some(base_ms), Some(previous)) = (self.base_ms, previous) {
            self.log_metadata(base_ms, previous);
        }
        self.document.insert("last-updated-ms".to_owned(), self.now_ms.into());
        TableMetadata::from_document(self.document)
    }

    /// The unpartitioned spec and the unsorted order, where a new table names none.
    fn add_defaults(&mut self) {
        let defaults = [
            ("partition-specs", json!({"spec-id": 0, "fields": []})),
            ("sort-orders", json!({"order-id": UNSORTED, "fields": []})),
        ];
        for (name, default) in defaults {
            let list = self.list(name);
            if list.is_empty() {
                list.push(default);
            }
        }
    }

    fn log_metadata(&mut self, base_ms: i64, previous: &str) {
        let entries = self.document.get("properties").and_then(|properties| {
            properties.get("write.metadata.previous-versions-max")?.as_str()?.parse::<usize>().ok()
        });
        let entries_max = entries.unwrap_or(METADATA_LOG_ENTRIES).max(1);
        let log = self.list("metadata-log");
        log.push(json!({"timestamp-ms": base_ms, "metadata-file": previous}));
        let surplus = log.len().saturating_sub(entries_max);
        log.drain(..surplus);
    }

    fn assign_uuid(&mut self, uuid: &str) -> Result<(), Invalid> {
        files::check_uuid(uuid, "uuid")?;
        let current = self.document.get("table-uuid").and_then(Value::as_str);
        if current.is_some_and(|current| current.eq_ignore_ascii_case(uuid)) {
            return Ok(());
        }
        // The requirement assert-table-uuid of other writers would be void.
        if self.base_ms.is_some() {
            refuse!("the UUID of a table cannot be changed");
        }
        self.set("table-uuid", uuid.into());
        Ok(())
    }

    fn upgrade(&mut self, version: i32) -> Result<(), Invalid> {
        check_version(version)?;
        let current = self.version();
        if version < current {
            refuse!("cannot downgrade format-version {current} to {version}");
        }
        if version == current {
            return Ok(());
        }
        self.document.entry("last-sequence-number").or_insert(0.into());
        if version >= 3 {
            self.document.entry("next-row-id").or_insert(0.into());
        }
        self.set("format-version", version.into());
        Ok(())
    }

    fn add_schema(
        &mut self,
        schema: &Map<String, Value>,
        last_column_id: Option<i32>,
    ) -> Result<(), Invalid> {
        let parsed = Schema::parse(schema)?;
        parsed.check_version(self.version())?;
        let highest = parsed.range_of_ids().map_or(0, |(_, highest)| highest);
        if let Some(last) = last_column_id
            && (last < highest || last > FIELD_ID_MAX)
        {
            refuse!("add-schema: last-column-id is {last}, but the schema has a column {highest}");
        }
        let last = self.int("last-column-id");
        let new_last = last.max(highest).max(last_column_id.unwrap_or_default());
        if new_last != last {
            self.set("last-column-id", new_last.into());
        }
        let is_same =
            |other: &Value| other.as_object().is_some_and(|other| schema::is_same(other, schema));
        let id = match self.find_or_next("schemas", "schema-id", 0, is_same) {
            Id::Found(id) => id,
            Id::Next(id) => {
                self.push("schemas", schema, "schema-id", id);
                id
            }
        };
        self.added_schema = Some(id);
        Ok(())
    }

    fn add_spec(&mut self, spec: &Map<String, Value>) -> Result<(), Invalid> {
        let mut spec = spec.clone();
        let parsed = PartitionSpec::parse(&spec)?;
        parsed.check(&self.current_schema("add-spec")?)?;
        let is_same = |other: &Value| {
            let other = other.as_object().map(PartitionSpec::parse);
            other.is_some_and(|other| other.is_ok_and(|other| other.is_same(&parsed)))
        };
        let id = match self.find_or_next("partition-specs", "spec-id", 0, is_same) {
            Id::Found(id) => id,
            Id::Next(id) => {
                self.assign_partition_ids(&mut spec, &parsed)?;
                self.push("partition-specs", &spec, "spec-id", id);
                id
            }
        };
        self.added_spec = Some(id);
        Ok(())
    }

    /// Gives ids to the fields of a new spec that has none: those of equal fields of other specs, else new ones.
    fn assign_partition_ids(
        &mut self,
        spec: &mut Map<String, Value>,
        parsed: &PartitionSpec,
    ) -> Result<(), Invalid> {
        let mut last = self.int("last-partition-id").max(PARTITION_FIELD_ID_MIN - 1);
        let specs: Vec<_> =
            self.list("partition-specs").iter().filter_map(Value::as_object).collect();
        let known: Vec<_> =
            specs.into_iter().filter_map(|spec| PartitionSpec::parse(spec).ok()).collect();
        let known = || known.iter().flat_map(|spec| &spec.fields);
        let mut used = HashSet::new();
        let mut ids = Vec::new();
        for field in &parsed.fields {
            let reused = || known().filter(|it| it.is_like(field)).filter_map(|it| it.id).max();
            let id = match field.id.or_else(reused) {
                Some(id) if used.insert(id) => id,
                _ if last == i32::MAX => refuse!("add-spec: there are no more ids"),
                _ => last + 1,
            };
            used.insert(id);
            last = last.max(id);
            ids.push(id);
        }
        for (field, id) in fields_mut(spec).zip(&ids) {
            field.insert("field-id".to_owned(), (*id).into());
        }
        // Format version 1 has no ids in its files: the position decides.
        if self.version() == 1 && !PartitionSpec::parse(spec)?.has_sequential_ids() {
            refuse!("add-spec: in format version 1, field-ids count from {PARTITION_FIELD_ID_MIN}");
        }
        self.document.insert("last-partition-id".to_owned(), last.into());
        Ok(())
    }

    fn add_sort_order(&mut self, order: &Map<String, Value>) -> Result<(), Invalid> {
        let parsed = SortOrder::parse(order)?;
        parsed.check(&self.current_schema("add-sort-order")?)?;
        // The unsorted order has the id 0, whether there are others or not.
        let first = if parsed.fields.is_empty() { UNSORTED } else { UNSORTED + 1 };
        let is_same = |other: &Value| {
            let other = other.as_object().map(SortOrder::parse);
            other.is_some_and(|other| other.is_ok_and(|other| other == parsed))
        };
        let id = match self.find_or_next("sort-orders", "order-id", first, is_same) {
            Id::Found(id) => id,
            Id::Next(_) if parsed.fields.is_empty() => {
                self.push("sort-orders", order, "order-id", UNSORTED);
                UNSORTED
            }
            Id::Next(id) => {
                self.push("sort-orders", order, "order-id", id);
                id
            }
        };
        self.added_order = Some(id);
        Ok(())
    }

    fn set_location(&mut self, location: &str) -> Result<(), Invalid> {
        let location = files::checked_location(location, "set-location: location")?;
        if self.document.get("location").and_then(Value::as_str) != Some(location) {
            self.set("location", location.into());
        }
        Ok(())
    }

    fn set_properties(&mut self, updates: &BTreeMap<String, String>) {
        let properties = self.object("properties");
        let mut has_changes = false;
        for (key, value) in updates {
            let old = properties.insert(key.clone(), value.as_str().into());
            has_changes |= old.is_none_or(|old| old != value.as_str());
        }
        self.has_changes |= has_changes;
    }

    fn remove_properties(&mut self, keys: &[String]) {
        let properties = self.object("properties");
        let removed = keys.iter().filter(|key| properties.remove(*key).is_some()).count();
        self.has_changes |= removed > 0;
    }

    fn add_encryption_key(&mut self, key: &Map<String, Value>) -> Result<(), Invalid> {
        let id = files::check_encryption_key(key)?;
        let keys = self.list("encryption-keys");
        if !keys.iter().any(|key| key["key-id"].as_str() == Some(id)) {
            keys.push(Value::Object(key.clone()));
            self.has_changes = true;
        }
        Ok(())
    }

    /// Replaces the file of a snapshot, or removes it.
    pub(super) fn replace_file(
        &mut self,
        name: &str,
        snapshot: i64,
        file: Option<&Map<String, Value>>,
    ) {
        self.retain(name, |file| file["snapshot-id"].as_i64() != Some(snapshot));
        if let Some(file) = file {
            self.list(name).push(Value::Object(file.clone()));
            self.has_changes = true;
        }
    }

    /// Removes schemas or specs, but not the one in use.
    fn remove_ids(
        &mut self,
        ids: &[i32],
        list: &str,
        id_name: &str,
        in_use: &str,
    ) -> Result<(), Invalid> {
        let used = self.int(in_use);
        if ids.contains(&used) {
            refuse!("cannot remove {id_name} {used}: it is the {in_use}");
        }
        let is_removed =
            |value: &Value| ids.iter().any(|id| value[id_name].as_i64() == Some((*id).into()));
        self.retain(list, |value| !is_removed(value));
        Ok(())
    }

    /// Makes an element of a list the one in use.
    fn choose(&mut self, id: i32, list: &str, id_name: &str, in_use: &str) -> Result<(), Invalid> {
        let is_known =
            self.list(list).iter().any(|value| value[id_name].as_i64() == Some(id.into()));
        if !is_known {
            refuse!("{in_use}: {id_name} {id} is not among the {list}");
        }
        if self.int(in_use) != id {
            self.set(in_use, id.into());
        }
        Ok(())
    }

    /// The id of an equal element of a list, or the next free one.
    fn find_or_next(
        &mut self,
        list: &str,
        id_name: &str,
        first: i32,
        is_same: impl Fn(&Value) -> bool,
    ) -> Id {
        let mut next = first;
        for value in self.list(list).iter() {
            let id = value[id_name].as_i64().and_then(|id| i32::try_from(id).ok());
            let id = id.unwrap_or_default();
            if is_same(value) {
                return Id::Found(id);
            }
            next = next.max(id.saturating_add(1));
        }
        Id::Next(next)
    }

    fn push(&mut self, list: &str, element: &Map<String, Value>, id_name: &str, id: i32) {
        let mut element = element.clone();
        element.insert(id_name.to_owned(), id.into());
        self.list(list).push(Value::Object(element));
        self.has_changes = true;
    }

    /// Removes the elements of a list that are not kept.
    pub(super) fn retain(&mut self, list: &str, keep: impl Fn(&Value) -> bool) {
        let list = self.list(list);
        let before = list.len();
        list.retain(keep);
        let has_changes = list.len() != before;
        self.has_changes |= has_changes;
    }

    /// The current schema, for updates that name its columns.
    fn current_schema(&mut self, update: &str) -> Result<Schema, Invalid> {
        let id = i64::from(self.int("current-schema-id"));
        let schemas = self.list("schemas").iter();
        let mut current = schemas.filter(|schema| schema["schema-id"].as_i64() == Some(id));
        match current.next().and_then(Value::as_object) {
            Some(schema) => Schema::parse(schema),
            None => refuse!("{update}: the table has no current schema"),
        }
    }

    pub(super) fn version(&self) -> i32 {
        self.int("format-version")
    }

    /// A number of the document; 0 if it is missing.
    pub(super) fn int(&self, name: &str) -> i32 {
        i32::try_from(self.long(name)).unwrap_or_default()
    }

    /// A number of the document; 0 if it is missing.
    pub(super) fn long(&self, name: &str) -> i64 {
        self.document.get(name).and_then(Value::as_i64).unwrap_or_default()
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.document.insert(name.to_owned(), value);
        self.has_changes = true;
    }

    /// A list of the document, which is made if it is missing.
    pub(super) fn list(&mut self, name: &str) -> &mut Vec<Value> {
        let value = self.document.entry(name).or_insert(Value::Null);
        if !value.is_array() {
            *value = json!([]);
        }
        value.as_array_mut().expect("it was made one")
    }

    /// An object of the document, which is made if it is missing.
    pub(super) fn object(&mut self, name: &str) -> &mut Map<String, Value> {
        let value = self.document.entry(name).or_insert(Value::Null);
        if !value.is_object() {
            *value = json!({});
        }
        value.as_object_mut().expect("it was made one")
    }
}

/// An id of a list.
enum Id {
    Found(i32),
    Next(i32),
}

fn last_or(id: i32, added: Option<i32>, what: &str) -> Result<i32, Invalid> {
    match (id, added) {
        (LAST_ADDED, Some(added)) => Ok(added),
        (LAST_ADDED, None) => {
            refuse!("cannot set the last added {what}: no {what} has been added")
        }
        (id, _) => Ok(id),
    }
}

/// A name of a client in messages.
pub(super) fn named(what: &str, name: &str) -> String {
    format!("{what} {}", quoted(name))
}
