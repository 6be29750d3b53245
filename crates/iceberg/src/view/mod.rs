//! Metadata of a view.

mod builder;
mod parse;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::error::{Failed, Invalid};
use crate::json::{self, Fields};
use crate::request::CreateView;
use crate::requirement::ViewRequirement;
use crate::update::ViewUpdate;

use self::builder::Builder;

/// Metadata of a view, of format version 1.
///
/// Invariant: the document is one that [`ViewMetadata::parse`] accepts. Unknown fields are kept through every change.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewMetadata {
    document: Map<String, Value>,
}

impl ViewMetadata {
    /// Parses and checks a metadata file, decompressed.
    ///
    /// # Errors
    /// As [`TableMetadata::parse`](crate::TableMetadata::parse).
    pub fn parse(bytes: &[u8]) -> Result<ViewMetadata, Invalid> {
        ViewMetadata::from_value(json::parse(bytes)?)
    }

    /// Checks a document that is parsed.
    ///
    /// # Errors
    /// As [`ViewMetadata::parse`].
    pub fn from_value(document: Value) -> Result<ViewMetadata, Invalid> {
        match document {
            Value::Object(document) => Ok(ViewMetadata { document: parse::checked(document)? }),
            _ => Err(Invalid::new("view metadata must be an object")),
        }
    }

    /// Metadata of a new view.
    ///
    /// # Errors
    /// A schema or version that contradicts the specification.
    pub fn create(
        request: &CreateView,
        uuid: &str,
        location: &str,
        now_ms: i64,
    ) -> Result<ViewMetadata, Invalid> {
        let mut builder = Builder::new(uuid, location, now_ms)?;
        builder.set_properties(&request.properties);
        builder.create(&request.schema, &request.view_version)?;
        builder.build()
    }

    /// Checks a requirement of a commit.
    ///
    /// # Errors
    /// [`Failed`]: another view has the name now.
    pub fn check(&self, requirement: &ViewRequirement) -> Result<(), Failed> {
        match requirement {
            ViewRequirement::ViewUuid(uuid) => {
                Failed::unless_same_uuid("view UUID", uuid, self.uuid())
            }
        }
    }

    /// The metadata after all of the updates, in their order. Updates that change nothing return metadata equal to these.
    ///
    /// # Errors
    /// An update that contradicts the specification or the view.
    pub fn apply(&self, updates: &[ViewUpdate], now_ms: i64) -> Result<ViewMetadata, Invalid> {
        let mut builder = Builder::of(self, now_ms);
        for update in updates {
            builder.apply(update)?;
        }
        if !builder.has_changes() {
            return Ok(self.clone());
        }
        builder.build()
    }

    /// The bytes of a metadata file, not compressed.
    pub fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&self.document).expect("names are strings")
    }

    /// The document.
    pub fn document(&self) -> &Map<String, Value> {
        &self.document
    }

    /// The document for answers.
    pub fn to_value(&self) -> Value {
        Value::Object(self.document.clone())
    }

    /// `format-version`
    pub fn format_version(&self) -> i32 {
        self.read("format-version", Fields::int)
    }

    /// `view-uuid`
    pub fn uuid(&self) -> &str {
        self.read("view-uuid", Fields::text)
    }

    /// `location`, without a slash at its end.
    pub fn location(&self) -> &str {
        self.read("location", Fields::text)
    }

    /// Properties.
    pub fn properties(&self) -> impl Iterator<Item = (&str, &str)> {
        let properties = self.read("properties", Fields::optional_object);
        let pairs = properties.into_iter().flatten();
        pairs.filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
    }

    /// A property.
    pub fn property(&self, key: &str) -> Option<&str> {
        self.document.get("properties")?.get(key)?.as_str()
    }

    /// `current-version-id`
    pub fn current_version_id(&self) -> i32 {
        self.read("current-version-id", Fields::int)
    }

    /// Versions, with the current one among them.
    pub fn versions(&self) -> impl Iterator<Item = &Map<String, Value>> {
        self.objects("versions")
    }

    /// The current version.
    pub fn current_version(&self) -> &Map<String, Value> {
        let id = i64::from(self.current_version_id());
        let found = self
            .objects("versions")
            .find(|version| version.get("version-id").and_then(Value::as_i64) == Some(id));
        found.expect(CHECKED)
    }

    /// Schemas.
    pub fn schemas(&self) -> impl Iterator<Item = &Map<String, Value>> {
        self.objects("schemas")
    }

    fn read<'t, T>(
        &'t self,
        name: &str,
        read: impl FnOnce(&Fields<'t>, &str) -> Result<T, Invalid>,
    ) -> T {
        read(&Fields::of_map(&self.document, "view metadata"), name).expect(CHECKED)
    }

    fn objects<'t>(&'t self, name: &str) -> impl Iterator<Item = &'t Map<String, Value>> + use<'t> {
        let list = self.document.get(name).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_object)
    }
}

/// The reason why reading a document cannot fail: the invariant of [`ViewMetadata`].
const CHECKED: &str = "the document was checked when it was parsed";
