//! Unique ids in the order of time.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::config::StoreConfig;
use crate::error::StoreError;
use crate::name::UploadId;

/// Bits of a stamp below the milliseconds: 65,536 ids per millisecond before stamps run ahead of
/// the clock.
const COUNTER_BITS: u32 = 16;

/// The time in an id of a version, in milliseconds since 1970: when this store wrote it, whatever time it shows.
pub(crate) fn written_ms(id: &[u8; 16]) -> u64 {
    let inverted = id.first_chunk().copied().map_or(0, u64::from_be_bytes);
    !inverted >> COUNTER_BITS
}

/// Source of stamps that grow even if the clock steps back.
#[derive(Debug, Default)]
pub(crate) struct Ids {
    last: AtomicU64,
}

impl Ids {
    fn next_stamp(&self, now_ms: u64) -> u64 {
        // Lamport style: the clock, or one more than the last stamp, whichever is greater. Computed
        // again after the update, since `fetch_update` returns the previous value.
        let now = now_ms << COUNTER_BITS;
        let next = |last: u64| Some(now.max(last.wrapping_add(1)));
        let last = self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        let last = last.unwrap_or_else(|last| last);
        now.max(last.wrapping_add(1))
    }

    /// An id for a new version. It is smaller than all ids of this run and smaller than `newest`,
    /// the id of the key's newest version; the clock may have been set back since that was written.
    ///
    /// # Errors
    /// [`StoreError::Internal`] if no smaller id is left; [`StoreError::Io`] if the random source
    /// fails.
    pub(crate) fn version(
        &self,
        config: &StoreConfig,
        newest: Option<&[u8; 16]>,
    ) -> Result<[u8; 16], StoreError> {
        // Inverted, so that newer versions have smaller ids and sort first.
        let stamp = !self.next_stamp(config.clock.now_ms());
        let newest = newest.and_then(|newest| newest.first_chunk()).copied();
        let stamp = match newest.map(u64::from_be_bytes) {
            Some(newest) if newest <= stamp => newest.checked_sub(1),
            _ => Some(stamp),
        };
        let none_left = || StoreError::Internal { what: "no version id is left".to_owned() };
        self.id(stamp.ok_or_else(none_left)?, config)
    }

    /// An id for a new upload, greater than all before it.
    ///
    /// # Errors
    /// [`StoreError::Io`] if the random source fails.
    pub(crate) fn upload(&self, config: &StoreConfig) -> Result<UploadId, StoreError> {
        Ok(UploadId(self.id(self.next_stamp(config.clock.now_ms()), config)?))
    }

    fn id(&self, stamp: u64, config: &StoreConfig) -> Result<[u8; 16], StoreError> {
        let mut id = [0; 16];
        // The time decides the order; the random half makes ids unguessable, and unique across
        // runs.
        id[..8].copy_from_slice(&stamp.to_be_bytes());
        config.random.fill(&mut id[8..])?;
        Ok(id)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use liteio_disk::ManualClock;

    #[test]
    fn order_holds_while_the_clock_stands_and_when_it_steps_back() {
        let clock = Arc::new(ManualClock::new(1_000_000));
        let config = StoreConfig { clock: clock.clone(), ..StoreConfig::memory() };
        let ids = Ids::default();
        let mut uploads = Vec::new();
        let mut versions = Vec::new();
        for now_ms in [1_000_000, 1_000_000, 5_000, 1_000_001] {
            clock.set_ms(now_ms);
            uploads.push(ids.upload(&config).expect("an id"));
            versions.push(ids.version(&config, None).expect("an id"));
        }
        assert!(
            uploads.is_sorted() && versions.iter().rev().is_sorted(),
            "{uploads:?} {versions:?}"
        );
    }

    #[test]
    fn a_version_is_newer_than_the_newest_of_its_key_after_a_restart_too() {
        let clock = Arc::new(ManualClock::new(1_000_000));
        let config = StoreConfig { clock: clock.clone(), ..StoreConfig::memory() };
        let mut newest = Ids::default().version(&config, None).expect("an id");
        for now_ms in [1_000_000, 5_000, 0, 2_000_000] {
            clock.set_ms(now_ms);
            let version = Ids::default().version(&config, Some(&newest)).expect("an id");
            assert!(version[..8] < newest[..8], "{version:?} {newest:?}");
            newest = version;
        }
        Ids::default().version(&config, Some(&[0; 16])).expect_err("none is smaller");
    }
}
