//! [`Document`]: the JSON document of metadata, checked.

use std::ops::Deref;

use serde_json::{Map, Value};

use crate::error::Invalid;
use crate::json::Fields;

/// A document that was checked when it was parsed, so that reading its fields does not fail.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Document(Map<String, Value>);

impl Document {
    /// A document that the caller has checked.
    pub(crate) fn checked(map: Map<String, Value>) -> Document {
        Document(map)
    }

    /// The bytes of a file, not compressed.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&self.0).expect("names are strings")
    }

    /// A field, read by one of the methods of [`Fields`].
    pub(crate) fn read<'d, T>(
        &'d self,
        name: &str,
        read: impl FnOnce(&Fields<'d>, &str) -> Result<T, Invalid>,
    ) -> T {
        read(&Fields::of_map(&self.0, "metadata"), name).expect(CHECKED)
    }

    /// The objects of a list; none without the list.
    pub(crate) fn objects<'d>(
        &'d self,
        name: &str,
    ) -> impl Iterator<Item = &'d Map<String, Value>> + use<'d> {
        let list = self.0.get(name).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_object)
    }

    /// The object of a list whose field `id_name` is `id`, which is in it.
    pub(crate) fn by_id(&self, list: &str, id_name: &str, id: i32) -> &Map<String, Value> {
        let id = i64::from(id);
        let mut objects = self.objects(list);
        let found = objects.find(|it| it.get(id_name).and_then(Value::as_i64) == Some(id));
        found.expect(CHECKED)
    }

    /// The properties.
    pub(crate) fn properties(&self) -> impl Iterator<Item = (&str, &str)> {
        let properties = self.read("properties", Fields::optional_object);
        let pairs = properties.into_iter().flatten();
        pairs.filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
    }

    /// A property.
    pub(crate) fn property(&self, key: &str) -> Option<&str> {
        self.0.get("properties")?.get(key)?.as_str()
    }
}

impl Deref for Document {
    type Target = Map<String, Value>;

    fn deref(&self) -> &Map<String, Value> {
        &self.0
    }
}

/// The reason why reading a document cannot fail.
pub(crate) const CHECKED: &str = "the document was checked when it was parsed";
