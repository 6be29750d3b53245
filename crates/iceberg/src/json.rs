//! JSON: parsing that loses nothing, and fields with the types that they must have.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use crate::error::{Invalid, quoted, refuse};

/// Parses a document. A name that is repeated within an object is refused, because readers differ in which they take, and
/// so is an integer of more than 64 bits, because it would be rounded.
///
/// # Errors
/// [`Invalid::Malformed`] with the line and column.
pub fn parse(bytes: &[u8]) -> Result<Value, Invalid> {
    check_integers(bytes)?;
    match serde_json::from_slice::<Strict>(bytes) {
        Ok(Strict(value)) => Ok(value),
        Err(error) => Err(Invalid::new(format!("not JSON: {error}"))),
    }
}

/// Refuses integers that neither `i64` nor `u64` holds. The parser would read them as floating-point numbers.
fn check_integers(bytes: &[u8]) -> Result<(), Invalid> {
    /// Digits that always fit.
    const DIGITS: usize = 18;
    let mut rest = bytes;
    while let Some(at) = rest.iter().position(|byte| *byte == b'"' || byte.is_ascii_digit()) {
        let found = &rest[at..];
        if found[0] == b'"' {
            rest = after_string(&found[1..]);
            continue;
        }
        let is_numeric = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
        let end = found.iter().position(|byte| !is_numeric(byte)).unwrap_or(found.len());
        let number = &found[..end];
        if number.len() > DIGITS && number.iter().all(u8::is_ascii_digit) {
            let is_negative = at > 0 && rest[at - 1] == b'-';
            let digits = String::from_utf8_lossy(number);
            let fits = match is_negative {
                true => format!("-{digits}").parse::<i64>().is_ok(),
                false => digits.parse::<u64>().is_ok(),
            };
            if !fits {
                refuse!(
                    "not JSON of Iceberg: the integer {} has more than 64 bits",
                    quoted(&digits)
                );
            }
        }
        rest = &found[end..];
    }
    Ok(())
}

/// Bytes behind the end of a string.
fn after_string(mut rest: &[u8]) -> &[u8] {
    loop {
        let Some(at) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\')) else {
            return &[];
        };
        if rest[at] == b'"' {
            return &rest[at + 1..];
        }
        rest = rest.get(at + 2..).unwrap_or_default();
    }
}

/// A value whose objects have no repeated names.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Strict, D::Error> {
        deserializer.deserialize_any(StrictVisitor)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Strict;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Strict, E> {
        Ok(Strict(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Strict, E> {
        Ok(Strict(Value::Number(value.into())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Strict, E> {
        Ok(Strict(Value::Number(value.into())))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Strict, E> {
        Ok(Strict(Number::from_f64(value).map_or(Value::Null, Value::Number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Strict, E> {
        Ok(Strict(Value::String(value.to_owned())))
    }

    fn visit_string<E>(self, value: String) -> Result<Strict, E> {
        Ok(Strict(Value::String(value)))
    }

    fn visit_unit<E>(self) -> Result<Strict, E> {
        Ok(Strict(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Strict, A::Error> {
        let mut values = Vec::new();
        while let Some(Strict(value)) = access.next_element()? {
            values.push(value);
        }
        Ok(Strict(Value::Array(values)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Strict, A::Error> {
        let mut map = Map::new();
        while let Some(name) = access.next_key::<String>()? {
            let Strict(value) = access.next_value()?;
            match map.entry(name) {
                Entry::Vacant(entry) => drop(entry.insert(value)),
                Entry::Occupied(entry) => {
                    let message = format!("the name {} is repeated", quoted(entry.key()));
                    return Err(A::Error::custom(message));
                }
            }
        }
        Ok(Strict(Value::Object(map)))
    }
}

/// The fields of an object, and its name in messages. `null` is an absent field.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'v> {
    map: &'v Map<String, Value>,
    of: &'v str,
}

impl<'v> Fields<'v> {
    /// The fields of a value that must be an object.
    pub(crate) fn of(value: &'v Value, of: &'v str) -> Result<Fields<'v>, Invalid> {
        match value {
            Value::Object(map) => Ok(Fields { map, of }),
            _ => Err(Invalid::new(format!("{of} must be an object"))),
        }
    }

    /// The fields of an object.
    pub(crate) fn of_map(map: &'v Map<String, Value>, of: &'v str) -> Fields<'v> {
        Fields { map, of }
    }

    pub(crate) fn optional(&self, name: &str) -> Option<&'v Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn value(&self, name: &str) -> Result<&'v Value, Invalid> {
        self.optional(name).ok_or_else(|| self.missing(name))
    }

    pub(crate) fn text(&self, name: &str) -> Result<&'v str, Invalid> {
        self.optional_text(name)?.ok_or_else(|| self.missing(name))
    }

    pub(crate) fn optional_text(&self, name: &str) -> Result<Option<&'v str>, Invalid> {
        self.read(name, "a string", Value::as_str)
    }

    pub(crate) fn int(&self, name: &str) -> Result<i32, Invalid> {
        self.optional_int(name)?.ok_or_else(|| self.missing(name))
    }

    pub(crate) fn optional_int(&self, name: &str) -> Result<Option<i32>, Invalid> {
        self.read(name, "an integer of 32 bits", as_int)
    }

    pub(crate) fn long(&self, name: &str) -> Result<i64, Invalid> {
        self.optional_long(name)?.ok_or_else(|| self.missing(name))
    }

    pub(crate) fn optional_long(&self, name: &str) -> Result<Option<i64>, Invalid> {
        self.read(name, "an integer of 64 bits", Value::as_i64)
    }

    pub(crate) fn boolean(&self, name: &str) -> Result<bool, Invalid> {
        self.optional_boolean(name)?.ok_or_else(|| self.missing(name))
    }

    pub(crate) fn optional_boolean(&self, name: &str) -> Result<Option<bool>, Invalid> {
        self.read(name, "true or false", Value::as_bool)
    }

    pub(crate) fn list(&self, name: &str) -> Result<&'v [Value], Invalid> {
        self.optional_list(name)?.ok_or_else(|| self.missing(name))
    }

    pub(crate) fn optional_list(&self, name: &str) -> Result<Option<&'v [Value]>, Invalid> {
        self.read(name, "an array", |value| value.as_array().map(Vec::as_slice))
    }

    pub(crate) fn optional_object(
        &self,
        name: &str,
    ) -> Result<Option<&'v Map<String, Value>>, Invalid> {
        self.read(name, "an object", Value::as_object)
    }

    /// An array of integers of 32 bits.
    pub(crate) fn ints(&self, name: &str) -> Result<Vec<i32>, Invalid> {
        self.optional_ints(name)?.ok_or_else(|| self.missing(name))
    }

    pub(crate) fn optional_ints(&self, name: &str) -> Result<Option<Vec<i32>>, Invalid> {
        self.read(name, "an array of integers of 32 bits", |value| {
            value.as_array()?.iter().map(as_int).collect()
        })
    }

    /// An array of integers of 64 bits.
    pub(crate) fn longs(&self, name: &str) -> Result<Vec<i64>, Invalid> {
        let ids = self.read(name, "an array of integers of 64 bits", |value| {
            value.as_array()?.iter().map(Value::as_i64).collect()
        })?;
        ids.ok_or_else(|| self.missing(name))
    }

    /// An array of strings.
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<String>, Invalid> {
        self.optional_texts(name)?.ok_or_else(|| self.missing(name))
    }

    pub(crate) fn optional_texts(&self, name: &str) -> Result<Option<Vec<String>>, Invalid> {
        self.read(name, "an array of strings", |value| {
            value.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
        })
    }

    /// An object of strings.
    pub(crate) fn properties(&self, name: &str) -> Result<BTreeMap<String, String>, Invalid> {
        self.optional_properties(name)?.ok_or_else(|| self.missing(name))
    }

    pub(crate) fn optional_properties(
        &self,
        name: &str,
    ) -> Result<Option<BTreeMap<String, String>>, Invalid> {
        self.read(name, "an object of strings", |value| {
            let pairs = value.as_object()?.iter();
            pairs.map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
        })
    }

    fn read<T>(
        &self,
        name: &str,
        kind: &str,
        read: impl FnOnce(&'v Value) -> Option<T>,
    ) -> Result<Option<T>, Invalid> {
        let Some(value) = self.optional(name) else { return Ok(None) };
        match read(value) {
            Some(read) => Ok(Some(read)),
            None => Err(Invalid::new(format!("{}: {name} must be {kind}", self.of))),
        }
    }

    fn missing(&self, name: &str) -> Invalid {
        Invalid::new(format!("{}: {name} is missing", self.of))
    }
}

fn as_int(value: &Value) -> Option<i32> {
    value.as_i64().and_then(|value| value.try_into().ok())
}

/// A copy of a value that must be an object.
pub(crate) fn object(value: &Value, of: &str) -> Result<Map<String, Value>, Invalid> {
    value.as_object().cloned().ok_or_else(|| Invalid::new(format!("{of} must be an object")))
}
