//! Updates.
use super::ViewMetadata;
use crate::{error::Invalid, update::ViewUpdate};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
pub(super) struct Builder;
impl Builder {
    pub(super) fn new(_: &str, _: &str, _: i64) -> Result<Builder, Invalid> {
        Ok(Builder)
    }
    pub(super) fn of(_: &ViewMetadata, _: i64) -> Builder {
        Builder
    }
    pub(super) fn apply(&mut self, _: &ViewUpdate) -> Result<(), Invalid> {
        Ok(())
    }
    pub(super) fn has_changes(&self) -> bool {
        false
    }
    pub(super) fn set_properties(&mut self, _: &BTreeMap<String, String>) {}
    pub(super) fn create(
        &mut self,
        _: &Map<String, Value>,
        _: &Map<String, Value>,
    ) -> Result<(), Invalid> {
        Ok(())
    }
    pub(super) fn build(self) -> Result<ViewMetadata, Invalid> {
        Err(Invalid::new("follows"))
    }
}
