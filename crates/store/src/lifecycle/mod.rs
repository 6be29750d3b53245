//! The execution of lifecycle rules: a thread walks the buckets that have rules, once a day.
//!
//! ```text
//!         new day, clock trusted              end of the last bucket
//!  idle ─────────────────────────► walking ─────────────────────────► idle
//!                                   │    ▲
//!                                   └────┘ step: plan one page, end what is due,
//!                                          rest twice as long
//! ```
//!
//! A day begins at midnight UTC, as in S3. A step ends what is due in transactions of a few versions, the last of
//! which stores the position behind them, so a walk resumes after a restart.

mod step;
mod trust;

use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use liteio_kv::{Read as _, Transaction, Write as _};
use serde::{Deserialize, Serialize};

pub use self::trust::ClockTrust;
use crate::error::StoreError;
use crate::meta::lifecycle::LifecyclePhase;
use crate::meta::{record, space};
use crate::pending::Committed;
use crate::process::{Background, Calls, Job};
use crate::store::{Inner, Store};

/// Interval at which the time of day is checked. It is not slept through, because the clock may
/// jump.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// Interval at which the position is saved if nothing was removed.
const SAVE_EVERY: Duration = Duration::from_secs(10);
/// Rest between steps, as a multiple of the step's duration.
const RESTS: u32 = 2;

/// The progress of the lifecycle.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LifecycleState {
    /// The day of the running or last walk, counted from 1970.
    pub day: u64,
    /// `true` while a walk is running.
    pub is_running: bool,
    /// Number of versions and uploads visited.
    pub looked_at: u64,
    /// Number of versions, delete markers and uploads ended.
    pub ended: u64,
    pub(crate) position: Position,
}

/// A position in a walk: after everything visited.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Position {
    /// The name of the bucket; empty before the first one.
    pub(crate) bucket: String,
    pub(crate) phase: LifecyclePhase,
    /// Key and version, or key and upload id.
    pub(crate) marker: Option<(String, Option<String>)>,
    /// Number of noncurrent versions of that key visited so far.
    pub(crate) newer: u64,
    /// Time of the last visited version of that key, in milliseconds since 1970.
    pub(crate) successor_ms: u64,
}

impl Store {
    /// Does everything that the lifecycle rules require by now, on the calling thread. An open
    /// store does so once a day on a thread of its own.
    ///
    /// # Errors
    /// The errors of the disk; [`StoreError::Suspended`] if updates are suspended or another server
    /// does this; [`StoreError::Closed`].
    pub fn run_lifecycle(&self) -> Result<LifecycleState, StoreError> {
        let today = self.today();
        self.must_do(Job::Lifecycle)?.walk_lifecycle(today, &mut |_| Ok(()))
    }

    /// The progress of the lifecycle.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] or [`StoreError::Io`] if metadata cannot be read.
    pub fn lifecycle_state(&self) -> Result<LifecycleState, StoreError> {
        match self.snapshot()?.get(space::LIFECYCLE_KEY)? {
            Some(bytes) => record::decode(&bytes, "the lifecycle's record"),
            None => Ok(LifecycleState::default()),
        }
    }

    /// The length of a day of the lifecycle, in milliseconds.
    #[must_use]
    pub fn lifecycle_day_ms(&self) -> u64 {
        self.shared().day_ms()
    }

    fn today(&self) -> u64 {
        self.now_ms() / self.lifecycle_day_ms()
    }

    /// Starts the thread that walks once a day.
    pub(crate) fn start_lifecycle(&self) -> Result<(), StoreError> {
        let calls = Arc::new(Calls::<()>::default());
        let weak: Weak<Inner> = Arc::downgrade(&self.inner);
        let thread = thread::Builder::new().name("liteio-lifecycle".to_owned());
        let look_every = LOOK_EVERY.min(self.shared().config.lifecycle_day / 4);
        let thread = thread.spawn({
            let calls = Arc::clone(&calls);
            move || {
                // The first look waits, too: the clock of a machine that has just booted may be set
                // in the meantime.
                let mut trust = ClockTrust::default();
                let mut walked = None;
                while calls.wait(look_every) {
                    // A weak reference, so that the thread does not keep a dropped store open.
                    let Some(inner) = weak.upgrade() else { return };
                    let store = Store::of(inner);
                    let today = store.today();
                    let is_trusted = trust.look(Instant::now(), store.now_ms());
                    let Ok(Some(store)) = store.into_job(Job::Lifecycle) else {
                        // Another server walks, until this one takes over.
                        continue;
                    };
                    // A failed walk resumes at the next look.
                    if is_trusted && walked != Some(today) && store.walk_if_due(&calls).is_ok() {
                        walked = Some(today);
                    }
                }
            }
        })?;
        *self.inner.lifecycle.lock() = Some(Background::new(calls, thread));
        Ok(())
    }

    fn walk_if_due(&self, calls: &Calls<()>) -> Result<(), StoreError> {
        let (state, today) = (self.lifecycle_state()?, self.today());
        if !state.is_running && state.day == today {
            return Ok(());
        }
        let mut rest = |worked: Duration| {
            // This thread has the last handle: the store is being dropped.
            match Arc::strong_count(&self.inner) {
                1 => Err(StoreError::Closed),
                _ => calls.pause(worked * RESTS),
            }
        };
        self.walk_lifecycle(today, &mut rest).map(drop)
    }

    /// Walks to the end, from the stored position.
    fn walk_lifecycle(
        &self,
        today: u64,
        rest: &mut dyn FnMut(Duration) -> Result<(), StoreError>,
    ) -> Result<LifecycleState, StoreError> {
        let mut state = self.lifecycle_state()?;
        if !state.is_running {
            state = LifecycleState { day: today, is_running: true, ..LifecycleState::default() };
        }
        let mut saved = Instant::now();
        let mut has_begun = state.position != Position::default();
        loop {
            let begun = Instant::now();
            let Some(step) = self.plan_step(&state)? else {
                state.is_running = false;
                state.position = Position::default();
                // Where no bucket has rules, nothing is written.
                if has_begun {
                    self.save_lifecycle(&state)?;
                }
                return Ok(state);
            };
            has_begun = true;
            let before = state.clone();
            state.looked_at += step.looked_at;
            state.position = step.next.clone();
            if !step.due.is_empty() {
                state = self.end_due(&step, &before, state)?;
                saved = Instant::now();
            } else if saved.elapsed() >= SAVE_EVERY {
                self.save_lifecycle(&state)?;
                saved = Instant::now();
            }
            // Stopped by closing: the position is saved first.
            if let Err(error) = rest(begun.elapsed()) {
                self.save_lifecycle(&state)?;
                return Err(error);
            }
        }
    }

    fn save_lifecycle(&self, state: &LifecycleState) -> Result<(), StoreError> {
        let state = state.clone();
        let saved = self.update(move |write, _| {
            write_state(write, &state)?;
            Ok(Committed::new(()))
        });
        saved.wait()
    }
}

/// Stores the position in the transaction that ends what was due before it.
fn write_state(write: &mut Transaction<'_>, state: &LifecycleState) -> Result<(), StoreError> {
    Ok(write.put(space::LIFECYCLE_KEY, &record::encode(1, state))?)
}
