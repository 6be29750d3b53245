//! JSON without duplicate names.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::error::{PolicyError, Stage};

/// A JSON value; objects keep the order of the document.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    /// A number in its shortest notation.
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// Prefix that marks this module's errors among the parser's.
const TWICE: &str = "The policy has the element twice: ";

/// Parses a document.
///
/// # Errors
/// The document is not JSON, is nested deeper than the parser permits (128), or an object has a
/// duplicate name. Readers resolve duplicates differently, so an allowed and a checked policy could
/// differ.
pub(super) fn parse(text: &[u8]) -> Result<Json, PolicyError> {
    serde_json::from_slice(text).map_err(|error| {
        let error = error.to_string();
        match error.strip_prefix(TWICE) {
            // The parser has appended the position.
            Some(name) => PolicyError::new(format!("{TWICE}{name}")),
            None => PolicyError::about("This policy contains invalid Json", &error).at(Stage::Json),
        }
    })
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::Number(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Json, A::Error> {
        let mut object: Vec<(String, Json)> = Vec::new();
        let mut names = std::collections::HashSet::new();
        while let Some((name, value)) = members.next_entry::<String, Json>()? {
            if !names.insert(name.clone()) {
                return Err(Error::custom(format!("{TWICE}{name}")));
            }
            object.push((name, value));
        }
        Ok(Json::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_keep_their_order_and_numbers_their_shortest_form() {
        let json = parse(br#"{"b": [1, -2, 2.50, true, null], "a": "x"}"#).unwrap();
        let number = |text: &str| Json::Number(text.to_owned());
        let list = vec![number("1"), number("-2"), number("2.5"), Json::Bool(true), Json::Null];
        let object =
            vec![("b".to_owned(), Json::List(list)), ("a".to_owned(), Json::Text("x".to_owned()))];
        assert_eq!(json, Json::Object(object));
    }

    #[test]
    fn damage_and_doubles_are_refused() {
        for text in ["", "{", "{}x", "{\"a\" 1}", "\u{1}", "[1,]", &"[".repeat(100_000)] {
            let error = parse(text.as_bytes()).unwrap_err();
            assert_eq!(error.to_string(), "This policy contains invalid Json", "{text:.10}");
        }
        assert!(parse(b"{\"a\": \"\xff\"}").is_err());
        let error = parse(br#"{"a": {"b": 1, "\u0062": 2}}"#).unwrap_err();
        assert!(error.to_string().starts_with("The policy has the element twice: b"), "{error}");
    }
}
