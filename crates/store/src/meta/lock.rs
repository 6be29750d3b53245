//! Object lock: retentions and legal holds, which protect a version from deletion and replacement.

use serde::{Deserialize, Serialize};

use crate::error::StoreError;

/// Mode of a retention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RetentionMode {
    /// A request with the permission to bypass it deletes the version all the same.
    Governance,
    /// Deletion before the end is always refused, and the retention is never shortened.
    Compliance,
}

/// Retention of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retention {
    /// Mode.
    pub mode: RetentionMode,
    /// End, in milliseconds since 1970.
    pub until_ms: u64,
}

/// Retention of new versions that have none of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefaultRetention {
    /// Mode.
    pub mode: RetentionMode,
    /// Length.
    pub period: RetentionPeriod,
}

/// Length of a default retention, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RetentionPeriod {
    /// Days of 24 hours.
    Days(u32),
    /// Years of 365 days.
    Years(u32),
}

/// Lock of a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObjectLock {
    /// Retention.
    pub retention: Option<Retention>,
    /// Legal hold, which has no end.
    pub legal_hold: LegalHold,
}

/// Legal hold of a version. S3 tells a version whose hold was released from one that never had one.
///
/// The first two variants are stored as the `bool` that earlier versions of the program wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LegalHold {
    /// The version never had one.
    #[default]
    Never,
    /// The version is held.
    On,
    /// The version is not held, and a request said so.
    Off,
}

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

impl DefaultRetention {
    /// The retention of a version that is written at `now_ms`.
    #[must_use]
    pub fn from(&self, now_ms: u64) -> Retention {
        let days = match self.period {
            RetentionPeriod::Days(days) => u64::from(days),
            RetentionPeriod::Years(years) => u64::from(years) * 365,
        };
        Retention { mode: self.mode, until_ms: now_ms.saturating_add(days * DAY_MS) }
    }
}

impl ObjectLock {
    /// `true` if nothing is known about a lock of the version.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// `true` if it needs a bucket with object lock.
    pub(crate) fn protects(&self) -> bool {
        self.retention.is_some() || self.legal_hold == LegalHold::On
    }

    /// Checks that the version may be removed.
    ///
    /// # Errors
    /// [`StoreError::ObjectLocked`].
    pub(crate) fn check_removal(
        &self,
        now_ms: u64,
        bypasses_governance: bool,
    ) -> Result<(), StoreError> {
        if self.legal_hold == LegalHold::On {
            return Err(StoreError::ObjectLocked);
        }
        self.check_weakening(None, now_ms, bypasses_governance)
    }

    /// Checks that the retention may become `new`. A longer one of the same mode is always allowed.
    ///
    /// # Errors
    /// [`StoreError::ObjectLocked`].
    pub(crate) fn check_weakening(
        &self,
        new: Option<Retention>,
        now_ms: u64,
        bypasses_governance: bool,
    ) -> Result<(), StoreError> {
        let Some(old) = self.retention.filter(|old| old.until_ms > now_ms) else { return Ok(()) };
        let is_longer = new.is_some_and(|new| new.until_ms >= old.until_ms);
        let has_its_mode = new.is_some_and(|new| new.mode == old.mode);
        let may = match old.mode {
            RetentionMode::Governance => bypasses_governance,
            RetentionMode::Compliance => false,
        };
        if may || (is_longer && has_its_mode) { Ok(()) } else { Err(StoreError::ObjectLocked) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::record;

    const NOW: u64 = 1_000;

    fn lock(mode: RetentionMode, until_ms: u64) -> ObjectLock {
        ObjectLock { retention: Some(Retention { mode, until_ms }), ..ObjectLock::default() }
    }

    #[test]
    fn a_locked_version_is_removed_by_those_alone_who_may() {
        use RetentionMode::{Compliance, Governance};
        let held = |lock: ObjectLock| ObjectLock { legal_hold: LegalHold::On, ..lock };
        // The lock; who has no bypass may, who has one may.
        let rows = [
            (ObjectLock::default(), true, true),
            (lock(Governance, NOW + 1), false, true),
            (lock(Compliance, NOW + 1), false, false),
            (lock(Governance, NOW), true, true),
            (lock(Compliance, NOW), true, true),
            (held(ObjectLock::default()), false, false),
            (held(lock(Governance, NOW + 1)), false, false),
            (held(lock(Compliance, NOW)), false, false),
            (ObjectLock { legal_hold: LegalHold::Off, ..ObjectLock::default() }, true, true),
        ];
        for (lock, plain, bypassing) in rows {
            assert_eq!(lock.check_removal(NOW, false).is_ok(), plain, "{lock:?}");
            assert_eq!(lock.check_removal(NOW, true).is_ok(), bypassing, "{lock:?}");
        }
    }

    #[test]
    fn a_retention_becomes_longer_and_not_weaker() {
        use RetentionMode::{Compliance, Governance};
        let rows = [
            (Governance, Some((Governance, 60)), true, true),
            (Governance, Some((Compliance, 50)), false, true),
            (Governance, Some((Governance, 49)), false, true),
            (Governance, None, false, true),
            (Compliance, Some((Compliance, 51)), true, true),
            (Compliance, Some((Compliance, 49)), false, false),
            (Compliance, Some((Governance, 60)), false, false),
            (Compliance, None, false, false),
        ];
        for (old, new, plain, bypassing) in rows {
            let old = lock(old, NOW + 50);
            let new = new.map(|(mode, more)| Retention { mode, until_ms: NOW + more });
            assert_eq!(old.check_weakening(new, NOW, false).is_ok(), plain, "{old:?} {new:?}");
            assert_eq!(old.check_weakening(new, NOW, true).is_ok(), bypassing, "{old:?} {new:?}");
            old.check_weakening(new, NOW + 50, false).expect("it has ended");
        }
    }

    #[test]
    fn a_legal_hold_is_stored_as_the_bool_that_it_was() {
        for (hold, was) in [(LegalHold::Never, false), (LegalHold::On, true)] {
            let stored = record::append(&ObjectLock { retention: None, legal_hold: hold }, vec![]);
            assert_eq!(stored, record::append(&(None::<Retention>, was), vec![]));
        }
    }

    #[test]
    fn a_default_retention_counts_from_the_write() {
        let mode = RetentionMode::Governance;
        let until = |period| DefaultRetention { mode, period }.from(5).until_ms;
        assert_eq!(until(RetentionPeriod::Days(2)), 5 + 2 * 86_400_000);
        assert_eq!(until(RetentionPeriod::Years(1)), 5 + 365 * 86_400_000);
    }
}
