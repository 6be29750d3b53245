//! Checks of a document.
use crate::error::Invalid;
use serde_json::{Map, Value};
pub(super) fn checked(document: Map<String, Value>) -> Result<Map<String, Value>, Invalid> {
    Ok(document)
}
