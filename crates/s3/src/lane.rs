//! A lane: a queue of the batches of one body, processed in order on blocking threads while the
//! next ones are received.
//!
//! A body has one lane for hashing and one for writing, so that both run in parallel with each
//! other and with the network. A lane holds a thread only while it has a batch: a slow client
//! occupies no thread.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use liteio_store::StoreError;
use parking_lot::Mutex;
use s3s::S3Result;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error;
use super::limits::LANE_BATCHES_MAX;
use liteio_access::offload::{Offload, OffloadError};

/// Consecutive chunks of a body, shared by the lanes.
pub(super) type Batch = Arc<Vec<Bytes>>;

/// The work done on a lane.
pub(super) trait Worker: Send + 'static {
    /// Processes the next batch. Not called again after an error.
    fn work(&mut self, batch: &[Bytes]) -> Result<(), StoreError>;
}

/// The sending side of a lane.
pub(super) struct Lane<W: Worker> {
    shared: Arc<Shared<W>>,
    offload: Offload,
}

struct Shared<W> {
    state: Mutex<State<W>>,
    /// One permit for each batch that is queued or being processed.
    room: Arc<Semaphore>,
}

struct State<W> {
    batches: VecDeque<(Batch, OwnedSemaphorePermit)>,
    /// `None` while it runs on a thread.
    worker: Option<W>,
    failure: Option<Failure>,
}

enum Failure {
    Store(StoreError),
    Panicked,
}

impl<W: Worker> Lane<W> {
    pub(super) fn new(offload: Offload, worker: W) -> Self {
        let state = State { batches: VecDeque::new(), worker: Some(worker), failure: None };
        let room = Arc::new(Semaphore::new(LANE_BATCHES_MAX));
        Self { shared: Arc::new(Shared { state: Mutex::new(state), room }), offload }
    }

    /// Queues a batch; waits while the lane is full.
    pub(super) async fn push(&self, batch: Batch) -> S3Result<()> {
        let permit = Arc::clone(&self.shared.room).acquire_owned().await;
        let permit = permit.map_err(|_| error::from_store(StoreError::Closed))?;
        let mut state = self.shared.state.lock();
        state.check()?;
        state.batches.push_back((batch, permit));
        if let Some(worker) = state.worker.take() {
            let turn =
                Turn { shared: Arc::clone(&self.shared), worker: Some(worker), permit: None };
            self.offload.start(move || turn.run());
        }
        Ok(())
    }

    /// Waits until all batches are processed, and returns the worker.
    pub(super) async fn finish(self) -> S3Result<W> {
        let all = u32::try_from(LANE_BATCHES_MAX).unwrap_or(u32::MAX);
        let permits = self.shared.room.acquire_many(all).await;
        let _permits = permits.map_err(|_| error::from_store(StoreError::Closed))?;
        let mut state = self.shared.state.lock();
        state.check()?;
        state.worker.take().ok_or_else(|| error::from_store(StoreError::Closed))
    }
}

impl<W> State<W> {
    fn fail(&mut self, failure: Failure) {
        self.failure = Some(failure);
        self.batches.clear();
    }

    fn check(&mut self) -> S3Result<()> {
        match self.failure.take() {
            None => Ok(()),
            Some(Failure::Store(error)) => Err(error::from_store(error)),
            Some(Failure::Panicked) => Err(error::from_store(OffloadError::Panicked)),
        }
    }
}

impl<W: Worker> Drop for Lane<W> {
    /// Drops the worker on a blocking thread: deleting a large file takes a while, and this may be
    /// a connection's thread.
    fn drop(&mut self) {
        let worker = self.shared.state.lock().worker.take();
        if let Some(worker) = worker
            && tokio::runtime::Handle::try_current().is_ok()
        {
            self.offload.start(move || drop(worker));
        }
    }
}

/// The worker while it runs on a thread. If it is dropped early, by a panic or because the runtime
/// stops, the lane fails, so that no caller waits forever.
struct Turn<W: Worker> {
    shared: Arc<Shared<W>>,
    worker: Option<W>,
    /// The permit of the current batch. It must be released after the worker is back in `State`:
    /// `finish` takes the worker as soon as it has acquired all permits.
    permit: Option<OwnedSemaphorePermit>,
}

impl<W: Worker> Turn<W> {
    fn run(mut self) {
        while let Some(worker) = &mut self.worker {
            let mut state = self.shared.state.lock();
            let Some((batch, permit)) = state.batches.pop_front() else {
                state.worker = self.worker.take();
                return;
            };
            drop(state);
            self.permit = Some(permit);
            if let Err(error) = worker.work(&batch) {
                self.worker = None;
                self.shared.state.lock().fail(Failure::Store(error));
            }
        }
    }
}

impl<W: Worker> Drop for Turn<W> {
    fn drop(&mut self) {
        if self.worker.is_some() {
            self.shared.state.lock().fail(Failure::Panicked);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records the lengths it got; fails or panics at a batch of the given length.
    #[derive(Default)]
    struct Notes {
        seen: Vec<usize>,
        fails_at: Option<usize>,
        panics_at: Option<usize>,
    }

    impl Worker for Notes {
        fn work(&mut self, batch: &[Bytes]) -> Result<(), StoreError> {
            assert_ne!(self.panics_at, Some(batch.len()), "on purpose");
            if self.fails_at == Some(batch.len()) {
                return Err(StoreError::NoSpace);
            }
            self.seen.push(batch.len());
            Ok(())
        }
    }

    fn batch(length: usize) -> Batch {
        Arc::new(vec![Bytes::new(); length])
    }

    async fn push_ten(lane: &Lane<Notes>) -> S3Result<()> {
        for length in 0..10 {
            lane.push(batch(length)).await?;
        }
        Ok(())
    }

    #[tokio::test]
    async fn batches_are_worked_off_in_order() {
        let lane = Lane::new(Offload::new(1), Notes::default());
        push_ten(&lane).await.expect("room");
        let notes = lane.finish().await.expect("worked");
        assert_eq!(notes.seen, (0..10).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_failure_ends_it_with_its_error() {
        let lane = Lane::new(Offload::new(1), Notes { fails_at: Some(3), ..Notes::default() });
        let pushed = push_ten(&lane).await;
        let error = match pushed {
            Err(error) => error,
            Ok(()) => lane.finish().await.map(drop).expect_err("failed"),
        };
        assert_eq!(error.code().as_str(), "StorageFull");
    }

    #[tokio::test]
    async fn a_panic_is_an_error_and_nobody_waits_for_ever() {
        let lane = Lane::new(Offload::new(1), Notes { panics_at: Some(9), ..Notes::default() });
        push_ten(&lane).await.expect("the last one only panics");
        let error = lane.finish().await.map(drop).expect_err("panicked");
        assert_eq!(error.code().as_str(), "InternalError");
    }
}
