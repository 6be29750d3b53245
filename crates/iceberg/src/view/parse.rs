//! Checks of a document, and of a version of a view.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::error::{Invalid, quoted, refuse};
use crate::files;
use crate::json::Fields;
use crate::schema::Schema;

const OF: &str = "view metadata";

/// The format version of views.
pub(super) const FORMAT_VERSION: i32 = 1;

/// Checks a document.
pub(super) fn checked(mut document: Map<String, Value>) -> Result<Map<String, Value>, Invalid> {
    let fields = Fields::of_map(&document, OF);
    check_version(fields.int("format-version")?)?;
    files::check_uuid(fields.text("view-uuid")?, "view-uuid")?;
    let location = files::checked_location(fields.text("location")?, "location")?.to_owned();
    let has_properties = fields.optional_properties("properties")?.is_some();
    let schemas = check_schemas(&fields)?;
    let current = fields.int("current-version-id")?;
    let mut versions = HashSet::new();
    for value in fields.list("versions")? {
        let Value::Object(map) = value else { refuse!("versions must be objects") };
        let version = Version::parse(map)?;
        if !versions.insert(version.id) {
            refuse!("versions: version-id {} is used more than once", version.id);
        }
        if !schemas.contains(&version.schema_id) {
            let (id, schema) = (version.id, version.schema_id);
            refuse!("version {id} has the schema-id {schema}, which is not among the schemas");
        }
    }
    if !versions.contains(&current) {
        refuse!("current-version-id {current} is not among the versions");
    }
    for entry in fields.list("version-log")? {
        let entry = Fields::of(entry, "version-log")?;
        entry.long("timestamp-ms")?;
        entry.int("version-id")?;
    }
    document.insert("location".to_owned(), location.into());
    if !has_properties {
        document.insert("properties".to_owned(), json!({}));
    }
    Ok(document)
}

/// Refuses unknown format versions.
pub(super) fn check_version(version: i32) -> Result<(), Invalid> {
    match version {
        FORMAT_VERSION => Ok(()),
        _ => {
            refuse!("unsupported format-version of a view: {version} (supported: {FORMAT_VERSION})")
        }
    }
}

fn check_schemas(fields: &Fields<'_>) -> Result<HashSet<i32>, Invalid> {
    let mut ids = HashSet::new();
    for value in fields.list("schemas")? {
        let Value::Object(map) = value else { refuse!("schemas must be objects") };
        Schema::parse(map)?;
        // An only schema may have no id.
        let id = Fields::of_map(map, "schema").optional_int("schema-id")?.unwrap_or_default();
        if !ids.insert(id) {
            refuse!("schemas: schema-id {id} is used more than once");
        }
    }
    Ok(ids)
}

/// A version of a view: the fields that the catalog reads.
pub(super) struct Version {
    pub(super) id: i32,
    pub(super) schema_id: i32,
    pub(super) timestamp_ms: i64,
    /// Dialects of its SQL, in lower case.
    pub(super) dialects: HashSet<String>,
}

impl Version {
    /// Checks a version by itself: a dialect has one query.
    pub(super) fn parse(map: &Map<String, Value>) -> Result<Version, Invalid> {
        let fields = Fields::of_map(map, "view version");
        let mut version = Version {
            id: fields.int("version-id")?,
            schema_id: fields.int("schema-id")?,
            timestamp_ms: fields.long("timestamp-ms")?,
            dialects: HashSet::new(),
        };
        fields.properties("summary")?;
        fields.texts("default-namespace")?;
        fields.optional_text("default-catalog")?;
        for value in fields.list("representations")? {
            let representation = Fields::of(value, "representation")?;
            if representation.text("type")? != "sql" {
                continue;
            }
            representation.text("sql")?;
            let dialect = representation.text("dialect")?.to_lowercase();
            if !version.dialects.insert(dialect.clone()) {
                let dialect = quoted(&dialect);
                return Err(Invalid::illegal(format!(
                    "Invalid view version: Cannot add multiple queries for dialect {}",
                    dialect.trim_matches('"')
                )));
            }
        }
        Ok(version)
    }

    /// Refuses a new version without a query, or with something else than queries.
    pub(super) fn check_new(map: &Map<String, Value>) -> Result<(), Invalid> {
        let representations = Fields::of_map(map, "view version").list("representations")?;
        if representations.is_empty() {
            refuse!("view version: representations must not be empty");
        }
        for value in representations {
            let kind = Fields::of(value, "representation")?.text("type")?;
            if kind != "sql" {
                refuse!("view version: unknown type of a representation: {}", quoted(kind));
            }
        }
        Ok(())
    }
}
