//! Converts metadata between JSON and the store.

use liteio_store::vectors::{Metadata, MetadataValue, Number, Scalar};
use serde_json::{Map, Value};

/// Converts a JSON scalar; `None` for arrays and objects.
pub(super) fn scalar(value: &Value) -> Option<Scalar> {
    match value {
        Value::String(text) => Some(Scalar::String(text.clone())),
        Value::Bool(value) => Some(Scalar::Boolean(*value)),
        Value::Number(number) => number_of(number).map(Scalar::Number),
        _ => None,
    }
}

pub(super) fn number_of(number: &serde_json::Number) -> Option<Number> {
    let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    whole.map(Number::Integer).or_else(|| number.as_f64().map(Number::Float))
}

/// Converts a JSON object to metadata.
pub(super) fn metadata(map: Map<String, Value>) -> Metadata {
    Metadata(map.into_iter().map(|(key, value)| (key, metadata_value(value))).collect())
}

fn metadata_value(value: Value) -> MetadataValue {
    if let Some(scalar) = scalar(&value) {
        return MetadataValue::Scalar(scalar);
    }
    if let Value::Array(values) = &value
        && let Some(scalars) = values.iter().map(scalar).collect()
    {
        return MetadataValue::List(scalars);
    }
    MetadataValue::Document(value.to_string())
}

/// Converts metadata to a JSON object.
pub(super) fn json(metadata: &Metadata) -> Value {
    let pair = |(key, value): &(String, MetadataValue)| (key.clone(), json_value(value));
    Value::Object(metadata.0.iter().map(pair).collect())
}

fn json_value(value: &MetadataValue) -> Value {
    match value {
        MetadataValue::Scalar(scalar) => json_scalar(scalar),
        MetadataValue::List(scalars) => scalars.iter().map(json_scalar).collect(),
        // The text was checked to be JSON when it was put.
        MetadataValue::Document(text) => serde_json::from_str(text).unwrap_or(Value::Null),
    }
}

fn json_scalar(scalar: &Scalar) -> Value {
    match scalar {
        Scalar::String(text) => Value::String(text.clone()),
        Scalar::Boolean(value) => Value::Bool(*value),
        Scalar::Number(Number::Float(number)) => Value::from(*number),
        Scalar::Number(Number::Integer(number)) => match i64::try_from(*number) {
            Ok(number) => Value::from(number),
            Err(_) => Value::from(u64::try_from(*number).unwrap_or(u64::MAX)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_comes_back_as_it_was() {
        let text = r#"{"title":"x","year":1999,"large":18446744073709551615,"score":-1.5,"seen":true,
            "genres":["a",1,false],"empty":[],"nested":{"a":[1,{"b":null}]},"nothing":null,
            "mixed":[1,[2]]}"#;
        let Ok(Value::Object(map)) = serde_json::from_str(text) else { panic!("an object") };
        let stored = metadata(map.clone());
        assert_eq!(json(&stored), Value::Object(map));
        let is_document = |key| matches!(stored.get(key), Some(MetadataValue::Document(_)));
        assert!(is_document("nested") && is_document("nothing") && is_document("mixed"));
        assert!(!is_document("genres") && !is_document("empty") && !is_document("year"));
    }

    #[test]
    fn numbers_come_back_with_all_their_digits() {
        // Each text is the shortest form of its nearest double; an inexact parser is off by one
        // unit in the last place.
        for text in
            ["31.245270191439438", "121.48791951161945", "0.1", "1.7976931348623157e308", "5e-324"]
        {
            let body = format!(r#"{{"number":{text}}}"#);
            let Ok(Value::Object(map)) = serde_json::from_str(&body) else { panic!("an object") };
            let number: f64 = text.parse().expect("a number");
            let stored = metadata(map);
            let expected = MetadataValue::Scalar(Scalar::Number(Number::Float(number)));
            assert_eq!(stored.get("number"), Some(&expected));
            assert_eq!(json(&stored)["number"].as_f64(), Some(number));
        }
    }
}
