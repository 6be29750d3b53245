//! Checks of a document: each field by itself, then against the others.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::error::{Invalid, quoted, refuse};
use crate::files;
use crate::json::Fields;
use crate::limits::{CLOCK_SKEW_MS_MAX, FIELD_ID_MAX, PARTITION_FIELD_ID_MIN};
use crate::partition::{PartitionSpec, fields_mut};
use crate::schema::Schema;
use crate::snapshot::{MAIN_BRANCH, Snapshot, SnapshotReference};
use crate::sort::{SortOrder, UNSORTED};

const OF: &str = "table metadata";

/// The highest format version that is known.
pub(super) const FORMAT_VERSION_MAX: i32 = 3;

/// Checks a document. Returns it with the lists that format version 1 may leave out, and the fields that its version has.
pub(super) fn checked(mut document: Map<String, Value>) -> Result<Map<String, Value>, Invalid> {
    let version = version(&document)?;
    check_identity(&mut document)?;
    if version == 1 {
        complete_v1(&mut document)?;
    }
    let schema = check_schemas(&mut document, version)?;
    check_specs(&mut document, &schema)?;
    check_sort_orders(&document, &schema)?;
    let fields = Fields::of_map(&document, OF);
    if fields.optional_properties("properties")?.is_none() {
        document.insert("properties".to_owned(), json!({}));
    }
    let snapshots = check_snapshots(&mut document, version)?;
    check_refs(&mut document, version, &snapshots)?;
    check_logs(&document)?;
    check_files(&document)?;
    set_legacy_fields(&mut document, version);
    Ok(document)
}

/// The format version, if it is known.
fn version(document: &Map<String, Value>) -> Result<i32, Invalid> {
    let version = Fields::of_map(document, OF).int("format-version")?;
    check_version(version)?;
    Ok(version)
}

/// Refuses unknown format versions.
pub(super) fn check_version(version: i32) -> Result<(), Invalid> {
    match (1..=FORMAT_VERSION_MAX).contains(&version) {
        true => Ok(()),
        false => Err(Invalid::new(format!(
            "unsupported format-version {version} (supported: 1 to {FORMAT_VERSION_MAX})"
        ))),
    }
}

fn check_identity(document: &mut Map<String, Value>) -> Result<(), Invalid> {
    let fields = Fields::of_map(document, OF);
    files::check_uuid(fields.text("table-uuid")?, "table-uuid")?;
    fields.long("last-updated-ms")?;
    let last = fields.int("last-column-id")?;
    if !(0..=FIELD_ID_MAX).contains(&last) {
        refuse!("last-column-id must be 0 to {FIELD_ID_MAX}, not {last}");
    }
    let location = files::checked_location(fields.text("location")?, "location")?.to_owned();
    document.insert("location".to_owned(), location.into());
    Ok(())
}

/// Makes the lists of format version 1 of the single fields that older writers have.
fn complete_v1(document: &mut Map<String, Value>) -> Result<(), Invalid> {
    let fields = Fields::of_map(document, OF);
    let mut added: Vec<(&str, Value)> = Vec::new();
    if fields.optional("schemas").is_none() {
        let mut schema = fields.value("schema")?.clone();
        let id = match &mut schema {
            Value::Object(map) => map.entry("schema-id").or_insert(0.into()).clone(),
            _ => refuse!("schema must be an object"),
        };
        added.extend([("schemas", json!([schema])), ("current-schema-id", id)]);
    }
    if fields.optional("partition-specs").is_none() {
        let spec = json!({"spec-id": 0, "fields": fields.value("partition-spec")?});
        added.extend([("partition-specs", json!([spec])), ("default-spec-id", 0.into())]);
    }
    if fields.optional("sort-orders").is_none() {
        let order = json!({"order-id": UNSORTED, "fields": []});
        added.extend([("sort-orders", json!([order])), ("default-sort-order-id", UNSORTED.into())]);
    }
    document.extend(added.into_iter().map(|(name, value)| (name.to_owned(), value)));
    Ok(())
}

/// Checks the schemas. Returns the current one.
fn check_schemas(document: &mut Map<String, Value>, version: i32) -> Result<Schema, Invalid> {
    // Old writers of format version 1 leave the id of the only schema out.
    for schema in objects_mut(document, "schemas") {
        schema.entry("schema-id").or_insert(0.into());
    }
    let fields = Fields::of_map(document, OF);
    let current_id = fields.int("current-schema-id")?;
    let last = fields.int("last-column-id")?;
    let (mut current, mut ids) = (None, HashSet::new());
    for map in objects(&fields, "schemas")? {
        let schema = Schema::parse(map)?;
        let id = Fields::of_map(map, "schema").int("schema-id")?;
        if !ids.insert(id) {
            refuse!("schemas: schema-id {id} is used more than once");
        }
        schema.check_version(version)?;
        if let Some((lowest, highest)) = schema.range_of_ids()
            && (lowest < 0 || highest > last)
        {
            refuse!("schema {id} has columns {lowest} to {highest}, but last-column-id is {last}");
        }
        if id == current_id {
            current = Some(schema);
        }
    }
    current.ok_or_else(|| {
        Invalid::new(format!("current-schema-id {current_id} is not among the schemas"))
    })
}

/// Checks the partition specs, the default one against the current schema. Others may name columns that were dropped.
fn check_specs(document: &mut Map<String, Value>, schema: &Schema) -> Result<(), Invalid> {
    // Fields without ids, of old writers, count from 1000.
    for spec in objects_mut(document, "partition-specs") {
        if fields_mut(spec).all(|field| !field.contains_key("field-id")) {
            for (field, id) in fields_mut(spec).zip(PARTITION_FIELD_ID_MIN..) {
                field.insert("field-id".to_owned(), id.into());
            }
        }
    }
    let fields = Fields::of_map(document, OF);
    let default_id = fields.int("default-spec-id")?;
    let (mut has_default, mut ids) = (false, HashSet::new());
    let mut highest = PARTITION_FIELD_ID_MIN - 1;
    for map in objects(&fields, "partition-specs")? {
        let id = Fields::of_map(map, "partition spec").int("spec-id")?;
        let spec = PartitionSpec::parse(map)?;
        if !ids.insert(id) {
            refuse!("partition-specs: spec-id {id} is used more than once");
        }
        highest = spec.fields.iter().filter_map(|field| field.id).fold(highest, i32::max);
        if id == default_id {
            spec.check(schema)?;
            has_default = true;
        }
    }
    if !has_default {
        refuse!("default-spec-id {default_id} is not among the partition-specs");
    }
    let has_fields = highest >= PARTITION_FIELD_ID_MIN;
    match fields.optional_int("last-partition-id")? {
        Some(last) if has_fields && last < highest => {
            refuse!("last-partition-id is {last}, but there is a partition field {highest}")
        }
        Some(_) => Ok(()),
        None if version(document)? == 1 => {
            document.insert("last-partition-id".to_owned(), highest.into());
            Ok(())
        }
        None => Err(Invalid::new(format!("{OF}: last-partition-id is missing"))),
    }
}

fn check_sort_orders(document: &Map<String, Value>, schema: &Schema) -> Result<(), Invalid> {
    let fields = Fields::of_map(document, OF);
    let default_id = fields.int("default-sort-order-id")?;
    let (mut has_default, mut ids) = (false, HashSet::new());
    for map in objects(&fields, "sort-orders")? {
        let id = Fields::of_map(map, "sort order").int("order-id")?;
        let order = SortOrder::parse(map)?;
        order.check_id(id)?;
        if !ids.insert(id) {
            refuse!("sort-orders: order-id {id} is used more than once");
        }
        if id == default_id {
            order.check(schema)?;
            has_default = true;
        }
    }
    match has_default {
        true => Ok(()),
        false => Err(Invalid::new(format!(
            "default-sort-order-id {default_id} is not among the sort-orders"
        ))),
    }
}

/// Checks the snapshots against the sequence number and the row id of the table. Returns their ids.
fn check_snapshots(
    document: &mut Map<String, Value>,
    version: i32,
) -> Result<HashSet<i64>, Invalid> {
    let fields = Fields::of_map(document, OF);
    let last = match (version, fields.optional_long("last-sequence-number")?) {
        (1, None | Some(0)) => 0,
        (1, Some(last)) => {
            refuse!("last-sequence-number must be 0 in format version 1, not {last}")
        }
        (_, Some(last)) => last,
        (_, None) => fields.long("last-sequence-number")?,
    };
    let next_row = fields.optional_long("next-row-id")?;
    if version >= 3 && next_row.is_none_or(|next| next < 0) {
        refuse!("next-row-id must be there in format version {version}, and not be negative");
    }
    let mut ids = HashSet::new();
    let snapshots = fields.optional_list("snapshots")?;
    let is_missing = snapshots.is_none();
    for value in snapshots.unwrap_or_default() {
        let Value::Object(map) = value else { refuse!("snapshots must be objects") };
        let snapshot = Snapshot::parse(map)?;
        if !ids.insert(snapshot.id) {
            refuse!("snapshots: snapshot-id {} is used more than once", snapshot.id);
        }
        let number = snapshot.sequence_number;
        if number > last {
            let id = snapshot.id;
            refuse!(
                "snapshot {id} has the sequence-number {number}, but last-sequence-number is {last}"
            );
        }
    }
    if is_missing {
        document.insert("snapshots".to_owned(), json!([]));
    }
    Ok(ids)
}

/// Checks branches and tags. The current snapshot is that of `main`; old writers name only one of both.
fn check_refs(
    document: &mut Map<String, Value>,
    version: i32,
    snapshots: &HashSet<i64>,
) -> Result<(), Invalid> {
    let fields = Fields::of_map(document, OF);
    let current = fields.optional_long("current-snapshot-id")?.filter(|id| *id != -1);
    if let Some(id) = current
        && !snapshots.contains(&id)
    {
        refuse!("current-snapshot-id {id} is not among the snapshots");
    }
    let mut main = None;
    for (name, value) in fields.optional_object("refs")?.into_iter().flatten() {
        let of = format!("reference {}", quoted(name));
        let reference = SnapshotReference::from_fields(&Fields::of(value, &of)?)?;
        let id = reference.snapshot_id;
        if !snapshots.contains(&id) {
            refuse!("{of}: snapshot-id {id} is not among the snapshots");
        }
        if name == MAIN_BRANCH {
            if !reference.is_branch() {
                refuse!("{of} must be a branch");
            }
            main = Some(id);
        }
    }
    match (current, main) {
        (Some(current), Some(main)) if current != main => {
            refuse!("current-snapshot-id is {current}, but the branch main is at {main}");
        }
        (None, Some(main)) => {
            refuse!("current-snapshot-id is missing, but the branch main is at {main}");
        }
        _ => {}
    }
    let refs = document.entry("refs").or_insert_with(|| json!({}));
    if refs.is_null() {
        *refs = json!({});
    }
    if let (Some(id), None, Value::Object(refs)) = (current, main, refs) {
        refs.insert(MAIN_BRANCH.to_owned(), json!({"snapshot-id": id, "type": "branch"}));
    }
    // Readers of older versions want a number.
    let none = if version >= 3 { Value::Null } else { (-1).into() };
    document.insert("current-snapshot-id".to_owned(), current.map_or(none, Value::from));
    Ok(())
}

/// Checks that logs are in order, up to the difference between clocks.
fn check_logs(document: &Map<String, Value>) -> Result<(), Invalid> {
    let fields = Fields::of_map(document, OF);
    let updated = fields.long("last-updated-ms")?;
    for log in ["snapshot-log", "metadata-log"] {
        let mut latest: Option<i64> = None;
        for entry in fields.optional_list(log)?.unwrap_or_default() {
            let entry = Fields::of(entry, log)?;
            let at = entry.long("timestamp-ms")?;
            match log {
                "snapshot-log" => {
                    entry.long("snapshot-id")?;
                }
                _ => {
                    entry.text("metadata-file")?;
                }
            }
            if latest.is_some_and(|latest| is_before(at, latest)) {
                refuse!("{log}: timestamp-ms {at} is before the entry before it");
            }
            latest = Some(at);
        }
        if let Some(latest) = latest
            && is_before(updated, latest)
        {
            refuse!("last-updated-ms {updated} is before the last entry of {log}, {latest}");
        }
    }
    Ok(())
}

/// `true` if a time is before another one, by more than clocks differ.
pub(super) fn is_before(at: i64, other: i64) -> bool {
    at < other.saturating_sub(CLOCK_SKEW_MS_MAX)
}

fn check_files(document: &Map<String, Value>) -> Result<(), Invalid> {
    let fields = Fields::of_map(document, OF);
    for map in optional_objects(&fields, "statistics")? {
        files::check_statistics(map)?;
    }
    for map in optional_objects(&fields, "partition-statistics")? {
        files::check_partition_statistics(map)?;
    }
    let mut ids = HashSet::new();
    for map in optional_objects(&fields, "encryption-keys")? {
        let id = files::check_encryption_key(map)?;
        if !ids.insert(id) {
            refuse!("encryption-keys: key-id {} is used more than once", quoted(id));
        }
    }
    Ok(())
}

/// Writes the fields that format version 1 has for old readers, and removes them from later versions, where they would go
/// stale.
fn set_legacy_fields(document: &mut Map<String, Value>, version: i32) {
    let by_id = |list: &str, id_name: &str, id: &str| {
        let id = document.get(id)?;
        document.get(list)?.as_array()?.iter().find(|it| it.get(id_name) == Some(id)).cloned()
    };
    if version == 1 {
        let schema = by_id("schemas", "schema-id", "current-schema-id");
        let spec = by_id("partition-specs", "spec-id", "default-spec-id");
        let fields = spec.map(|mut spec| spec["fields"].take());
        document.extend(schema.map(|schema| ("schema".to_owned(), schema)));
        document.extend(fields.map(|fields| ("partition-spec".to_owned(), fields)));
        document.remove("last-sequence-number");
    } else {
        document.remove("schema");
        document.remove("partition-spec");
    }
}

/// The objects of a list that must be there.
fn objects<'d>(fields: &Fields<'d>, name: &str) -> Result<Vec<&'d Map<String, Value>>, Invalid> {
    fields.list(name)?;
    optional_objects(fields, name)
}

fn optional_objects<'d>(
    fields: &Fields<'d>,
    name: &str,
) -> Result<Vec<&'d Map<String, Value>>, Invalid> {
    let values = fields.optional_list(name)?.unwrap_or_default().iter();
    let objects = values.map(|value| value.as_object()).collect::<Option<_>>();
    objects.ok_or_else(|| Invalid::new(format!("{name} must be an array of objects")))
}

fn objects_mut<'d>(
    document: &'d mut Map<String, Value>,
    name: &str,
) -> impl Iterator<Item = &'d mut Map<String, Value>> + use<'d> {
    let list = document.get_mut(name).and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}
