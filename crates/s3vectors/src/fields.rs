//! The fields of a JSON request: each is taken with a type check, and errors name its path.

use liteio_store::StoreError;
use liteio_store::invalid_field::pointer;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::error::{ApiResult, Exception};
use super::reader::{
    Reader, TREE_VALUES_MAX, foreign_number, has_too_many_values, reason, value_count_bound,
};
use super::unique;

/// A JSON object in a request, with its path. Unknown fields are ignored, as on AWS.
#[derive(Clone, Debug)]
pub(super) struct Fields {
    path: String,
    map: Map<String, Value>,
}

impl Fields {
    /// Parses the body of a request; an empty body has no fields.
    pub(super) fn of_body(body: &[u8]) -> ApiResult<Fields> {
        if body.is_empty() {
            return Ok(Fields::empty());
        }
        match tree(body).map_err(|error| unreadable(&error))? {
            Value::Object(map) => Ok(Fields { path: String::new(), map }),
            _ => Err(Exception::invalid("The request body is not a JSON object.")),
        }
    }

    /// No fields.
    pub(super) fn empty() -> Fields {
        Fields::of_map("", Map::new())
    }

    pub(super) fn of_map(path: impl Into<String>, map: Map<String, Value>) -> Fields {
        Fields { path: path.into(), map }
    }

    /// The path of a field in the request, such as `/metadataConfiguration/nonFilterableMetadataKeys`.
    pub(super) fn path(&self, name: &str) -> String {
        pointer(&self.path, name)
    }

    fn wrong(&self, name: &str, message: &str) -> Exception {
        Exception::field(self.path(name), message)
    }

    /// A string, which stays among the fields.
    pub(super) fn peek(&self, name: &str) -> Option<&str> {
        self.map.get(name).and_then(Value::as_str)
    }

    /// Takes a field of any type; `null` counts as missing.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.map.remove(name).filter(|value| !value.is_null())
    }

    pub(super) fn require<T>(&self, name: &str, value: Option<T>) -> ApiResult<T> {
        value.ok_or_else(|| StoreError::required(self.path(name)).into())
    }

    pub(super) fn string(&mut self, name: &str) -> ApiResult<Option<String>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(name, "it is not a string")),
        }
    }

    pub(super) fn boolean(&mut self, name: &str) -> ApiResult<bool> {
        match self.take(name) {
            None => Ok(false),
            Some(Value::Bool(value)) => Ok(value),
            Some(_) => Err(self.wrong(name, "it is not a boolean")),
        }
    }

    /// Takes an integer within `range`.
    pub(super) fn number(
        &mut self,
        name: &str,
        range: std::ops::RangeInclusive<u64>,
    ) -> ApiResult<Option<u64>> {
        let Some(value) = self.take(name) else { return Ok(None) };
        if !value.is_number() {
            return Err(self.wrong(name, "it is not a number"));
        }
        if value.is_f64() {
            return Err(self.wrong(name, &format!("{value} is not a whole number")));
        }
        let whole = value.as_u64().filter(|number| range.contains(number));
        whole.map(Some).ok_or_else(|| StoreError::out_of_range(self.path(name), &range).into())
    }

    pub(super) fn object(&mut self, name: &str) -> ApiResult<Option<Fields>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Object(map)) => Ok(Some(Fields { path: self.path(name), map })),
            Some(_) => Err(self.wrong(name, "it is not an object")),
        }
    }

    pub(super) fn list(&mut self, name: &str) -> ApiResult<Option<Vec<Value>>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Array(values)) => Ok(Some(values)),
            Some(_) => Err(self.wrong(name, "it is not a list")),
        }
    }

    pub(super) fn strings(&mut self, name: &str) -> ApiResult<Option<Vec<String>>> {
        let Some(values) = self.list(name)? else { return Ok(None) };
        let list = self.path(name);
        let text = |(position, value)| match value {
            Value::String(text) => Ok(text),
            _ => Err(Exception::field(pointer(&list, position), "it is not a string")),
        };
        values.into_iter().enumerate().map(text).collect::<ApiResult<_>>().map(Some)
    }

    /// Takes a list of objects.
    pub(super) fn objects(&mut self, name: &str) -> ApiResult<Option<Vec<Fields>>> {
        let Some(values) = self.list(name)? else { return Ok(None) };
        let list = self.path(name);
        let object = |(position, value)| {
            let path = pointer(&list, position);
            match value {
                Value::Object(map) => Ok(Fields { path, map }),
                _ => Err(Exception::field(path, "it is not an object")),
            }
        };
        values.into_iter().enumerate().map(object).collect::<ApiResult<_>>().map(Some)
    }

    /// Takes a map of strings.
    pub(super) fn texts(&mut self, name: &str) -> ApiResult<Option<Vec<(String, String)>>> {
        let Some(fields) = self.object(name)? else { return Ok(None) };
        let Fields { path, map } = fields;
        let text = |(key, value)| match value {
            Value::String(text) => Ok((key, text)),
            _ => Err(Exception::field(pointer(&path, key), "it is not a string")),
        };
        map.into_iter().map(text).collect::<ApiResult<_>>().map(Some)
    }

    /// Takes one of the given words.
    pub(super) fn choice<T: Copy>(
        &mut self,
        name: &str,
        choices: &[(&str, T)],
    ) -> ApiResult<Option<T>> {
        let Some(text) = self.string(name)? else { return Ok(None) };
        let found = choices.iter().find(|(word, _)| *word == text);
        found.map(|(_, value)| Some(*value)).ok_or_else(|| {
            let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
            StoreError::none_of(self.path(name), &words).into()
        })
    }
}

/// The fields of a streamed body that are parsed into trees: all but the large ones.
#[derive(Debug, Default)]
pub(super) struct Others {
    map: Map<String, Value>,
    /// An upper bound of the number of values in all fields taken so far.
    values: usize,
}

impl Others {
    /// Takes the value of a field from the reader.
    pub(super) fn take(&mut self, reader: &mut Reader<'_>, name: &str) -> ApiResult<()> {
        let text = reader.skip(|| pointer("", name))?;
        self.values += value_count_bound(text);
        if self.values > TREE_VALUES_MAX {
            return Err(unreadable(&TreeError::TooManyValues));
        }
        let is_of_the_field = || is_json(text) || foreign_number(text).is_some();
        let value = tree(text).map_err(|error| match is_of_the_field() {
            // A number out of range, a repeated member, half of a surrogate pair or a NaN, which is
            // invalid in every field of this API.
            true => Exception::field(pointer("", name), error.to_string()),
            false => unreadable(&error),
        })?;
        self.map.insert(name.to_owned(), value);
        Ok(())
    }

    pub(super) fn into_fields(self) -> Fields {
        Fields::of_map("", self.map)
    }
}

/// The reason why a JSON text was not parsed into a tree.
#[derive(Debug, thiserror::Error)]
pub(super) enum TreeError {
    #[error("it has more than {TREE_VALUES_MAX} values")]
    TooManyValues,
    /// A repeated member.
    #[error(transparent)]
    Ambiguous(serde_json::Error),
    /// With the reason.
    #[error("{0}")]
    Malformed(String),
}

/// Parses a JSON text into a tree.
pub(super) fn tree(text: &[u8]) -> Result<Value, TreeError> {
    match has_too_many_values(text) {
        true => Err(TreeError::TooManyValues),
        false => unique::from_slice(text).map_err(|error| match error.is_data() {
            true => TreeError::Ambiguous(error),
            false => TreeError::Malformed(reason(text, &error)),
        }),
    }
}

/// True if a text is valid JSON, even with values that a tree cannot hold.
fn is_json(text: &[u8]) -> bool {
    let text = std::str::from_utf8(text);
    text.is_ok_and(|text| serde_json::from_str::<IgnoredAny>(text).is_ok())
}

/// The error for a request body that cannot be parsed into a tree.
pub(super) fn unreadable(error: &TreeError) -> Exception {
    match error {
        TreeError::TooManyValues => Exception::invalid(format!(
            "The request body has more than {TREE_VALUES_MAX} JSON values."
        )),
        TreeError::Ambiguous(error) => {
            Exception::invalid(format!("The request body is ambiguous: {error}"))
        }
        TreeError::Malformed(reason) => Exception::malformed(reason),
    }
}
