//! Messages of verbs that have many kinds of them.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::SUCCESS;
use crate::error::Error;
use crate::session::Session;

/// A text for people, with an object for programs.
pub(super) struct Note {
    text: String,
    json: Value,
}

impl Note {
    /// `json` is an object; it gets the status of a success unless it has one.
    pub(super) fn new(text: impl Into<String>, mut json: Value) -> Note {
        if let Some(fields) = json.as_object_mut() {
            fields.entry("status").or_insert_with(|| json!(SUCCESS));
        }
        Note { text: text.into(), json }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl Serialize for Note {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(serializer)
    }
}

/// Prints a [`Note`].
pub(super) fn tell(session: &Session, text: impl Into<String>, json: Value) -> Result<(), Error> {
    session.output.print(&Note::new(text, json))
}
