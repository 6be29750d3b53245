//! Names in filters of the history: a mistyped one would match nothing, and a test would wait for its time limit.

use liteio_store::EventKind;
use liteio_wire::nearest::{nearest, nearest_within};
use liteio_wire::reply::ApiError;

use super::glob::Glob;
use super::guard::bad_request;

/// Differences of a mistyped name. Three are between names such as `CreateTable` and `CreateRole`.
const SLIPS_MAX: usize = 2;

/// Refuses a mistyped operation, which no request will have. Others are taken: requests to catalogs of tables and to the admin
/// API have names of their own.
///
/// # Errors
/// `InvalidRequest`, with the name that was meant.
pub(super) fn check_operation(pattern: &str, known: &[&'static str]) -> Result<(), ApiError> {
    let glob = Glob::new(pattern);
    if known.iter().any(|name| glob.matches(name)) {
        return Ok(());
    }
    match nearest_within(SLIPS_MAX, pattern, known.iter().copied()) {
        Some(meant) => Err(bad_request(format!(
            "No request will have the operation {pattern:?}: did you mean {meant:?}?"
        ))),
        None => Ok(()),
    }
}

/// The events of a pattern, which may leave `s3:` out, as the records of events do.
///
/// # Errors
/// `InvalidRequest` for a pattern that no event has, with the one that was meant.
pub(super) fn event_names(pattern: &str) -> Result<Glob, ApiError> {
    let names: Vec<String> =
        EventKind::ALL.iter().map(|kind| format!("s3:{}", kind.name())).collect();
    let is_known = |glob: &Glob| names.iter().any(|name| glob.matches(name));
    for pattern in [pattern, &format!("s3:{pattern}")] {
        let glob = Glob::new(pattern);
        if is_known(&glob) {
            return Ok(glob);
        }
    }
    let families = names.iter().filter_map(|name| Some(format!("{}:*", name.rsplit_once(':')?.0)));
    let known: Vec<String> = names.iter().cloned().chain(families).collect();
    let meant = nearest(pattern, known.iter().map(String::as_str)).unwrap_or("s3:ObjectCreated:*");
    Err(bad_request(format!("No event will have the name {pattern:?}: did you mean {meant:?}?")))
}
