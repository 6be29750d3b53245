//! Object lock: retentions, event holds and legal holds, which protect a version from deletion and
//! replacement.
//!
//! A retention is fixed or variable. A variable one has an event hold with a duration: while the hold
//! is on, the retention ends that duration from now, whenever now is; its release fixes the end. A
//! legal hold is independent of both.

use serde::{Deserialize, Serialize};

use super::record;
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

/// Retention of new versions that have none of their own: a period, an event hold, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefaultRetention {
    /// Mode.
    pub mode: RetentionMode,
    /// Length from the write on.
    pub period: Option<RetentionPeriod>,
    /// Duration of the event hold.
    pub event_hold: Option<RetentionPeriod>,
}

/// Length of a default retention or of an event hold, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RetentionPeriod {
    /// Days of 24 hours.
    Days(u32),
    /// Years of 365 days.
    Years(u32),
}

/// Lock of a version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ObjectLock {
    /// Retention as it was stored. With an event hold its end is a watermark, below which the end
    /// never falls: see [`ObjectLock::retention_at`].
    pub retention: Option<Retention>,
    /// Legal hold, which has no end.
    pub legal_hold: LegalHold,
    /// Event hold. One that is on has a retention, whose mode is the one of the hold.
    pub event_hold: EventHold,
}

/// Event hold of a version. S3 tells a version whose hold was released from one that never had one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventHold {
    /// The version never had one.
    #[default]
    Never,
    /// The version is held. The retention ends this duration behind the release.
    On(RetentionPeriod),
    /// The hold was released, or a request said that there is none.
    Off,
}

/// Change of an event hold, with the mode of the retention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventHoldChange {
    /// Mode of the retention.
    pub mode: RetentionMode,
    /// Duration of the hold; `None` releases it.
    pub duration: Option<RetentionPeriod>,
    /// End before which the retention does not end, in milliseconds since 1970.
    pub until_ms: Option<u64>,
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

/// Version of a default retention without an event hold.
const WITHOUT_EVENT_HOLD: u8 = 1;
/// Version of a default retention with an event hold. A program that does not know it refuses the
/// bucket, whose new versions it would not hold.
const WITH_EVENT_HOLD: u8 = 2;

impl RetentionPeriod {
    /// Number of days.
    #[must_use]
    pub fn days(self) -> u64 {
        match self {
            Self::Days(days) => u64::from(days),
            Self::Years(years) => u64::from(years) * 365,
        }
    }

    fn from(self, now_ms: u64) -> u64 {
        now_ms.saturating_add(self.days() * DAY_MS)
    }
}

impl DefaultRetention {
    /// The lock of a version that is written at `now_ms`, with the given legal hold.
    #[must_use]
    pub fn from(&self, now_ms: u64, legal_hold: LegalHold) -> ObjectLock {
        let ends = [self.period, self.event_hold].into_iter().flatten();
        let until_ms = ends.map(|period| period.from(now_ms)).max();
        ObjectLock {
            retention: until_ms.map(|until_ms| Retention { mode: self.mode, until_ms }),
            legal_hold,
            event_hold: self.event_hold.map_or(EventHold::Never, EventHold::On),
        }
    }

    /// The setting as it is stored.
    pub(crate) fn encode(&self) -> Vec<u8> {
        match (self.period, self.event_hold) {
            (Some(period), None) => record::encode(WITHOUT_EVENT_HOLD, &(self.mode, period)),
            (period, hold) => record::encode(WITH_EVENT_HOLD, &(self.mode, period, hold)),
        }
    }

    /// The stored setting.
    pub(crate) fn decode(document: &[u8]) -> Result<Self, StoreError> {
        const WHAT: &str = "the default retention of a bucket";
        let (version, fields) = record::split_version(document, WITH_EVENT_HOLD)?;
        let (mode, period, event_hold) = match version {
            WITHOUT_EVENT_HOLD => {
                let (mode, period) = record::take_all(fields, WHAT)?;
                (mode, Some(period), None)
            }
            _ => record::take_all(fields, WHAT)?,
        };
        Ok(Self { mode, period, event_hold })
    }
}

impl ObjectLock {
    /// The retention at `now_ms`: while an event hold is on, its end is at least the duration of the
    /// hold from now.
    #[must_use]
    pub fn retention_at(&self, now_ms: u64) -> Option<Retention> {
        let EventHold::On(duration) = self.event_hold else { return self.retention };
        // No lock has a hold and no mode; if one had, the stricter mode harms nobody's record.
        let Retention { mode, until_ms } =
            self.retention.unwrap_or(Retention { mode: RetentionMode::Compliance, until_ms: 0 });
        Some(Retention { mode, until_ms: until_ms.max(duration.from(now_ms)) })
    }

    /// The lock of a version that is written at `now_ms`.
    pub(crate) fn written_at(self, now_ms: u64) -> Self {
        Self { retention: self.retention_at(now_ms), ..self }
    }

    /// The lock with another retention, or with none, which ends an event hold, too. A new
    /// retention leaves a hold on: only a release ends it.
    ///
    /// # Errors
    /// [`StoreError::ObjectLocked`].
    pub(crate) fn with_retention(
        self,
        new: Option<Retention>,
        now_ms: u64,
        bypasses_governance: bool,
    ) -> Result<Self, StoreError> {
        let event_hold = if new.is_some() { self.event_hold } else { EventHold::Never };
        let changed = Self { retention: new, event_hold, ..self }.written_at(now_ms);
        self.check_weakening(changed.retention, now_ms, bypasses_governance)?;
        Ok(changed)
    }

    /// The lock with an event hold that was set, changed or released.
    ///
    /// A shorter duration does not shorten the retention, and a release fixes its end the duration
    /// from now; a later end that is there already, or is asked for, is the one that counts. Who may
    /// bypass a governance retention changes it as if it were none.
    ///
    /// # Errors
    /// [`StoreError::ObjectLocked`]; [`StoreError::InvalidRequest`] for the release of a version
    /// that is not held and has no retention.
    pub(crate) fn with_event_hold(
        self,
        change: EventHoldChange,
        now_ms: u64,
        bypasses_governance: bool,
    ) -> Result<Self, StoreError> {
        let EventHoldChange { mode, duration, until_ms: asked_ms } = change;
        let old = self.retention_at(now_ms);
        let is_bypassed =
            bypasses_governance && old.is_some_and(|old| old.mode == RetentionMode::Governance);
        let until_ms = match (duration, asked_ms, old) {
            (Some(duration), asked_ms, old) => {
                let kept_ms = old.filter(|_| !is_bypassed).map(|old| old.until_ms);
                duration.from(now_ms).max(asked_ms.unwrap_or(0)).max(kept_ms.unwrap_or(0))
            }
            (None, Some(asked_ms), Some(old))
                if matches!(self.event_hold, EventHold::On(_)) && !is_bypassed =>
            {
                old.until_ms.max(asked_ms)
            }
            (None, Some(asked_ms), _) => asked_ms,
            (None, None, Some(old)) => old.until_ms,
            (None, None, None) => {
                let message = "The version has no event hold to release: give a RetainUntilDate.";
                return Err(StoreError::InvalidRequest { message: message.to_owned() });
            }
        };
        let new = Some(Retention { mode, until_ms });
        self.check_weakening(new, now_ms, bypasses_governance)?;
        let event_hold = duration.map_or(EventHold::Off, EventHold::On);
        Ok(Self { retention: new, event_hold, ..self })
    }

    /// `true` if nothing is known about a lock of the version.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// `true` if it needs a bucket with object lock.
    pub(crate) fn protects(&self) -> bool {
        self.retention_at(0).is_some() || self.legal_hold == LegalHold::On
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
        let old = self.retention_at(now_ms).filter(|old| old.until_ms > now_ms);
        let Some(old) = old else { return Ok(()) };
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
    fn a_default_retention_counts_from_the_write() {
        let mode = RetentionMode::Governance;
        let until = |period, event_hold| {
            let default = DefaultRetention { mode, period, event_hold };
            let lock = default.from(5, LegalHold::Off);
            assert_eq!(lock.legal_hold, LegalHold::Off);
            assert_eq!(lock.event_hold, event_hold.map_or(EventHold::Never, EventHold::On));
            assert_eq!(DefaultRetention::decode(&default.encode()).expect("own bytes"), default);
            lock.retention.expect("retained").until_ms
        };
        let (days, years) = (Some(RetentionPeriod::Days(2)), Some(RetentionPeriod::Years(1)));
        assert_eq!(until(days, None), 5 + 2 * DAY_MS);
        assert_eq!(until(years, None), 5 + 365 * DAY_MS);
        assert_eq!(until(None, days), 5 + 2 * DAY_MS);
        assert_eq!(until(days, years), 5 + 365 * DAY_MS);
        assert_eq!(until(years, days), 5 + 365 * DAY_MS);
    }

    #[test]
    fn a_default_retention_without_an_event_hold_is_stored_as_ever() {
        let (mode, period) = (RetentionMode::Compliance, RetentionPeriod::Days(7));
        let plain = DefaultRetention { mode, period: Some(period), event_hold: None };
        assert_eq!(plain.encode(), [1, 1, 0, 7]);
        let held = DefaultRetention { event_hold: Some(period), ..plain }.encode();
        assert_eq!(held[0], 2);
        // A program of that time decodes settings of version 1.
        let refused = record::split_version(&held, 1);
        assert!(matches!(refused, Err(StoreError::FormatTooNew { found: 2, known: 1 })));
    }

    fn held(mode: RetentionMode, days: u32) -> ObjectLock {
        let duration = RetentionPeriod::Days(days);
        let change = EventHoldChange { mode, duration: Some(duration), until_ms: None };
        ObjectLock::default().with_event_hold(change, NOW, false).expect("held")
    }

    #[test]
    fn a_held_version_stays_however_much_time_passes() {
        use RetentionMode::{Compliance, Governance};
        for now_ms in [NOW, NOW + 2 * DAY_MS, NOW + 100_000 * DAY_MS] {
            for (mode, may_bypass) in [(Compliance, false), (Governance, true)] {
                let lock = held(mode, 1);
                let until_ms = now_ms + DAY_MS;
                assert_eq!(lock.retention_at(now_ms), Some(Retention { mode, until_ms }));
                lock.check_removal(now_ms, false).expect_err("held");
                assert_eq!(lock.check_removal(now_ms, true).is_ok(), may_bypass);
                assert_eq!(lock.with_retention(None, now_ms, true).is_ok(), may_bypass);
            }
        }
        let without_mode = ObjectLock { retention: None, ..held(Governance, 1) };
        without_mode.check_removal(NOW, true).expect_err("held");
    }

    #[test]
    fn a_release_begins_the_duration_and_a_later_end_stays() {
        use RetentionMode::{Compliance, Governance};
        let later = NOW + 10 * DAY_MS;
        for mode in [Compliance, Governance] {
            let release = EventHoldChange { mode, duration: None, until_ms: None };
            let lock = held(mode, 3).with_event_hold(release, later, false).expect("released");
            let retention = Some(Retention { mode, until_ms: later + 3 * DAY_MS });
            assert_eq!((lock.retention, lock.event_hold), (retention, EventHold::Off));
            lock.check_removal(later + 3 * DAY_MS - 1, false).expect_err("retained");
            lock.check_removal(later + 3 * DAY_MS, false).expect("it has ended");
            // A repetition, an hour later, changes nothing.
            let again = lock.with_event_hold(release, later + 3_600_000, false);
            assert_eq!(again.expect("released"), lock);
            for (asked_ms, until_ms) in
                [(later + 5 * DAY_MS, later + 5 * DAY_MS), (later + 1, later + 3 * DAY_MS)]
            {
                let release = EventHoldChange { until_ms: Some(asked_ms), ..release };
                let lock = held(mode, 3).with_event_hold(release, later, false).expect("released");
                assert_eq!(lock.retention, Some(Retention { mode, until_ms }));
            }
        }
        let other = EventHoldChange { mode: Governance, duration: None, until_ms: None };
        held(Compliance, 3).with_event_hold(other, later, true).expect_err("a weaker mode");
        let none = ObjectLock::default().with_event_hold(other, NOW, false);
        assert!(matches!(none, Err(StoreError::InvalidRequest { .. })), "{none:?}");
        let fixed = EventHoldChange { until_ms: Some(NOW + 9), ..other };
        let fixed = ObjectLock::default().with_event_hold(fixed, NOW, false).expect("retained");
        assert_eq!(fixed.retention, Some(Retention { mode: Governance, until_ms: NOW + 9 }));
        assert_eq!(fixed.event_hold, EventHold::Off);
    }

    #[test]
    fn a_shorter_duration_does_not_move_the_end_back() {
        use RetentionMode::{Compliance, Governance};
        let days = |count: u32| Some(RetentionPeriod::Days(count));
        let set = |mode, count| EventHoldChange { mode, duration: days(count), until_ms: None };
        for mode in [Compliance, Governance] {
            let shorter = held(mode, 9).with_event_hold(set(mode, 2), NOW, false).expect("set");
            let end = |now_ms: u64| shorter.retention_at(now_ms).expect("held").until_ms;
            assert_eq!(end(NOW), NOW + 9 * DAY_MS);
            assert_eq!(end(NOW + 7 * DAY_MS), NOW + 9 * DAY_MS, "it waits");
            assert_eq!(end(NOW + 8 * DAY_MS), NOW + 10 * DAY_MS, "and goes on");
            let longer = held(mode, 2).with_event_hold(set(mode, 9), NOW, false).expect("set");
            assert_eq!(longer.retention_at(NOW).expect("held").until_ms, NOW + 9 * DAY_MS);
        }
        let bypassed = held(Governance, 9).with_event_hold(set(Governance, 2), NOW, true);
        let end = bypassed.expect("set").retention_at(NOW).expect("held").until_ms;
        assert_eq!(end, NOW + 2 * DAY_MS);
        held(Compliance, 9).with_event_hold(set(Governance, 9), NOW, true).expect_err("weaker");
        held(Governance, 9).with_event_hold(set(Compliance, 9), NOW, false).expect_err("as ever");
        // A retention without a word of the hold leaves it on, and cannot end before it.
        let retained = |until_ms| Some(Retention { mode: Compliance, until_ms });
        for (asked_ms, until_ms) in
            [(NOW + 20 * DAY_MS, NOW + 20 * DAY_MS), (NOW + DAY_MS, NOW + 9 * DAY_MS)]
        {
            let lock = held(Compliance, 9).with_retention(retained(asked_ms), NOW, false);
            let lock = lock.expect("held");
            assert_eq!(lock.event_hold, EventHold::On(RetentionPeriod::Days(9)));
            assert_eq!(lock.retention, retained(until_ms));
        }
    }
}
