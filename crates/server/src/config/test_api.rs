//! Resolves the access to the test API.

use super::{ConfigError, error};

#[cfg(feature = "testkit")]
pub use liteio_testkit::TestAccess;

/// The clients that may use the test API: none, because this build has none.
#[cfg(not(feature = "testkit"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestAccess {}

/// The access of `liteio exec`, if none is given.
#[cfg(feature = "testkit")]
pub(crate) const OF_EXEC: Option<TestAccess> = Some(TestAccess::Local);
#[cfg(not(feature = "testkit"))]
pub(crate) const OF_EXEC: Option<TestAccess> = None;

/// The access in the arguments; `None` for no test API.
///
/// # Errors
/// [`ConfigError`] for an unknown value, and for any access without the feature.
pub(super) fn resolve(access: Option<&str>) -> Result<Option<TestAccess>, ConfigError> {
    match access {
        None | Some("off" | "false" | "0") => Ok(None),
        #[cfg(feature = "testkit")]
        Some("local" | "true" | "1") => Ok(Some(TestAccess::Local)),
        #[cfg(feature = "testkit")]
        Some("any") => Ok(Some(TestAccess::Any)),
        Some(other) if cfg!(feature = "testkit") => {
            error(format!("the value {other:?} of --test-api is unknown: give local or any"))
        }
        Some(_) => error(
            "this binary was built without the test API: build it with --features testkit, or \
             remove --test-api",
        ),
    }
}

/// True if every client that reaches the server may use the test API.
pub(super) fn is_open(access: Option<TestAccess>) -> bool {
    #[cfg(feature = "testkit")]
    return access == Some(TestAccess::Any);
    #[cfg(not(feature = "testkit"))]
    return access.is_some();
}
