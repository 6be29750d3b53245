//! Parses JSON trees and rejects objects with repeated members.
//!
//! serde_json takes the last of two members with the same name, other parsers the first. So a proxy
//! or a policy could have seen another value than the one stored.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Parses a JSON text.
///
/// # Errors
/// Syntax errors, and an error of the category data for a repeated member.
pub(super) fn from_slice(text: &[u8]) -> serde_json::Result<Value> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let value = Unique.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

struct Unique;

impl<'de> DeserializeSeed<'de> for Unique {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(Unique)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = object.next_key::<String>()? {
            if map.contains_key(&name) {
                return Err(A::Error::custom(format_args!("{name:?} is there twice")));
            }
            map.insert(name, object.next_value_seed(Unique)?);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_members_twice_is_what_it_is() {
        for text in [
            r#"{"a":[1,-2,1.5,18446744073709551615,"x\ny",true,null,{}],"b":{"a":[]}}"#,
            "[]",
            " 7 ",
            r#""text""#,
            "1.7976931348623157e308",
        ] {
            let expected: Value = serde_json::from_str(text).expect(text);
            assert_eq!(from_slice(text.as_bytes()).expect(text), expected);
        }
        for text in ["", "{", "1 2", "[1,]", "1e400", "NaN", r#"{"a":1,}"#, "\"\\x\""] {
            let expected = serde_json::from_str::<Value>(text).expect_err(text);
            let error = from_slice(text.as_bytes()).expect_err(text);
            assert_eq!(error.to_string(), expected.to_string(), "{text}");
            assert!(!error.is_data(), "{text}");
        }
        assert!(from_slice("[".repeat(200).as_bytes()).is_err(), "too deep");
    }

    #[test]
    fn a_member_twice_is_an_error_at_any_depth() {
        for text in [
            r#"{"a":1,"a":1}"#,
            r#"{"a":1,"b":{"c":[{"a":1,"b":2,"a":3}]}}"#,
            r#"{"a":1,"\u0061":1}"#,
            r#"{"a":1,"a":NaN"#,
        ] {
            let error = from_slice(text.as_bytes()).expect_err(text);
            assert!(error.is_data(), "{error}");
            assert!(error.to_string().starts_with(r#""a" is there twice at line 1"#), "{error}");
        }
    }
}
