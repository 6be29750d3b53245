//! Names of namespaces, tables and views.

use std::fmt;

use serde_json::{Value, json};

use crate::error::{Invalid, quoted, refuse};
use crate::json::Fields;
use crate::limits::{NAME_BYTES_MAX, NAMESPACE_BYTES_MAX, NAMESPACE_LEVELS_MAX};

/// The separator of levels in paths and query parameters of the REST catalog: the unit separator.
pub const LEVEL_SEPARATOR: char = '\u{1f}';

/// The name of a namespace: one level or more.
///
/// Invariant: 1 to [`NAMESPACE_LEVELS_MAX`] levels, each a [`check_name`]d text, [`NAMESPACE_BYTES_MAX`] bytes at most.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Namespace(Vec<String>);

impl Namespace {
    /// The namespace with these levels, outermost first.
    ///
    /// # Errors
    /// No level, too many, too long ones, or a level that is no name.
    pub fn new(levels: Vec<String>) -> Result<Namespace, Invalid> {
        if levels.is_empty() {
            refuse!("a namespace needs at least one level");
        }
        if levels.len() > NAMESPACE_LEVELS_MAX {
            refuse!("a namespace has at most {NAMESPACE_LEVELS_MAX} levels");
        }
        for level in &levels {
            check_name(level, "the level of a namespace")?;
        }
        let bytes: usize = levels.iter().map(|level| level.len() + 1).sum();
        if bytes > NAMESPACE_BYTES_MAX {
            refuse!("a namespace has at most {NAMESPACE_BYTES_MAX} bytes with its separators");
        }
        Ok(Namespace(levels))
    }

    /// The namespace of a segment of a path, percent-decoded: levels with [`LEVEL_SEPARATOR`] between them.
    ///
    /// # Errors
    /// As [`Namespace::new`].
    pub fn from_path(segment: &str) -> Result<Namespace, Invalid> {
        Namespace::new(segment.split(LEVEL_SEPARATOR).map(str::to_owned).collect())
    }

    /// The segment that [`Namespace::from_path`] reads, not percent-encoded.
    pub fn to_path(&self) -> String {
        self.0.join("\u{1f}")
    }

    /// The namespace of an array of strings.
    ///
    /// # Errors
    /// As [`Namespace::new`], and a value that is none.
    pub fn from_value(value: &Value) -> Result<Namespace, Invalid> {
        let levels = value.as_array().and_then(|levels| {
            levels.iter().map(|level| level.as_str().map(str::to_owned)).collect()
        });
        match levels {
            Some(levels) => Namespace::new(levels),
            None => Err(Invalid::new("a namespace must be an array of strings")),
        }
    }

    /// The array of its levels.
    pub fn to_value(&self) -> Value {
        json!(self.0)
    }

    /// Levels, outermost first.
    pub fn levels(&self) -> &[String] {
        &self.0
    }

    /// The namespace around this one. `None` for one of the first level.
    pub fn parent(&self) -> Option<Namespace> {
        match self.0.split_last() {
            Some((_, parent)) if !parent.is_empty() => Some(Namespace(parent.to_vec())),
            _ => None,
        }
    }
}

/// Levels with dots between them, for messages. A level may contain dots itself.
impl fmt::Display for Namespace {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.join("."))
    }
}

/// The name of a table or view with its namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identifier {
    namespace: Namespace,
    name: String,
}

impl Identifier {
    /// The identifier of a table or view of a namespace.
    ///
    /// # Errors
    /// A name that [`check_name`] refuses.
    pub fn new(namespace: Namespace, name: impl Into<String>) -> Result<Identifier, Invalid> {
        let name = name.into();
        check_name(&name, "the name of a table or view")?;
        Ok(Identifier { namespace, name })
    }

    /// The identifier of `{"namespace": […], "name": "…"}`.
    ///
    /// # Errors
    /// As [`Namespace::from_value`] and [`Identifier::new`].
    pub fn from_value(value: &Value) -> Result<Identifier, Invalid> {
        let fields = Fields::of(value, "identifier")?;
        Identifier::new(Namespace::from_value(fields.value("namespace")?)?, fields.text("name")?)
    }

    /// The object that [`Identifier::from_value`] reads.
    pub fn to_value(&self) -> Value {
        json!({"namespace": self.namespace.to_value(), "name": self.name})
    }

    /// The namespace.
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }

    /// The name without its namespace.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Namespace and name with a dot between them, for messages.
impl fmt::Display for Identifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.namespace, self.name)
    }
}

/// Checks a level of a namespace, or the name of a table or view. Dots, slashes and spaces are legal. Refused are: the
/// empty name, `.` and `..`, which HTTP clients take out of a path even where they are percent-encoded; control
/// characters, one of which separates levels; names of more than [`NAME_BYTES_MAX`] bytes.
///
/// # Errors
/// [`Invalid::Malformed`]; `of` is the first word of the message.
pub fn check_name(name: &str, of: &str) -> Result<(), Invalid> {
    if name.is_empty() {
        refuse!("{of} must not be empty");
    }
    if name.len() > NAME_BYTES_MAX {
        refuse!("{of} must not have more than {NAME_BYTES_MAX} bytes");
    }
    if name == "." || name == ".." {
        refuse!("{of} must not be {name:?}");
    }
    if name.chars().any(char::is_control) {
        refuse!("{of} must not contain control characters: {}", quoted(name));
    }
    Ok(())
}
