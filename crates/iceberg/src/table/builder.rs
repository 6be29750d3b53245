//! Updates.
use super::TableMetadata;
use crate::{error::Invalid, update::Update};
pub(super) struct Builder;
impl Builder {
    pub(super) fn new(_: Option<i32>, _: &str, _: i64) -> Result<Builder, Invalid> {
        Ok(Builder)
    }
    pub(super) fn of(_: &TableMetadata, _: i64) -> Builder {
        Builder
    }
    pub(super) fn apply(&mut self, _: &Update) -> Result<(), Invalid> {
        Ok(())
    }
    pub(super) fn has_changes(&self) -> bool {
        false
    }
    pub(super) fn build(self, _: Option<&str>) -> Result<TableMetadata, Invalid> {
        Err(Invalid::new("follows"))
    }
}
