//! The scrub: reads everything periodically at a bounded rate, so that damage is found while
//! another copy still exists somewhere.
//!
//! It is [verification](Store::verify) in the background, in batches. Its position is stored as a
//! record, so it resumes after a restart.
//!
//! ```text
//!            interval elapsed, or scrub_now            everything read
//! idle ──────────────────────────────► running ─────────────────────► idle
//!                                     │      ▲
//!                                     └──────┘ failure: retry from the position after a minute
//! ```

use std::ops::Bound;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use liteio_kv::{Read as _, Write as _};

use crate::error::StoreError;
use crate::meta::bucket::StoreRecord;
use crate::meta::{ScrubState, space};
use crate::pending::Committed;
use crate::process::{Background, Calls, Job};
use crate::store::{Inner, Store};
use crate::verify::{Damage, SPACES, Verifier};

/// Interval at which the position is saved.
const SAVE_EVERY: Duration = Duration::from_secs(10);
/// Cost of a record in bytes, apart from the blobs that it references: checking one takes some 10
/// µs.
const RECORD_COST: u64 = 4 << 10;
/// Bytes between pauses.
const PAUSE_BYTES: u64 = 256 << 10;
/// Delay before a failed scrub continues.
const RETRY_AFTER: Duration = Duration::from_secs(60);
/// Interval at which the schedule is checked. It is not slept through, because the clock may jump.
const LOOK_EVERY: Duration = Duration::from_secs(60);

impl Store {
    /// Starts a scrub soon, unless one is running.
    pub fn scrub_now(&self) {
        if let Some(scrubber) = &*self.inner.scrubber.lock() {
            scrubber.calls().ask();
        }
    }

    /// The progress and findings of the scrub; `None` without a scrub, as in memory.
    #[must_use]
    pub fn scrub_state(&self) -> Option<ScrubState> {
        let scrubber = self.inner.scrubber.lock();
        scrubber.as_ref().map(|scrubber| scrubber.calls().shown())
    }

    /// Starts the scrub thread.
    pub(crate) fn start_scrubber(&self) -> Result<(), StoreError> {
        let calls = Arc::new(Calls::<ScrubState>::default());
        calls.show(&self.read_scrub().unwrap_or_default());
        let weak: Weak<Inner> = Arc::downgrade(&self.inner);
        let thread = thread::Builder::new().name("liteio-scrub".to_owned());
        let thread = thread.spawn({
            let calls = Arc::clone(&calls);
            move || {
                let (mut wait, mut is_asked) = (Duration::ZERO, false);
                while calls.wait(wait) {
                    // A weak reference, so that the thread does not keep a dropped store open.
                    let Some(inner) = weak.upgrade() else { return };
                    is_asked |= calls.take_call();
                    let Ok(Some(store)) = Store::of(inner).into_job(Job::Scrub) else {
                        // Another server scrubs, until this one takes over.
                        wait = RETRY_AFTER;
                        continue;
                    };
                    wait = match store.is_scrub_due(std::mem::take(&mut is_asked)) {
                        // A failed scrub resumes at its saved position.
                        Ok(true) => store.scrub(&calls).map_or(RETRY_AFTER, |()| LOOK_EVERY),
                        _ => LOOK_EVERY,
                    };
                }
            }
        })?;
        *self.inner.scrubber.lock() = Some(Background::new(calls, thread));
        Ok(())
    }

    fn is_scrub_due(&self, is_asked: bool) -> Result<bool, StoreError> {
        let mut state = self.read_scrub()?;
        let now_ms = self.shared().config.clock.now_ms();
        if is_asked && state.begun_ms.is_none() {
            state.begun_ms = Some(now_ms);
            self.write_scrub(&state)?;
        }
        if state.begun_ms.is_some() {
            return Ok(true);
        }
        let Some(interval) = self.shared().config.scrub_interval else { return Ok(false) };
        // The first scrub is due one interval after the store was created.
        let made_ms = StoreRecord::read(&self.snapshot()?)?.map_or(0, |store| store.created_ms);
        let ended_ms = state.ended_ms.unwrap_or(made_ms);
        // By absolute difference: after the clock was set back far, a scrub is due, too.
        Ok(u128::from(now_ms.abs_diff(ended_ms)) >= interval.as_millis())
    }

    /// Reads everything behind the position, and records the damage found.
    ///
    /// # Errors
    /// [`StoreError::Closed`] if the store is closed meanwhile; the errors of the disk.
    fn scrub(&self, calls: &Calls<ScrubState>) -> Result<(), StoreError> {
        let mut state = self.read_scrub()?;
        let now_ms = || self.shared().config.clock.now_ms();
        if state.position.is_empty() {
            let (begun_ms, ended_ms) = (state.begun_ms.or_else(|| Some(now_ms())), state.ended_ms);
            state = ScrubState { begun_ms, ended_ms, ..ScrubState::default() };
        }
        calls.show(&state);
        // Token bucket: bytes read accumulate as debt, and are paid off by a pause.
        let mut debt = 0;
        let mut pace = |bytes: u64| {
            debt += bytes;
            if debt < PAUSE_BYTES {
                return Ok(());
            }
            let rate = self.shared().config.scrub_bytes_per_second.max(1);
            let pause = Duration::from_secs_f64(debt as f64 / rate as f64);
            debt = 0;
            // This thread has the last handle: the store is being dropped.
            if Arc::strong_count(&self.inner) == 1 {
                return Err(StoreError::Closed);
            }
            calls.pause(pause)?;
            self.check_term()
        };
        let mut verifier = Verifier::new(self, &mut pace)?;
        let result = self.read_all(&mut verifier, &mut state, calls);
        if let Err(error) = &result
            && error.is_denied()
        {
            self.shared().counters.failed_read(error);
        }
        if result.is_ok() {
            state.position.clear();
            state.begun_ms = None;
            state.ended_ms = Some(now_ms());
        }
        // Saved after a failure, too (closing included), so that the next run resumes here.
        let saved = self.write_scrub(&state);
        calls.show(&state);
        result.and(saved)
    }

    /// Verifies everything behind the position.
    fn read_all(
        &self,
        verifier: &mut Verifier<'_>,
        state: &mut ScrubState,
        calls: &Calls<ScrubState>,
    ) -> Result<(), StoreError> {
        let mut saved = Instant::now();
        for space in SPACES {
            // Spaces are in ascending order; the ones before the position are done.
            if state.position.as_slice() >= space && !state.position.starts_with(space) {
                continue;
            }
            loop {
                let position = match state.position.starts_with(space) {
                    true => Bound::Excluded(state.position.clone()),
                    false => Bound::Included(space.to_vec()),
                };
                let batch = match self.read_batch(space, &position) {
                    Err(error @ StoreError::Corrupt { .. }) => {
                        note(state, &Damage::of_store(&error));
                        break;
                    }
                    batch => batch?,
                };
                let Some((last, _)) = batch.last() else { break };
                for (place, value) in &batch {
                    verifier.verify(place, value)?;
                    verifier.pace(RECORD_COST)?;
                }
                state.position.clone_from(last);
                state.records += batch.len() as u64;
                verifier.take_damage().iter().for_each(|damage| note(state, damage));
                state.keyless += verifier.take_missing().values().sum::<u64>();
                calls.show(state);
                if saved.elapsed() >= SAVE_EVERY {
                    self.write_scrub(state)?;
                    saved = Instant::now();
                }
            }
        }
        Ok(())
    }

    fn read_scrub(&self) -> Result<ScrubState, StoreError> {
        let snapshot = self.snapshot()?;
        match snapshot.get(space::SCRUB_KEY)? {
            // A damaged position means a fresh start; nothing else depends on it.
            Some(bytes) => Ok(ScrubState::decode(&bytes).unwrap_or_default()),
            None => Ok(ScrubState::default()),
        }
    }

    fn write_scrub(&self, state: &ScrubState) -> Result<(), StoreError> {
        let bytes = state.encode();
        let update = self.update(move |write, _| {
            write.put(space::SCRUB_KEY, &bytes)?;
            Ok(Committed::new(()))
        });
        update.wait()
    }
}

fn note(state: &mut ScrubState, damage: &Damage) {
    state.damaged += 1;
    let name = damage.key.as_ref().map_or("", |key| key.as_str());
    state.first_damage.get_or_insert_with(|| match &damage.bucket {
        Some(bucket) => format!("{}/{name}: {}", bucket.as_str(), damage.what),
        None => damage.what.clone(),
    });
}
