//! New ids for the columns of a new table.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::error::Invalid;

use super::Schema;

/// A schema with new ids.
pub(crate) struct Fresh {
    pub(crate) schema: Map<String, Value>,
    /// The highest new id.
    pub(crate) last_id: i32,
    /// New ids by old ones.
    pub(crate) ids: HashMap<i32, i32>,
}

/// Gives a checked schema the id 0, and its columns ids from 1: first the fields of a struct, then what is within each of
/// them, as the reference implementation does.
pub(crate) fn with_fresh_ids(schema: &Map<String, Value>) -> Result<Fresh, Invalid> {
    Schema::parse(schema)?;
    let mut fresh = Fresh { schema: schema.clone(), last_id: 0, ids: HashMap::new() };
    let mut schema = std::mem::take(&mut fresh.schema);
    fresh.assign_struct(&mut schema);
    if let Some(Value::Array(identifiers)) = schema.get_mut("identifier-field-ids") {
        for id in identifiers {
            let old = id.as_i64().and_then(|id| i32::try_from(id).ok());
            if let Some(new) = old.and_then(|old| fresh.ids.get(&old)) {
                *id = (*new).into();
            }
        }
    }
    schema.insert("schema-id".to_owned(), 0.into());
    fresh.schema = schema;
    Ok(fresh)
}

impl Fresh {
    fn assign(&mut self, map: &mut Map<String, Value>, name: &str) {
        let Some(value) = map.get_mut(name) else { return };
        let old = value.as_i64().and_then(|old| i32::try_from(old).ok());
        self.last_id += 1;
        *value = self.last_id.into();
        self.ids.extend(old.map(|old| (old, self.last_id)));
    }

    fn assign_struct(&mut self, map: &mut Map<String, Value>) {
        let Some(Value::Array(fields)) = map.get_mut("fields") else { return };
        for field in fields.iter_mut().filter_map(Value::as_object_mut) {
            self.assign(field, "id");
        }
        for field in fields.iter_mut().filter_map(Value::as_object_mut) {
            self.assign_within(field.get_mut("type"));
        }
    }

    fn assign_within(&mut self, kind: Option<&mut Value>) {
        let Some(Value::Object(map)) = kind else { return };
        match map.get("type").and_then(Value::as_str) {
            Some("struct") => self.assign_struct(map),
            Some("list") => {
                self.assign(map, "element-id");
                self.assign_within(map.get_mut("element"));
            }
            Some("map") => {
                self.assign(map, "key-id");
                self.assign(map, "value-id");
                self.assign_within(map.get_mut("key"));
                self.assign_within(map.get_mut("value"));
            }
            _ => {}
        }
    }
}
