//! [`Pending`]: the answer to a submitted update.

use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use crate::KvError;
use crate::committers::Committers;
use crate::shared::Shared;

/// Resolves when the update is durable, or has failed. Await it, or [`wait`](Pending::wait) for it.
///
/// Dropping it does not cancel the update. The update may begin only when this is polled, waited
/// for or dropped: a waiting caller commits it with all queued updates, if no other thread does.
#[must_use = "an update is acknowledged only when this resolves to Ok"]
pub struct Pending<T, E> {
    state: State<Result<T, E>>,
    /// `Some` until another thread is sure to commit the update.
    committing: Option<Committing>,
}

/// Those who commit an update.
pub(super) enum Committing {
    Local(Arc<Shared>),
    Database(Arc<Committers>),
}

impl Committing {
    /// Commits the update on this thread, unless others do.
    fn lead(&self) {
        match self {
            Self::Local(shared) => shared.lead(),
            Self::Database(committers) => committers.queue.wake_group(),
        }
    }

    /// The same for a caller that must not block. A database is asked by its own threads alone.
    fn lead_or_wake(&self) {
        match self {
            Self::Local(shared) => shared.lead_or_wake(),
            Self::Database(committers) => committers.queue.wake_group(),
        }
    }

    fn wake(&self) {
        match self {
            Self::Local(shared) => shared.queue.wake(),
            Self::Database(committers) => committers.queue.wake_group(),
        }
    }
}

#[derive(Debug)]
enum State<M> {
    /// Never polled: [`Pending::wait`] can park on it directly.
    Waiting(oneshot::Receiver<M>),
    Polled(oneshot::AsyncReceiver<M>),
    /// Also the state while `poll` moves from one state to the next.
    Done,
}

impl<T, E> Pending<T, E> {
    pub(super) fn new(receiver: oneshot::Receiver<Result<T, E>>, committing: Committing) -> Self {
        Self { state: State::Waiting(receiver), committing: Some(committing) }
    }
}

impl<T, E: From<KvError>> Pending<T, E> {
    /// Blocks the thread until the update is durable or has failed.
    ///
    /// # Errors
    /// The error of the closure, or the [`KvError`] that kept the update from being durable.
    pub fn wait(mut self) -> Result<T, E> {
        if let Some(committing) = self.committing.take() {
            committing.lead();
        }
        match std::mem::replace(&mut self.state, State::Done) {
            State::Waiting(receiver) => {
                receiver.recv().unwrap_or_else(|_| Err(KvError::Closed.into()))
            }
            polled => block_on(Self { state: polled, committing: None }),
        }
    }
}

impl<T, E> Drop for Pending<T, E> {
    fn drop(&mut self) {
        if let Some(committing) = self.committing.take() {
            committing.wake();
        }
    }
}

impl<T, E> fmt::Debug for Pending<T, E> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Pending").finish_non_exhaustive()
    }
}

impl<T, E> Unpin for Pending<T, E> {}

impl<T, E: From<KvError>> Future for Pending<T, E> {
    type Output = Result<T, E>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if let Some(committing) = self.committing.take() {
            committing.lead_or_wake();
        }
        let mut receiver = match std::mem::replace(&mut self.state, State::Done) {
            State::Waiting(receiver) => receiver.into_future(),
            State::Polled(receiver) => receiver,
            State::Done => return Poll::Ready(Err(KvError::Closed.into())),
        };
        match Pin::new(&mut receiver).poll(context) {
            Poll::Ready(answer) => {
                Poll::Ready(answer.unwrap_or_else(|_| Err(KvError::Closed.into())))
            }
            Poll::Pending => {
                self.state = State::Polled(receiver);
                Poll::Pending
            }
        }
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
        thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending<T>(receiver: oneshot::Receiver<Result<T, KvError>>) -> Pending<T, KvError> {
        Pending { state: State::Waiting(receiver), committing: None }
    }

    #[test]
    fn waits_before_and_after_a_poll() {
        let (sender, receiver) = oneshot::channel();
        sender.send(Ok::<_, KvError>(1)).expect("receiver lives");
        assert_eq!(pending(receiver).wait().expect("answered"), 1);

        let (sender, receiver) = oneshot::channel();
        let mut pending = pending(receiver);
        let mut context = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut pending).poll(&mut context).is_pending());
        let waiting = thread::spawn(move || pending.wait());
        sender.send(Ok::<_, KvError>(2)).expect("receiver lives");
        assert_eq!(waiting.join().expect("no panic").expect("answered"), 2);
    }

    #[test]
    fn a_lost_committer_is_a_closed_store() {
        let (sender, receiver) = oneshot::channel::<Result<(), KvError>>();
        drop(sender);
        assert!(matches!(pending(receiver).wait(), Err(KvError::Closed)));
    }
}
