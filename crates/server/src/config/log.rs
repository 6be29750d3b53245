//! The filter and the format of the log.

use super::{ConfigError, error};
use crate::cli::ServerArgs;
use liteio_observe::telemetry::{self, LogFormat};

pub(super) const DEFAULT_LOG: &str = "info";

pub(super) fn resolve_log(filter: &str) -> Result<String, ConfigError> {
    match telemetry::check_filter(filter) {
        Ok(()) => Ok(filter.to_owned()),
        Err(reason) => error(format!(
            "the log filter {filter:?} is not valid ({reason}): give --log LEVEL or \
             --log TARGET=LEVEL,…"
        )),
    }
}

pub(super) fn resolve_log_format(arguments: &ServerArgs) -> Result<LogFormat, ConfigError> {
    let default = if arguments.minio.json { "json" } else { "text" };
    match arguments.log_format.as_deref().unwrap_or(default) {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        other => error(format!("the log format {other:?} is unknown: give text or json")),
    }
}
