//! The rate and the intervals of background work: scrubs, lifecycle rules, restores, access logs.

use std::time::Duration;

use super::{ConfigError, error};
use crate::cli::ServerArgs;
use liteio_reports::Settings as ReportSettings;

/// A day of 24 hours.
pub(super) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Time that a restore takes: clients see that it is in progress, and tests wait for no hours.
pub(super) const RESTORE_DELAY: Duration = Duration::from_secs(1);
/// Longest time of a restore. AWS's slowest ones take two days.
const RESTORE_DELAY_SECONDS_MAX: u32 = 7 * 24 * 60 * 60;

/// The background scrub, which reads all data again periodically to find damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scrub {
    /// Days between the end of one scrub and the start of the next; 0 for scrubs on request only.
    pub days: u32,
    /// Scrub rate in MiB per second.
    pub mib_per_second: u32,
}

impl Default for Scrub {
    fn default() -> Scrub {
        Scrub { days: 7, mib_per_second: 8 }
    }
}

pub(super) fn resolve_lifecycle_day(seconds: Option<u32>) -> Result<Duration, ConfigError> {
    match seconds {
        None => Ok(DAY),
        Some(0) => error("a lifecycle day must not be 0 seconds: give --lifecycle-day 1 or more"),
        Some(seconds) => Ok(Duration::from_secs(seconds.into())),
    }
}

pub(super) fn resolve_restore_delay(seconds: Option<u32>) -> Result<Duration, ConfigError> {
    match seconds {
        None => Ok(RESTORE_DELAY),
        Some(seconds) if seconds <= RESTORE_DELAY_SECONDS_MAX => {
            Ok(Duration::from_secs(seconds.into()))
        }
        Some(_) => error(format!(
            "a restore must not take more than a week: give --restore-delay 0 to \
             {RESTORE_DELAY_SECONDS_MAX}"
        )),
    }
}

pub(super) fn resolve_reports(seconds: Option<u32>) -> Result<ReportSettings, ConfigError> {
    match seconds {
        None => Ok(ReportSettings::default()),
        Some(0) => error(
            "the access log interval must not be 0 seconds: give --access-log-interval 1 or more",
        ),
        Some(seconds) => {
            Ok(ReportSettings { access_log_interval: Duration::from_secs(seconds.into()) })
        }
    }
}

pub(super) fn resolve_scrub(arguments: &ServerArgs) -> Result<Scrub, ConfigError> {
    let default = Scrub::default();
    let days = arguments.scrub_days.unwrap_or(default.days);
    let mib_per_second = arguments.scrub_rate.unwrap_or(default.mib_per_second);
    match mib_per_second {
        0 => error("the scrub rate must not be 0: give --scrub-rate 1 or more"),
        _ => Ok(Scrub { days, mib_per_second }),
    }
}
