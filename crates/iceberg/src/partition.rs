//! Partition specs.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::error::{Invalid, quoted, refuse};
use crate::json::Fields;
use crate::limits::PARTITION_FIELD_ID_MIN;
use crate::schema::Schema;
use crate::transform::Transform;

/// A partition spec.
pub(crate) struct PartitionSpec {
    pub(crate) fields: Vec<PartitionField>,
}

/// A field of a partition spec.
pub(crate) struct PartitionField {
    /// The columns; one, except of transforms that this version does not know.
    pub(crate) sources: Vec<i32>,
    /// The id, which old writers leave out.
    pub(crate) id: Option<i32>,
    pub(crate) name: String,
    pub(crate) transform: Transform,
}

impl PartitionField {
    /// `true` if the fields have the same columns and transform, so that they share an id.
    pub(crate) fn is_like(&self, other: &PartitionField) -> bool {
        self.sources == other.sources && self.transform == other.transform
    }
}

impl PartitionSpec {
    /// Checks a spec by itself: names and ids of its fields are unique, and all or none have an id.
    pub(crate) fn parse(map: &Map<String, Value>) -> Result<PartitionSpec, Invalid> {
        let fields = Fields::of_map(map, "partition spec");
        fields.optional_int("spec-id")?;
        let mut parsed: Vec<PartitionField> = Vec::new();
        let (mut names, mut ids) = (HashSet::new(), HashSet::new());
        for field in fields.list("fields")? {
            let field = parse_field(field)?;
            let name = quoted(&field.name);
            if field.name.is_empty() {
                refuse!("partition spec: the name of a field must not be empty");
            }
            if !names.insert(field.name.clone()) {
                refuse!("partition spec: the name {name} is used more than once");
            }
            if let Some(id) = field.id
                && !ids.insert(id)
            {
                refuse!("partition spec: field-id {id} is used more than once");
            }
            parsed.push(field);
        }
        if !ids.is_empty() && ids.len() != parsed.len() {
            refuse!("partition spec: field-id is missing in some fields");
        }
        Ok(PartitionSpec { fields: parsed })
    }

    /// Checks the fields against the schema that they partition. Fields with the transform `void` stay when their column
    /// is dropped.
    pub(crate) fn check(&self, schema: &Schema) -> Result<(), Invalid> {
        for field in &self.fields {
            let name = quoted(&field.name);
            let of = format!("partition field {name}");
            let is_bound = field.sources.iter().all(|id| schema.column(*id).is_some());
            if let Some(id) = schema.id_of(&field.name)
                && is_bound
                && !field.sources.contains(&id)
            {
                refuse!("{of}: the schema has another column of that name");
            }
            if field.transform == Transform::Void {
                continue;
            }
            field.transform.check(&field.sources, schema, &of)?;
            let columns = field.sources.iter().filter_map(|id| schema.column(*id));
            if columns.into_iter().any(|column| !schema.is_in_structs(column)) {
                refuse!("{of}: the column must not be in a list or map");
            }
        }
        Ok(())
    }

    /// `true` if partitions of both are the same but for ids: a spec is used again then.
    pub(crate) fn is_same(&self, other: &PartitionSpec) -> bool {
        self.fields.len() == other.fields.len()
            && self
                .fields
                .iter()
                .zip(&other.fields)
                .all(|(one, two)| one.name == two.name && one.is_like(two))
    }

    /// `true` if ids count from 1000, as format version 1 has them.
    pub(crate) fn has_sequential_ids(&self) -> bool {
        self.fields.iter().zip(PARTITION_FIELD_ID_MIN..).all(|(field, id)| field.id == Some(id))
    }
}

fn parse_field(value: &Value) -> Result<PartitionField, Invalid> {
    let fields = Fields::of(value, "partition field")?;
    let name = fields.text("name")?;
    let of = format!("partition field {}", quoted(name));
    let fields = Fields::of(value, &of)?;
    Ok(PartitionField {
        sources: sources(&fields)?,
        id: fields.optional_int("field-id")?,
        name: name.to_owned(),
        transform: Transform::parse(fields.text("transform")?)?,
    })
}

/// `source-id`, or `source-ids` of transforms with several columns.
pub(crate) fn sources(fields: &Fields<'_>) -> Result<Vec<i32>, Invalid> {
    match (fields.optional_int("source-id")?, fields.optional_ints("source-ids")?) {
        (Some(id), None) => Ok(vec![id]),
        (Some(id), Some(ids)) if ids != [id] => {
            Err(Invalid::new("source-id and source-ids contradict each other"))
        }
        (_, Some(ids)) if !ids.is_empty() => Ok(ids),
        _ => fields.int("source-id").map(|id| vec![id]),
    }
}

/// Replaces the sources of a field of a spec or order.
pub(crate) fn set_sources(map: &mut Map<String, Value>, sources: &[i32]) {
    if map.contains_key("source-ids") {
        map.insert("source-ids".to_owned(), sources.into());
    }
    if let [source] = sources
        && map.contains_key("source-id")
    {
        map.insert("source-id".to_owned(), (*source).into());
    }
}

/// Objects of `fields` of a checked spec or order.
pub(crate) fn fields_mut(
    map: &mut Map<String, Value>,
) -> impl Iterator<Item = &mut Map<String, Value>> {
    let fields = map.get_mut("fields").and_then(Value::as_array_mut);
    fields.into_iter().flatten().filter_map(Value::as_object_mut)
}
