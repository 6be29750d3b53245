//! The answer of a write in progress.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::error::StoreError;
use crate::limits::CHANGED_TOGETHER;
use crate::process::{Guard, StagedBlob};

/// Resolves when the write has the promised durability, or has failed. Await it, or call
/// [`wait`](Pending::wait).
///
/// Dropping it does not cancel the write.
#[derive(Debug)]
#[must_use = "a write is acknowledged only when this resolves to Ok"]
pub struct Pending<T> {
    state: State<T>,
    /// The blobs that the write publishes, which must live until the commit, see [`StagedBlob`].
    blobs: Vec<StagedBlob>,
}

#[derive(Debug)]
enum State<T> {
    /// The result, until the first poll takes it.
    Ready(Option<Result<T, StoreError>>),
    Submitted(liteio_kv::Pending<Committed<T>, StoreError>),
}

/// The result of a transaction, with an optional guard that must live until the commit.
#[derive(Debug)]
pub(crate) struct Committed<T> {
    value: T,
    /// Notified of the commit, then dropped, before the acknowledgement.
    guard: Option<Box<dyn Guard>>,
}

impl<T> Committed<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { value, guard: None }
    }

    pub(crate) fn with_guard(value: T, guard: impl Guard + 'static) -> Self {
        Self { value, guard: Some(Box::new(guard)) }
    }

    /// Called once the transaction has committed.
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

    /// A result that needs no transaction of its own.
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
            // These are certain to have left nothing behind. After any other failure the record may
            // exist, so the blobs must be kept; the sweep decides.
            let is_certain = matches!(
                error,
                StoreError::NoSpace
                    | StoreError::BodyNotWritten(_)
                    | StoreError::Busy
                    | StoreError::Suspended { .. }
            );
            if is_certain {
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

/// The answers of several writes in progress, in their order. Dropping it cancels none of them.
#[derive(Debug)]
#[must_use = "a write is acknowledged only when this resolves to Ok"]
pub struct PendingAll<T> {
    left: VecDeque<Pending<Vec<T>>>,
    answers: Vec<T>,
    /// The first failure. The others are waited for all the same.
    failure: Option<StoreError>,
}

impl<T> PendingAll<T> {
    /// Submits a write for each [few](CHANGED_TOGETHER) of many things.
    pub(crate) fn of_few<Thing>(
        things: Vec<Thing>,
        mut write: impl FnMut(Vec<Thing>) -> Pending<Vec<T>>,
    ) -> Self {
        let mut things = things.into_iter();
        let writes = std::iter::from_fn(|| {
            let few: Vec<_> = things.by_ref().take(CHANGED_TOGETHER).collect();
            (!few.is_empty()).then(|| write(few))
        });
        Self { left: writes.collect(), answers: Vec::new(), failure: None }
    }

    pub(crate) fn refused(error: StoreError) -> Self {
        Self { left: VecDeque::new(), answers: Vec::new(), failure: Some(error) }
    }

    /// Blocks the thread until all writes are durable or have failed.
    ///
    /// # Errors
    /// The reason why the first one that did was refused or failed.
    pub fn wait(mut self) -> Result<Vec<T>, StoreError> {
        while let Some(write) = self.left.pop_front() {
            self.note(write.wait());
        }
        self.end()
    }

    fn note(&mut self, result: Result<Vec<T>, StoreError>) {
        match result {
            Ok(answers) => self.answers.extend(answers),
            Err(error) => _ = self.failure.get_or_insert(error),
        }
    }

    fn end(&mut self) -> Result<Vec<T>, StoreError> {
        match self.failure.take() {
            Some(error) => Err(error),
            None => Ok(std::mem::take(&mut self.answers)),
        }
    }
}

impl<T> Unpin for PendingAll<T> {}

impl<T> Future for PendingAll<T> {
    type Output = Result<Vec<T>, StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        while let Some(write) = self.left.front_mut() {
            let result = std::task::ready!(Pin::new(write).poll(context));
            self.left.pop_front();
            self.note(result);
        }
        Poll::Ready(self.end())
    }
}
