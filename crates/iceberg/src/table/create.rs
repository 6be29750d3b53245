//! Creation of a table.
use super::TableMetadata;
use crate::{error::Invalid, request::CreateTable};
pub(super) fn create(_: &CreateTable, _: &str, _: &str, _: i64) -> Result<TableMetadata, Invalid> {
    Err(Invalid::new("follows"))
}
