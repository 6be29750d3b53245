//! Schemas: their columns by id and by name.

mod fresh;
#[cfg(test)]
mod tests;
mod types;

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use crate::error::{Invalid, quoted, refuse};
use crate::json::Fields;

pub(crate) use self::fresh::{Fresh, with_fresh_ids};
pub(crate) use self::types::Primitive;

/// The type of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Primitive(Primitive),
    Struct,
    List,
    Map,
}

/// A column, a field of a struct, the element of a list, the key or value of a map.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    /// Names from the root, with dots between them.
    pub(crate) name: String,
    pub(crate) kind: Type,
    is_required: bool,
    has_initial_default: bool,
    has_write_default: bool,
    /// The column around it.
    parent: Option<i32>,
}

/// A checked schema.
pub(crate) struct Schema {
    columns: BTreeMap<i32, Column>,
    ids: HashMap<String, i32>,
}

impl Schema {
    /// Checks a schema: ids and full names are unique, types are known, defaults fit them, identifier fields exist and are
    /// required primitives.
    pub(crate) fn parse(map: &Map<String, Value>) -> Result<Schema, Invalid> {
        let fields = Fields::of_map(map, "schema");
        if fields.text("type")? != "struct" {
            refuse!("schema: type must be struct");
        }
        fields.optional_int("schema-id")?;
        let mut schema = Schema { columns: BTreeMap::new(), ids: HashMap::new() };
        schema.add_struct(map, None)?;
        for id in fields.optional_ints("identifier-field-ids")?.unwrap_or_default() {
            schema.check_identifier(id)?;
        }
        Ok(schema)
    }

    fn add_struct(&mut self, map: &Map<String, Value>, parent: Option<i32>) -> Result<(), Invalid> {
        for field in Fields::of_map(map, "struct").list("fields")? {
            let fields = Fields::of(field, "field")?;
            let name = fields.text("name")?;
            let of = format!("field {}", quoted(name));
            let fields = Fields::of(field, &of)?;
            fields.optional_text("doc")?;
            let kind = fields.value("type")?;
            let column = Column {
                name: self.full_name(parent, name),
                kind: parse_type(kind)?,
                is_required: fields.boolean("required")?,
                has_initial_default: fields.optional("initial-default").is_some(),
                has_write_default: fields.optional("write-default").is_some(),
                parent,
            };
            for default in ["initial-default", "write-default"] {
                if let Some(value) = fields.optional(default)
                    && !is_value_of(value, &column.kind)
                {
                    refuse!("{of}: {default} does not fit the type");
                }
            }
            if column.is_required && column.kind == Type::Primitive(Primitive::Unknown) {
                refuse!("{of}: a column of type unknown must be optional");
            }
            self.add(fields.int("id")?, column, kind)?;
        }
        Ok(())
    }

    /// Adds a column, then those within its type.
    fn add(&mut self, id: i32, column: Column, kind: &Value) -> Result<(), Invalid> {
        if let Some(other) = self.columns.get(&id) {
            let (one, two) = (quoted(&other.name), quoted(&column.name));
            refuse!("schema: the fields {one} and {two} both have the id {id}");
        }
        if let Some(other) = self.ids.insert(column.name.clone(), id) {
            let name = quoted(&column.name);
            refuse!("schema: the fields {other} and {id} both have the name {name}");
        }
        let nested = column.kind.clone();
        self.columns.insert(id, column);
        let Value::Object(map) = kind else { return Ok(()) };
        match nested {
            Type::Primitive(_) => Ok(()),
            Type::Struct => self.add_struct(map, Some(id)),
            Type::List => self.add_part(map, id, "element"),
            Type::Map => {
                self.add_part(map, id, "key")?;
                self.add_part(map, id, "value")
            }
        }
    }

    /// Adds the element of a list, or the key or value of a map.
    fn add_part(
        &mut self,
        map: &Map<String, Value>,
        parent: i32,
        part: &str,
    ) -> Result<(), Invalid> {
        let fields = Fields::of_map(map, part);
        let kind = fields.value(part)?;
        // Keys are always required.
        let is_required = part == "key" || fields.boolean(&format!("{part}-required"))?;
        let column = Column {
            name: self.full_name(Some(parent), part),
            kind: parse_type(kind)?,
            is_required,
            has_initial_default: false,
            has_write_default: false,
            parent: Some(parent),
        };
        self.add(fields.int(&format!("{part}-id"))?, column, kind)
    }

    fn full_name(&self, parent: Option<i32>, name: &str) -> String {
        match parent.and_then(|parent| self.columns.get(&parent)) {
            Some(parent) => format!("{}.{name}", parent.name),
            None => name.to_owned(),
        }
    }

    fn check_identifier(&self, id: i32) -> Result<(), Invalid> {
        let Some(column) = self.columns.get(&id) else {
            refuse!("schema: the identifier field {id} does not exist");
        };
        let name = quoted(&column.name);
        match &column.kind {
            Type::Primitive(Primitive::Float | Primitive::Double) => {
                refuse!("schema: the identifier field {name} must not be a float or double");
            }
            Type::Primitive(_) if !column.is_required => {
                refuse!("schema: the identifier field {name} must be required");
            }
            Type::Primitive(_) => {}
            _ => refuse!("schema: the identifier field {name} must have a primitive type"),
        }
        for around in self.around(column) {
            if around.kind != Type::Struct || !around.is_required {
                let around = quoted(&around.name);
                refuse!(
                    "schema: the identifier field {name} is in {around}, which is no required struct"
                );
            }
        }
        Ok(())
    }

    /// Columns around a column, innermost first.
    fn around<'s>(&'s self, column: &'s Column) -> impl Iterator<Item = &'s Column> {
        let outer = |column: &&'s Column| column.parent.and_then(|id| self.columns.get(&id));
        std::iter::successors(outer(&column), move |column| outer(column))
    }

    /// `true` if only structs are around the column.
    pub(crate) fn is_in_structs(&self, column: &Column) -> bool {
        self.around(column).all(|around| around.kind == Type::Struct)
    }

    /// The column with an id.
    pub(crate) fn column(&self, id: i32) -> Option<&Column> {
        self.columns.get(&id)
    }

    /// The id of the column with a full name.
    pub(crate) fn id_of(&self, name: &str) -> Option<i32> {
        self.ids.get(name).copied()
    }

    /// The lowest and the highest id. `None` for a schema without columns.
    pub(crate) fn range_of_ids(&self) -> Option<(i32, i32)> {
        Some((*self.columns.first_key_value()?.0, *self.columns.last_key_value()?.0))
    }

    /// Refuses types and defaults that came with a later format version.
    pub(crate) fn check_version(&self, version: i32) -> Result<(), Invalid> {
        for column in self.columns.values() {
            let name = quoted(&column.name);
            if let Type::Primitive(primitive) = &column.kind
                && primitive.format_version() > version
            {
                let least = primitive.format_version();
                refuse!(
                    "Invalid schema for v{version}: the type of {name}, {primitive}, is not supported until v{least}"
                );
            }
            if version < 3 && (column.has_initial_default || column.has_write_default) {
                refuse!(
                    "Invalid schema for v{version}: the default of {name} is not supported until v3"
                );
            }
        }
        Ok(())
    }
}

fn parse_type(value: &Value) -> Result<Type, Invalid> {
    match value {
        Value::String(name) => Ok(Type::Primitive(Primitive::parse(name)?)),
        Value::Object(map) => match Fields::of_map(map, "type").text("type")? {
            "struct" => Ok(Type::Struct),
            "list" => Ok(Type::List),
            "map" => Ok(Type::Map),
            other => Err(Invalid::new(format!("unknown type: {}", quoted(other)))),
        },
        _ => Err(Invalid::new("a type must be a string or an object")),
    }
}

/// `true` if the JSON value can be one of the type (specification, "JSON single-value serialization"), as far as the kind of
/// JSON value decides it.
fn is_value_of(value: &Value, kind: &Type) -> bool {
    let Type::Primitive(primitive) = kind else {
        // A default of a struct is the empty struct; lists and maps have none but their empty ones.
        return match kind {
            Type::Struct | Type::Map => value.is_object(),
            _ => value.is_array(),
        };
    };
    match primitive {
        Primitive::Boolean => value.is_boolean(),
        Primitive::Int => value.as_i64().is_some_and(|value| i32::try_from(value).is_ok()),
        Primitive::Long => value.is_i64(),
        Primitive::Float | Primitive::Double => value.is_number(),
        Primitive::Unknown
        | Primitive::Variant
        | Primitive::Geometry(_)
        | Primitive::Geography(_) => false,
        _ => value.is_string(),
    }
}

/// `true` if the schemas have the same columns and identifier fields. Their own ids do not count.
pub(crate) fn is_same(one: &Map<String, Value>, two: &Map<String, Value>) -> bool {
    comparable(one) == comparable(two)
}

fn comparable(schema: &Map<String, Value>) -> Value {
    let mut map = schema.clone();
    map.remove("schema-id");
    if let Some(Value::Array(ids)) = map.get_mut("identifier-field-ids") {
        ids.sort_by_key(Value::as_i64);
        if ids.is_empty() {
            map.remove("identifier-field-ids");
        }
    }
    let mut value = Value::Object(map);
    normalize(&mut value);
    value
}

/// Spells types alike, and removes fields that are `null`.
fn normalize(value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(normalize),
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            for (name, value) in map {
                if let Value::String(text) = value
                    && matches!(name.as_str(), "type" | "element" | "key" | "value")
                    && let Ok(primitive) = Primitive::parse(text)
                {
                    *text = primitive.to_string();
                }
                normalize(value);
            }
        }
        _ => {}
    }
}
