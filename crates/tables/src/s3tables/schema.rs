//! The metadata of CreateTable, as a request of the REST catalog.

use std::collections::BTreeSet;

use liteio_iceberg::CreateTable;
use serde_json::{Map, Value, json};

use super::error::not_implemented;
use super::resource::{given, optional_text, text};
use crate::error::{ApiResult, Exception};

/// The request for a table with the `metadata` of a body; `None` for a table without metadata.
pub(super) fn request_of(document: &Value, name: &str) -> ApiResult<Option<CreateTable>> {
    let Some(metadata) = given(document, "metadata") else { return Ok(None) };
    let iceberg = given(metadata, "iceberg")
        .ok_or_else(|| Exception::bad_request("metadata must have the member iceberg."))?;
    let schema = match (given(iceberg, "schema"), given(iceberg, "schemaV2")) {
        (Some(schema), None) => json!({ "type": "struct", "fields": fields_of(schema)? }),
        (None, Some(schema)) => schema.clone(),
        _ => return Err(Exception::bad_request("metadata must have either schema or schemaV2.")),
    };
    let mut request =
        Map::from_iter([("name".to_owned(), name.into()), ("schema".to_owned(), schema)]);
    let others = [
        ("partitionSpec", "partition-spec"),
        ("writeOrder", "write-order"),
        ("properties", "properties"),
    ];
    for (field, name) in others {
        if let Some(value) = given(iceberg, field) {
            request.insert(name.to_owned(), value.clone());
        }
    }
    let request = CreateTable::from_value(&Value::Object(request));
    request.map(Some).map_err(|error| Exception::bad_request(error.to_string()))
}

/// The fields of a schema, whose ids and nullability may be missing there.
fn fields_of(schema: &Value) -> ApiResult<Vec<Value>> {
    let fields = schema.get("fields").and_then(Value::as_array);
    let fields = fields.ok_or_else(|| Exception::bad_request("schema must have fields."))?;
    let mut taken: BTreeSet<u64> =
        fields.iter().filter_map(|field| field.get("id")?.as_u64()).collect();
    let mut next = 1;
    let mut free = || {
        while !taken.insert(next) {
            next += 1;
        }
        next
    };
    let complete = |field: &Value| {
        let id = given(field, "id").cloned().unwrap_or_else(|| free().into());
        let required = given(field, "required").cloned().unwrap_or(false.into());
        let (name, kind) = (text(field, "name")?, text(field, "type")?);
        Ok(json!({ "id": id, "name": name, "type": kind, "required": required }))
    };
    fields.iter().map(complete).collect()
}

/// Checks that the body of a creation asks for no other storage class than there is.
pub(super) fn check_storage_class(document: &Value) -> ApiResult<()> {
    let Some(configuration) = given(document, "storageClassConfiguration") else { return Ok(()) };
    match optional_text(configuration, "storageClass")? {
        None | Some("STANDARD") => Ok(()),
        Some(_) => Err(not_implemented("The storage class of tables is STANDARD.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_get_the_ids_that_are_free() {
        let schema = json!({ "fields": [
            { "name": "a", "type": "long", "required": true },
            { "id": 1, "name": "b", "type": "string" },
            { "name": "c", "type": "date" },
        ] });
        let document = json!({ "metadata": { "iceberg": {
            "schema": schema, "partitionSpec": { "fields": [] }, "properties": { "k": "v" } } } });
        let request = request_of(&document, "t").expect("a request").expect("with metadata");
        let of = |index: usize, member: &str| request.schema["fields"][index][member].clone();
        assert_eq!([of(0, "id"), of(1, "id"), of(2, "id")], [2, 1, 3].map(Value::from));
        assert_eq!((of(0, "required"), of(2, "required")), (true.into(), false.into()));
        assert!(request.partition_spec.is_some() && request.write_order.is_none());
        assert_eq!(request.properties["k"], "v");
    }

    #[test]
    fn metadata_without_one_schema_are_refused() {
        assert_eq!(request_of(&json!({ "metadata": null }), "t"), Ok(None));
        let two =
            json!({ "schema": { "fields": [] }, "schemaV2": { "type": "struct", "fields": [] } });
        let untyped = json!({ "schema": { "fields": [{ "name": "a" }] } });
        for iceberg in [json!({ "properties": { "k": "v" } }), two, untyped] {
            let document = json!({ "metadata": { "iceberg": iceberg } });
            request_of(&document, "t").expect_err("refused");
        }
        request_of(&json!({ "metadata": { "other": 1 } }), "t").expect_err("refused");
    }
}
