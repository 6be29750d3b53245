//! The poison flag: after a failed sync, nothing more is written through the same disk.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};

/// The poison flag of a disk. Clones share one flag.
///
/// The kernel reports a lost page once and then marks it clean. A repeated sync therefore succeeds
/// although the device does not have the bytes. Hence the flag cannot be cleared: only reopening
/// the disk, which reads from the device, gives a healthy one.
#[derive(Clone, Debug, Default)]
pub struct Health {
    reason: Arc<OnceLock<Arc<str>>>,
}

impl Health {
    /// A healthy flag.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Fails once the flag is poisoned. Every write, create, link, rename, removal and sync calls
    /// it first.
    ///
    /// # Errors
    /// The error that [`is_poisoned`] recognises, once the flag has been poisoned.
    pub fn check(&self) -> io::Result<()> {
        match self.reason.get() {
            None => Ok(()),
            Some(reason) => Err(io::Error::other(Refusal { reason: Arc::clone(reason) })),
        }
    }

    /// Poisons the flag permanently. The first reason is kept.
    pub fn poison(&self, reason: impl Into<String>) {
        // Later failures are consequences of the first one, which is the one to report.
        let _ = self.reason.set(Arc::from(reason.into()));
    }

    /// `true` once writes are refused.
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.reason.get().is_some()
    }

    /// The reason why writes are refused; `None` while the disk is healthy.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.reason.get().map(AsRef::as_ref)
    }
}

/// `true` if `error`, or an error that it wraps, is the refusal of a poisoned disk
/// ([`Health::check`]).
#[must_use]
pub fn is_poisoned(error: &io::Error) -> bool {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(current) = cause {
        if current.is::<Refusal>() {
            return true;
        }
        // `source` of an `io::Error` skips the error that it wraps, so the wrapped one is visited
        // explicitly.
        cause = match current.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(carried) => Some(carried),
            None => current.source(),
        };
    }
    false
}

#[derive(Debug)]
struct Refusal {
    reason: Arc<str>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "writes are refused until the disk is reopened: {}", self.reason)
    }
}

impl Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_the_flag_and_the_first_reason_stays() {
        let health = Health::new();
        let clone = health.clone();
        assert!(health.check().is_ok() && !health.is_poisoned() && health.reason().is_none());
        clone.poison("sync of a failed");
        clone.poison("sync of b failed");
        assert!(health.is_poisoned());
        assert_eq!(health.reason(), Some("sync of a failed"));
        let error = health.check().expect_err("poisoned");
        assert!(error.to_string().contains("sync of a failed"), "{error}");
    }

    #[test]
    fn the_refusal_is_recognised_also_when_wrapped_and_nothing_else_is() {
        let health = Health::new();
        health.poison("x");
        let refusal = health.check().expect_err("poisoned");
        assert!(is_poisoned(&refusal));
        assert!(is_poisoned(&io::Error::other(io::Error::other(refusal))));
        assert!(!is_poisoned(&io::Error::other("writes are refused until the disk is reopened")));
        assert!(!is_poisoned(&io::Error::from(io::ErrorKind::StorageFull)));
    }
}
