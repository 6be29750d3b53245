//! The log, set up once by the binary. The library only emits events, so that several servers in
//! one process, and programs that embed them, can use their own subscriber.

mod background;
mod fields;

use std::io::{self, IsTerminal as _};

use tracing_subscriber::filter::{self, FilterFn, Targets};
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

pub use self::background::LogGuard;
use self::fields::PlainFields;

/// Crates whose events are always dropped, whatever the filter: s3s logs every 4xx as an error, and
/// logs parts of signatures at debug level.
const NOISE: [&str; 4] = ["s3s", "hyper", "hyper_util", "h2"];

/// The format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// UTC with milliseconds.
struct Utc;

impl FormatTime for Utc {
    fn format_time(
        &self,
        writer: &mut tracing_subscriber::fmt::format::Writer<'_>,
    ) -> std::fmt::Result {
        write!(writer, "{:.3}", jiff::Timestamp::now())
    }
}

/// Checks that [`init`] accepts this filter.
///
/// # Errors
/// The reason, in a few words.
pub fn check_filter(filter: &str) -> Result<(), String> {
    parse(filter).map(drop)
}

fn parse(filter: &str) -> Result<Targets, String> {
    if filter.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    // `tracing` reads an empty level as the most verbose one, and an empty target as all targets.
    let is_half = |part: &str| part.starts_with('=') || part.ends_with('=');
    if let Some(half) = filter.split(',').map(str::trim).find(|part| is_half(part)) {
        return Err(format!("{half:?} is not TARGET=LEVEL"));
    }
    // `tracing` reads a word that is no level as a target, and then shows that one alone.
    let is_level = |word: &str| word.parse::<filter::LevelFilter>().is_ok();
    let is_known = |part: &str| {
        let target = part.split("::").next().unwrap_or_default();
        part.contains('=') || is_level(part) || target.starts_with("liteio")
    };
    if let Some(word) = filter.split(',').map(str::trim).find(|part| !is_known(part)) {
        return Err(format!("{word:?} is none of error, warn, info, debug, trace and off"));
    }
    filter.parse().map_err(|error: filter::ParseError| error.to_string())
}

/// Writes the events of this process to standard error, until the guard is dropped.
///
/// # Errors
/// An invalid filter, another subscriber that is already installed, or no thread for writing.
pub fn init(filter: &str, format: LogFormat) -> Result<LogGuard, String> {
    let (writer, guard) = background::start(io::stderr())
        .map_err(|error| format!("cannot start the thread of the log: {error}"))?;
    let quiet = FilterFn::new(|metadata| !is_noise(metadata.target()));
    let layer = tracing_subscriber::fmt::layer().with_writer(writer).with_timer(Utc);
    let layer = layer.with_ansi(io::stderr().is_terminal());
    let layer = match format {
        LogFormat::Text => layer.fmt_fields(PlainFields).boxed(),
        LogFormat::Json => layer.json().flatten_event(true).with_current_span(false).boxed(),
    };
    tracing_subscriber::registry()
        .with(parse(filter)?)
        .with(quiet)
        .with(layer)
        .try_init()
        .map_err(|error| error.to_string())?;
    Ok(guard)
}

fn is_noise(target: &str) -> bool {
    let root = target.split("::").next().unwrap_or_default();
    NOISE.contains(&root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters() {
        for filter in ["info", "warn,liteio::access=info", "liteio=debug", "OFF", "liteio"] {
            assert_eq!(check_filter(filter), Ok(()), "{filter}");
        }
        for filter in ["", "  ", "liteio=loud", "=,=", "verbose", "info,verbose"] {
            assert!(check_filter(filter).is_err(), "{filter}");
        }
    }

    #[test]
    fn noise() {
        assert!(is_noise("s3s::ops") && is_noise("hyper"));
        assert!(!is_noise("liteio::access") && !is_noise("s3sx"));
    }
}
