//! The Iceberg REST catalog.

use super::{ConfigError, error};
use crate::cli::ServerArgs;
use liteio_tables::Settings as TableSettings;

pub(super) fn resolve(arguments: &ServerArgs) -> Result<TableSettings, ConfigError> {
    let settings = match arguments.iceberg_warehouse.as_deref().map(TableSettings::with_warehouse) {
        None => TableSettings::default(),
        Some(Ok(settings)) => settings,
        Some(Err(reason)) => return error(format!("--iceberg-warehouse: {reason}")),
    };
    Ok(TableSettings { own_locations: arguments.iceberg_own_locations, ..settings })
}
