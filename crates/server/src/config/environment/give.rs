//! Conversions from variables to settings: each function takes a variable's value, and returns
//! false if it has no effect after all.

use std::path::{Path, PathBuf};

use liteio_observe::telemetry;
use liteio_wire::private_file;

use crate::cli::ServerArgs;
use crate::key_text;

/// Parses `1`, `true`, `yes`, `on` and their opposites.
fn truth(value: &str) -> Result<bool, String> {
    match value.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err(format!("{value:?} is neither true nor false")),
    }
}

/// As in LocalStack, any other value is false.
fn is_true(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "1" | "true")
}

fn words(value: &str) -> Vec<String> {
    let words = value.split([',', ';', ' ']).map(str::trim);
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

pub(super) fn host(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    let is_bare_ipv6 = value.contains(':') && !value.starts_with('[');
    arguments.host = Some(if is_bare_ipv6 { format!("[{value}]") } else { value.to_owned() });
    Ok(true)
}

pub(super) fn event_target_file(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    arguments.event_target_file = Some(value.into());
    Ok(true)
}

pub(super) fn port(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    let port = value.parse::<u16>().map_err(|_| format!("{value:?} is not a port number"))?;
    arguments.port = Some(port);
    Ok(true)
}

pub(super) fn address(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    arguments.address = Some(value.to_owned());
    Ok(true)
}

pub(super) fn console(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    arguments.console = Some(truth(value)?);
    Ok(true)
}

pub(super) fn console_address(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    arguments.console_address = Some(value.to_owned());
    Ok(true)
}

pub(super) fn console_port(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    let port = value.parse::<u16>().map_err(|_| format!("{value:?} is not a port number"))?;
    arguments.console_address = Some(format!(":{port}"));
    Ok(true)
}

pub(super) fn gateway(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    let first = value.split(',').next().unwrap_or_default().trim();
    let has_port = first.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    arguments.address = Some(if has_port { first.to_owned() } else { format!("{first}:4566") });
    Ok(true)
}

pub(super) fn driver(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    match value.split_once("://") {
        Some(("memory", "")) => {
            arguments.memory = true;
            return Ok(false);
        }
        Some(("local" | "file", path)) if !path.is_empty() => {
            arguments.data_dir = Some(path.into());
        }
        None => arguments.data_dir = Some(value.into()),
        Some(_) => {
            return Err(format!(
                "the driver {value:?} is not supported: give memory:// or local:///DIR, or LITEIO_DATA_DIR"
            ));
        }
    }
    Ok(true)
}

pub(super) fn memory(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    arguments.memory = truth(value)?;
    Ok(true)
}

pub(super) fn not_in_memory(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    arguments.memory = !truth(value)?;
    Ok(true)
}

/// Without retention, S3Mock deletes its files at exit; here the data is then kept in memory.
pub(super) fn retained_root(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    match arguments.sources.get("memory").is_some() && !arguments.memory {
        true => volumes(value, arguments),
        false => Ok(false),
    }
}

pub(super) fn persistence(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    arguments.memory = !is_true(value);
    if !arguments.memory && arguments.sources.get("data_dir").is_none() {
        arguments.data_dir = Some("/var/lib/localstack".into());
    }
    Ok(true)
}

pub(super) fn metrics_auth(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    arguments.metrics_auth = Some(value.to_owned());
    Ok(true)
}

pub(super) fn no_fsync(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    let is_wanted = truth(value)? && !arguments.memory;
    if is_wanted {
        arguments.durability = Some("os".to_owned());
    }
    Ok(is_wanted)
}

pub(super) fn no_log(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    let is_wanted = truth(value)?;
    if is_wanted {
        arguments.log = Some("warn".to_owned());
    }
    Ok(is_wanted)
}

pub(super) fn debug(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    let is_wanted = is_true(value);
    if is_wanted {
        arguments.log = Some("debug".to_owned());
    }
    Ok(is_wanted)
}

/// Parses LocalStack's log levels: ours, and `trace-internal`.
pub(super) fn level(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    let level = value.strip_suffix("-internal").unwrap_or(value).replace("warning", "warn");
    arguments.log = Some(level);
    Ok(true)
}

/// `RUST_LOG`, if it says something about this program: one that is for another crate alone would
/// silence it.
pub(super) fn rust_log(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    let mut parts = value.split(',').map(str::trim);
    let is_ours = parts.any(|part| part.starts_with("liteio") || !part.contains(['=', ':']));
    if !is_ours || telemetry::check_filter(value).is_err() {
        return Ok(false);
    }
    arguments.log = Some(value.to_owned());
    Ok(true)
}

pub(super) fn region(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    arguments.region = Some(value.to_owned());
    Ok(true)
}

pub(super) fn told_region(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    arguments.told_region = Some(value.to_owned());
    Ok(true)
}

pub(super) fn domains(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    arguments.domain = words(value);
    Ok(true)
}

/// A host name with an optional port, added to the profile's domains; IP addresses are ignored.
pub(super) fn localstack_host(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    let host = value.rsplit_once(':').map_or(value, |(host, _)| host);
    if host.parse::<std::net::IpAddr>().is_err() {
        arguments.domain.extend([host.to_owned(), format!("s3.{host}")]);
    }
    Ok(false)
}

/// Added to the profile's origins.
pub(super) fn more_origins(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    arguments.cors_origin.extend(words(value));
    Ok(false)
}

/// A single directory: with several, MinIO would store a part of the data in each.
pub(super) fn volumes(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    arguments.data_dir = Some(one_directory(&words(value))?);
    Ok(true)
}

/// The single directory among the arguments of `minio server`.
///
/// # Errors
/// One line that says what to give instead.
pub(crate) fn one_directory(words: &[String]) -> Result<PathBuf, String> {
    match words {
        [one] if one.contains("...") || one.contains("://") => Err(format!(
            "{one:?} is several drives or servers: LiteIO keeps its data in one directory"
        )),
        [one] => Ok(one.into()),
        _ => {
            Err(format!("{:?} is not one directory: LiteIO keeps its data in one", words.join(" ")))
        }
    }
}

pub(super) fn buckets(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    arguments.bucket = words(value);
    Ok(true)
}

pub(super) fn origins(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    arguments.cors_origin = words(value);
    Ok(true)
}

pub(super) fn kms_key(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    match value.split_once(':') {
        Some(_) if arguments.keys.master_key_file.is_none() => {
            // Before it counts as --master-key: the error names the variable that was set.
            key_text::check(value)?;
            arguments.keys.master_key = Some(value.to_owned());
            Ok(true)
        }
        Some(_) => Ok(false),
        None => Err("not in the form NAME:KEY".to_owned()),
    }
}

pub(super) fn kms_key_file(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    kms_key(&private_file::read_mounted_secret(Path::new(value))?, arguments)
}

pub(super) fn auto_encryption(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    arguments.auto_encryption = truth(value)?;
    Ok(true)
}

/// The names in S3Mock's list, whose ARNs end with them.
pub(super) fn kms_keys(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    let names = words(value).into_iter();
    let names = names.filter_map(|key| key.rsplit('/').next().map(str::to_owned));
    arguments.kms_keys = names.filter(|name| !name.is_empty()).collect();
    Ok(true)
}

pub(super) fn skip(value: &str, arguments: &mut ServerArgs) -> Result<bool, String> {
    arguments.no_auth = is_true(value);
    Ok(true)
}
