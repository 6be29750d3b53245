//! Metadata of a view.

mod builder;
mod parse;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use crate::document::Document;
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
    document: Document,
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
            Value::Object(document) => {
                Ok(ViewMetadata { document: Document::checked(parse::checked(document)?) })
            }
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
        self.document.to_bytes()
    }

    /// The document.
    pub fn document(&self) -> &Map<String, Value> {
        &self.document
    }

    /// The document for answers.
    pub fn to_value(&self) -> Value {
        Value::Object((*self.document).clone())
    }

    /// `format-version`
    pub fn format_version(&self) -> i32 {
        self.document.read("format-version", Fields::int)
    }

    /// `view-uuid`
    pub fn uuid(&self) -> &str {
        self.document.read("view-uuid", Fields::text)
    }

    /// `location`, without a slash at its end.
    pub fn location(&self) -> &str {
        self.document.read("location", Fields::text)
    }

    /// Properties.
    pub fn properties(&self) -> impl Iterator<Item = (&str, &str)> {
        self.document.properties()
    }

    /// A property.
    pub fn property(&self, key: &str) -> Option<&str> {
        self.document.property(key)
    }

    /// `current-version-id`
    pub fn current_version_id(&self) -> i32 {
        self.document.read("current-version-id", Fields::int)
    }

    /// Versions, with the current one among them.
    pub fn versions(&self) -> impl Iterator<Item = &Map<String, Value>> {
        self.document.objects("versions")
    }

    /// The current version.
    pub fn current_version(&self) -> &Map<String, Value> {
        self.document.by_id("versions", "version-id", self.current_version_id())
    }

    /// Schemas.
    pub fn schemas(&self) -> impl Iterator<Item = &Map<String, Value>> {
        self.document.objects("schemas")
    }
}
