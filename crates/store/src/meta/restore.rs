//! Restores: versions in an archive class that are readable for some days.

use serde::{Deserialize, Serialize};

use super::lifecycle::after_days;
use super::record::{self, Sealed};
use crate::error::StoreError;

/// Storage classes whose objects cannot be read until they are restored, as on AWS.
const ARCHIVE_CLASSES: [&str; 2] = ["DEEP_ARCHIVE", "GLACIER"];

/// `true` if objects of a storage class cannot be read until they are restored.
#[must_use]
pub fn is_archive_class(class: Option<&str>) -> bool {
    class.is_some_and(|class| ARCHIVE_CLASSES.contains(&class))
}

/// The retrieval tier of a restore. All take the same time here; a request with a faster one is
/// accepted while a restore is in progress.
// The order is part of the record format: add at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RetrievalTier {
    /// Bulk, the slowest.
    Bulk,
    /// Standard.
    #[default]
    Standard,
    /// Expedited, the fastest. `DEEP_ARCHIVE` does not have it.
    Expedited,
}

impl RetrievalTier {
    fn is_faster_than(self, other: Self) -> bool {
        self as u8 > other as u8
    }
}

/// A request to restore a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoreRequest {
    /// Days for which the version is readable.
    pub days: u32,
    /// The retrieval tier.
    pub tier: RetrievalTier,
}

/// The state of the last restore of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreState {
    /// The version is not readable yet.
    Ongoing,
    /// The version is readable.
    Restored {
        /// Time until which it is, in milliseconds since 1970.
        expires_ms: u64,
    },
}

/// The last restore of a version: an extension of its record. Its state follows from the time, so no
/// read depends on a thread that notes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restore {
    pub(crate) requested_ms: u64,
    pub(crate) completes_ms: u64,
    pub(crate) days: u32,
    pub(crate) tier: RetrievalTier,
    /// Set with the note of the completion, or by a later request, which changes it.
    pub(crate) expires_ms: Option<u64>,
    /// `true` once the completion was noted, and its event queued.
    pub(crate) is_noted: bool,
}

impl Restore {
    /// The state by `now_ms`; `None` if the restored copy has expired. `day_ms` is the length of a
    /// day.
    #[must_use]
    pub fn state(&self, now_ms: u64, day_ms: u64) -> Option<RestoreState> {
        let expires_ms = match self.expires_ms {
            Some(expires_ms) => expires_ms,
            None if now_ms < self.completes_ms => return Some(RestoreState::Ongoing),
            None => self.expiry(self.completes_ms, day_ms),
        };
        (now_ms < expires_ms).then_some(RestoreState::Restored { expires_ms })
    }

    /// `true` once the copy has been readable and its expiry is set: by the note of the completion, or
    /// by a request that changed it.
    #[must_use]
    pub fn is_dated(&self) -> bool {
        self.expires_ms.is_some()
    }

    /// The midnight UTC at which the copy expires, if it is readable from `from_ms` on. S3 rounds up.
    fn expiry(&self, from_ms: u64, day_ms: u64) -> u64 {
        after_days(from_ms, self.days, day_ms)
    }

    /// Notes the completion. Returns the time of the expiry.
    pub(crate) fn complete(&mut self, now_ms: u64, day_ms: u64) -> u64 {
        self.is_noted = true;
        // The clock may have been set back since the request.
        let from_ms = self.completes_ms.min(now_ms);
        let expires_ms = self.expires_ms.unwrap_or_else(|| self.expiry(from_ms, day_ms));
        self.expires_ms = Some(expires_ms);
        expires_ms
    }
}

/// The effect of a request to restore a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Requested {
    /// A restore begins.
    Begins(Restore),
    /// The restore in progress gets a faster retrieval tier.
    Faster(Restore),
    /// The restored copy expires at another time.
    Extended(Restore),
}

/// The effect of a request by `now_ms` on a version with the restore `last`, if it takes `delay_ms`.
///
/// # Errors
/// [`StoreError::RestoreInProgress`].
pub(crate) fn request(
    last: Option<Restore>,
    request: RestoreRequest,
    now_ms: u64,
    (delay_ms, day_ms): (u64, u64),
) -> Result<Requested, StoreError> {
    let last = last.and_then(|last| last.state(now_ms, day_ms).map(|state| (last, state)));
    match last {
        Some((last, RestoreState::Ongoing)) => match request.tier.is_faster_than(last.tier) {
            true => Ok(Requested::Faster(Restore { tier: request.tier, ..last })),
            false => Err(StoreError::RestoreInProgress),
        },
        Some((last, RestoreState::Restored { .. })) => {
            let RestoreRequest { days, .. } = request;
            let expires_ms = Some(after_days(now_ms, days, day_ms));
            Ok(Requested::Extended(Restore { days, expires_ms, ..last }))
        }
        None => Ok(Requested::Begins(Restore {
            requested_ms: now_ms,
            completes_ms: now_ms.saturating_add(delay_ms),
            days: request.days,
            tier: request.tier,
            expires_ms: None,
            is_noted: false,
        })),
    }
}

/// A version whose restore completes or expires at the time in the key of the row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RestoreRow {
    pub(crate) bucket_name: String,
    pub(crate) key: String,
}

impl RestoreRow {
    pub(crate) fn encode(&self, place: &[u8]) -> Vec<u8> {
        record::seal(1, place, self, &[])
    }

    pub(crate) fn decode(place: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        const WHAT: &str = "a row of a restore";
        record::split_version(bytes, 1)?;
        Sealed::open(place, bytes, WHAT)?.decode(WHAT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::meta::space;
    use crate::name::BucketId;

    const DAY: u64 = 24 * 60 * 60 * 1000;
    /// 2012-10-15T10:30:00Z, of the example in AWS's guide.
    const REQUESTED: u64 = 1_350_297_000_000;
    /// 2012-10-15T00:00:00Z.
    const MIDNIGHT: u64 = 1_350_259_200_000;

    fn asked(days: u32, tier: RetrievalTier) -> RestoreRequest {
        RestoreRequest { days, tier }
    }

    fn begun(days: u32, delay_ms: u64) -> Restore {
        let request =
            request(None, asked(days, RetrievalTier::Standard), REQUESTED, (delay_ms, DAY));
        let Ok(Requested::Begins(restore)) = request else { panic!("{request:?}") };
        restore
    }

    #[test]
    fn a_copy_expires_at_the_midnight_after_its_days() {
        let restore = begun(3, 1000);
        let state = |now_ms| restore.state(now_ms, DAY);
        let restored = RestoreState::Restored { expires_ms: MIDNIGHT + 4 * DAY };
        assert_eq!(state(REQUESTED), Some(RestoreState::Ongoing));
        assert_eq!(state(REQUESTED + 999), Some(RestoreState::Ongoing));
        assert_eq!(state(REQUESTED + 1000), Some(restored));
        assert_eq!(state(MIDNIGHT + 4 * DAY - 1), Some(restored));
        assert_eq!(state(MIDNIGHT + 4 * DAY), None);
        let mut noted = restore.clone();
        assert_eq!(noted.complete(REQUESTED + 5000, DAY), MIDNIGHT + 4 * DAY);
        // The clock is set back afterwards: it stays readable.
        assert_eq!(noted.state(REQUESTED, DAY), Some(restored));
    }

    #[test]
    fn a_clock_that_was_set_back_prolongs_no_restore() {
        let mut restore = begun(1, 1000);
        let earlier = REQUESTED - 30 * DAY;
        assert_eq!(restore.complete(earlier, DAY), MIDNIGHT - 28 * DAY);
        assert!(restore.state(earlier, DAY).is_some());
    }

    #[test]
    fn a_second_request_is_refused_or_extends() {
        let restore = begun(3, 1000);
        let again = |days, tier, now_ms| {
            request(Some(restore.clone()), asked(days, tier), now_ms, (1000, DAY))
        };
        for tier in [RetrievalTier::Standard, RetrievalTier::Bulk] {
            let refused = again(3, tier, REQUESTED);
            assert!(matches!(refused, Err(StoreError::RestoreInProgress)), "{tier:?}");
        }
        let Ok(Requested::Faster(faster)) = again(3, RetrievalTier::Expedited, REQUESTED) else {
            panic!("a faster tier is accepted");
        };
        assert_eq!(faster.completes_ms, restore.completes_ms);
        let Ok(Requested::Extended(extended)) = again(1, RetrievalTier::Bulk, REQUESTED + 1000)
        else {
            panic!("it is restored");
        };
        assert_eq!(extended.expires_ms, Some(MIDNIGHT + 2 * DAY), "from now on");
        let expired = again(1, RetrievalTier::Bulk, MIDNIGHT + 4 * DAY);
        assert!(matches!(expired, Ok(Requested::Begins(_))), "{expired:?}");
    }

    #[test]
    fn rows_survive_encoding_and_damage_is_refused() {
        let row = RestoreRow { bucket_name: "bucket".to_owned(), key: "key".to_owned() };
        let place = space::restore(space::RestoreStep::Expires, 7, BucketId(3), &[9; 16]);
        let encoded = row.encode(&place);
        assert_eq!(RestoreRow::decode(&place, &encoded).expect("own bytes"), row);
        for bit in 0..encoded.len() * 8 {
            let mut damaged = encoded.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            RestoreRow::decode(&place, &damaged).expect_err("damaged");
        }
        RestoreRow::decode(b"other", &encoded).expect_err("under another key");
    }
}
