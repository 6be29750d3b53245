//! The scrub: reads everything now and then, at a bounded rate, so that damage is found while there is still
//! another copy somewhere.
//!
//! It is [verification](Store::verify) in the background, in batches. Its position is a record, so it
//! goes on after a restart where it was.

use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::kv::{Read as _, Write as _};
use crate::meta::bucket::StoreRecord;
use crate::meta::{record, space};
use crate::pending::Committed;
use crate::store::{Inner, Store};
use crate::verify::{Damage, SPACES, Verifier};

/// The position is written down after this time.
const SAVE_EVERY: Duration = Duration::from_secs(10);
/// What a record counts for, in bytes, beside those that it references: looking at one takes some 10 µs.
const RECORD_COST: u64 = 4 << 10;
/// A pause is made for so many bytes.
const PAUSE_BYTES: u64 = 256 << 10;
/// The wait before a scrub that failed goes on.
const RETRY_AFTER: Duration = Duration::from_secs(60);
/// The time of day is compared with the schedule so often, because the clock may jump.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// How far the scrub is, and what it has found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScrubState {
    /// Begin of the scrub that is under way, in milliseconds since 1970.
    pub begun_ms: Option<u64>,
    /// End of the last one that came to its end.
    pub ended_ms: Option<u64>,
    /// Records that the one under way has read, or the last one.
    pub records: u64,
    /// Damage that it has found.
    pub damaged: u64,
    /// The first damage that it has found, in words.
    pub first_damage: Option<String>,
    /// The last record that was read.
    position: Vec<u8>,
}

impl ScrubState {
    fn note(&mut self, damage: &Damage) {
        self.damaged += 1;
        let name = damage.key.as_ref().map_or("", |key| key.as_str());
        self.first_damage.get_or_insert_with(|| match &damage.bucket {
            Some(bucket) => format!("{}/{name}: {}", bucket.as_str(), damage.what),
            None => damage.what.clone(),
        });
    }
}

/// The calls to the scrubbing thread.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    state: Mutex<CallState>,
    changed: Condvar,
    is_asked: AtomicBool,
}

#[derive(Debug, Default)]
struct CallState {
    is_stopped: bool,
    shown: ScrubState,
}

impl Calls {
    /// Waits for `duration`, or until there is a call. `false` when the thread is to stop.
    fn wait(&self, duration: Duration) -> bool {
        let mut state = self.state.lock();
        let is_idle =
            |state: &mut CallState| !state.is_stopped && !self.is_asked.load(Ordering::Relaxed);
        self.changed.wait_while_for(&mut state, is_idle, duration);
        !state.is_stopped
    }

    /// Waits for `duration`; ends when the thread is to stop.
    fn pause(&self, duration: Duration) -> Result<(), StoreError> {
        let mut state = self.state.lock();
        self.changed.wait_while_for(&mut state, |state| !state.is_stopped, duration);
        if state.is_stopped { Err(StoreError::Closed) } else { Ok(()) }
    }

    fn show(&self, state: &ScrubState) {
        self.state.lock().shown.clone_from(state);
    }
}

/// The thread that scrubs.
#[derive(Debug)]
pub(crate) struct Scrubber {
    calls: Arc<Calls>,
    thread: JoinHandle<()>,
}

impl Scrubber {
    /// Stops the thread and waits for it.
    pub(crate) fn stop(self) {
        self.calls.state.lock().is_stopped = true;
        self.calls.changed.notify_all();
        // The thread itself may have held the last handle of the store.
        if self.thread.thread().id() != thread::current().id() {
            // A panic there has been printed by the hook.
            let _ = self.thread.join();
        }
    }
}

impl Store {
    /// Begins a scrub soon, unless one is under way.
    pub fn scrub_now(&self) {
        if let Some(scrubber) = &*self.inner.scrubber.lock() {
            scrubber.calls.is_asked.store(true, Ordering::Relaxed);
            // Not between the look at the call and the wait for it.
            drop(scrubber.calls.state.lock());
            scrubber.calls.changed.notify_all();
        }
    }

    /// How far the scrub is, and what it has found. `None` without one, as in memory.
    #[must_use]
    pub fn scrub_state(&self) -> Option<ScrubState> {
        let scrubber = self.inner.scrubber.lock();
        scrubber.as_ref().map(|scrubber| scrubber.calls.state.lock().shown.clone())
    }

    /// Starts the thread that scrubs when it is time or it is asked.
    pub(crate) fn start_scrubber(&self) -> Result<(), StoreError> {
        let calls = Arc::new(Calls::default());
        calls.show(&self.read_scrub().unwrap_or_default());
        let weak: Weak<Inner> = Arc::downgrade(&self.inner);
        let thread = thread::Builder::new().name("liteio-scrub".to_owned());
        let thread = thread.spawn({
            let calls = Arc::clone(&calls);
            move || {
                let mut wait = Duration::ZERO;
                while calls.wait(wait) {
                    // The store may be closing by losing its last handle.
                    let Some(inner) = weak.upgrade() else { return };
                    let store = Store { inner };
                    let is_asked = calls.is_asked.swap(false, Ordering::Relaxed);
                    wait = match store.is_scrub_due(is_asked) {
                        // What was read before the failure is not read again.
                        Ok(true) => store.scrub(&calls).map_or(RETRY_AFTER, |()| LOOK_EVERY),
                        _ => LOOK_EVERY,
                    };
                }
            }
        })?;
        *self.inner.scrubber.lock() = Some(Scrubber { calls, thread });
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
        // The first one is due an interval after the store was made.
        let made_ms = StoreRecord::read(&self.snapshot()?)?.map_or(0, |store| store.created_ms);
        let ended_ms = state.ended_ms.unwrap_or(made_ms);
        // Behind a clock that was set back for long, it is time, too.
        Ok(u128::from(now_ms.abs_diff(ended_ms)) >= interval.as_millis())
    }

    /// Reads everything that is left to read, and notes what it finds.
    ///
    /// # Errors
    /// [`StoreError::Closed`] when the store is closed meanwhile; the errors of the disk.
    fn scrub(&self, calls: &Calls) -> Result<(), StoreError> {
        let mut state = self.read_scrub()?;
        let now_ms = || self.shared().config.clock.now_ms();
        if state.position.is_empty() {
            let (begun_ms, ended_ms) = (state.begun_ms.or_else(|| Some(now_ms())), state.ended_ms);
            state = ScrubState { begun_ms, ended_ms, ..ScrubState::default() };
        }
        calls.show(&state);
        let mut debt = 0;
        let mut pace = |bytes: u64| {
            debt += bytes;
            if debt < PAUSE_BYTES {
                return Ok(());
            }
            let rate = self.shared().config.scrub_bytes_per_second.max(1);
            let pause = Duration::from_secs_f64(debt as f64 / rate as f64);
            debt = 0;
            // Nobody else has the store any more: it is about to end.
            if Arc::strong_count(&self.inner) == 1 {
                return Err(StoreError::Closed);
            }
            calls.pause(pause)
        };
        let mut verifier = Verifier::new(self, &mut pace)?;
        let result = self.read_all(&mut verifier, &mut state, calls);
        if result.is_ok() {
            state.position.clear();
            state.begun_ms = None;
            state.ended_ms = Some(now_ms());
        }
        // Also before the store is closed, so that the next start goes on here.
        let saved = self.write_scrub(&state);
        calls.show(&state);
        result.and(saved)
    }

    /// Reads everything behind the position.
    fn read_all(
        &self,
        verifier: &mut Verifier<'_>,
        state: &mut ScrubState,
        calls: &Calls,
    ) -> Result<(), StoreError> {
        let mut saved = Instant::now();
        for space in SPACES {
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
                        state.note(&Damage::of_store(&error));
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
                verifier.take_damage().iter().for_each(|damage| state.note(damage));
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
            // It begins again: nothing else depends on it.
            Some(bytes) => Ok(record::decode(&bytes, "the scrub's record").unwrap_or_default()),
            None => Ok(ScrubState::default()),
        }
    }

    fn write_scrub(&self, state: &ScrubState) -> Result<(), StoreError> {
        let bytes = record::encode(1, state);
        let update = self.update(move |write, _| {
            write.put(space::SCRUB_KEY, &bytes)?;
            Ok(Committed::new(()))
        });
        update.wait()
    }
}
