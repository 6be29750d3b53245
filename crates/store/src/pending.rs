//! The answer to a write that is on its way.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::error::StoreError;
use crate::process::{Guard, StagedBlob};

/// Resolves when the write is as durable as the store promises, or has failed. Await it, or
/// [`wait`](Pending::wait) for it.
///
/// Dropping it does not take the write back.
#[derive(Debug)]
#[must_use = "a write is acknowledged only when this resolves to Ok"]
pub struct Pending<T> {
    state: State<T>,
    /// The blobs that the write publishes. They must outlive the commit, see [`StagedBlob`].
    blobs: Vec<StagedBlob>,
}

#[derive(Debug)]
enum State<T> {
    /// The result, until the first poll takes it.
    Ready(Option<Result<T, StoreError>>),
    Submitted(liteio_kv::Pending<Committed<T>, StoreError>),
}

/// The result of a transaction, and a guard that must live until it has committed.
#[derive(Debug)]
pub(crate) struct Committed<T> {
    value: T,
    /// Told of the commit, and dropped after it and before the acknowledgement.
    guard: Option<Box<dyn Guard>>,
}

impl<T> Committed<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value, guard: None }
    }

    pub(crate) fn with_guard(value: T, guard: impl Guard + 'static) -> Self {
        Self { value, guard: Some(Box::new(guard)) }
    }

    /// The transaction has committed.
    pub(crate) fn committed(&self) {
        if let Some(guard) = &self.guard {
            guard.committed();
        }
    }
}

impl<T> Pending<T> {
    pub(crate) fn submitted(pending: liteio_kv::Pending<Committed<T>, StoreError>) -> Self {
        Self { state: State::Submitted(pending), blobs: Vec::new() }
    }

    pub(crate) fn with_blobs(mut self, blobs: Vec<StagedBlob>) -> Self {
        self.blobs = blobs;
        self
    }

    /// A result that was decided without a transaction of its own.
    pub(crate) fn ready(result: Result<T, StoreError>) -> Self {
        Self { state: State::Ready(Some(result)), blobs: Vec::new() }
    }

    /// Blocks the thread until the write is durable or has failed.
    ///
    /// # Errors
    /// The reason why the write was refused or failed.
    pub fn wait(self) -> Result<T, StoreError> {
        let result = match self.state {
            State::Ready(result) => return result.unwrap_or(Err(StoreError::Closed)),
            State::Submitted(pending) => pending.wait(),
        };
        finish(result, &self.blobs)
    }
}

fn finish<T>(
    result: Result<Committed<T>, StoreError>,
    blobs: &[StagedBlob],
) -> Result<T, StoreError> {
    match result {
        Ok(committed) => {
            blobs.iter().for_each(StagedBlob::acknowledge);
            Ok(committed.value)
        }
        Err(error) => {
            // No other failure of a commit is certain to have left nothing behind.
            if matches!(error, StoreError::NoSpace) {
                blobs.iter().for_each(StagedBlob::take_back);
            }
            Err(error)
        }
    }
}

impl<T> Unpin for Pending<T> {}

impl<T> Future for Pending<T> {
    type Output = Result<T, StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let result = match &mut self.state {
            State::Ready(result) => {
                return Poll::Ready(result.take().unwrap_or(Err(StoreError::Closed)));
            }
            State::Submitted(pending) => std::task::ready!(Pin::new(pending).poll(context)),
        };
        Poll::Ready(finish(result, &std::mem::take(&mut self.blobs)))
    }
}
