//! Updates of a view: a document that changes update by update, and is checked as a whole at the end.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value, json};

use crate::error::{Invalid, quoted, refuse};
use crate::files;
use crate::limits::VIEW_VERSIONS;
use crate::schema::{self, Schema};
use crate::update::ViewUpdate;

use super::ViewMetadata;
use super::parse::{FORMAT_VERSION, Version, check_version};

/// The id that stands for the schema or version that was added last.
const LAST_ADDED: i32 = -1;

/// The property with the number of versions that a view keeps.
const VERSIONS_PROPERTY: &str = "version.history.num-entries";

/// The property that allows a new version to leave out a dialect of the previous version.
const DROP_DIALECT_PROPERTY: &str = "replace.drop-dialect.allowed";

/// Metadata of a view between two files.
pub(super) struct Builder {
    document: Map<String, Value>,
    now_ms: i64,
    has_changes: bool,
    added_schema: Option<i32>,
    added_version: Option<i32>,
    /// Versions that were added since the last file.
    added_versions: HashSet<i32>,
    /// Dialects of the version that was current in the last file.
    dialects_before: HashSet<String>,
    /// The time and the version of the last change of the current version.
    log_entry: Option<(i64, i32)>,
}

impl Builder {
    /// A view that does not exist yet.
    pub(super) fn new(uuid: &str, location: &str, now_ms: i64) -> Result<Builder, Invalid> {
        let document = json!({
            "format-version": FORMAT_VERSION,
            "view-uuid": uuid,
            "location": location,
            "schemas": [],
            "versions": [],
            "version-log": [],
            "properties": {},
        });
        let Value::Object(document) = document else { refuse!("view metadata must be an object") };
        Ok(Builder::with(document, HashSet::new(), now_ms))
    }

    /// A view with metadata.
    pub(super) fn of(base: &ViewMetadata, now_ms: i64) -> Builder {
        let dialects = Version::parse(base.current_version()).map(|version| version.dialects);
        Builder::with(base.document().clone(), dialects.unwrap_or_default(), now_ms)
    }

    fn with(
        document: Map<String, Value>,
        dialects_before: HashSet<String>,
        now_ms: i64,
    ) -> Builder {
        Builder {
            document,
            now_ms,
            has_changes: false,
            added_schema: None,
            added_version: None,
            added_versions: HashSet::new(),
            dialects_before,
            log_entry: None,
        }
    }

    pub(super) fn has_changes(&self) -> bool {
        self.has_changes
    }

    /// Adds the first schema and version. The schema of the version is this one, whatever the request says.
    pub(super) fn create(
        &mut self,
        schema: &Map<String, Value>,
        version: &Map<String, Value>,
    ) -> Result<(), Invalid> {
        self.add_schema(schema)?;
        let mut version = version.clone();
        version.insert("schema-id".to_owned(), LAST_ADDED.into());
        self.add_version(&version)?;
        self.set_current(LAST_ADDED)
    }

    /// Applies one update.
    pub(super) fn apply(&mut self, update: &ViewUpdate) -> Result<(), Invalid> {
        match update {
            ViewUpdate::AssignUuid(uuid) => {
                let current = self.document.get("view-uuid").and_then(Value::as_str);
                match current.is_some_and(|current| current.eq_ignore_ascii_case(uuid)) {
                    true => Ok(()),
                    false => refuse!("the UUID of a view cannot be changed"),
                }
            }
            ViewUpdate::UpgradeFormatVersion(version) => check_version(*version),
            ViewUpdate::AddSchema(schema) => self.add_schema(schema),
            ViewUpdate::SetLocation(location) => {
                let location = files::checked_location(location, "set-location: location")?;
                self.set("location", location.into());
                Ok(())
            }
            ViewUpdate::SetProperties(properties) => {
                self.set_properties(properties);
                Ok(())
            }
            ViewUpdate::RemoveProperties(keys) => {
                let properties = self.properties();
                let removed = keys.iter().filter(|key| properties.remove(*key).is_some()).count();
                self.has_changes |= removed > 0;
                Ok(())
            }
            ViewUpdate::AddViewVersion(version) => self.add_version(version),
            ViewUpdate::SetCurrentViewVersion(id) => self.set_current(*id),
        }
    }

    /// Sets properties.
    pub(super) fn set_properties(&mut self, updates: &BTreeMap<String, String>) {
        let properties = self.properties();
        let mut has_changes = false;
        for (key, value) in updates {
            let old = properties.insert(key.clone(), value.as_str().into());
            has_changes |= old.is_none_or(|old| old != value.as_str());
        }
        self.has_changes |= has_changes;
    }

    /// The finished metadata.
    pub(super) fn build(mut self) -> Result<ViewMetadata, Invalid> {
        if let Some((at, id)) = self.log_entry {
            self.list("version-log").push(json!({"timestamp-ms": at, "version-id": id}));
        }
        self.check_dialects()?;
        self.expire_versions()?;
        ViewMetadata::from_value(Value::Object(self.document))
    }

    fn add_schema(&mut self, schema: &Map<String, Value>) -> Result<(), Invalid> {
        Schema::parse(schema)?;
        let mut next = 0;
        for other in self.list("schemas").iter().filter_map(Value::as_object) {
            let id = int(other, "schema-id");
            if schema::is_same(other, schema) {
                self.added_schema = Some(id);
                return Ok(());
            }
            next = next.max(id.saturating_add(1));
        }
        let mut schema = schema.clone();
        schema.insert("schema-id".to_owned(), next.into());
        self.list("schemas").push(Value::Object(schema));
        self.added_schema = Some(next);
        self.has_changes = true;
        Ok(())
    }

    fn add_version(&mut self, version: &Map<String, Value>) -> Result<(), Invalid> {
        let mut version = version.clone();
        Version::check_new(&version)?;
        let parsed = Version::parse(&version)?;
        let schema_id = match (parsed.schema_id, self.added_schema) {
            (LAST_ADDED, Some(added)) => added,
            (LAST_ADDED, None) => {
                refuse!("add-view-version: schema-id is -1, but no schema has been added")
            }
            (id, _) => id,
        };
        version.insert("schema-id".to_owned(), schema_id.into());
        let mut schemas = self.list("schemas").iter().filter_map(Value::as_object);
        if !schemas.any(|schema| int(schema, "schema-id") == schema_id) {
            refuse!("add-view-version: schema-id {schema_id} is not among the schemas");
        }
        let mut id = parsed.id;
        for other in self.list("versions").iter().filter_map(Value::as_object) {
            let other_id = int(other, "version-id");
            if comparable(other) == comparable(&version) {
                self.added_version = Some(other_id);
                return Ok(());
            }
            if other_id >= id {
                id = other_id.saturating_add(1);
            }
        }
        version.insert("version-id".to_owned(), id.into());
        self.list("versions").push(Value::Object(version));
        self.added_version = Some(id);
        self.added_versions.insert(id);
        self.has_changes = true;
        Ok(())
    }

    fn set_current(&mut self, id: i32) -> Result<(), Invalid> {
        let id = match (id, self.added_version) {
            (LAST_ADDED, Some(added)) => added,
            (LAST_ADDED, None) => {
                refuse!(
                    "set-current-view-version: view-version-id is -1, but no version has been added"
                )
            }
            (id, _) => id,
        };
        let Some(version) = self.version(id) else {
            refuse!("set-current-view-version: there is no version {id}");
        };
        let current = self.document.get("current-version-id").and_then(Value::as_i64);
        if current == Some(id.into()) {
            return Ok(());
        }
        // Going back to an old version is a change of now.
        let is_new = self.added_versions.contains(&id);
        let at = if is_new { version.timestamp_ms } else { self.now_ms };
        self.set("current-version-id", id.into());
        self.log_entry = Some((at, id));
        Ok(())
    }

    /// Refuses a new version that leaves out a dialect: its readers would lose the view.
    fn check_dialects(&mut self) -> Result<(), Invalid> {
        let allowed = self.properties().get(DROP_DIALECT_PROPERTY).and_then(Value::as_str);
        if allowed.is_some_and(|allowed| allowed.eq_ignore_ascii_case("true")) {
            return Ok(());
        }
        let current = int(&self.document, "current-version-id");
        let dialects = self.version(current).map(|version| version.dialects).unwrap_or_default();
        let mut lost: Vec<_> = self.dialects_before.difference(&dialects).collect();
        lost.sort();
        match lost.first() {
            None => Ok(()),
            Some(dialect) => refuse!(
                "Cannot replace view due to loss of view dialects ({DROP_DIALECT_PROPERTY}=false): {}",
                quoted(dialect)
            ),
        }
    }

    /// Removes the oldest versions beyond the limit, but neither the current one nor those that were just added. The log
    /// begins behind the last entry of a removed version.
    fn expire_versions(&mut self) -> Result<(), Invalid> {
        let limit = match self.properties().get(VERSIONS_PROPERTY).and_then(Value::as_str) {
            None => VIEW_VERSIONS,
            Some(text) => match text.parse::<usize>() {
                Ok(limit) if limit > 0 => limit,
                _ => refuse!("the property {VERSIONS_PROPERTY} must be a positive number"),
            },
        };
        let current = int(&self.document, "current-version-id");
        let mut ids: Vec<i32> = self.ids();
        let mut needed = self.added_versions.clone();
        needed.insert(current);
        let limit = limit.max(needed.len());
        if ids.len() <= limit {
            return Ok(());
        }
        // The newest first.
        ids.sort_unstable_by_key(|id| (*id != current, std::cmp::Reverse(*id)));
        let kept: HashSet<i32> = ids.into_iter().take(limit).collect();
        let is_kept = |value: &Value| {
            value.as_object().is_some_and(|it| kept.contains(&int(it, "version-id")))
        };
        self.list("versions").retain(is_kept);
        let log = self.list("version-log");
        let begin = log.iter().rposition(|entry| !is_kept(entry)).map_or(0, |at| at + 1);
        log.drain(..begin);
        Ok(())
    }

    fn ids(&mut self) -> Vec<i32> {
        let versions = self.list("versions").iter().filter_map(Value::as_object);
        versions.map(|version| int(version, "version-id")).collect()
    }

    fn version(&mut self, id: i32) -> Option<Version> {
        let mut versions = self.list("versions").iter().filter_map(Value::as_object);
        let found = versions.find(|version| int(version, "version-id") == id)?;
        Version::parse(found).ok()
    }

    fn set(&mut self, name: &str, value: Value) {
        let old = self.document.insert(name.to_owned(), value.clone());
        self.has_changes |= old.as_ref() != Some(&value);
    }

    fn list(&mut self, name: &str) -> &mut Vec<Value> {
        let value = self.document.entry(name).or_insert(Value::Null);
        if !value.is_array() {
            *value = json!([]);
        }
        value.as_array_mut().expect("it was made one")
    }

    fn properties(&mut self) -> &mut Map<String, Value> {
        let value = self.document.entry("properties").or_insert(Value::Null);
        if !value.is_object() {
            *value = json!({});
        }
        value.as_object_mut().expect("it was made one")
    }
}

/// A number of an object; 0 if it is missing.
fn int(map: &Map<String, Value>, name: &str) -> i32 {
    let value = map.get(name).and_then(Value::as_i64);
    value.and_then(|value| i32::try_from(value).ok()).unwrap_or_default()
}

/// A version without what does not change its meaning: its id and time.
fn comparable(version: &Map<String, Value>) -> Map<String, Value> {
    let mut version = version.clone();
    version.retain(|name, value| {
        !value.is_null() && !matches!(name.as_str(), "version-id" | "timestamp-ms")
    });
    version
}
